package loader

import (
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// A snapshot is decoded ahead of its replay, on another goroutine: the two take
// about the same time. Slabs of records go back and forth between them, large
// enough that handing one over costs little, and so many that one side may be
// held up for a moment without the other.
const (
	slabRecords = 256
	slabs       = 12
)

// slab is consecutive data records of a snapshot, decoded.
type slab struct {
	decoder record.Decoder
	frames  []byte // the records' bytes, which strings of theirs alias
	records []decoded
	err     error // what came after the records; io.EOF at the end
}

// ahead decodes a snapshot ahead of its replay.
type ahead struct {
	next    func() (recordbatch.Batch, error)
	batches recordbatch.Decoder
	filling *slab
	free    chan *slab
	full    chan *slab // closed after the slab with an error
	// unknownTags is how many were seen; it is read after full is closed.
	unknownTags int
}

func decodeAhead(next func() (recordbatch.Batch, error)) *ahead {
	a := &ahead{next: next, free: make(chan *slab, slabs), full: make(chan *slab, slabs)}
	for range slabs {
		s := new(slab)
		s.decoder.BorrowStrings() // a delta keeps no reference to a record
		s.decoder.Hold()
		a.free <- s
	}
	go a.run()
	return a
}

// stop ends the decoding and waits until next is called no more.
func (a *ahead) stop() {
	close(a.free)
	for range a.full {
	}
}

// run fills slabs until next fails or free is closed.
func (a *ahead) run() {
	defer close(a.full)
	for a.take() {
		b, err := a.next()
		if err == nil && !b.IsControl() {
			err = a.decode(&b)
		}
		if err != nil {
			a.hand(err)
			return
		}
	}
}

// take makes sure that there is a slab to fill; false if none is wanted.
func (a *ahead) take() bool {
	if a.filling != nil {
		return true
	}
	s, ok := <-a.free
	if !ok {
		return false
	}
	s.decoder.Release()
	s.frames, s.records, s.err = s.frames[:0], s.records[:0], nil
	a.filling = s
	return true
}

// hand gives the slab away. err is what follows its records, if anything.
func (a *ahead) hand(err error) {
	s := a.filling
	s.err, a.filling = err, nil
	a.unknownTags += s.decoder.UnknownTags()
	a.full <- s // never blocks: there are not more slabs
}

func (a *ahead) decode(b *recordbatch.Batch) error {
	if err := a.batches.Start(b); err != nil {
		return err
	}
	var r recordbatch.Record
	for i := 0; a.batches.Next(&r); i++ {
		if !a.take() {
			return nil
		}
		s := a.filling
		start := len(s.frames)
		s.frames = append(s.frames, r.Value...)
		s.records = append(s.records, decode(&s.decoder, s.frames[start:], b, r.Offset, i))
		if len(s.records) == slabRecords {
			a.hand(nil)
		}
	}
	return a.batches.Err()
}
