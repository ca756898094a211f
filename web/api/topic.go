package api

import (
	"slices"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/topichash"
)

// Topic is a topic with its partitions, its hashes and the groups that
// subscribe to it.
type Topic struct {
	Name       string        `json:"name"`
	TopicID    kafka.TopicID `json:"topicId"`
	Partitions []Partition   `json:"partitions"`
	Hash       TopicHash     `json:"hash"`
	// Groups are ids, sorted.
	Groups    []string   `json:"groups"`
	ChangedAt *ChangedAt `json:"changedAt"`
}

// TopicHash is the hash in both schemes, null for a topic whose partition
// numbers have a gap.
type TopicHash struct {
	Kafka *Hash `json:"kafka"`
	KIP   *Hash `json:"kip"`
}

// ChangedAt is the last metadata record that named the topic. It is null for a
// topic that no group of the sidecar that was asked subscribes to, and if no
// record named it since one does.
type ChangedAt struct {
	Offset    *kafka.Offset `json:"offset"`
	Timestamp *Time         `json:"timestamp"`
}

// Partition is a partition of a topic.
type Partition struct {
	Partition   int32          `json:"partition"`
	Leader      *kafka.NodeID  `json:"leader"`
	LeaderEpoch kafka.Epoch    `json:"leaderEpoch"`
	Replicas    []kafka.NodeID `json:"replicas"`
	Isr         []kafka.NodeID `json:"isr"`
	Elr         []kafka.NodeID `json:"elr"`
	// Racks are those of the replicas, sorted, each as often as it occurs; a
	// replica whose broker is not registered or has no rack has none.
	Racks []string `json:"racks"`
	// Adding and Removing are there while a reassignment runs.
	Adding   []kafka.NodeID `json:"addingReplicas,omitempty"`
	Removing []kafka.NodeID `json:"removingReplicas,omitempty"`
}

// Topics makes Topic values of one view. It belongs to one goroutine.
type Topics struct {
	view    *pipeline.View
	racks   *topichash.Racks
	hasher  *topichash.Hasher
	scratch []kafka.NodeID
}

// NewTopics returns a Topics of the view.
func NewTopics(v *pipeline.View) *Topics {
	return &Topics{view: v, racks: topichash.RacksOf(v.Image.Cluster()), hasher: topichash.NewHasher()}
}

// Topic describes a topic of the view's image. groups are the subscribing ones.
func (t *Topics) Topic(topic image.Topic, groups []string) *Topic {
	out := &Topic{
		Name:       topic.Name(),
		TopicID:    topic.ID(),
		Partitions: make([]Partition, 0, topic.NumPartitions()),
		Hash:       TopicHash{Kafka: t.hash(topichash.Kafka, topic), KIP: t.hash(topichash.KIP, topic)},
		Groups:     list(groups),
		ChangedAt:  t.changedAt(topic.Name()),
	}
	for number, p := range topic.Partitions() {
		out.Partitions = append(out.Partitions, t.partition(number, p))
	}
	return out
}

func (t *Topics) hash(s topichash.Scheme, topic image.Topic) *Hash {
	h, err := topichash.HashTopic(t.hasher, s, t.racks, topic, &t.scratch)
	if err != nil { // a gap: no coordinator has a hash for it either
		return nil
	}
	return new(Hash(h))
}

func (t *Topics) changedAt(topic string) *ChangedAt {
	at, ok := t.view.TopicTouched(topic)
	if !ok {
		return nil
	}
	return &ChangedAt{Offset: Offset(at.Offset), Timestamp: timeOf(at.AppendTime)}
}

func (t *Topics) partition(number int32, p *image.Partition) Partition {
	racks := make([]string, 0, len(p.Replicas))
	for _, id := range p.Replicas {
		if rack, ok := t.view.Image.Cluster().Rack(id); ok {
			racks = append(racks, rack)
		}
	}
	slices.Sort(racks)
	return Partition{
		Partition: number, Leader: Node(p.Leader), LeaderEpoch: p.LeaderEpoch,
		Replicas: nodes(p.Replicas), Isr: nodes(p.Isr), Elr: nodes(p.Elr), Racks: racks,
		Adding: nodes(p.AddingReplicas), Removing: nodes(p.RemovingReplicas),
	}
}

// nodes copies a list, since the partition it is of is overwritten.
func nodes(ids []kafka.NodeID) []kafka.NodeID { return append([]kafka.NodeID{}, ids...) }

// Subscriptions are the ids of groups by the topic that they subscribe to.
type Subscriptions map[string][]string

// NewSubscriptions are those of the groups that v answers for, to topics named
// from first to last. Ids are sorted.
func NewSubscriptions(v *pipeline.View, first, last string) Subscriptions {
	s := make(Subscriptions)
	for g := range v.GroupsFrom("") {
		if !v.Answers(g) {
			continue
		}
		from, _ := slices.BinarySearch(g.SubscribedTopics, first)
		for _, topic := range g.SubscribedTopics[from:] {
			if topic > last {
				break
			}
			s[topic] = append(s[topic], g.ID)
		}
	}
	return s
}

// Add joins what another sidecar answered.
func (s Subscriptions) Add(others Subscriptions) {
	for topic, ids := range others {
		all := append(s[topic], ids...)
		slices.Sort(all)
		s[topic] = slices.Compact(all)
	}
}
