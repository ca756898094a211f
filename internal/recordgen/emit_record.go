package main

import (
	"fmt"
	"strings"
)

// goValueName is the name of the struct of a record's value.
func goValueName(kind string, l *layout) string {
	switch kind {
	case "metadata", "control", "consumer_protocol":
		return l.Name
	}
	return l.Name + "Value"
}

// record emits the types and methods of one record.
func (e *emitter) record(kind string, l *layout) {
	name := goValueName(kind, l)
	switch kind {
	case "metadata":
		e.declare(name, fmt.Sprintf("%s is metadata record %d, %s: %s.", name, *l.Type, l.Versions.words(), l.Doc), l)
		e.p("// Type implements Message.")
		e.p("func (*%s) Type() Type { return Type%s }", name, l.Name)
	case "control":
		e.declare(name, fmt.Sprintf("%s is control record %d, %s: %s.", name, *l.Type, l.Versions.words(), l.Doc), l)
		e.p("// ControlType implements Control.")
		e.p("func (*%s) ControlType() int16 { return %d }", name, *l.Type)
	case "consumer_protocol":
		e.declare(name, fmt.Sprintf("%s, %s, is %s.", name, l.Versions.words(), l.Doc), l)
	default:
		e.key(l)
		e.declare(name, fmt.Sprintf("%s is the value of record %d, %s: %s.", name, *l.Type, l.Versions.words(), l.Doc), l)
		e.p("// Type implements Value.")
		e.p("func (*%s) Type() Type { return Type%s }", name, l.Name)
	}
	e.p("")
	e.message(kind, name, l)
}

// key emits the key of a coordinator's record.
func (e *emitter) key(l *layout) {
	key := &layout{Name: l.Name + "Key", Flexible: &span{1, 0}, Fields: l.Key}
	e.declare(key.Name, fmt.Sprintf("%s is the key of record %d.", key.Name, *l.Type), key)
	e.p("// Type implements Key.")
	e.p("func (*%s) Type() Type { return Type%s }", key.Name, l.Name)
	e.p("")
	e.p("// Owner implements Key.")
	e.p("func (m *%s) Owner() string { return m.%s }", key.Name, goName(l.Key[0].Name))
	e.p("")
	e.p("// Decode implements Key.")
	e.p("func (m *%s) Decode(r *wire.Reader) {", key.Name)
	e.decodeFields(key, span{})
	e.p("}")
	e.p("")
	e.p("// Append implements Key.")
	e.p("func (m *%s) Append(b []byte) ([]byte, error) {", key.Name)
	e.p("w := wire.NewWriter(b)")
	e.appendFields(key, span{})
	e.p("return w.Result()")
	e.p("}")
	e.p("")
	e.p("// AppendJSON implements Key.")
	e.p("func (m *%s) AppendJSON(b []byte) []byte {", key.Name)
	e.p("j := wire.NewJSON(b, wire.HideSecrets)")
	e.jsonFields(key, span{})
	e.p("return j.Bytes()")
	e.p("}")
	e.p("")
}

// interfaces names the interface that the records of a kind implement.
var interfaces = map[string]string{"metadata": "Message", "control": "Control"}

// message emits the methods of a record's value.
func (e *emitter) message(kind, name string, l *layout) {
	implements := func(method string) {
		of, ok := interfaces[kind]
		switch {
		case kind == "consumer_protocol":
			e.p("// %s is as that of Value.", method)
			return
		case !ok:
			of = "Value"
		}
		e.p("// %s implements %s.", method, of)
	}
	all := l.Versions
	implements("Reset")
	e.p("func (m *%s) Reset() {", name)
	e.resetFields(l)
	e.p("}")
	e.p("")

	implements("Decode")
	e.p("func (m *%s) Decode(r *wire.Reader, version int16) {", name)
	e.p("if %s {", outside(all))
	e.p("r.Fail(ErrUnknownVersion)")
	e.p("return")
	e.p("}")
	if l.twoForms() {
		e.tryForms(name)
	}
	e.decodeFields(l, all)
	e.p("}")
	e.p("")

	implements("Append")
	e.p("func (m *%s) Append(b []byte, version int16) ([]byte, error) {", name)
	e.p("if %s {", outside(all))
	e.p("return b, unknownVersion(%q, version)", l.Name)
	e.p("}")
	e.p("w := wire.NewWriter(b)")
	e.appendFields(l, all)
	e.p("return w.Result()")
	e.p("}")
	e.p("")

	param, arg := "", "wire.HideSecrets"
	if kind == "metadata" {
		param, arg = ", secrets wire.Secrets", "secrets"
	}
	implements("AppendJSON")
	e.p("func (m *%s) AppendJSON(b []byte, version int16%s) []byte {", name, param)
	e.p("j := wire.NewJSON(b, %s)", arg)
	e.jsonFields(l, all)
	e.p("return j.Bytes()")
	e.p("}")
	e.p("")
}

// tryForms ends Decode with the choice between two forms and begins the
// method that reads one of them.
func (e *emitter) tryForms(name string) {
	e.p("start := *r")
	e.p("if m.decodeForm(r, version, false); r.OK() && r.Len() == 0 {")
	e.p("return")
	e.p("}")
	e.p("*r = start")
	e.p("if m.decodeForm(r, version, true); r.OK() && r.Len() == 0 {")
	e.p("return")
	e.p("}")
	e.p("*r = start // neither fits: fail as the current form fails")
	e.p("m.decodeForm(r, version, false)")
	e.p("}")
	e.p("")
	e.p("// decodeForm reads the form that Kafka 4.0 wrote, or the one of later")
	e.p("// releases.")
	e.p("func (m *%s) decodeForm(r *wire.Reader, version int16, form40 bool) {", name)
	e.p("m.Form40 = form40")
}

// outside is the Go expression for "version is not in all", where all begins
// at 0.
func outside(all span) string {
	if all.hi == 0 {
		return "version != 0"
	}
	return fmt.Sprintf("version < 0 || version > %d", all.hi)
}

// nested emits a struct that is part of records.
func (e *emitter) nested(l *layout, absent bool) {
	e.declare(l.Name, fmt.Sprintf("%s is %s.", l.Name, l.Doc), l)
	if absent {
		e.defaultMethods(l)
	}
	e.p("func (m *%s) decode(r *wire.Reader%s) {", l.Name, e.version(l, "version int16"))
	e.decodeFields(l, always)
	e.p("}")
	e.p("")
	e.p("func (m *%s) append(w *wire.Writer%s) {", l.Name, e.version(l, "version int16"))
	e.appendFields(l, always)
	e.p("}")
	e.p("")
	e.p("func (m *%s) appendJSON(j *wire.JSON%s) {", l.Name, e.version(l, "version int16"))
	e.jsonFields(l, always)
	e.p("}")
	e.p("")
}

// check refuses what the emitters cannot express.
func (l *layout) check(structs map[string]*layout) error {
	for _, f := range l.Fields {
		_, known := scalars[f.elem()]
		s := structs[f.elem()]
		switch {
		case !known && s == nil:
			return fmt.Errorf("%s.%s: no type %s", l.Name, f.Name, f.Type)
		case s != nil && f.isArray() && f.nullByDefault():
			return fmt.Errorf("%s.%s: an array of structs that is null by default", l.Name, f.Name)
		case f.nullByDefault() && !f.Nullable:
			return fmt.Errorf("%s.%s: default null, but not nullable", l.Name, f.Name)
		case f.Secret && f.Type != "bytes":
			return fmt.Errorf("%s.%s: only bytes can be secret", l.Name, f.Name)
		case strings.HasPrefix(f.elem(), "[]"):
			return fmt.Errorf("%s.%s: an array of arrays", l.Name, f.Name)
		}
	}
	return nil
}
