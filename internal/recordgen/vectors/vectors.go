// Package vectors holds records that Kafka's own classes encoded, for the tests
// of the record codecs: what they are and how they are made says
// testdata/README.md.
package vectors

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:embed testdata/records.jsonl
var records []byte

// Bytes is a byte string that stands in the file as hex; nil for null.
type Bytes []byte

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *Bytes) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	*b = append(Bytes{}, raw...)
	return err
}

// Vector is one record.
type Vector struct {
	Kafka    string          `json:"kafka"`
	Kind     string          `json:"kind"`
	Name     string          `json:"name"`
	APIKey   int16           `json:"apiKey"`
	Version  int16           `json:"version"`
	Instance string          `json:"instance"`
	JSON     json.RawMessage `json:"json"`
	Key      json.RawMessage `json:"key"`
	KeyBytes Bytes           `json:"keyHex"`
	Bytes    Bytes           `json:"hex"`
	Also     []string        `json:"also"`
}

// String names the vector in the output of tests.
func (v *Vector) String() string {
	return fmt.Sprintf("%s v%d %s of Kafka %s", v.Name, v.Version, v.Instance, v.Kafka)
}

// Load returns the vectors of the given kinds, or all, in the order of the
// file.
func Load(tb testing.TB, kinds ...string) []Vector {
	tb.Helper()
	var out []Vector
	lines := bufio.NewScanner(bytes.NewReader(records))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		dec := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		dec.DisallowUnknownFields()
		var v Vector
		require.NoError(tb, dec.Decode(&v), "line %d", len(out)+1)
		if len(kinds) == 0 || slices.Contains(kinds, v.Kind) {
			out = append(out, v)
		}
	}
	require.NoError(tb, lines.Err())
	return out
}

// RequireSameJSON fails the test unless both texts are the same JSON: the same
// tokens in the same order, numbers in the same digits. Only how a string is
// escaped may differ.
func RequireSameJSON(tb testing.TB, want, got []byte, what string) {
	tb.Helper()
	w, g := tokens(tb, want), tokens(tb, got)
	require.Equal(tb, w, g, "%s\nwant %s\ngot  %s", what, want, got)
}

func tokens(tb testing.TB, text []byte) []json.Token {
	tb.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var out []json.Token
	for {
		t, err := dec.Token()
		if err == io.EOF {
			return out
		}
		require.NoError(tb, err, "%s", text)
		out = append(out, t)
	}
}
