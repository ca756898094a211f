// Package record holds the records of Kafka's metadata log, __cluster_metadata,
// as Go structs with their encoding in every version of Kafka 4.0 to 4.4.
//
// The structs are generated from the field tables of internal/recordgen: one
// per record type, with the union of the fields of all versions. A field that
// a version lacks has its default after decoding, and is left out when that
// version is written or printed. Tagged fields that are not known are kept and
// written back. An array or bytes that may be null are nil for null only; any
// other is empty for nil. The zero value of a struct is not its default:
// PartitionChangeRecord.Leader, for one, is -2 when it is absent. Use Reset.
package record

import (
	"errors"
	"fmt"

	"github.com/kraftside/kraftside/internal/wire"
)

// frameVersion is the version of the frame around every metadata record
// (Kafka's AbstractApiMessageSerde).
const frameVersion = 1

// ErrUnknownType means that Kafka 4.0 to 4.4 do not have the record type.
var ErrUnknownType = errors.New("record type is not known")

// ErrUnknownVersion means that Kafka 4.0 to 4.4 do not have the version of the
// record type, or of the frame around it.
var ErrUnknownVersion = errors.New("record version is not known")

// unknownVersion is the failure of Append.
func unknownVersion(name string, version int16) error {
	return fmt.Errorf("append %s version %d: %w", name, version, ErrUnknownVersion)
}

// DecodeError says which record could not be decoded. It quotes none of the
// record's bytes, which may hold a secret.
type DecodeError struct {
	Type    Type
	Version int16
	Err     error
}

func (e *DecodeError) Error() string {
	return fmt.Sprintf("decode %s version %d: %v", e.Type.RecordName(), e.Version, e.Err)
}

// Unwrap returns the cause: ErrUnknownType, ErrUnknownVersion,
// wire.ErrTruncated or wire.ErrMalformed.
func (e *DecodeError) Unwrap() error { return e.Err }

// Message is a record of the metadata log.
type Message interface {
	Type() Type
	// Decode reads the body of a record in the given version, into the memory
	// that the struct already has; see Reader.Err for failures.
	Decode(r *wire.Reader, version int16)
	// Append adds the body of the record. It fails for a version that is not
	// known and for a string of more than wire.MaxString bytes.
	Append(b []byte, version int16) ([]byte, error)
	// AppendJSON adds the body as Kafka's dump tool prints it. Hiding secrets
	// covers the keys of UserScramCredentialRecord. Whether the value of a
	// ConfigRecord is a secret depends on its name and is for the caller, who
	// may replace the value beforehand.
	AppendJSON(b []byte, version int16, secrets wire.Secrets) []byte
	// Reset sets every field to its default.
	Reset()
}

// AppendFrame adds a record as it stands in the log: frame version, type,
// version, body.
func AppendFrame(b []byte, msg Message, version int16) ([]byte, error) {
	b = wire.AppendUvarint(b, frameVersion)
	b = wire.AppendUvarint(b, uint32(msg.Type()))
	b = wire.AppendUvarint(b, uint32(version))
	return msg.Append(b, version)
}

// Decoder decodes the records of the metadata log. It holds one struct of each
// type and decodes into these: what it returns is valid until the next record
// of that type, and must be copied deeply by whoever keeps it. Only strings
// that differ from those of the record before are allocated; they may be kept.
// The zero value is ready for use.
//
// After Hold, records stay valid until Release instead, and the structs are as
// many as there were records between two of these at most.
//
// A Decoder belongs to one goroutine at a time.
type Decoder struct {
	r        wire.Reader
	messages [len(types)]pool
	hold     bool
}

// pool is the structs of one type.
type pool struct {
	all  []Message
	used int // since Release
}

// Decode decodes a record as it stands in the log and returns its version. A
// failure is a *DecodeError, except where the frame itself is broken.
func (d *Decoder) Decode(frame []byte) (Message, int16, error) {
	t, version, err := d.header(frame)
	if err != nil {
		return nil, -1, fmt.Errorf("decode frame of a record: %w", err)
	}
	msg := d.message(t)
	if msg == nil {
		return nil, version, &DecodeError{Type: t, Version: version, Err: ErrUnknownType}
	}
	msg.Decode(&d.r, version)
	d.r.End()
	if err := d.r.Err(); err != nil {
		return nil, version, &DecodeError{Type: t, Version: version, Err: err}
	}
	return msg, version, nil
}

// message returns a struct to decode a record of the type into, nil for a type
// that is not known.
func (d *Decoder) message(t Type) Message {
	if !t.Known() {
		return nil
	}
	p := &d.messages[t]
	i := p.used
	if d.hold {
		p.used++
	}
	if i == len(p.all) {
		p.all = append(p.all, newMessage(t))
	}
	return p.all[i]
}

// Hold makes records that are decoded from now on stay valid until Release.
func (d *Decoder) Hold() { d.hold = true }

// Release ends the validity of all records so far.
func (d *Decoder) Release() {
	for i := range d.messages {
		d.messages[i].used = 0
	}
}

// BorrowStrings makes the strings of later records alias the frame they were
// decoded from, for a caller that clones what it keeps.
func (d *Decoder) BorrowStrings() { d.r.BorrowStrings() }

// UnknownTags is how many tagged fields that Kafka 4.0 to 4.4 do not have the
// decoded records held, in all.
func (d *Decoder) UnknownTags() int { return d.r.UnknownTagsSeen() }

// header reads the frame up to the body.
func (d *Decoder) header(frame []byte) (Type, int16, error) {
	d.r.Reset(frame)
	fv, t, version := d.r.Uvarint(), d.r.Uvarint(), d.r.Uvarint()
	switch {
	case d.r.Err() != nil:
		return 0, 0, d.r.Err()
	case fv != frameVersion:
		return 0, 0, fmt.Errorf("frame version %d: %w", fv, ErrUnknownVersion)
	case t > maxInt16:
		return 0, 0, fmt.Errorf("%w: record type %d", wire.ErrMalformed, t)
	case version > maxInt16:
		return 0, 0, fmt.Errorf("%w: record version %d", wire.ErrMalformed, version)
	}
	return Type(t), int16(version), nil
}

// maxInt16 bounds types and versions, which are int16 in Kafka.
const maxInt16 = 1<<15 - 1

// New returns a record of the type with the given name, such as TopicRecord,
// with every field at its default; nil if there is no such type.
func New(name string) Message {
	for t := range types {
		if types[t].name == name {
			msg := newMessage(Type(t))
			msg.Reset()
			return msg
		}
	}
	return nil
}
