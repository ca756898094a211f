package main

// coordinatorTemplate is the decoder of a coordinator's log. The three logs
// have it in common, but their types are numbered apart.
var coordinatorTemplate = parse("coordinator", `
// ErrUnknownType means that Kafka 4.0 to 4.4 do not have the record type.
var ErrUnknownType = errors.New("record type is not known")

// ErrUnknownVersion means that Kafka 4.0 to 4.4 do not have the version of
// the record type.
var ErrUnknownVersion = errors.New("record version is not known")

// unknownVersion is the failure of Append.
func unknownVersion(name string, version int16) error {
	return fmt.Errorf("append %s version %d: %w", name, version, ErrUnknownVersion)
}

// DecodeError says which record could not be decoded. It quotes none of the
// record's bytes.
type DecodeError struct {
	Type    Type
	Version int16 // of the value; -1 if it is the key that failed
	Err     error
}

func (e *DecodeError) Error() string {
	if e.Version < 0 {
		return fmt.Sprintf("decode key of %s: %v", e.Type.RecordName(), e.Err)
	}
	return fmt.Sprintf("decode %s version %d: %v", e.Type.RecordName(), e.Version, e.Err)
}

// Unwrap returns the cause: ErrUnknownType, ErrUnknownVersion,
// wire.ErrTruncated or wire.ErrMalformed.
func (e *DecodeError) Unwrap() error { return e.Err }

// Key is the key of a record of {{.Log}}.
type Key interface {
	Type() Type
	// Owner is {{.Owner}}.
	Owner() string
	// Decode reads the key from behind its type; see Reader.Err for failures.
	Decode(r *wire.Reader)
	// Append adds the key without its type.
	Append(b []byte) ([]byte, error)
	// AppendJSON adds the key as Kafka's dump tool prints it.
	AppendJSON(b []byte) []byte
}

// Value is the value of a record of {{.Log}}.
//
// A field that a version lacks has its default after decoding, and is left
// out when that version is written or printed.
type Value interface {
	Type() Type
	// Decode reads a value of the given version from behind that version,
	// into the memory that the struct already has; see Reader.Err for
	// failures.
	Decode(r *wire.Reader, version int16)
	// Append adds the value without its version. It fails for a version that
	// is not known and for a string of more than wire.MaxString bytes.
	Append(b []byte, version int16) ([]byte, error)
	// AppendJSON adds the value as Kafka's dump tool prints it.
	AppendJSON(b []byte, version int16) []byte
	// Reset sets every field to its default, which is not always zero.
	Reset()
}

// AppendKey adds the bytes of a record's key.
func AppendKey(b []byte, key Key) ([]byte, error) {
	return key.Append(wire.AppendInt16(b, int16(key.Type())))
}

// AppendValue adds the bytes of a record's value.
func AppendValue(b []byte, value Value, version int16) ([]byte, error) {
	return value.Append(wire.AppendInt16(b, version), version)
}

// Decoder decodes the records of {{.Log}}. It holds one struct for
// the key and one for the value of each type and decodes into these: what it
// returns is valid until the next record of that type, and must be copied
// deeply by whoever keeps it. Only strings that differ from those of the
// record before are allocated; they may be kept. The zero value is ready for
// use.
//
// A Decoder belongs to one goroutine.
type Decoder struct {
	r      wire.Reader
	keys   keys
	values values
}

// Key decodes the key of a record. A failure is a *DecodeError, except where
// the key is too short to have a type.
func (d *Decoder) Key(b []byte) (Key, error) {
	d.r.Reset(b)
	t := Type(d.r.Int16())
	if err := d.r.Err(); err != nil {
		return nil, fmt.Errorf("decode type of a key: %w", err)
	}
	key := d.keys.of(t)
	if key == nil {
		return nil, &DecodeError{Type: t, Version: -1, Err: ErrUnknownType}
	}
	key.Decode(&d.r)
	d.r.End()
	if err := d.r.Err(); err != nil {
		return nil, &DecodeError{Type: t, Version: -1, Err: err}
	}
	return key, nil
}

// Value decodes the value of a record whose key has type t, and returns its
// version. A failure is a *DecodeError, except where the value is too short
// to have a version. A tombstone (a null value) is not for Value.
func (d *Decoder) Value(t Type, b []byte) (Value, int16, error) {
	d.r.Reset(b)
	version := d.r.Int16()
	if err := d.r.Err(); err != nil {
		return nil, -1, fmt.Errorf("decode version of a value of %s: %w", t.RecordName(), err)
	}
	value := d.values.of(t)
	if value == nil {
		return nil, version, &DecodeError{Type: t, Version: version, Err: ErrUnknownType}
	}
	value.Decode(&d.r, version)
	d.r.End()
	if err := d.r.Err(); err != nil {
		return nil, version, &DecodeError{Type: t, Version: version, Err: err}
	}
	return value, version, nil
}

// keys has one struct of each type to decode into.
type keys struct {
{{- range .Records}}
	{{private .Name}} {{.Name}}Key
{{- end}}
}

// of returns the struct for a type, nil for one that is not known.
func (k *keys) of(t Type) Key {
	switch t {
{{- range .Records}}
	case Type{{.Name}}:
		return &k.{{private .Name}}
{{- end}}
	}
	return nil
}

// values has one struct of each type to decode into.
type values struct {
{{- range .Records}}
	{{private .Name}} {{.Name}}Value
{{- end}}
}

// of returns the struct for a type, nil for one that is not known.
func (v *values) of(t Type) Value {
	switch t {
{{- range .Records}}
	case Type{{.Name}}:
		return &v.{{private .Name}}
{{- end}}
	}
	return nil
}
`)
