package main

import (
	"fmt"
	"strings"
)

// declare emits the struct type of a layout.
func (e *emitter) declare(name, doc string, l *layout) {
	for line := range strings.Lines(wrap(doc)) {
		e.p("// %s", strings.TrimSpace(line))
	}
	e.p("type %s struct {", name)
	for _, f := range l.Fields {
		e.p("%s %s%s", goName(f.Name), e.goType(f), fieldComment(f))
	}
	if l.twoForms() {
		e.p("")
		e.p("// Form40 says that the bytes have the form that Kafka 4.0 wrote, which")
		e.p("// later releases changed without a new version.")
		e.p("Form40 bool")
	}
	if l.flexible().meets(always) {
		e.p("")
		e.p("UnknownTags []wire.RawTag")
	}
	e.declareSpare(l)
	e.p("}")
	e.p("")
}

// declareSpare emits where the memory of fields stays while they are null.
func (e *emitter) declareSpare(l *layout) {
	open := false
	for _, f := range l.Fields {
		if !e.parked(f) {
			continue
		}
		if !open {
			e.p("")
			e.p("spare struct { // memory of fields that are null")
			open = true
		}
		e.p("%s %s", goName(f.Name), e.goType(f))
	}
	if open {
		e.p("}")
	}
}

// fieldComment says what the type of a field does not.
func fieldComment(f *field) string {
	var parts []string
	if f.Versions != nil {
		parts = append(parts, f.Versions.words())
	}
	if f.Kafka != "" {
		parts = append(parts, "Kafka "+f.Kafka)
	}
	if f.Tag != nil {
		parts = append(parts, fmt.Sprintf("tag %d", *f.Tag))
	}
	if f.Nullable {
		parts = append(parts, "nullable")
	}
	if f.Default != nil {
		parts = append(parts, "default "+string(f.Default))
	}
	if f.TypeIn40 != "" {
		parts = append(parts, f.TypeIn40+" in Kafka 4.0")
	}
	if f.Secret {
		parts = append(parts, "secret")
	}
	if len(parts) == 0 {
		return ""
	}
	return " // " + strings.Join(parts, ", ")
}

// wrap breaks a comment into lines.
func wrap(text string) string {
	var b strings.Builder
	width := 0
	for _, word := range strings.Fields(text) {
		if width > 0 && width+1+len(word) > 76 {
			b.WriteByte('\n')
			width = 0
		}
		if width > 0 {
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += len(word)
	}
	return b.String()
}

// resetFields emits the default of every field.
func (e *emitter) resetFields(l *layout) {
	for _, f := range l.Fields {
		e.setDefault(f)
	}
	if l.twoForms() {
		e.p("m.Form40 = false")
	}
	if l.flexible().meets(always) {
		e.p("m.UnknownTags = m.UnknownTags[:0]")
	}
}

// setDefault emits the assignment of the default to one field.
func (e *emitter) setDefault(f *field) {
	name := goName(f.Name)
	switch {
	case e.isStruct(f) && !f.isArray() && !f.Nullable:
		e.p("m.%s.reset()", name)
	case e.isStruct(f) && !f.isArray() && f.nullByDefault():
		e.p("wire.ParkPointer(&m.%s, &m.spare.%s)", name, name)
	case e.isStruct(f) && !f.isArray():
		e.p("wire.Revive(&m.%s, &m.spare.%s)", name, name)
		e.p("m.%s.reset()", name)
	case f.Type == "string" && f.nullByDefault():
		e.p("m.%s = nil", name)
	case f.Type == "string" && f.Nullable:
		e.p(`m.%s = new("")`, name)
	case e.parked(f):
		e.p("wire.Park(&m.%s, &m.spare.%s)", name, name)
	case (f.isArray() || f.Type == "bytes") && f.Nullable:
		e.p("m.%s = wire.Sized(m.%s, 0)", name, name)
	case f.isArray(), f.Type == "bytes":
		e.p("m.%s = m.%s[:0]", name, name)
	default:
		e.p("m.%s = %s", name, zero(f))
	}
}

// zero is the default of a field that is one value.
func zero(f *field) string {
	switch {
	case f.Default != nil:
		return string(f.Default)
	case f.Type == "string":
		return `""`
	case f.Type == "bool":
		return "false"
	case f.Type == "uuid":
		return "kafka.UUID{}"
	}
	return "0"
}

// differs is the Go expression for "the field has not its default".
func (e *emitter) differs(f *field) string {
	name := "m." + goName(f.Name)
	switch {
	case f.Nullable && f.nullByDefault():
		return name + " != nil"
	case e.isStruct(f) && !f.isArray() && f.Nullable:
		return name + " == nil || !" + name + ".isDefault()"
	case e.isStruct(f) && !f.isArray():
		return "!" + name + ".isDefault()"
	case f.isArray() && f.Nullable:
		return name + " == nil || len(" + name + ") > 0"
	case f.isArray(), f.Type == "bytes":
		return "len(" + name + ") > 0"
	case f.Type == "bool" && string(f.Default) == "true":
		return "!" + name
	case f.Type == "bool":
		return name
	case f.Type == "uuid":
		return "!" + name + ".IsZero()"
	}
	return name + " != " + zero(f)
}

// equals turns the expression of differs around.
func equals(differs string) string {
	for _, turn := range [][2]string{{" != ", " == "}, {" > 0", " == 0"}} {
		if before, after, ok := strings.Cut(differs, turn[0]); ok && !strings.Contains(differs, "||") {
			return before + turn[1] + after
		}
	}
	return "!(" + differs + ")"
}

// defaultMethods emits reset and isDefault of a struct that can be absent.
func (e *emitter) defaultMethods(l *layout) {
	e.p("// reset sets every field to its default.")
	e.p("func (m *%s) reset() {", l.Name)
	e.resetFields(l)
	e.p("}")
	e.p("")
	e.p("// isDefault says whether every field has its default.")
	e.p("func (m *%s) isDefault() bool {", l.Name)
	var parts []string
	for _, f := range l.Fields {
		parts = append(parts, equals(e.differs(f)))
	}
	parts = append(parts, "len(m.UnknownTags) == 0")
	e.p("return %s", strings.Join(parts, " && "))
	e.p("}")
	e.p("")
}
