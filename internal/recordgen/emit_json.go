package main

import "strings"

// jsonFields emits the printing of m to j, as Kafka's JSON converters do it:
// the fields of the version in the order of the table, tagged ones only if
// they have not their default, unknown tags not at all.
func (e *emitter) jsonFields(l *layout, all span) {
	e.p("j.Object()")
	for _, f := range l.Fields {
		e.jsonField(f, within(all, f.versions()))
	}
	e.p("j.EndObject()")
}

func (e *emitter) jsonField(f *field, cond string) {
	var conds []string
	if cond != "" {
		conds = append(conds, cond)
	}
	if f.Tag != nil {
		conds = append(conds, e.differs(f))
	}
	if f.Kafka == since {
		conds = append(conds, "!m.Form40")
	}
	if len(conds) > 1 {
		for i := range conds {
			conds[i] = group(conds[i])
		}
	}
	if len(conds) > 0 {
		e.p("if %s {", strings.Join(conds, " && "))
		defer e.p("}")
	}
	e.p("j.Key(%q)", f.Name)
	e.jsonValue(f)
}

func (e *emitter) jsonValue(f *field) {
	name := "m." + goName(f.Name)
	switch {
	case e.isStruct(f):
		e.jsonStruct(f)
	case f.Secret:
		e.p("j.SecretBytes(%s)", name)
	case f.isArray() || f.Nullable:
		method := scalars[f.elem()].method
		if f.isArray() {
			method += "s"
		}
		if f.Nullable && !(f.Tag != nil && f.nullByDefault() && f.isArray()) {
			method = "Nullable" + method
		}
		e.p("j.%s(%s)", method, name)
	default:
		e.p(scalars[f.Type].json, name)
	}
}

// jsonStruct emits the printing of a struct, of null, or of an array of
// structs.
func (e *emitter) jsonStruct(f *field) {
	name := "m." + goName(f.Name)
	version := e.version(e.structs[f.elem()], "version")
	if f.Nullable {
		e.p("if %s == nil {", name)
		e.p("j.Null()")
		e.p("} else {")
		defer e.p("}")
	}
	if !f.isArray() {
		e.p("%s.appendJSON(j%s)", name, version)
		return
	}
	e.p("j.Array()")
	e.p("for i := range %s {", name)
	e.p("%s[i].appendJSON(j%s)", name, version)
	e.p("}")
	e.p("j.EndArray()")
}
