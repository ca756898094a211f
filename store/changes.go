package store

import (
	"encoding/binary"
	"errors"
	"iter"

	"github.com/kraftside/kraftside/internal/kafka"
)

func changesKey(offset kafka.Offset) []byte {
	return binary.BigEndian.AppendUint64([]byte{changesFamily}, uint64(offset))
}

// Change takes a row of a history.Log; nil removes it.
func (s *Store) Change(offset kafka.Offset, row []byte) {
	if s.halt == nil {
		s.set(changesKey(offset), row)
	}
}

// LoadChanges hands restore the rows of the history.Log, in the order of their
// offsets. They are valid during each step.
func (s *Store) LoadChanges(restore func(iter.Seq2[kafka.Offset, []byte]) error) error {
	if err := s.settled(); err != nil {
		return err
	}
	return s.load("changes of the metadata", func(e *engine) error {
		var failed error
		err := restore(func(yield func(kafka.Offset, []byte) bool) { failed = e.scanChanges(yield) })
		if failed != nil {
			return failed
		}
		return err
	})
}

// scanChanges yields rows until the end, or until yield has enough.
func (e *engine) scanChanges(yield func(kafka.Offset, []byte) bool) error {
	from, to := family(changesFamily)
	err := e.scan(from, to, func(key, value []byte) error {
		if len(key) != 9 {
			return damaged("row of a change of the metadata with a key of %d bytes", len(key))
		}
		if !yield(kafka.Offset(binary.BigEndian.Uint64(key[1:])), value) {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}
