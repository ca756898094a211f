package admin

import (
	"bytes"
	"errors"
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// errRefused ends no connection: its request was answered with an error.
var errRefused = errors.New("a request that is not served here was refused")

// refuse answers a request that is not served, and that clients send all the
// same, with UNSUPPORTED_VERSION wherever its answer has place for an error. A broker
// would end the connection, and leave clients to guess why. Nil: there is no place,
// as in the answers of some versions.
func (*call) refuse(q kmsg.Request) kmsg.Response {
	if produce, ok := q.(*kmsg.ProduceRequest); ok && produce.Acks == 0 {
		return nil // it has no answer
	}
	r := withCode(q, codeUnsupportedVersion)
	if bytes.Equal(r.AppendTo(nil), withCode(q, codeNone).AppendTo(nil)) {
		return nil
	}
	return r
}

// refusable says whether there is such a request.
func (h *header) refusable() bool {
	q := kmsg.RequestForKey(h.key)
	return q != nil && h.version >= 0 && h.version <= q.MaxVersion()
}

// withCode is an answer with a code for all that a request asks.
func withCode(q kmsg.Request, code int16) kmsg.Response {
	r := reply[kmsg.Response](q)
	fillWithCode(reflect.ValueOf(r).Elem(), reflect.ValueOf(q).Elem(), code)
	return r
}

// fillWithCode sets the code of a part of an answer if that has one, else of one
// such part for each that the request has.
func fillWithCode(answer, asked reflect.Value, code int16) {
	copyNamed(answer, asked)
	if own := answer.FieldByName("ErrorCode"); own.IsValid() {
		own.SetInt(int64(code))
		if text := answer.FieldByName("ErrorMessage"); text.IsValid() && text.Kind() == reflect.Pointer {
			text.Set(reflect.ValueOf(errorMessage(code)))
		}
		return
	}
	for i := range answer.NumField() {
		parts := answer.Field(i)
		if parts.Kind() != reflect.Slice || parts.Type().Elem().Kind() != reflect.Struct {
			continue
		}
		for _, one := range counterparts(asked, answer.Type().Field(i).Name) {
			part := reflect.New(parts.Type().Elem())
			part.MethodByName("Default").Call(nil)
			fillWithCode(part.Elem(), one, code)
			parts.Set(reflect.Append(parts, part.Elem()))
		}
	}
}

// counterparts are the parts of a request that a part of its answer is about:
// those of the same name, else of the only list that there is.
func counterparts(asked reflect.Value, name string) (all []reflect.Value) {
	if asked.Kind() != reflect.Struct {
		return nil
	}
	list := asked.FieldByName(name)
	for i := 0; !list.IsValid() && i < asked.NumField(); i++ {
		if f := asked.Field(i); f.Kind() == reflect.Slice && f.Len() > 0 {
			list = f
		}
	}
	if !list.IsValid() || list.Kind() != reflect.Slice {
		return nil
	}
	for i := range list.Len() {
		all = append(all, list.Index(i))
	}
	return all
}

// copyNamed copies what a part of an answer repeats of the request: fields of the
// same name and type, or an element that is no struct, such as a name.
func copyNamed(answer, asked reflect.Value) {
	for i := range answer.NumField() {
		f := answer.Field(i)
		from := asked
		if asked.Kind() == reflect.Struct {
			from = asked.FieldByName(answer.Type().Field(i).Name)
		}
		if from.IsValid() && from.Type() == f.Type() {
			f.Set(from)
			if asked.Kind() != reflect.Struct {
				return
			}
		}
	}
}
