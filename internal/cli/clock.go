package cli

import (
	"strconv"
	"time"
)

// Clock says how times are shown to people. The zero Clock is UTC on no day.
type Clock struct {
	// Now decides which day is today.
	Now time.Time
	// Zone is where the reader is; nil is UTC.
	Zone *time.Location
}

// Format is a time of milliseconds since 1970 with its zone, and with the date
// if that is not today's. Kafka's -1 for no time is "-".
func (c Clock) Format(ms int64) string {
	if ms < 0 {
		return "-"
	}
	zone := c.Zone
	if zone == nil {
		zone = time.UTC
	}
	t, now := time.UnixMilli(ms).In(zone), c.Now.In(zone)
	layout := "15:04:05.000 MST"
	if t.YearDay() != now.YearDay() || t.Year() != now.Year() {
		layout = "2006-01-02 " + layout
	}
	return t.Format(layout)
}

// Time is a time of milliseconds since 1970 that becomes RFC 3339 in UTC with
// milliseconds in JSON; null if it is negative, which is no time.
type Time int64

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	if t < 0 {
		return []byte("null"), nil
	}
	return strconv.AppendQuote(nil, time.UnixMilli(int64(t)).UTC().Format("2006-01-02T15:04:05.000Z")), nil
}
