package wire

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kraftside/kraftside/internal/kafka"
)

// Secrets says what happens to fields that hold secrets. The zero value hides
// them.
type Secrets bool

const (
	// HideSecrets prints Redacted in place of a secret.
	HideSecrets Secrets = false
	// ShowSecrets prints what Kafka prints.
	ShowSecrets Secrets = true
)

// Redacted is printed in place of a secret.
const Redacted = "(redacted)"

// JSON appends one value in the form of Kafka's JSON converters: integers of
// 64 bits as numbers, ids as URL-safe base64, bytes as base64, doubles as
// Java prints them.
//
// A JSON belongs to one goroutine.
type JSON struct {
	buf     []byte
	start   int
	secrets Secrets
}

// NewJSON returns a JSON that appends to b.
func NewJSON(b []byte, secrets Secrets) *JSON {
	return &JSON{buf: b, start: len(b), secrets: secrets}
}

// Bytes is the slice with what was appended.
func (j *JSON) Bytes() []byte { return j.buf }

// next puts a comma where one is due: after any value of the same object or
// array.
func (j *JSON) next() {
	if len(j.buf) == j.start {
		return
	}
	switch j.buf[len(j.buf)-1] {
	case '{', '[', ':':
	default:
		j.buf = append(j.buf, ',')
	}
}

// Object begins an object.
func (j *JSON) Object() {
	j.next()
	j.buf = append(j.buf, '{')
}

// EndObject ends it.
func (j *JSON) EndObject() { j.buf = append(j.buf, '}') }

// Array begins an array.
func (j *JSON) Array() {
	j.next()
	j.buf = append(j.buf, '[')
}

// EndArray ends it.
func (j *JSON) EndArray() { j.buf = append(j.buf, ']') }

// Key begins a field of an object. The name is written as it is.
func (j *JSON) Key(name string) {
	j.next()
	j.buf = append(j.buf, '"')
	j.buf = append(j.buf, name...)
	j.buf = append(j.buf, '"', ':')
}

// Null appends null.
func (j *JSON) Null() {
	j.next()
	j.buf = append(j.buf, "null"...)
}

// Bool appends true or false.
func (j *JSON) Bool(v bool) {
	j.next()
	j.buf = strconv.AppendBool(j.buf, v)
}

// Int appends an integer of any width as a number.
func (j *JSON) Int(v int64) {
	j.next()
	j.buf = strconv.AppendInt(j.buf, v, 10)
}

// Float64 appends a double as Java prints it (Double.toString); what is not a
// number becomes a string.
func (j *JSON) Float64(v float64) {
	j.next()
	j.buf = AppendJavaDouble(j.buf, v)
}

// UUID appends the 22 characters of URL-safe base64.
func (j *JSON) UUID(u kafka.UUID) {
	j.next()
	j.buf = append(j.buf, '"')
	j.buf = base64.RawURLEncoding.AppendEncode(j.buf, u[:])
	j.buf = append(j.buf, '"')
}

// String appends a string.
func (j *JSON) String(s string) {
	j.next()
	j.buf = AppendJSONString(j.buf, s)
}

// NullableString appends a string, null for nil.
func (j *JSON) NullableString(s *string) {
	if s == nil {
		j.Null()
		return
	}
	j.String(*s)
}

// BytesValue appends base64.
func (j *JSON) BytesValue(b []byte) {
	j.next()
	j.buf = append(j.buf, '"')
	j.buf = base64.StdEncoding.AppendEncode(j.buf, b)
	j.buf = append(j.buf, '"')
}

// NullableBytes appends base64, null for nil.
func (j *JSON) NullableBytes(b []byte) {
	if b == nil {
		j.Null()
		return
	}
	j.BytesValue(b)
}

// SecretBytes appends base64, or Redacted.
func (j *JSON) SecretBytes(b []byte) {
	if j.secrets == ShowSecrets {
		j.BytesValue(b)
		return
	}
	j.String(Redacted)
}

// Int16s appends an array of numbers.
func (j *JSON) Int16s(s []int16) {
	j.Array()
	for _, v := range s {
		j.Int(int64(v))
	}
	j.EndArray()
}

// Int32s appends an array of numbers.
func (j *JSON) Int32s(s []int32) {
	j.Array()
	for _, v := range s {
		j.Int(int64(v))
	}
	j.EndArray()
}

// NullableInt32s appends an array of numbers, null for nil.
func (j *JSON) NullableInt32s(s []int32) {
	if s == nil {
		j.Null()
		return
	}
	j.Int32s(s)
}

// UUIDs appends an array of ids.
func (j *JSON) UUIDs(s []kafka.UUID) {
	j.Array()
	for _, v := range s {
		j.UUID(v)
	}
	j.EndArray()
}

// NullableUUIDs appends an array of ids, null for nil.
func (j *JSON) NullableUUIDs(s []kafka.UUID) {
	if s == nil {
		j.Null()
		return
	}
	j.UUIDs(s)
}

// Strings appends an array of strings.
func (j *JSON) Strings(s []string) {
	j.Array()
	for _, v := range s {
		j.String(v)
	}
	j.EndArray()
}

// AppendJSONString adds s as a JSON string. Bytes that are not UTF-8 become
// U+FFFD, as in Java. Beyond what JSON requires it escapes the characters
// that can act on a terminal or turn the direction of text: names come from
// whoever may create a topic, and a parser reads the same string either way.
func AppendJSONString(b []byte, s string) []byte {
	b = append(b, '"')
	done := 0
	for i := 0; i < len(s); {
		if c := s[i]; c >= 0x20 && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if invalid := r == utf8.RuneError && size == 1; invalid || ActsOnTerminal(r) || r == '"' || r == '\\' {
			b = append(b, s[done:i]...)
			b = appendEscape(b, r)
			done = i + size
		}
		i += size
	}
	b = append(b, s[done:]...)
	return append(b, '"')
}

// ActsOnTerminal says whether a character can do more than be seen: control
// characters, line separators, marks of direction.
func ActsOnTerminal(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r == 0x61c, r == 0xfeff:
		return true
	}
	return false
}

// appendEscape adds the shortest JSON escape of r, or U+FFFD itself.
func appendEscape(b []byte, r rune) []byte {
	const hex = "0123456789ABCDEF"
	if i := strings.IndexRune("\"\\\b\f\n\r\t", r); i >= 0 {
		return append(b, '\\', `"\bfnrt`[i])
	}
	if r == utf8.RuneError {
		return utf8.AppendRune(b, r)
	}
	return append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}

// AppendJavaDouble adds v in the form of Double.toString (JDK 19 and later):
// the shortest decimal that reads back as v, at least one digit after the
// point, and an exponent outside of [1e-3, 1e7). NaN and the infinities are
// JSON strings.
func AppendJavaDouble(b []byte, v float64) []byte {
	abs := math.Abs(v)
	switch {
	case math.IsNaN(v):
		return append(b, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(b, `"-Infinity"`...)
	case abs == 0 || abs >= 1e-3 && abs < 1e7:
		start := len(b)
		b = strconv.AppendFloat(b, v, 'f', -1, 64)
		if !strings.Contains(string(b[start:]), ".") {
			b = append(b, '.', '0')
		}
		return b
	}
	return appendScientific(b, v)
}

// appendScientific adds d.dddE[-]n. Java never prints fewer than two digits,
// and of two digits it takes the pair nearest to v: 4.9E-324, not 5.0E-324.
func appendScientific(b []byte, v float64) []byte {
	text := strconv.FormatFloat(v, 'e', -1, 64)
	if !strings.Contains(text, ".") {
		text = strconv.FormatFloat(v, 'e', 1, 64)
	}
	mantissa, exponent, _ := strings.Cut(text, "e")
	n, _ := strconv.Atoi(exponent) // FormatFloat wrote it
	b = append(b, mantissa...)
	b = append(b, 'E')
	return strconv.AppendInt(b, int64(n), 10)
}
