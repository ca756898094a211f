package simquorum

import (
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/kafka"
)

// fetch answers one Fetch, after a long poll if there is nothing to say.
func (q *Quorum) fetch(c *controller, f Fault, req *kmsg.FetchRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.FetchResponse)
	if f.Kind == TopLevelError || req.ClusterID != nil && *req.ClusterID != q.config.ClusterID {
		resp.ErrorCode = f.Code
		if f.Kind != TopLevelError {
			resp.ErrorCode = kerr.InconsistentClusterID.Code
		}
		return resp
	}
	if f.Kind == EmptyAnswer {
		return resp
	}
	deadline := time.NewTimer(time.Duration(req.MaxWaitMillis) * time.Millisecond)
	defer deadline.Stop()
	for {
		q.mu.Lock()
		p, wait := q.read(c, f, req)
		changed := q.changed
		q.fill(c, f, resp, p)
		q.mu.Unlock()
		if !wait {
			return resp
		}
		select {
		case <-changed:
		case <-q.closed:
			return resp
		case <-deadline.C:
			return resp
		}
	}
}

// fill puts the partition into the answer, with the leader as it is named.
func (q *Quorum) fill(c *controller, f Fault, resp *kmsg.FetchResponse, p kmsg.FetchResponseTopicPartition) {
	leader, epoch, at := q.named(c, f)
	p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = int32(leader), int32(epoch)
	resp.Brokers = nil
	if leader != kafka.NoNode {
		b := kmsg.NewFetchResponseBroker()
		b.NodeID, b.Host, b.Port = int32(leader), at.host, at.port
		resp.Brokers = append(resp.Brokers, b)
	}
	topic := kmsg.NewFetchResponseTopic()
	topic.TopicID = kafka.MetadataTopicID
	topic.Partitions = []kmsg.FetchResponseTopicPartition{p}
	resp.Topics = []kmsg.FetchResponseTopic{topic}
}

// read makes the partition's answer, and says whether a long poll would wait
// for a better one. The lock is held.
func (q *Quorum) read(c *controller, f Fault, req *kmsg.FetchRequest) (kmsg.FetchResponseTopicPartition, bool) {
	in := &req.Topics[0].Partitions[0]
	p := kmsg.NewFetchResponseTopicPartition()
	p.HighWatermark = -1
	p.RecordBatches = []byte{}
	if p.ErrorCode = q.check(c, f, req, in); p.ErrorCode != 0 {
		return p, false
	}
	p.HighWatermark, p.LogStartOffset = int64(q.highWatermark), int64(q.logStart)
	from := position{kafka.Offset(in.FetchOffset), kafka.Epoch(in.LastFetchedEpoch)}
	switch {
	case f.Kind == NoProgress:
		return p, false
	case f.Kind == AlwaysDiverging:
		p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = 1, 0
		return p, false
	case q.needsSnapshot(from):
		p.SnapshotID.EndOffset, p.SnapshotID.Epoch = int64(q.snapshot.end), int32(q.snapshot.epoch)
		return p, false
	}
	if d, diverges := q.diverges(from); diverges {
		p.DivergingEpoch.EndOffset, p.DivergingEpoch.Epoch = int64(d.Offset), int32(d.Epoch)
		return p, false
	}
	p.RecordBatches = damage(f, q.records(from.Offset, int(req.MaxBytes)))
	known := in.HighWatermark
	if req.Version < 18 {
		known = math.MaxInt64
	}
	return p, len(p.RecordBatches) == 0 && known >= int64(q.highWatermark)
}

// check is the validation of KafkaRaftClient.validateFetchOnlyRequest, in its
// order. The lock is held.
func (q *Quorum) check(c *controller, f Fault, req *kmsg.FetchRequest, in *kmsg.FetchRequestTopicPartition) int16 {
	epoch := kafka.Epoch(in.CurrentLeaderEpoch)
	switch {
	case f.Kind == PartitionError:
		return f.Code
	case f.Kind == AnswerAsBroker:
		return kerr.UnknownTopicID.Code
	case f.Kind == NamesItself:
		return kerr.NotLeaderForPartition.Code
	case req.Topics[0].TopicID != kafka.MetadataTopicID:
		return kerr.UnknownTopicID.Code
	case req.MaxWaitMillis < 0 || in.FetchOffset < 0 || in.LastFetchedEpoch < 0 || in.LastFetchedEpoch > in.CurrentLeaderEpoch:
		return kerr.InvalidRequest.Code
	case epoch < q.epoch:
		return kerr.FencedLeaderEpoch.Code
	case epoch > q.epoch:
		return kerr.UnknownLeaderEpoch.Code
	case c.id != q.leader:
		return kerr.NotLeaderForPartition.Code
	}
	return 0
}

// needsSnapshot says whether the log does not reach back to from.
func (q *Quorum) needsSnapshot(from position) bool {
	return q.snapshot != nil && (from.Offset == 0 || from.Offset < q.logStart)
}

// diverges compares from with the log (ReplicatedLog.validateOffsetAndEpoch).
func (q *Quorum) diverges(from position) (position, bool) {
	if from.Offset == 0 {
		return position{}, false
	}
	end := q.endOfEpoch(from.Epoch)
	return end, end.Epoch != from.Epoch || end.Offset < from.Offset
}

// records is the log from offset on, at least one batch, and cut at max bytes
// in the middle of a batch.
func (q *Quorum) records(from kafka.Offset, max int) []byte {
	b := []byte{}
	for i := range q.log {
		if q.log[i].NextOffset() <= from {
			continue
		}
		raw := q.log[i].Bytes()
		if len(b) > 0 && len(b)+len(raw) > max {
			return append(b, raw[:max-len(b)]...)
		}
		b = append(b, raw...)
		if len(b) >= max {
			break
		}
	}
	return b
}

// damage does to records what a fault asks for.
func damage(f Fault, b []byte) []byte {
	if len(b) == 0 {
		return b
	}
	switch f.Kind {
	case CorruptRecords:
		b[len(b)-1] ^= 1
	case CutRecords:
		return b[:min(20, len(b))]
	case ForeignRecords:
		b[6] ^= 1 // the base offset, which no CRC covers
	}
	return b
}
