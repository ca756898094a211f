package main

import (
	"cmp"
	"slices"
	"strings"
)

// group puts parentheses around an expression that needs them beside &&.
func group(cond string) string {
	if strings.Contains(cond, "||") {
		return "(" + cond + ")"
	}
	return cond
}

// byTag returns the fields in the order of their tags.
func byTag(fields []*field) []*field {
	sorted := slices.Clone(fields)
	slices.SortFunc(sorted, func(a, b *field) int { return cmp.Compare(*a.Tag, *b.Tag) })
	return sorted
}

// appendFields emits the writing of m to w.
func (e *emitter) appendFields(l *layout, all span) {
	for _, f := range l.Fields {
		if f.Tag == nil {
			e.byVersion(all, f.versions(), func(all span) { e.appendField(l, f, all) }, nil)
		}
	}
	e.byVersion(all, l.flexible(), func(all span) { e.appendTags(l, all) }, nil)
}

// appendField emits the writing of a field without a tag.
func (e *emitter) appendField(l *layout, f *field, all span) {
	switch {
	case f.Kafka == since:
		e.p("if !m.Form40 {")
		e.writeField(l, f, all)
		e.p("}")
	case f.TypeIn40 != "":
		s := scalars[f.TypeIn40]
		e.p("if m.Form40 {")
		e.p("w.%s(%s(m.%s))", s.method, s.goType, goName(f.Name))
		e.p("} else {")
		e.writeField(l, f, all)
		e.p("}")
	default:
		e.writeField(l, f, all)
	}
}

// writeField emits the writing of the value of a field.
func (e *emitter) writeField(l *layout, f *field, all span) {
	e.compactly(l, f, all, func(compact string) {
		switch {
		case e.isStruct(f) && !f.isArray():
			e.writeStruct(f)
		case f.isArray():
			e.writeArray(f, compact)
		default:
			e.writeScalar(f, compact)
		}
	})
}

func (e *emitter) writeScalar(f *field, compact string) {
	s := scalars[f.Type]
	null := ""
	if f.Nullable {
		null = "Nullable"
	}
	e.p("w.%s%s%s(m.%s)", compact, null, s.method, goName(f.Name))
}

func (e *emitter) writeArray(f *field, compact string) {
	name := goName(f.Name)
	length := "ArrayLen"
	if compact != "" {
		length = "CompactLen"
	}
	if f.Nullable && !f.nullByDefault() {
		e.p("w.%s(wire.Len(m.%s))", length, name)
	} else {
		e.p("w.%s(len(m.%s))", length, name)
	}
	if !e.isStruct(f) {
		method := scalars[f.elem()].method + "s"
		if f.elem() == "string" {
			method = compact + method
		}
		e.p("w.%s(m.%s)", method, name)
		return
	}
	e.p("for i := range m.%s {", name)
	e.p("m.%s[i].append(w%s)", name, e.version(e.structs[f.elem()], "version"))
	e.p("}")
}

func (e *emitter) writeStruct(f *field) {
	name := goName(f.Name)
	version := e.version(e.structs[f.Type], "version")
	if !f.Nullable {
		e.p("m.%s.append(w%s)", name, version)
		return
	}
	null, present := "w.Int8(-1)", "w.Int8(1)"
	if f.Tag != nil {
		null, present = "w.Uvarint(0)", "w.Uvarint(1)"
	}
	e.p("if m.%s == nil {", name)
	e.p("%s", null)
	e.p("} else {")
	e.p("%s", present)
	e.p("m.%s.append(w%s)", name, version)
	e.p("}")
}

// appendTags emits the writing of the tagged fields that have not their
// default.
func (e *emitter) appendTags(l *layout, all span) {
	var known []*field
	for _, f := range l.Fields {
		if f.Tag != nil && f.versions().meets(all) {
			known = append(known, f)
		}
	}
	if len(known) == 0 {
		e.p("w.UnknownTags(m.UnknownTags)")
		return
	}
	e.p("tags := w.Tags(m.UnknownTags)")
	for _, f := range byTag(known) {
		cond := e.differs(f)
		if within := within(all, f.versions()); within != "" {
			cond = within + " && " + group(cond)
		}
		e.p("if %s {", cond)
		e.p("tags.Begin(%d)", *f.Tag)
		e.writeField(l, f, span{max(all.lo, f.versions().lo), all.hi})
		e.p("tags.End()")
		e.p("}")
	}
	e.p("tags.Close()")
}
