package main

import (
	"fmt"
	"strings"
	"text/template"
)

// metadataTypes emits the record types of the metadata log.
func (e *emitter) metadataTypes(records []*layout) {
	e.execute(typesTemplate, records)
	e.execute(metadataTemplate, records)
}

// controlTypes emits the control records by type.
func (e *emitter) controlTypes(records []*layout) { e.execute(controlTemplate, records) }

// coordinatorTypes emits the record types of a coordinator's log and their
// decoder.
func (e *emitter) coordinatorTypes(kind string, records []*layout) {
	e.execute(typesTemplate, records)
	e.execute(coordinatorTemplate, struct {
		Log     string
		Owner   string
		Records []*layout
	}{logs[kind].name, logs[kind].owner, records})
}

// logs describes the logs of coordinators.
var logs = map[string]struct{ name, owner string }{
	"group":       {"__consumer_offsets", "the group id"},
	"transaction": {"__transaction_state", "the transactional id"},
	"share":       {"__share_group_state", "the group id"},
}

func (e *emitter) execute(t *template.Template, data any) {
	if err := t.Execute(e, data); err != nil {
		panic(fmt.Sprintf("template %s: %v", t.Name(), err)) // the templates are constants
	}
}

// High is the highest version of a record, for the templates.
func (l *layout) High() int { return l.Versions.hi }

func parse(name, text string) *template.Template {
	funcs := template.FuncMap{"private": lowerFirst}
	return template.Must(template.New(name).Funcs(funcs).Parse(strings.TrimLeft(text, "\n")))
}

var typesTemplate = parse("types", `
// Type is the number of a record type.
type Type int16

// The record types.
const (
{{- range .}}
	Type{{.Name}} Type = {{.Type}}
{{- end}}
)

// types has a row per record type.
var types = [...]struct {
	name, enum string
	highest    int16
}{
{{- range .}}
	Type{{.Name}}: {"{{.Name}}", "{{.Enum}}", {{.High}}},
{{- end}}
}

// Known says whether the type is one of the constants.
func (t Type) Known() bool { return t >= 0 && int(t) < len(types) && types[t].name != "" }

// String is Kafka's name of the type, as its dump tool prints it.
func (t Type) String() string {
	if !t.Known() {
		return "type " + strconv.Itoa(int(t))
	}
	return types[t].enum
}

// RecordName is the name of the record's class in Kafka.
func (t Type) RecordName() string {
	if !t.Known() {
		return "record type " + strconv.Itoa(int(t))
	}
	return types[t].name
}

// HighestVersion is the highest version of the type in Kafka 4.4; the lowest
// is 0. It is -1 for a type that is not known.
func (t Type) HighestVersion() int16 {
	if !t.Known() {
		return -1
	}
	return types[t].highest
}

`)

var metadataTemplate = parse("metadata", `
// newMessage returns a struct of a type, nil for one that is not known.
func newMessage(t Type) Message {
	switch t {
{{- range .}}
	case Type{{.Name}}:
		return new({{.Name}})
{{- end}}
	}
	return nil
}
`)

var controlTemplate = parse("control", `
// newControl returns an empty struct for a type of control record, nil for
// one that is not known, and the highest version of the type.
func newControl(controlType int16) (Control, int16) {
	switch controlType {
{{- range .}}
	case {{.Type}}{{if eq .Name "EndTxnMarker"}}, 1{{end}}:
		return new({{.Name}}), {{.High}}
{{- end}}
	}
	return nil, -1
}
`)
