package main

import "fmt"

// decodeFields emits the reading of a layout from r into m.
func (e *emitter) decodeFields(l *layout, all span) {
	for _, f := range l.Fields {
		if f.Tag == nil {
			e.decodeField(l, f, all)
		}
	}
	e.byVersion(all, l.flexible(), func(all span) { e.decodeTags(l, all) }, func(span) {
		for _, f := range l.Fields {
			if f.Tag != nil {
				e.setDefault(f)
			}
		}
		if l.flexible().meets(always) {
			e.p("m.UnknownTags = m.UnknownTags[:0]")
		}
	})
}

// decodeField emits the reading of a field without a tag, or its default in
// the versions that lack it.
func (e *emitter) decodeField(l *layout, f *field, all span) {
	read := func(all span) {
		switch {
		case f.Kafka == since:
			e.p("if m.Form40 {")
			e.setDefault(f)
			e.p("} else {")
			e.readField(l, f, all)
			e.p("}")
		case f.TypeIn40 != "":
			e.p("if m.Form40 {")
			e.p("m.%s = %s(r.%s())", goName(f.Name), f.Type, scalars[f.TypeIn40].method)
			e.p("} else {")
			e.readField(l, f, all)
			e.p("}")
		default:
			e.readField(l, f, all)
		}
	}
	e.byVersion(all, f.versions(), read, func(span) { e.setDefault(f) })
}

// compactly emits one of two forms by whether the versions are flexible.
func (e *emitter) compactly(l *layout, f *field, all span, emit func(compact string)) {
	if _, fixed := scalars[f.Type]; fixed && f.Type != "string" && f.Type != "bytes" || e.isStruct(f) && !f.isArray() {
		emit("")
		return
	}
	e.byVersion(all, l.flexible(), func(span) { emit("Compact") }, func(span) { emit("") })
}

// readField emits the reading of a field that is there.
func (e *emitter) readField(l *layout, f *field, all span) {
	e.compactly(l, f, all, func(compact string) {
		switch {
		case e.isStruct(f) && f.isArray():
			e.readStructs(l, f, compact)
		case e.isStruct(f):
			e.readStruct(f)
		case f.isArray():
			e.readScalars(l, f, compact)
		default:
			e.readScalar(f, compact)
		}
	})
}

func (e *emitter) readScalar(f *field, compact string) {
	name := goName(f.Name)
	s := scalars[f.Type]
	switch {
	case f.Type == "bytes" && f.Nullable:
		e.p("wire.Park(&m.%s, &m.spare.%s)", name, name)
		e.p("m.%s = r.%sNullableBytes(m.spare.%s)", name, compact, name)
	case f.Type == "string" && f.Nullable:
		e.p("m.%s = r.%sNullableString(m.%s)", name, compact, name)
	case f.Type == "string", f.Type == "bytes":
		e.p("m.%s = r.%s%s(m.%s)", name, compact, s.method, name)
	default:
		e.p("m.%s = r.%s()", name, s.method)
	}
}

// lengthCall is the reading of an array's length.
func (e *emitter) lengthCall(l *layout, f *field, compact string) string {
	what := "Count"
	if f.Nullable {
		what = "ArrayLen"
	}
	return fmt.Sprintf("r.%s%s(%d)", compact, what, e.leastElem(l, f))
}

func (e *emitter) readScalars(l *layout, f *field, compact string) {
	name := goName(f.Name)
	from := name
	if e.parked(f) {
		if f.Tag == nil {
			e.p("wire.Park(&m.%s, &m.spare.%s)", name, name)
		}
		from = "spare." + name
	}
	method := scalars[f.elem()].method + "s"
	if f.elem() == "string" {
		method = compact + method
	}
	if compact != "" && !f.Nullable && (f.elem() == "int32" || f.elem() == "uuid") {
		e.p("m.%s = r.Compact%s(m.%s)", name, method, from)
		return
	}
	e.p("m.%s = r.%s(m.%s, %s)", name, method, from, e.lengthCall(l, f, compact))
}

func (e *emitter) readStructs(l *layout, f *field, compact string) {
	name := goName(f.Name)
	s := e.structs[f.elem()]
	loop := func() {
		e.p("m.%s = wire.Extend(m.%s)", name, name)
		e.p("m.%s[len(m.%s)-1].decode(r%s)", name, name, e.version(s, "version"))
	}
	if !f.Nullable {
		e.p("m.%s = wire.Sized(m.%s, 0)", name, name)
		e.p("for n := %s; n > 0 && r.OK(); n-- {", e.lengthCall(l, f, compact))
		loop()
		e.p("}")
		return
	}
	e.p("if n := %s; n < 0 {", e.lengthCall(l, f, compact))
	e.p("m.%s = nil", name)
	e.p("} else {")
	e.p("m.%s = wire.Sized(m.%s, 0)", name, name)
	e.p("for ; n > 0 && r.OK(); n-- {")
	loop()
	e.p("}")
	e.p("}")
}

// readStruct emits the reading of one struct. Its presence is an int8 (-1 is
// null), but a varint in a tagged field (0 is null).
func (e *emitter) readStruct(f *field) {
	name := goName(f.Name)
	s := e.structs[f.Type]
	if !f.Nullable {
		e.p("m.%s.decode(r%s)", name, e.version(s, "version"))
		return
	}
	null := "r.Int8() < 0"
	if f.Tag != nil {
		null = "r.Uvarint() == 0"
	}
	e.p("if %s {", null)
	e.p("wire.ParkPointer(&m.%s, &m.spare.%s)", name, name)
	e.p("} else {")
	e.p("wire.Revive(&m.%s, &m.spare.%s)", name, name)
	e.p("m.%s.decode(r%s)", name, e.version(s, "version"))
	e.p("}")
}

// decodeTags emits the reading of the tagged fields.
func (e *emitter) decodeTags(l *layout, all span) {
	var known []*field
	for _, f := range l.Fields {
		if f.Tag != nil {
			e.setDefault(f)
			if f.versions().meets(all) {
				known = append(known, f)
			}
		}
	}
	if len(known) == 0 {
		e.p("m.UnknownTags = r.UnknownTags(m.UnknownTags)")
		return
	}
	e.p("m.UnknownTags = m.UnknownTags[:0]")
	e.p("for n := r.Uvarint(); n > 0 && r.OK(); n-- {")
	e.p("switch tag, end := r.Tag(); {")
	for _, f := range byTag(known) {
		and := within(all, f.versions())
		if and != "" {
			and = " && " + and
		}
		e.p("case tag == %d%s:", *f.Tag, and)
		e.readField(l, f, span{max(all.lo, f.versions().lo), all.hi})
		e.p("r.EndTag(end)")
	}
	e.p("default:")
	e.p("m.UnknownTags = r.UnknownTag(m.UnknownTags, tag, end)")
	e.p("}")
	e.p("}")
}
