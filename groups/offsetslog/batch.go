package offsetslog

import (
	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// End says what became of a transaction.
type End int8

// An Entry is a record, or one of the two markers.
const (
	NoEnd End = iota
	Commit
	Abort
)

// Entry is one record of the log, or the marker that ends a transaction. Of a
// marker, Offset, Timestamp and ProducerID are set. Key and Value are valid
// until the batch is.
type Entry struct {
	groups.Record
	End End
}

// Batch is one batch of a partition's log. It is read once, by Read.
type Batch struct {
	Partition int32
	// Epoch is the leader epoch of all its entries.
	Epoch kafka.Epoch
	// Next is the offset after the batch. It may be far beyond the last
	// entry: a batch that compaction has emptied has none.
	Next kafka.Offset

	batch   recordbatch.Batch
	decoder *recordbatch.Decoder
	record  recordbatch.Record
	begun   bool
	err     error
}

// NewBatch returns a batch of a partition's log, for a source of another kind.
// The decoder must not be used otherwise while the batch is read.
func NewBatch(partition int32, batch *recordbatch.Batch, decoder *recordbatch.Decoder) *Batch {
	b := new(Batch)
	b.reset(partition, batch, decoder)
	return b
}

// reset makes b the given batch.
func (b *Batch) reset(partition int32, batch *recordbatch.Batch, decoder *recordbatch.Decoder) {
	*b = Batch{Partition: partition, Epoch: batch.LeaderEpoch, Next: batch.NextOffset(), batch: *batch, decoder: decoder}
}

// Size is the number of bytes of the batch as it lies in the log.
func (b *Batch) Size() int { return b.batch.Size }

// MaxTimestamp is the latest time of its entries, in milliseconds since 1970,
// as the header says; negative if they have none.
func (b *Batch) MaxTimestamp() int64 { return b.batch.MaxTimestamp }

// Read reads the next entry into e. It returns false at the end of the batch,
// and at the first entry that cannot be read: Err tells which.
func (b *Batch) Read(e *Entry) bool {
	if !b.begun {
		b.begun = true
		b.err = b.decoder.Start(&b.batch)
	}
	for b.err == nil && b.decoder.Next(&b.record) {
		e.Record = groups.Record{Offset: b.record.Offset, Timestamp: b.record.Timestamp, ProducerID: -1}
		e.End = NoEnd
		if !b.batch.IsControl() {
			b.data(e)
			return true
		}
		if b.marker(e) {
			return true
		}
	}
	return false
}

func (b *Batch) data(e *Entry) {
	e.Key, e.Value = b.record.Key, b.record.Value
	if b.batch.IsTransactional() {
		e.ProducerID = b.batch.ProducerID
	}
}

// marker says false for control records that are none: those of other types
// do not concern the coordinator (CoordinatorLoaderImpl).
func (b *Batch) marker(e *Entry) bool {
	kind, err := recordbatch.ParseControlKey(b.record.Key)
	e.ProducerID = b.batch.ProducerID
	switch {
	case err != nil:
		b.err = err
	case kind == recordbatch.CommitMarker:
		e.End = Commit
	case kind == recordbatch.AbortMarker:
		e.End = Abort
	}
	return e.End != NoEnd
}

// Err is what stopped Read, or nil at the end of the batch. The source counts
// it and goes on behind the batch.
func (b *Batch) Err() error {
	if b.err != nil || !b.begun {
		return b.err
	}
	return b.decoder.Err()
}

// finish reads what the sink has not, so that damage is seen in any case.
func (b *Batch) finish() error {
	var e Entry
	for b.Read(&e) {
	}
	return b.Err()
}
