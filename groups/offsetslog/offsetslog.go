// Package offsetslog reads the log of the group coordinator, the topic
// __consumer_offsets, and gives each of its partitions to a Sink in order.
//
//   - Kafka fetches from the leaders of the partitions.
//   - Dir reads the partitions that the broker beside us keeps, from its disk.
//   - ReadFiles reads segments and partitions' directories, offline.
//
// What a running source delivers lies below the partition's high watermark,
// open and aborted transactions included: which offsets count, the sink decides
// when it is given the end of the transaction. A partition whose log no longer
// continues what was delivered is started over, and the sink is told why.
//
// Sources return an error only when their context ends or their Sink fails.
// Everything else shows as a Problem and is tried again, ever more seldom.
//
// A partition's log is compacted while it is read. That is sound as long as a
// reader is never away for longer than the topic's delete.retention.ms: until
// then a tombstone is kept for it to see. After that it starts over.
package offsetslog

import (
	"time"

	"github.com/kraftside/kraftside/internal/kafka"
)

// Position is how far a partition has been applied.
type Position struct {
	// Offset is the one that comes next, or kafka.UnknownOffset if there is
	// nothing to go on from.
	Offset kafka.Offset
	// Epoch is the leader epoch of the record before it, as far as it is
	// known; with it a log that was truncated is told from one that was not.
	Epoch kafka.Epoch
	// TopicID is the topic's, zero if it is not known.
	TopicID kafka.TopicID
	// Age is for how long the position may not have been the end of the
	// partition: the time since it was last seen to be.
	Age time.Duration
}

// Reason says why a partition is read from where it is. The names are stable.
type Reason string

// Resumed goes on from the sink's position. The others start over: what the
// sink has of the partition is void, and what follows replaces it.
const (
	Resumed Reason = "resumed"
	// Fresh: there was nothing to go on from.
	Fresh Reason = "fresh"
	// LogStartPassed: the log no longer goes back to the position.
	LogStartPassed Reason = "log-start-passed"
	// Diverged: the log at the position is not the one that was read; an
	// unclean leader election does that.
	Diverged Reason = "diverged"
	// AwayTooLong: tombstones may have been cleaned away unseen.
	AwayTooLong Reason = "away-too-long"
	// Recreated: the topic was deleted and made anew.
	Recreated Reason = "recreated"
)

// Start says from where a partition is read.
type Start struct {
	Partition int32
	TopicID   kafka.TopicID // zero if it is not known
	Offset    kafka.Offset  // of the first record, or of none before it
	Reason    Reason
}

// StartsOver says whether what the sink has of the partition is void.
func (s *Start) StartsOver() bool { return s.Reason != Resumed }

// Assignment is the set of partitions that a source follows.
type Assignment struct {
	// Known says that the set was learnt, though it may be empty: a cluster
	// that never had a group has no __consumer_offsets.
	Known      bool
	Partitions []int32 // ascending
	// Problem is what keeps the source from learning it, or nil.
	Problem *Problem
}

// Sink takes what a source reads. A source calls it from one goroutine, the
// one that Run was called on. Partitions take turns; the calls for one follow
// each other thus:
//
//	Resume (Start Append* ...)* Stop
//
// with calls of Progress anywhere. An error of any method ends Run, which
// returns it.
type Sink interface {
	// Assigned tells which partitions are followed, whenever that changes, or
	// what keeps the source from knowing.
	Assigned(a Assignment) error
	// Resume asks how far a partition has been applied that is followed from
	// now on.
	Resume(partition int32) Position
	// Start says from where the partition is read. It may be called again.
	Start(s Start) error
	// Append takes the next batch, which is valid during the call. Its
	// entries may begin before Start's offset, in the first batch only: those
	// are to be passed over.
	Append(b *Batch) error
	// Progress tells how a partition stands. It follows every run of Append
	// calls that belong together.
	Progress(p Progress) error
	// Stop says that the partition is followed no longer.
	Stop(partition int32) error
}
