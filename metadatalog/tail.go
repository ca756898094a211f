package metadatalog

import (
	"errors"
	"fmt"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// maxPending bounds what is held of the log beyond the high watermark. An
// active controller stops taking changes long before that much is undecided.
const maxPending = 32 << 20

var (
	// errOutOfOrder means that a batch does not continue the log that is here.
	errOutOfOrder = errors.New("log does not continue")
	// errDiverged means that the leader's log does not contain what was
	// delivered from it.
	errDiverged = errors.New("the leader's log is not the one that was read before")
)

// tail is the end of the log as far as it is here: what the sink has, and the
// batches after it that are not known to be committed. It is a plain value
// machine: no clock, no I/O.
type tail struct {
	delivered Position
	// resumed is set while delivered may lie inside a batch.
	resumed bool
	// pending follow delivered without a gap. The batches alias the answers
	// they came in.
	pending      []recordbatch.Batch
	pendingBytes int
	// highWatermark is the largest one heard, exclusive. Leaders answer -1
	// after an election, and lower ones than their predecessor: what was
	// committed stays committed.
	highWatermark kafka.Offset
}

// restart makes p the place to read on from.
func (t *tail) restart(p Position) {
	*t = tail{delivered: p, resumed: true, highWatermark: kafka.UnknownOffset}
}

// end is the position after the last batch that is here. Its epoch, not the
// leader's, is what a fetch has to name.
func (t *tail) end() Position {
	if n := len(t.pending); n > 0 {
		return after(&t.pending[n-1])
	}
	return t.delivered
}

func after(b *recordbatch.Batch) Position {
	return Position{Offset: b.NextOffset(), Epoch: b.LeaderEpoch}
}

// add takes a fetched batch. It says false when there is no room for it.
func (t *tail) add(b recordbatch.Batch) (bool, error) {
	end := t.end()
	inside := t.resumed && b.BaseOffset < end.Offset && end.Offset <= b.LastOffset()
	switch {
	case b.BaseOffset != end.Offset && !inside:
		return false, fmt.Errorf("%w: batch of offsets %d to %d where %d is next", errOutOfOrder, b.BaseOffset, b.LastOffset(), end.Offset)
	case b.LeaderEpoch < end.Epoch:
		return false, fmt.Errorf("%w: batch at offset %d has epoch %d, the one before it %d", errOutOfOrder, b.BaseOffset, b.LeaderEpoch, end.Epoch)
	case t.pendingBytes+b.Size > maxPending && len(t.pending) > 0:
		return false, nil
	}
	t.pending = append(t.pending, b)
	t.pendingBytes += b.Size
	t.resumed = false
	return true, nil
}

// raise takes a high watermark as answered.
func (t *tail) raise(hw kafka.Offset) { t.highWatermark = max(t.highWatermark, hw) }

// committed is the next batch that is wholly below the high watermark, or nil.
func (t *tail) committed() *recordbatch.Batch {
	if len(t.pending) == 0 || t.pending[0].NextOffset() > t.highWatermark {
		return nil
	}
	return &t.pending[0]
}

// deliver moves past the batch that committed returned.
func (t *tail) deliver() {
	b := &t.pending[0]
	t.delivered = after(b)
	t.pendingBytes -= b.Size
	*b = recordbatch.Batch{} // lets go of the answer it came in
	t.pending = t.pending[1:]
	if len(t.pending) == 0 {
		t.pending = nil
	}
}

// truncate drops what the leader's log does not have, at being the largest
// epoch that it shares with ours and that epoch's end in its log. errDiverged
// means that no pending batch is at fault: what was delivered is. (Kafka's
// ReplicatedLog.truncateToEndOffset.)
func (t *tail) truncate(at Position) error {
	n := len(t.pending)
	for n > 0 && (t.pending[n-1].LeaderEpoch > at.Epoch || t.pending[n-1].NextOffset() > at.Offset) {
		n--
	}
	if n == len(t.pending) || at.Offset < t.delivered.Offset {
		return fmt.Errorf("%w: it has epoch %d up to offset %d, and %v was applied here", errDiverged, at.Epoch, at.Offset, t.delivered)
	}
	for _, b := range t.pending[n:] {
		t.pendingBytes -= b.Size
	}
	clear(t.pending[n:])
	t.pending = t.pending[:n]
	return nil
}

// behind says whether more of the log is known to be committed than is here.
func (t *tail) behind() bool { return t.end().Offset < t.highWatermark }
