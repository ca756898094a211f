package offsetslog

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

const (
	// fetchBytes and partitionBytes bound an answer, though not below one
	// batch, where the rate does not bound it more.
	fetchBytes     = 2 << 20
	partitionBytes = 1 << 20

	earliest = -2 // ListOffsetsRequest.EARLIEST_TIMESTAMP
)

// list asks where the logs of partitions start.
func (k *Kafka) list(ctx context.Context, b *broker, partitions []*kafkaPartition) {
	req := kmsg.NewPtrListOffsetsRequest()
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = kafka.OffsetsTopic
	slices.SortFunc(partitions, func(a, b *kafkaPartition) int { return cmp.Compare(a.id, b.id) })
	for _, p := range partitions {
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition, rp.CurrentLeaderEpoch, rp.Timestamp = p.id, int32(p.leaderEpoch), earliest
		topic.Partitions = append(topic.Partitions, rp)
	}
	req.Topics = append(req.Topics, topic)
	b.asked()
	k.ask(ctx, answerTimeout, func(ctx context.Context) func() error {
		resp, err := req.RequestWith(ctx, k.config.Client.Broker(int(b.id)))
		return func() error { return k.listed(b, partitions, resp, err) }
	})
}

func (k *Kafka) listed(b *broker, partitions []*kafkaPartition, resp *kmsg.ListOffsetsResponse, err error) error {
	starts := make(map[int32]*kmsg.ListOffsetsResponseTopicPartition)
	if err == nil {
		for i := range resp.Topics {
			for j := range resp.Topics[i].Partitions {
				rp := &resp.Topics[i].Partitions[j]
				starts[rp.Partition] = rp
			}
		}
	}
	if failed := k.answered(b, resp, err, partitions); failed != nil || err != nil {
		return failed
	}
	for _, p := range partitions {
		if !k.leads(b, p) || !p.startDue {
			continue
		}
		if err := k.startAt(p, b, starts[p.id]); err != nil {
			return err
		}
	}
	if resp.ThrottleMillis == 0 {
		b.notBefore = time.Time{} // on to reading
	}
	return nil
}

func (k *Kafka) startAt(p *kafkaPartition, b *broker, rp *kmsg.ListOffsetsResponseTopicPartition) error {
	switch {
	case rp == nil || rp.ErrorCode == 0 && rp.Offset < 0:
		return k.refused(p, b.id, errNoAnswer)
	case rp.ErrorCode != 0:
		return k.refused(p, b.id, kerr.ErrorForCode(rp.ErrorCode))
	}
	p.startsAt(kafka.Offset(rp.Offset))
	return nil
}

// fetch asks a broker for what comes next of partitions that it leads, or
// returns when that is allowed. due is when there will be something else to
// ask it for: a broker may hold back an empty answer no longer than until then.
func (k *Kafka) fetch(ctx context.Context, b *broker, ready []*kafkaPartition, due, now time.Time) time.Time {
	if k.budget.free.After(now) {
		n := len(ready)
		ready = slices.DeleteFunc(ready, func(p *kafkaPartition) bool { return p.behind })
		if len(ready) < n {
			due = earlier(due, k.budget.free)
		}
	}
	if len(ready) == 0 {
		return due
	}
	slices.SortFunc(ready, func(a, b *kafkaPartition) int {
		return cmp.Or(compareBool(b.first, a.first), compareBool(a.behind, b.behind), cmp.Compare(a.turn, b.turn), cmp.Compare(a.id, b.id))
	})
	wait := max(0, min(maxWait, due.Sub(now)))
	if slices.ContainsFunc(ready, func(p *kafkaPartition) bool { return !p.started }) {
		wait = 0 // that it has been read to its end is news, even with nothing to read
	}
	req := k.fetchRequest(ready, wait)
	offsets := make([]kafka.Offset, len(ready))
	for i, p := range ready {
		k.turn++
		p.turn, offsets[i] = k.turn, p.next
	}
	b.asked()
	k.ask(ctx, wait+answerTimeout, func(ctx context.Context) func() error {
		resp, err := req.RequestWith(ctx, k.config.Client.Broker(int(b.id)))
		return func() error { return k.fetched(b, ready, offsets, resp, err) }
	})
	return now.Add(time.Hour)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func (k *Kafka) fetchRequest(partitions []*kafkaPartition, wait time.Duration) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = int32(wait.Milliseconds()), 1, k.budget.most(fetchBytes)
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = kafka.OffsetsTopic, k.metadata.topic
	for _, p := range partitions {
		rp := kmsg.NewFetchRequestTopicPartition()
		rp.Partition, rp.CurrentLeaderEpoch = p.id, int32(p.leaderEpoch)
		rp.FetchOffset, rp.LastFetchedEpoch, rp.PartitionMaxBytes = int64(p.next), int32(p.epoch), p.maxBytes
		topic.Partitions = append(topic.Partitions, rp)
		req.MaxBytes = max(req.MaxBytes, p.maxBytes)
	}
	req.Topics = append(req.Topics, topic)
	return req
}

// fetched takes an answer.
func (k *Kafka) fetched(b *broker, asked []*kafkaPartition, offsets []kafka.Offset, resp *kmsg.FetchResponse, err error) error {
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err := k.answered(b, resp, err, asked); err != nil {
		return err
	}
	if err != nil || resp.ThrottleMillis > 0 && len(resp.Topics) == 0 {
		return nil // a quota leaves nothing for us now
	}
	found := make(map[int32]*kmsg.FetchResponseTopicPartition, len(asked))
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			rp := &resp.Topics[i].Partitions[j]
			found[rp.Partition] = rp
			k.budget.spend(len(rp.RecordBatches), time.Now())
		}
	}
	moved, again := false, false
	for i, p := range asked {
		if !k.leads(b, p) || p.startDue || p.next != offsets[i] {
			continue // it was started over meanwhile
		}
		err := k.take(p, b, found[p.id], i == 0)
		if err != nil {
			return err
		}
		if p.next != offsets[i] {
			moved, again = true, again || p.behind
		}
	}
	switch {
	case again && resp.ThrottleMillis == 0:
		b.notBefore = time.Time{}
	case !moved:
		// A healthy broker holds back an answer with nothing in it.
		b.notBefore = later(b.notBefore, b.sent.Add(maxWait))
	}
	return nil
}

// take takes what an answer has for one partition. first says that it was the
// first of the request.
func (k *Kafka) take(p *kafkaPartition, b *broker, rp *kmsg.FetchResponseTopicPartition, first bool) error {
	switch {
	case rp == nil:
		return k.refused(p, b.id, errNoAnswer)
	case rp.ErrorCode == kerr.OffsetOutOfRange.Code, rp.DivergingEpoch.Epoch >= 0 || rp.DivergingEpoch.EndOffset >= 0:
		p.startOver(Diverged) // or the log start passed: where it is will tell
		return k.report(&p.partition)
	case rp.ErrorCode != 0:
		return k.refused(p, b.id, kerr.ErrorForCode(rp.ErrorCode))
	case k.wentStale(&p.partition):
		p.startOver(AwayTooLong)
		return k.report(&p.partition)
	}
	end := kafka.Offset(rp.HighWatermark)
	if !p.started {
		if err := k.begin(&p.partition, end); err != nil {
			return err
		}
	}
	before := p.next
	err := k.takeBatches(p, rp.RecordBatches, end)
	if damage := (*recordbatch.Error)(nil); errors.As(err, &damage) {
		return k.refused(p, b.id, damage)
	}
	if err != nil {
		return err
	}
	p.behind = p.next < end
	if p.behind && p.next == before && !p.exhausted(len(rp.RecordBatches), first, end) {
		if p.maxBytes <= recordbatch.MaxSize {
			return nil // look again
		}
		p.maxBytes = k.budget.most(partitionBytes)
		return k.refused(p, b.id, errNoBatch)
	}
	p.first, p.maxBytes = false, k.budget.most(partitionBytes)
	return k.settle(&p.partition, end)
}

// takeBatches delivers the batches of an answer that lie below the high
// watermark. The answer may end inside a batch, where it was cut.
func (k *Kafka) takeBatches(p *kafkaPartition, rest []byte, end kafka.Offset) error {
	for len(rest) > 0 {
		batch, after, err := recordbatch.Split(rest)
		switch {
		case errors.Is(err, recordbatch.ErrPartial):
			return nil
		case err != nil:
			return err
		case batch.NextOffset() > end:
			return nil
		}
		if batch.NextOffset() > p.next {
			if err := k.deliver(&p.partition, &batch); err != nil {
				return err
			}
		}
		rest = after
	}
	return nil
}

// exhausted says whether an answer that brought nothing shows that there is
// nothing, although the high watermark is further on. The limit of the answer
// may have been used up by other partitions, or by a batch that is larger.
// Where neither can be, because the first partition of a request gets at least
// one batch, there is no batch left: compaction removes even the last ones, if
// a segment was rolled since.
func (p *kafkaPartition) exhausted(bytes int, first bool, end kafka.Offset) bool {
	switch {
	case !p.first || !first:
		p.first = true
		return false
	case bytes > 0:
		p.maxBytes = larger(p.maxBytes)
		return false
	}
	// Of what epoch the record before end was is not known: it is gone.
	p.next, p.epoch, p.behind = end, kafka.UnknownEpoch, false
	return true
}

// larger is the limit to try next, over recordbatch.MaxSize after that.
func larger(maxBytes int32) int32 {
	if maxBytes < recordbatch.MaxSize {
		return min(8*maxBytes, recordbatch.MaxSize)
	}
	return recordbatch.MaxSize + 1
}
