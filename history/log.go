package history

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
)

// Limits bound what a Log keeps. What is beyond is dropped, oldest first.
type Limits struct {
	Entries int
	Changes int // of one entry
	All     int // changes of all entries
}

// DefaultLimits are less than 40 MB.
var DefaultLimits = Limits{Entries: 10_000, Changes: 100, All: 100_000}

// Log is the newest entries.
type Log struct {
	limits  Limits
	entries []*Entry // by offset
	size    int
	fresh   []*Entry       // that TakeRows has yet to tell
	gone    []kafka.Offset // likewise
}

// New returns a Log without entries.
func New(l Limits) *Log { return &Log{limits: l} }

// Follow takes an image. It returns what is kept of it, nil if nothing changed
// that is told. The first snapshot is no change: nobody knows what was there
// before.
func (l *Log) Follow(d *delta.Delta) *Entry {
	from := d.Base().Provenance().Offset + 1
	l.goBack(from)
	if d.IsSnapshot() && from == 0 {
		return nil
	}
	e := l.entry(d, from)
	if len(e.Changes) == 0 {
		return nil
	}
	l.add(e)
	l.fresh = append(l.fresh, e)
	for len(l.entries) > l.limits.Entries || l.size > l.limits.All && len(l.entries) > 1 {
		l.dropOldest()
	}
	return e
}

func (l *Log) entry(d *delta.Delta, from kafka.Offset) *Entry {
	at := d.Image().Provenance()
	e := &Entry{Offset: at.Offset, From: from, Epoch: at.Epoch, Time: at.AppendTime, Snapshot: d.IsSnapshot()}
	for c := range d.Changes() {
		if len(e.Changes) == l.limits.Changes {
			e.More++
			continue
		}
		e.Changes = append(e.Changes, c)
	}
	return e
}

func (l *Log) add(e *Entry) {
	l.entries = append(l.entries, e)
	l.size += len(e.Changes)
}

// goBack drops what is not before an offset: the log was replaced by another one
// there.
func (l *Log) goBack(from kafka.Offset) {
	for n := len(l.entries) - 1; n >= 0 && l.entries[n].Offset >= from; n-- {
		l.remove(l.entries[n])
		l.entries = l.entries[:n]
	}
}

func (l *Log) dropOldest() {
	l.remove(l.entries[0])
	l.entries = l.entries[1:]
}

func (l *Log) remove(e *Entry) {
	l.size -= len(e.Changes)
	l.gone = append(l.gone, e.Offset)
}

// Expire drops the entries of before a time, in milliseconds since 1970.
func (l *Log) Expire(before int64) {
	for len(l.entries) > 0 && l.entries[0].Time < before {
		l.dropOldest()
	}
}

// Holds says whether an entry is among those that are kept.
func (l *Log) Holds(e *Entry) bool {
	i, found := slices.BinarySearchFunc(l.entries, e.Offset, byOffset)
	return found && l.entries[i] == e
}

func byOffset(e *Entry, offset kafka.Offset) int { return cmp.Compare(e.Offset, offset) }

// Entries yields what is kept, oldest first.
func (l *Log) Entries() iter.Seq[*Entry] { return slices.Values(l.entries) }

// TakeRows yields the rows that differ from those yielded before; nil is one
// that is gone.
func (l *Log) TakeRows(yield func(kafka.Offset, []byte)) {
	for _, offset := range l.gone {
		yield(offset, nil)
	}
	for _, e := range l.fresh {
		if l.Holds(e) {
			yield(e.Offset, e.row())
		}
	}
	l.gone, l.fresh = nil, nil
}

// AllRows yields every row, for a store that has others removed first.
func (l *Log) AllRows() iter.Seq2[kafka.Offset, []byte] {
	return func(yield func(kafka.Offset, []byte) bool) {
		for _, e := range l.entries {
			if !yield(e.Offset, e.row()) {
				return
			}
		}
	}
}

// Restore takes back rows, in the order of their offsets, into a Log that is
// new. The image is the one of their commit. After an error the Log has no
// entries.
func (l *Log) Restore(m *image.MetadataImage, rows iter.Seq2[kafka.Offset, []byte]) error {
	last := m.Provenance().Offset
	for offset, row := range rows {
		e, err := parse(offset, row)
		if err == nil && (offset > last || len(l.entries) > 0 && offset <= l.entries[len(l.entries)-1].Offset) {
			err = fmt.Errorf("%w: it is out of order", ErrRow)
		}
		if err != nil {
			*l = *New(l.limits)
			return fmt.Errorf("restore what changed at offset %d: %w", offset, err)
		}
		l.add(e)
	}
	return nil
}
