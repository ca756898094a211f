package main

import (
	"fmt"
	"strings"
)

// emitter collects the source of one file.
type emitter struct {
	strings.Builder
	structs map[string]*layout
}

// p adds a line.
func (e *emitter) p(format string, args ...any) {
	fmt.Fprintf(e, format, args...)
	e.WriteByte('\n')
}

// scalar describes a type of a fixed or a simple form.
type scalar struct {
	goType string
	method string // of wire.Reader and wire.Writer
	json   string // the call that prints it, with %s for the value
	size   int    // least number of bytes in the compact form
}

var scalars = map[string]scalar{
	"bool":    {"bool", "Bool", "j.Bool(%s)", 1},
	"int8":    {"int8", "Int8", "j.Int(int64(%s))", 1},
	"int16":   {"int16", "Int16", "j.Int(int64(%s))", 2},
	"uint16":  {"uint16", "Uint16", "j.Int(int64(%s))", 2},
	"int32":   {"int32", "Int32", "j.Int(int64(%s))", 4},
	"int64":   {"int64", "Int64", "j.Int(%s)", 8},
	"float64": {"float64", "Float64", "j.Float64(%s)", 8},
	"uuid":    {"kafka.UUID", "UUID", "j.UUID(%s)", 16},
	"string":  {"string", "String", "j.String(%s)", 1},
	"bytes":   {"[]byte", "Bytes", "j.BytesValue(%s)", 1},
}

// goType is the Go type of a field.
func (e *emitter) goType(f *field) string {
	if s, ok := scalars[f.elem()]; ok {
		switch {
		case f.isArray():
			return "[]" + s.goType
		case f.Nullable && f.Type == "string":
			return "*string"
		}
		return s.goType
	}
	switch {
	case f.isArray():
		return "[]" + f.elem()
	case f.Nullable:
		return "*" + f.Type
	}
	return f.Type
}

// isStruct says whether the field is a struct or an array of structs.
func (e *emitter) isStruct(f *field) bool { return e.structs[f.elem()] != nil }

// parked says whether the memory of a field is kept aside while it is null.
// Where null is not the default, it is too rare to care; but every member of
// a consumer group has one null struct.
func (e *emitter) parked(f *field) bool {
	if !f.Nullable || f.Type == "string" {
		return false
	}
	return f.nullByDefault() || !f.isArray() && e.isStruct(f)
}

// varied says whether the encoding of a struct depends on the version.
func (e *emitter) varied(l *layout) bool {
	if fx := l.flexible(); fx != always && fx.meets(always) {
		return true
	}
	for _, f := range l.Fields {
		if f.versions() != always {
			return true
		}
		if s := e.structs[f.elem()]; s != nil && e.varied(s) {
			return true
		}
	}
	return false
}

// version is the last parameter of a method of a struct, or the last argument
// of its call: nothing for a struct that is the same in all versions.
func (e *emitter) version(l *layout, text string) string {
	if e.varied(l) {
		return ", " + text
	}
	return ""
}

// least is the smallest number of bytes that a struct can take, in any
// version.
func (e *emitter) least(l *layout) int {
	n := 0
	if l.flexible() == always {
		n = 1
	}
	for _, f := range l.Fields {
		if f.Tag == nil && f.versions() == always {
			n += e.leastField(l, f)
		}
	}
	return n
}

func (e *emitter) leastField(l *layout, f *field) int {
	classic := !l.flexible().meets(always)
	s := e.structs[f.Type]
	switch {
	case s != nil && !f.Nullable:
		return e.least(s)
	case s != nil:
		return 1
	case f.isArray() && classic, f.Type == "bytes" && classic:
		return 4
	case f.isArray():
		return 1
	case f.Type == "string" && classic:
		return 2
	}
	return scalars[f.Type].size
}

// leastElem is the size argument of an array length.
func (e *emitter) leastElem(l *layout, f *field) int {
	if s := e.structs[f.elem()]; s != nil {
		return e.least(s)
	}
	if f.elem() == "string" && !l.flexible().meets(always) {
		return 2
	}
	return scalars[f.elem()].size
}

// byVersion emits then for the versions of part and els, which may be nil, for
// the others, within the versions of all.
func (e *emitter) byVersion(all, part span, then, els func(span)) {
	switch {
	case part.covers(all):
		then(all)
		return
	case !part.meets(all):
		if els != nil {
			els(all)
		}
		return
	}
	inside := span{max(all.lo, part.lo), min(all.hi, part.hi)}
	outside := all
	switch {
	case part.hi >= all.hi:
		outside.hi = part.lo - 1
	case part.lo <= all.lo:
		outside.lo = part.hi + 1
	}
	e.p("if %s {", condition(all, inside))
	then(inside)
	if els != nil {
		e.p("} else {")
		els(outside)
	}
	e.p("}")
}

// condition is the Go expression for "version is in part", where it is known
// to be in all.
func condition(all, part span) string {
	switch {
	case part.hi >= all.hi:
		return fmt.Sprintf("version >= %d", part.lo)
	case part.lo == part.hi:
		return fmt.Sprintf("version == %d", part.lo)
	case part.lo <= all.lo:
		return fmt.Sprintf("version <= %d", part.hi)
	}
	return fmt.Sprintf("version >= %d && version <= %d", part.lo, part.hi)
}

// within is the condition for "version is in part", empty if all of them are.
func within(all, part span) string {
	if part.covers(all) {
		return ""
	}
	return condition(all, span{max(all.lo, part.lo), min(all.hi, part.hi)})
}
