package record

import (
	"fmt"

	"github.com/kraftside/kraftside/internal/wire"
)

// Control is the value of a control record: what raft itself writes to the
// log, and the marker that ends a transaction in any log.
type Control interface {
	// ControlType is the type in the key of the record: for an EndTxnMarker
	// that of an abort, 0, though a commit has 1.
	ControlType() int16
	// Decode, Append, AppendJSON and Reset are as in Message.
	Decode(r *wire.Reader, version int16)
	Append(b []byte, version int16) ([]byte, error)
	AppendJSON(b []byte, version int16) []byte
	Reset()
}

// DecodeControl decodes the value of a control record and returns its version.
// The type comes from the record's key (Kafka's ControlRecordType).
//
// Every value begins with an int16 version. For the records of raft that is
// their own first field; an EndTxnMarker has it in front, as the values of
// coordinators have.
func DecodeControl(controlType int16, value []byte) (Control, int16, error) {
	r := wire.NewReader(value)
	version := r.Int16()
	if err := r.Err(); err != nil {
		return nil, -1, fmt.Errorf("decode control record of type %d: %w", controlType, err)
	}
	msg, highest := newControl(controlType)
	switch {
	case msg == nil:
		return nil, version, fmt.Errorf("decode control record of type %d: %w", controlType, ErrUnknownType)
	case version < 0 || version > highest:
		return nil, version, fmt.Errorf("decode control record of type %d version %d: %w", controlType, version, ErrUnknownVersion)
	}
	if _, marker := msg.(*EndTxnMarker); !marker {
		r.Reset(value)
	}
	msg.Decode(&r, version)
	r.End()
	if err := r.Err(); err != nil {
		return nil, version, fmt.Errorf("decode control record of type %d version %d: %w", controlType, version, err)
	}
	return msg, version, nil
}
