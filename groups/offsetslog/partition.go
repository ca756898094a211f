package offsetslog

import (
	"time"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// partition is what every source keeps of a partition that it follows: where
// it is, and what the sink was told.
type partition struct {
	id    int32
	topic kafka.TopicID

	next  kafka.Offset // not known while startDue
	epoch kafka.Epoch
	// startDue says that reading begins anew, at the log's start; reason is
	// what the sink is, or will be, told of that.
	startDue bool
	reason   Reason
	started  bool // Start was called

	at       Progress
	reported Progress
	// caughtUp is when next was last seen to be the high watermark.
	caughtUp time.Time

	restarts    int // within restartWindow
	restartedAt time.Time
	notBefore   time.Time // of the next try
	failures    int
}

// reader is what partitions share: to whom they deliver, and by what rules.
type reader struct {
	sink Sink
	// deleteRetention is the topic's delete.retention.ms; nil or <= 0 is not
	// known, and then nothing is too old.
	deleteRetention func() time.Duration
	budget          budget
	decoder         recordbatch.Decoder
	batch           Batch
}

// follow asks the sink where a partition is to be read from.
func (r *reader) follow(id int32, topic kafka.TopicID) *partition {
	at := r.sink.Resume(id)
	p := &partition{
		id: id, topic: topic, next: at.Offset, epoch: at.Epoch, reason: Resumed,
		caughtUp: time.Now().Add(-at.Age),
	}
	p.at = Progress{Partition: id, Leader: kafka.NoNode, LeaderEpoch: kafka.UnknownEpoch, End: kafka.UnknownOffset, Loading: true}
	switch {
	case at.Offset < 0:
		p.startDue, p.reason = true, Fresh
	case !at.TopicID.IsZero() && !topic.IsZero() && at.TopicID != topic:
		p.startDue, p.reason = true, Recreated
	case r.tooOld(p):
		p.startDue, p.reason = true, AwayTooLong
	}
	return p
}

func (r *reader) tooOld(p *partition) bool {
	if r.deleteRetention == nil {
		return false
	}
	limit := r.deleteRetention()
	return limit > 0 && time.Since(p.caughtUp) > limit
}

// wentStale says whether a partition that was followed has been out of reach
// for so long that tombstones may be gone. One that is loading reads what it
// reads for the first time.
func (r *reader) wentStale(p *partition) bool { return p.started && !p.at.Loading && r.tooOld(p) }

// startOver has the partition read anew from its log's start.
func (p *partition) startOver(reason Reason) {
	now := time.Now()
	if now.Sub(p.restartedAt) > restartWindow {
		p.restarts = 0
	}
	p.restarts++
	p.restartedAt = now
	p.startDue, p.reason, p.at.Loading = true, reason, true
	p.notBefore = now.Add(restartPause(p.restarts))
}

// startsAt ends startDue: the log starts at an offset.
func (p *partition) startsAt(offset kafka.Offset) {
	if p.reason == Diverged && p.next < offset {
		p.reason = LogStartPassed // which is what put the position out of range
	}
	p.next, p.epoch, p.startDue, p.started = offset, kafka.UnknownEpoch, false, false
}

// begin tells the sink from where the partition is read. end is the high
// watermark.
func (r *reader) begin(p *partition, end kafka.Offset) error {
	p.started = true
	p.at.Loading, p.at.LoadStart, p.at.LoadEnd = true, p.next, end
	p.at.Bytes, p.at.Unreadable, p.at.Since = 0, 0, time.Now()
	return r.sink.Start(Start{Partition: p.id, TopicID: p.topic, Offset: p.next, Reason: p.reason})
}

// deliver gives the sink a batch.
func (r *reader) deliver(p *partition, b *recordbatch.Batch) error {
	r.batch.reset(p.id, b, &r.decoder)
	if err := r.sink.Append(&r.batch); err != nil {
		return err
	}
	if r.batch.finish() != nil {
		p.at.Unreadable++
	}
	p.next, p.epoch = b.NextOffset(), b.LeaderEpoch
	p.at.Bytes += int64(b.Size)
	return nil
}

// settle notes the high watermark after what lay below it was read, and that
// there is no problem.
func (r *reader) settle(p *partition, end kafka.Offset) error {
	p.failures, p.at.Problem = 0, nil
	p.at.End = end
	if p.next >= end {
		p.caughtUp = time.Now()
	}
	if p.next >= p.at.LoadEnd {
		p.at.Loading = false
	}
	return r.report(p)
}

// report tells the sink how the partition stands, if that has changed.
func (r *reader) report(p *partition) error {
	p.at.Next, p.at.Epoch = p.next, p.epoch
	if p.startDue {
		p.at.Next, p.at.Epoch = kafka.UnknownOffset, kafka.UnknownEpoch
	}
	if p.at == p.reported {
		return nil
	}
	p.reported = p.at
	return r.sink.Progress(p.at)
}

// fail notes a problem, and puts off the next try.
func (p *partition) fail(problem *Problem, jitter func() float64) {
	p.failures++
	p.at.Problem = problem.after(p.at.Problem)
	p.notBefore = later(p.notBefore, time.Now().Add(backoff(p.failures, jitter)))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
