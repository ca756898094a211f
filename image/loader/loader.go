// Package loader is the only writer of the metadata image: it turns committed
// batches and snapshots into deltas, honours KIP-866 transactions, and hands
// every new image to its publishers in a fixed order
// (org.apache.kafka.image.loader.MetadataLoader and MetadataBatchLoader).
package loader

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// ErrTransaction means that a transaction record stands where none may: an
// end or an abort without a begin, a begin inside a transaction, or any of
// them in a snapshot.
var ErrTransaction = errors.New("misplaced transaction record")

// ReplayError says which record could not be decoded or applied.
type ReplayError struct {
	Offset kafka.Offset // in a snapshot: counted from the snapshot's start
	Epoch  kafka.Epoch
	Index  int    // of the record in its batch
	Type   string // the record's name, or "record" if it could not be told
	// Version is -1 if it could not be told.
	Version  int16
	Snapshot bool
	Err      error
}

func (e *ReplayError) Error() string {
	where := "at offset"
	if e.Snapshot {
		where = "of the snapshot, record"
	}
	return fmt.Sprintf("replay %s %s %d (epoch %d, version %d): %v", e.Type, where, e.Offset, e.Epoch, e.Version, e.Err)
}

// Unwrap gives errors.Is the cause.
func (e *ReplayError) Unwrap() error { return e.Err }

// Manifest says where a delta came from.
type Manifest struct {
	Provenance image.Provenance
	Snapshot   bool
	Records    int // data records, those of an aborted transaction left out
}

// Publisher is told of every new image, in the order of the log, on the
// loader's goroutine. The delta and the images may be kept.
type Publisher interface {
	OnMetadataUpdate(d *delta.Delta, m Manifest)
}

// UnknownPolicy says what happens at a record that cannot be decoded or
// applied.
type UnknownPolicy int

// Stop ends the tail at the last good image. Skip leaves the record out, as a
// broker does, which may make the image wrong for good.
const (
	Stop UnknownPolicy = iota
	Skip
)

// Loader holds the newest image. Append and LoadSnapshot belong to one
// goroutine; Image may be called from any.
type Loader struct {
	image      atomic.Pointer[image.MetadataImage]
	policy     UnknownPolicy
	publishers []Publisher
	onSkip     func(*ReplayError)

	detector detector
	batches  recordbatch.Decoder
	records  record.Decoder
	open     *delta.Delta // records that are not published yet
	inTxn    bool         // open holds the start of a transaction
	replayed int          // data records in open

	unknownTags int // in snapshots
}

// Options configure a Loader.
type Options struct {
	Unknown UnknownPolicy
	// OnSkip is told of each record that Skip leaves out; it may be nil.
	OnSkip func(*ReplayError)
	// Publishers are called in this order.
	Publishers []Publisher
}

// New returns a loader that goes on from base, which may be image.Empty().
func New(base *image.MetadataImage, o Options) *Loader {
	l := &Loader{policy: o.Unknown, publishers: o.Publishers, onSkip: o.OnSkip}
	l.records.BorrowStrings() // a delta keeps no reference to a record
	l.image.Store(base)
	return l
}

// Image is the newest published image.
func (l *Loader) Image() *image.MetadataImage { return l.image.Load() }

// InTransaction says whether records wait for the end of their transaction.
func (l *Loader) InTransaction() bool { return l.inTxn }

// Append replays a committed batch and publishes the image it leads to, unless
// a transaction is left open. Records that the image contains already are
// passed over, so that a source may start again at the batch that holds the
// next offset. After an error, which is a *ReplayError or one of package
// recordbatch, the image is the last good one, and what was read of an open
// transaction is forgotten: a source must start again after the image's offset.
func (l *Loader) Append(b *recordbatch.Batch) error {
	at := image.Provenance{Offset: b.LastOffset(), Epoch: b.LeaderEpoch, AppendTime: b.MaxTimestamp}
	if at.Offset <= l.Image().Provenance().Offset {
		return nil
	}
	if !b.IsControl() {
		if err := l.replayBatch(b); err != nil {
			l.forget()
			return err
		}
	}
	if !l.inTxn {
		l.publish(at)
	}
	return nil
}

func (l *Loader) replayBatch(b *recordbatch.Batch) error {
	if err := l.batches.Start(b); err != nil {
		return err
	}
	applied := l.Image().Provenance().Offset
	var r recordbatch.Record
	for i := 0; l.batches.Next(&r); i++ {
		if r.Offset <= applied {
			continue
		}
		d := decode(&l.records, r.Value, b, r.Offset, i)
		err := d.err
		if err == nil {
			err = l.replay(d.message, b, r.Offset)
		}
		if err != nil {
			if err := l.refuse(d.refusal(err)); err != nil {
				return err
			}
		}
	}
	return l.batches.Err()
}

// replay applies one record, and acts on those that bound a transaction.
func (l *Loader) replay(m record.Message, b *recordbatch.Batch, offset kafka.Offset) error {
	switch m.(type) {
	case *record.BeginTransactionRecord:
		return l.begin(b, offset)
	case *record.EndTransactionRecord, *record.AbortTransactionRecord:
		if !l.inTxn {
			return fmt.Errorf("%w: %s outside a transaction", ErrTransaction, m.Type().RecordName())
		}
		if _, aborted := m.(*record.AbortTransactionRecord); aborted {
			l.forget()
		}
		l.inTxn = false
		return nil
	}
	if err := l.delta().ReplayAt(offset, m); err != nil {
		return err
	}
	l.replayed++
	return nil
}

// begin publishes what stands before the transaction, since nothing of it may
// wait for the transaction's end.
func (l *Loader) begin(b *recordbatch.Batch, offset kafka.Offset) error {
	if l.inTxn {
		return fmt.Errorf("%w: begin inside a transaction", ErrTransaction)
	}
	if l.replayed > 0 {
		l.publish(image.Provenance{Offset: offset - 1, Epoch: b.LeaderEpoch, AppendTime: b.MaxTimestamp})
	}
	l.inTxn = true
	return nil
}

// LoadSnapshot replaces the image by that of a snapshot, read batch by batch
// from next until it returns io.EOF. The change is published as one delta.
// endOffset is the snapshot's, so that its last record is endOffset - 1, which
// was written at the time given. After an error the image is what it was. next
// is called on another goroutine, and no more after LoadSnapshot has returned.
func (l *Loader) LoadSnapshot(endOffset kafka.Offset, epoch kafka.Epoch, time int64, next func() (recordbatch.Batch, error)) error {
	l.forget()
	l.open = delta.NewSnapshot(l.Image())
	if err := l.replaySnapshot(next); err != nil {
		l.forget()
		return fmt.Errorf("load snapshot %d-%d: %w", endOffset, epoch, err)
	}
	l.publish(image.Provenance{Offset: endOffset - 1, Epoch: epoch, AppendTime: time})
	return nil
}

func (l *Loader) replaySnapshot(next func() (recordbatch.Batch, error)) error {
	a := decodeAhead(next)
	defer func() {
		a.stop()
		l.unknownTags += a.unknownTags
	}()
	for s := range a.full {
		for i := range s.records {
			if err := l.replayDecoded(&s.records[i]); err != nil {
				return err
			}
		}
		if s.err == io.EOF {
			return nil
		}
		if s.err != nil {
			return s.err
		}
		a.free <- s
	}
	return nil
}

func (l *Loader) replayDecoded(d *decoded) error {
	err := d.err
	if err == nil {
		err = l.replaySnapshotRecord(d.message)
	}
	if err == nil {
		return nil
	}
	refusal := d.refusal(err)
	refusal.Snapshot = true
	return l.refuse(refusal)
}

func (l *Loader) replaySnapshotRecord(m record.Message) error {
	switch m.(type) {
	case *record.BeginTransactionRecord, *record.EndTransactionRecord, *record.AbortTransactionRecord:
		return fmt.Errorf("%w: %s in a snapshot", ErrTransaction, m.Type().RecordName())
	}
	if err := l.open.Replay(m); err != nil {
		return err
	}
	l.replayed++
	return nil
}

// decoded is a record and where it stands, or why it is none.
type decoded struct {
	message record.Message
	version int16
	offset  kafka.Offset
	epoch   kafka.Epoch
	index   int // in its batch
	err     error
}

func decode(with *record.Decoder, frame []byte, b *recordbatch.Batch, offset kafka.Offset, index int) decoded {
	d := decoded{offset: offset, epoch: b.LeaderEpoch, index: index}
	d.message, d.version, d.err = with.Decode(frame)
	return d
}

// refusal says what is wrong with the record.
func (d *decoded) refusal(err error) *ReplayError {
	e := &ReplayError{Offset: d.offset, Epoch: d.epoch, Index: d.index, Type: "record", Version: -1, Err: err}
	if d.message != nil {
		e.Type, e.Version = d.message.Type().RecordName(), d.version
	}
	return e
}

// refuse returns the error under Stop; under Skip it reports it and returns
// nil. A misplaced transaction record is never skipped: what follows could not
// be told apart.
func (l *Loader) refuse(e *ReplayError) error {
	if l.policy == Stop || errors.Is(e, ErrTransaction) {
		return e
	}
	if l.onSkip != nil {
		l.onSkip(e)
	}
	return nil
}

func (l *Loader) delta() *delta.Delta {
	if l.open == nil {
		l.open = delta.New(l.Image())
	}
	return l.open
}

// Reset publishes the empty image: the log that the image is of is gone.
func (l *Loader) Reset() {
	l.forget()
	l.open = delta.NewSnapshot(l.Image())
	l.open.ForgetProducerID()
	l.publish(image.Empty().Provenance())
}

// forget drops what is not published.
func (l *Loader) forget() { l.open, l.inTxn, l.replayed = nil, false, 0 }

// publish makes the image and tells the publishers.
func (l *Loader) publish(at image.Provenance) {
	d, records := l.delta(), l.replayed
	l.image.Store(d.Apply(at))
	l.detector.publish(l.Image())
	l.forget()
	m := Manifest{Provenance: at, Snapshot: d.IsSnapshot(), Records: records}
	for _, p := range l.publishers {
		p.OnMetadataUpdate(d, m)
	}
}

// UnknownTags is how many tagged fields of records were not known here, and
// left out of the image.
func (l *Loader) UnknownTags() int { return l.records.UnknownTags() + l.unknownTags }
