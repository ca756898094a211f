// Package history keeps what changed in the metadata, image by image, for those
// who ask later what happened when.
//
// It is pure: no clock, goroutine, log or I/O. Nothing here may be used from two
// goroutines at a time, but for the entries, which do not change.
package history

import (
	"errors"
	"fmt"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/rowvalue"
)

// Entry is what one image has changed: a batch of records or a transaction, or
// what a snapshot brought at once.
type Entry struct {
	// Offset is that of the last record of the image, From that of the first one
	// which the image before does not have.
	Offset kafka.Offset `cbor:"-"` // it is the key
	From   kafka.Offset
	Epoch  kafka.Epoch
	Time   int64 // when it was appended, in milliseconds since 1970
	// Snapshot says that it is the difference that a snapshot made. The changes
	// have happened at any time since From.
	Snapshot bool
	Changes  []delta.Change
	More     int // changes beyond those listed
}

// Has says whether a record of the metadata log belongs to it.
func (e *Entry) Has(offset kafka.Offset) bool { return offset >= e.From && offset <= e.Offset }

func (e *Entry) row() []byte { return rowvalue.Encode(e) }

// ErrRow is what Restore wraps: a row is not one that TakeRows gave out.
var ErrRow = errors.New("not a row of the changes of the metadata")

// parse reads a row.
func parse(offset kafka.Offset, row []byte) (*Entry, error) {
	e := &Entry{Offset: offset}
	if err := rowvalue.Decode(row, e); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRow, err)
	}
	if e.From > offset || e.From < 0 {
		return nil, fmt.Errorf("%w: it begins at %d", ErrRow, e.From)
	}
	return e, nil
}
