package dump

import (
	"bytes"
)

// fields turns the JSON of a record into text that is easier to read: name=value
// for each field, with quotes only where a value needs them. The JSON is ours:
// it has no spaces, and in its strings nothing is left unescaped that acts on a
// terminal.
type fields struct {
	src, out []byte
	pos      int
	nulls    bool // also show fields that are null
}

// text is the text of an object, without its braces.
func (f *fields) text() []byte {
	f.object()
	return f.out
}

// peek is the character at the position, 0 at the end.
func (f *fields) peek() byte {
	if f.pos < len(f.src) {
		return f.src[f.pos]
	}
	return 0
}

// take passes over c if it is next.
func (f *fields) take(c byte) bool {
	if f.peek() != c {
		return false
	}
	f.pos++
	return true
}

func (f *fields) object() {
	f.take('{')
	for first := true; f.peek() == '"'; f.take(',') {
		start := len(f.out)
		if !first {
			f.out = append(f.out, ' ')
		}
		f.string()
		f.take(':')
		f.out = append(f.out, '=')
		if !f.nulls && bytes.HasPrefix(f.src[f.pos:], []byte("null")) {
			f.pos += len("null")
			f.out = f.out[:start]
			continue
		}
		f.value()
		first = false
	}
	f.take('}')
}

func (f *fields) array() {
	f.take('[')
	f.out = append(f.out, '[')
	for first := true; f.peek() != ']' && f.peek() != 0; f.take(',') {
		if !first {
			f.out = append(f.out, ',')
		}
		f.value()
		first = false
	}
	f.take(']')
	f.out = append(f.out, ']')
}

func (f *fields) value() {
	switch f.peek() {
	case '{':
		f.out = append(f.out, '{')
		f.object()
		f.out = append(f.out, '}')
	case '[':
		f.array()
	case '"':
		f.string()
	default:
		end := bytes.IndexAny(f.src[f.pos:], ",]}")
		if end < 0 {
			end = len(f.src) - f.pos
		}
		f.out = append(f.out, f.src[f.pos:f.pos+end]...)
		f.pos += end
	}
}

// string adds a string, without its quotes if it is one plain word.
func (f *fields) string() {
	end := f.pos + 1
	for end < len(f.src) && f.src[end] != '"' {
		if f.src[end] == '\\' {
			end++
		}
		end++
	}
	end = min(end+1, len(f.src))
	text := f.src[f.pos:end]
	f.pos = end
	if n := len(text); n > 2 && plain(text[1:n-1]) {
		text = text[1 : n-1]
	}
	f.out = append(f.out, text...)
}

// plain says whether a string can stand without quotes.
func plain(s []byte) bool {
	for _, c := range s {
		if c <= ' ' || bytes.IndexByte([]byte(`"\{}[],=`), c) >= 0 {
			return false
		}
	}
	return true
}
