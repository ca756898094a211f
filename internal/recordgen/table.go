package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

//go:embed schemas/*.json
var schemas embed.FS

// table is one file of schemas.
type table struct {
	Records []*layout `json:"records"`
	Structs []*layout `json:"structs"` // used by the fields of records
}

// layout is the fields of a record, of a record key or of a nested struct.
type layout struct {
	Name     string   `json:"name"`
	Enum     string   `json:"enum"`     // Kafka's name for the type
	Type     *int     `json:"type"`     // api key, control type or record type
	Versions span     `json:"versions"` // of a record; a struct has those of its records
	Flexible *span    `json:"flexible"` // versions in the compact form; all, if absent
	Doc      string   `json:"doc"`
	Key      []*field `json:"key"` // of a coordinator's record; never flexible
	Fields   []*field `json:"fields"`
}

// field stands in the order of Kafka's JSON, which for the fields without a
// tag is also their order in the encoding.
type field struct {
	Name     string          `json:"name"`
	Type     string          `json:"type"` // [] in front for an array
	Versions *span           `json:"versions"`
	Nullable bool            `json:"nullable"`
	Tag      *int            `json:"tag"`
	Default  json.RawMessage `json:"default"` // absent: zero or empty
	Secret   bool            `json:"secret"`
	Kafka    string          `json:"kafka"`    // "4.1+": not in the bytes of 4.0
	TypeIn40 string          `json:"typeIn40"` // the type in the bytes of 4.0
}

// span is a range of versions, both ends included.
type span struct{ lo, hi int }

const (
	open   = 1 << 15 // the end of a span without one
	since  = "4.1+"
	noSpan = "none"
)

var always = span{0, open}

// UnmarshalJSON reads "2", "0-2", "2+" or "none".
func (s *span) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	if text == noSpan {
		*s = span{1, 0}
		return nil
	}
	lo, hi, isRange := strings.Cut(text, "-")
	if trimmed, isOpen := strings.CutSuffix(text, "+"); isOpen {
		lo, hi, isRange = trimmed, strconv.Itoa(open), true
	}
	if !isRange {
		hi = lo
	}
	var errLo, errHi error
	s.lo, errLo = strconv.Atoi(lo)
	s.hi, errHi = strconv.Atoi(hi)
	if errLo != nil || errHi != nil || s.hi < s.lo {
		return fmt.Errorf("versions %q: want N, N-M, N+ or none", text)
	}
	return nil
}

func (s span) String() string {
	switch {
	case s.lo == s.hi:
		return strconv.Itoa(s.lo)
	case s.hi == open:
		return strconv.Itoa(s.lo) + "+"
	}
	return fmt.Sprintf("%d-%d", s.lo, s.hi)
}

// words is the span with the right form of "version" in front.
func (s span) words() string {
	if s.lo == s.hi {
		return "version " + s.String()
	}
	return "versions " + s.String()
}

// covers says whether every version of o is in s.
func (s span) covers(o span) bool { return s.lo <= o.lo && o.hi <= s.hi }

// meets says whether some version of o is in s.
func (s span) meets(o span) bool { return max(s.lo, o.lo) <= min(s.hi, o.hi) }

// versions is the span in which the field exists.
func (f *field) versions() span {
	if f.Versions == nil {
		return always
	}
	return *f.Versions
}

// flexible is the span in which the layout has the compact form and tags.
func (l *layout) flexible() span {
	if l.Flexible == nil {
		return always
	}
	return *l.Flexible
}

// twoForms says whether Kafka 4.0 wrote other bytes under the same version.
func (l *layout) twoForms() bool {
	for _, f := range l.Fields {
		if f.Kafka == since || f.TypeIn40 != "" {
			return true
		}
	}
	return false
}

// elem is the type of the elements of an array, or the type itself.
func (f *field) elem() string { return strings.TrimPrefix(f.Type, "[]") }

func (f *field) isArray() bool { return strings.HasPrefix(f.Type, "[]") }

// nullByDefault says whether an absent field is null, not empty.
func (f *field) nullByDefault() bool { return string(f.Default) == "null" }

// readTable reads schemas/name.json.
func readTable(name string) (*table, error) {
	raw, err := schemas.ReadFile("schemas/" + name + ".json")
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	t := new(table)
	if err := dec.Decode(t); err != nil {
		return nil, fmt.Errorf("schemas/%s.json: %w", name, err)
	}
	return t, nil
}
