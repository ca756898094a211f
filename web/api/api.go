// Package api is the JSON of the HTTP interface as Go types, so that the
// server that writes it, the sidecar that asks another, and the command that
// prints it agree on every field. docs/http.md describes the fields.
//
// Values are made from one pipeline.View and hold nothing of it that changes.
// What is not known, and what does not apply, is null: no -1 stands for a
// missing offset or broker. Lists are never null. A 64-bit hash is a string,
// because JSON numbers lose digits in most readers (invariant 10). Times are
// RFC 3339, UTC, with milliseconds.
package api

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/kraftside/kraftside/internal/kafka"
)

// Hash is a 64-bit hash. In JSON it is a string of its signed decimal form.
type Hash int64

// MarshalJSON implements json.Marshaler.
func (h Hash) MarshalJSON() ([]byte, error) {
	return append(strconv.AppendInt([]byte{'"'}, int64(h), 10), '"'), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (h *Hash) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return fmt.Errorf("parse hash %s: want a string of digits: %w", b, err)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("parse hash %q: want a decimal 64-bit number: %w", text, err)
	}
	*h = Hash(n)
	return nil
}

// Time is a moment in milliseconds since 1970.
type Time int64

const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// Times that RFC 3339 can write: the years 0 to 9999.
var (
	firstTime = Time(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	lastTime  = Time(time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC).UnixMilli())
)

// MarshalJSON implements json.Marshaler. A time that RFC 3339 cannot write,
// which a log may hold all the same, becomes the nearest one that it can.
func (t Time) MarshalJSON() ([]byte, error) {
	t = min(max(t, firstTime), lastTime)
	b := time.UnixMilli(int64(t)).UTC().AppendFormat([]byte{'"'}, timeLayout)
	return append(b, '"'), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Time) UnmarshalJSON(b []byte) error {
	var parsed time.Time
	if err := json.Unmarshal(b, &parsed); err != nil {
		return err
	}
	*t = Time(parsed.UnixMilli())
	return nil
}

// timeOf is null for 0 and below, which stand for no time.
func timeOf(ms int64) *Time {
	if ms <= 0 {
		return nil
	}
	return new(Time(ms))
}

// Offset is null for an offset that is not known.
func Offset(o kafka.Offset) *kafka.Offset {
	if o < 0 {
		return nil
	}
	return &o
}

// Node is null for kafka.NoNode.
func Node(id kafka.NodeID) *kafka.NodeID {
	if id == kafka.NoNode {
		return nil
	}
	return &id
}

// text is null for the empty string.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// list makes a list that is not null of one that may be.
func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}
