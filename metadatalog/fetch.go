package metadatalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

const (
	// maxWaitMillis is how long the leader may hold an answer back when there
	// is nothing new, as Kafka's own observers have it.
	maxWaitMillis = 500
	// minFetchBytes is asked for at first. A leader answers with a whole
	// batch even if it is larger; should one not, the size is doubled, up to
	// maxFetchBytes.
	minFetchBytes = 2 << 20
	maxFetchBytes = 16 << 20
	// fetchVersion is the lowest version with the endpoints of leaders
	// (KIP-853), which is what Kafka 4.0 has. 4.1 has 18, by which a follower
	// tells its high watermark (KIP-1166).
	fetchVersion = 17
)

// fetch asks target for what follows the end of the tail.
func (q *Quorum) fetch(ctx context.Context, c *controller, target endpoint) (verdict, error) {
	from, discovery := q.tail.end(), q.view.epoch == 0
	if discovery {
		// Only epoch 0 is sure not to be above the controller's. The answer
		// is an error that names the leader.
		from = Position{}
	}
	answer, err := c.request(ctx, q.fetchRequest(from))
	if err != nil {
		return q.failed(target, err), nil
	}
	resp := answer.(*kmsg.FetchResponse)
	if resp.Version < fetchVersion {
		return q.problem(target, NotController, fmt.Errorf("it speaks Fetch only up to version %d", resp.Version),
			"kraftside reads Kafka 4.0 and later"), nil
	}
	p, err := fetchedPartition(resp)
	if err != nil {
		return q.failed(target, err), nil
	}
	news := q.learn(p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch, resp.Brokers)
	switch {
	case p.ErrorCode != 0:
		return q.refused(target, p.ErrorCode, news, p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch)
	case news && q.view.leaderAt != target.address:
		return q.newLeader(), nil
	case discovery && q.tail.end() != from:
		// An answer from the start of the log, to a request that was not
		// meant to get one. Its sender leads.
		q.view.answered(target)
		return q.newLeader(), nil
	case p.DivergingEpoch.EndOffset >= 0:
		return q.diverging(target, Position{Offset: kafka.Offset(p.DivergingEpoch.EndOffset), Epoch: kafka.Epoch(p.DivergingEpoch.Epoch)})
	case p.SnapshotID.EndOffset >= 0:
		return q.startDownload(target, SnapshotID{EndOffset: kafka.Offset(p.SnapshotID.EndOffset), Epoch: kafka.Epoch(p.SnapshotID.Epoch)})
	}
	return q.take(target, p)
}

func (q *Quorum) fetchRequest(from Position) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.ClusterID = q.clusterID()
	req.MaxWaitMillis = maxWaitMillis
	req.MaxBytes = q.fetchBytes
	topic := kmsg.NewFetchRequestTopic()
	topic.TopicID = kafka.MetadataTopicID
	p := kmsg.NewFetchRequestTopicPartition()
	p.CurrentLeaderEpoch = int32(q.view.epoch)
	p.FetchOffset = int64(from.Offset)
	p.LastFetchedEpoch = int32(from.Epoch)
	p.PartitionMaxBytes = q.fetchBytes
	// A leader that knows more than this answers at once, so telling nothing
	// would make a busy loop of the end of the log.
	p.HighWatermark = int64(q.tail.highWatermark)
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	return req
}

// fetchedPartition finds the one partition of an answer.
func fetchedPartition(resp *kmsg.FetchResponse) (*kmsg.FetchResponseTopicPartition, error) {
	if err := errorForCode(resp.ErrorCode); err != nil {
		return nil, err
	}
	if len(resp.Topics) != 1 || resp.Topics[0].TopicID != kafka.MetadataTopicID || len(resp.Topics[0].Partitions) != 1 {
		return nil, errEmptyAnswer
	}
	return &resp.Topics[0].Partitions[0], nil
}

// learn takes the leader that an answer names.
func (q *Quorum) learn(id, epoch int32, endpoints []kmsg.FetchResponseBroker) bool {
	address := ""
	for _, e := range endpoints {
		if e.NodeID == id {
			address = hostPort(e.Host, e.Port)
		}
	}
	return q.view.learn(nodeID(id), kafka.Epoch(epoch), address)
}

// take adds the records of an answer to the tail, and delivers what is
// committed.
func (q *Quorum) take(target endpoint, p *kmsg.FetchResponseTopicPartition) (verdict, error) {
	more, err := q.add(p.RecordBatches)
	q.tail.raise(kafka.Offset(p.HighWatermark))
	if err := q.deliver(); err != nil {
		return stuck, err
	}
	switch {
	case errors.Is(err, recordbatch.ErrPartial):
		q.fetchBytes = min(2*q.fetchBytes, maxFetchBytes)
		q.problem(target, BadAnswer, err, "the answer holds no whole batch; more is asked for")
		return stuck, nil
	case err != nil:
		q.problem(target, Corrupt, err, "nothing after it is applied; check the log of this controller (kafka-dump-log) and the network")
		return stuck, nil
	case more || len(p.RecordBatches) > 0 && q.tail.behind():
		return again, nil
	}
	return caughtUp, nil
}

// add takes the batches of an answer into the tail. It says whether the answer
// was cut short, so that there is more; an answer that ends inside its first
// batch is an error.
func (q *Quorum) add(b []byte) (more bool, err error) {
	size := len(b)
	for len(b) > 0 {
		batch, rest, err := recordbatch.Split(b)
		if errors.Is(err, recordbatch.ErrPartial) && len(b) < size {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		room, err := q.tail.add(batch)
		if err != nil || !room {
			return false, err
		}
		b = rest
	}
	return false, nil
}

// deliver gives the sink what is committed.
func (q *Quorum) deliver() error {
	for b := q.tail.committed(); b != nil; b = q.tail.committed() {
		if err := q.sink.Append(b); err != nil {
			return err
		}
		q.tail.deliver()
	}
	return nil
}

// diverging acts on an answer that says where our log and the leader's part.
func (q *Quorum) diverging(target endpoint, at Position) (verdict, error) {
	if err := q.tail.truncate(at); err != nil {
		return q.reset(target, err)
	}
	return onward, nil
}
