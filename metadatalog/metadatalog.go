// Package metadatalog reads the metadata log of a KRaft cluster, the topic
// __cluster_metadata, wherever it is to be had, and gives it to a Sink in
// order: snapshots, then batches.
//
// Quorum is an observer of a live controller quorum; Dir follows the copy of
// the log that a broker or a controller keeps on disk. They deliver committed
// batches only: all their offsets lie below the high watermark. What they have
// delivered they never take back, with one exception that they announce by
// Reset: the log that is there now does not contain what was delivered. They
// return an error only when their context ends or their Sink fails. Everything
// else that goes wrong shows as Progress.Problem and is tried again: no state
// of the quorum or of the disk ends them.
//
// ReadFile reads one segment or snapshot file, ReadDir a directory of them,
// offline.
package metadatalog

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// Position is a place between two records of the log.
type Position struct {
	// Offset is the offset of the next record, >= 0.
	Offset kafka.Offset
	// Epoch is the leader epoch of the record before it; it proves to the
	// leader that our log is a prefix of its log. The zero Position is the
	// start of the log.
	Epoch kafka.Epoch
}

// String is for errors and logs.
func (p Position) String() string {
	return fmt.Sprintf("offset %d (epoch %d)", p.Offset, p.Epoch)
}

// SnapshotID names a snapshot: it stands for the log up to EndOffset, which is
// exclusive, the last record of which has epoch Epoch (Kafka's
// OffsetAndEpoch).
type SnapshotID struct {
	EndOffset kafka.Offset
	Epoch     kafka.Epoch
}

// String is the name of the snapshot's file without its extension.
func (id SnapshotID) String() string { return fmt.Sprintf("%020d-%010d", id.EndOffset, id.Epoch) }

// Position is where reading goes on after the snapshot.
func (id SnapshotID) Position() Position { return Position{Offset: id.EndOffset, Epoch: id.Epoch} }

// Bootstrap says whether the id is that of the file that formatting a log
// directory writes. It holds what a new cluster starts from, and is not
// committed state (Kafka's Snapshots.BOOTSTRAP_SNAPSHOT_ID).
func (id SnapshotID) Bootstrap() bool { return id == SnapshotID{} }

// ParseSnapshotID reads a file's name, with or without ".checkpoint".
func ParseSnapshotID(name string) (SnapshotID, error) {
	offset, epoch, ok := strings.Cut(strings.TrimSuffix(name, ".checkpoint"), "-")
	if ok && len(offset) == 20 && len(epoch) == 10 {
		o, err := strconv.ParseUint(offset, 10, 63)
		e, err2 := strconv.ParseUint(epoch, 10, 31)
		if err == nil && err2 == nil {
			return SnapshotID{EndOffset: kafka.Offset(o), Epoch: kafka.Epoch(e)}, nil
		}
	}
	return SnapshotID{}, fmt.Errorf("parse snapshot name %s: want 20 digits of end offset, a dash, 10 digits of epoch",
		strconv.Quote(name))
}

// Sink takes what a source reads. A source calls it from one goroutine, the
// one that Run was called on. An error of any method ends Run, which returns
// it.
type Sink interface {
	// LoadSnapshot replaces all that was delivered before by the snapshot.
	// The reader is valid during the call and need not be read to its end,
	// but only its io.EOF says that the snapshot was complete.
	LoadSnapshot(s *SnapshotReader) error

	// Append takes the next batch of the log; it is valid during the call.
	// Batches follow each other without a gap. Control batches come too: they
	// take up offsets and hold nothing for an image.
	//
	// Only the first batch of a run may hold records below the position that
	// the run started from, since a position may lie inside a batch: they are
	// to be passed over.
	Append(b *recordbatch.Batch) error

	// Reset says that the log does not contain what was delivered, and why.
	// What follows is either a snapshot or the log from offset 0.
	Reset(reason error) error

	// Progress tells how the source stands. It follows every run of Append
	// calls that belong together, so it is the moment to publish, and comes
	// with every change of the problem.
	Progress(p Progress) error
}
