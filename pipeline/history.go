package pipeline

import (
	"iter"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/history"
	"github.com/kraftside/kraftside/internal/kafka"
)

// followHistory keeps what an image changed.
func (s *state) followHistory(d *delta.Delta) {
	if e := s.history.Follow(d); e != nil {
		s.entries = append(s.entries, e)
	}
}

// noteHistory hands what is new of the history of the metadata to the store.
// What is gone is shown no more at once.
func (s *state) noteHistory() {
	s.history.TakeRows(func(offset kafka.Offset, row []byte) {
		if row == nil {
			s.changes.Delete(offset)
			s.published = false
		}
		if s.Store != nil {
			s.Store.Change(offset, row)
		}
	})
}

// tellHistory tells of changes that are durable and still kept.
func (s *state) tellHistory(entries []*history.Entry) {
	for _, e := range entries {
		if !s.history.Holds(e) {
			continue
		}
		s.changes.Set(e.Offset, e)
		s.published = false
		if s.OnChange != nil {
			s.OnChange(e)
		}
	}
}

// restoreChanges reads back what is in the store of how the metadata changed.
// After an error the store has stopped.
func (s *state) restoreChanges() error {
	err := s.Store.LoadChanges(func(rows iter.Seq2[kafka.Offset, []byte]) error { return s.history.Restore(s.image(), rows) })
	for e := range s.history.Entries() {
		s.changes.Set(e.Offset, e)
	}
	return err
}

// expire drops what is older than MaxAge.
func (s *state) expire() {
	if s.MaxAge <= 0 {
		return
	}
	before := s.now.Add(-s.MaxAge).UnixMilli()
	s.explainer.Expire(before)
	s.history.Expire(before)
}
