package offsetslog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/kafka"
)

const (
	// metadataInterval is how often leaders are asked for when nothing hints
	// at a change.
	metadataInterval = 30 * time.Second
	// metadataHurry is the least time between two times of asking.
	metadataHurry = time.Second
	// topicInterval is how often a topic is looked for that is not there: the
	// first group of a cluster makes it.
	topicInterval = 5 * time.Second
	// topicGone is how often in a row a topic that was there must be missing
	// before it is believed: a broker that has just started knows no topics.
	topicGone = 3
)

// metadata is when leaders are asked for, and what came of it.
type metadata struct {
	asking   bool
	sent     time.Time
	due      time.Time
	failures int
	missing  int // answers in a row without the topic
	// leaderless counts answers in a row that had partitions without leader.
	leaderless int

	topic      kafka.TopicID
	assignment Assignment
	told       bool
}

// hurry makes the question due as soon as it may be asked again.
func (m *metadata) hurry() { m.due = earlier(m.due, m.sent.Add(metadataHurry)) }

// sendMetadata asks for the partitions' leaders if that is due, or returns
// when it will be.
func (k *Kafka) sendMetadata(ctx context.Context, now time.Time) time.Time {
	m := &k.metadata
	if m.asking {
		return now.Add(time.Hour)
	}
	if m.due.After(now) {
		return m.due
	}
	m.asking, m.sent, m.due = true, now, now.Add(metadataInterval)
	// A broker that knows no such topic would make one, were it allowed to.
	req := kmsg.NewPtrMetadataRequest()
	topic, name := kmsg.NewMetadataRequestTopic(), kafka.OffsetsTopic
	topic.Topic = &name
	req.Topics = append(req.Topics, topic)
	req.AllowAutoTopicCreation = false
	k.ask(ctx, answerTimeout, func(ctx context.Context) func() error {
		resp, err := req.RequestWith(ctx, k.config.Client)
		return func() error {
			m.asking = false
			return k.learn(resp, err)
		}
	})
	return now.Add(time.Hour)
}

// errWrongCluster means that the brokers are of another cluster.
var errWrongCluster = errors.New("the brokers belong to another cluster")

// learn takes an answer.
func (k *Kafka) learn(resp *kmsg.MetadataResponse, err error) error {
	m := &k.metadata
	topic, err := k.offsetsTopic(resp, err)
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		m.failures = 0
		return k.noTopic()
	case err != nil:
		m.failures++
		m.due = m.sent.Add(max(metadataHurry, backoff(m.failures, k.config.Jitter)))
		return k.assign(problemOf(kafka.NoNode, err))
	}
	m.failures, m.missing = 0, 0
	if err := k.assignPartitions(topic); err != nil {
		return err
	}
	return k.assign(nil)
}

// offsetsTopic finds the topic in an answer.
func (k *Kafka) offsetsTopic(resp *kmsg.MetadataResponse, err error) (*kmsg.MetadataResponseTopic, error) {
	if err != nil {
		return nil, err
	}
	if want := k.config.ClusterID; want != "" && (resp.ClusterID == nil || *resp.ClusterID != want) {
		has := "none"
		if resp.ClusterID != nil {
			has = *resp.ClusterID
		}
		return nil, fmt.Errorf("%w: %s, not %s", errWrongCluster, has, want)
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, err
	}
	for i := range resp.Topics {
		if t := &resp.Topics[i]; t.Topic != nil && *t.Topic == kafka.OffsetsTopic {
			return t, kerr.ErrorForCode(t.ErrorCode)
		}
	}
	return nil, errNoAnswer
}

// noTopic is the state of a cluster that never had a group, and nothing to
// complain of.
func (k *Kafka) noTopic() error {
	m := &k.metadata
	m.missing++
	m.due = m.sent.Add(topicInterval)
	if len(k.partitions) > 0 && m.missing < topicGone {
		return nil
	}
	for id := range k.partitions {
		if err := k.stop(id); err != nil {
			return err
		}
	}
	m.topic = kafka.TopicID{}
	m.assignment.Known = true
	return k.assign(nil)
}

func (k *Kafka) stop(id int32) error {
	delete(k.partitions, id)
	return k.sink.Stop(id)
}

// assignPartitions makes the partitions that are followed those of the topic.
func (k *Kafka) assignPartitions(topic *kmsg.MetadataResponseTopic) error {
	m := &k.metadata
	if id := kafka.TopicID(topic.TopicID); m.topic != id {
		m.topic = id
		for _, p := range k.partitions {
			p.topic, p.leaderEpoch = id, kafka.UnknownEpoch
			p.startOver(Recreated)
		}
	}
	m.assignment.Known = true
	wanted := make(map[int32]bool, len(topic.Partitions))
	leaderless := false
	for i := range topic.Partitions {
		tp := &topic.Partitions[i]
		if k.config.Follow != nil && !k.config.Follow(tp.Partition, nodes(tp.Replicas)) {
			continue
		}
		wanted[tp.Partition] = true
		leaderless = leaderless || tp.Leader < 0
		if err := k.lead(tp); err != nil {
			return err
		}
	}
	for id := range k.partitions {
		if !wanted[id] {
			if err := k.stop(id); err != nil {
				return err
			}
		}
	}
	m.hope(leaderless, k.config.Jitter)
	k.keepLeaders()
	return nil
}

// hope makes the next question due sooner if an answer had partitions without
// a leader, but ever later while it has.
func (m *metadata) hope(leaderless bool, jitter func() float64) {
	if !leaderless {
		m.leaderless = 0
		return
	}
	m.leaderless++
	m.due = earlier(m.due, m.sent.Add(max(metadataHurry, backoff(m.leaderless, jitter))))
}

func nodes(ids []int32) []kafka.NodeID {
	out := make([]kafka.NodeID, len(ids))
	for i, id := range ids {
		out[i] = kafka.NodeID(id)
	}
	return out
}

// lead takes what an answer says of a partition's leader.
func (k *Kafka) lead(tp *kmsg.MetadataResponseTopicPartition) error {
	p := k.partitions[tp.Partition]
	if p == nil {
		p = &kafkaPartition{
			partition: *k.follow(tp.Partition, k.metadata.topic),
			leader:    kafka.NoNode, leaderEpoch: kafka.UnknownEpoch, maxBytes: k.budget.most(partitionBytes),
		}
		k.partitions[tp.Partition] = p
	}
	leader, epoch := kafka.NodeID(tp.Leader), kafka.Epoch(tp.LeaderEpoch)
	switch {
	case epoch >= 0 && epoch < p.leaderEpoch: // of a broker that has not heard
		k.metadata.hurry()
		return nil
	case leader < 0:
		p.leader, p.at.Leader = kafka.NoNode, kafka.NoNode
		return k.refuseLeaderless(p)
	case leader == p.leader && epoch == p.leaderEpoch:
		return nil
	}
	p.leader, p.leaderEpoch = leader, epoch
	p.at.Leader, p.at.LeaderEpoch = leader, epoch
	if !p.startDue {
		p.notBefore = time.Time{} // a new leader has refused nothing yet
	}
	if k.brokers[leader] == nil {
		k.brokers[leader] = &broker{id: leader}
	}
	return k.report(&p.partition)
}

func (k *Kafka) refuseLeaderless(p *kafkaPartition) error {
	problem := &Problem{Kind: NoLeader, Node: kafka.NoNode, Err: errLeaderless, Advice: "bring a replica of it back; see kafka-topics --describe"}
	p.at.Problem = problem.after(p.at.Problem)
	return k.report(&p.partition)
}

var errLeaderless = errors.New("the partition has no leader")

// keepLeaders forgets brokers that lead nothing that is followed.
func (k *Kafka) keepLeaders() {
	leaders := make(map[kafka.NodeID]bool)
	for _, p := range k.partitions {
		leaders[p.leader] = true
	}
	maps.DeleteFunc(k.brokers, func(id kafka.NodeID, b *broker) bool { return !leaders[id] && !b.asking })
}

// assign tells the sink which partitions are followed, if that has changed.
func (k *Kafka) assign(problem *Problem) error {
	a := &k.metadata.assignment
	if problem != nil {
		problem = problem.after(a.Problem)
	}
	ids := slices.Sorted(maps.Keys(k.partitions))
	if k.metadata.told && problem == nil && a.Problem == nil && slices.Equal(ids, a.Partitions) {
		return nil
	}
	a.Partitions, a.Problem = ids, problem
	k.metadata.told = true
	return k.sink.Assigned(*a)
}
