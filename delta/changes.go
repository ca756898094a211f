package delta

import (
	"fmt"
	"iter"
	"slices"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
)

// ChangeKind says what a Change is.
type ChangeKind string

// The kinds of change that can move a topic hash or a broker's rack, and the
// fields of Change that each fills.
const (
	TopicCreated       ChangeKind = "topicCreated"       // Topic, TopicID, PartitionsAfter
	TopicDeleted       ChangeKind = "topicDeleted"       // Topic, TopicID
	TopicRecreated     ChangeKind = "topicRecreated"     // Topic, TopicID, OldTopicID
	PartitionsAdded    ChangeKind = "partitionsAdded"    // Topic, TopicID, PartitionsBefore, PartitionsAfter
	ReplicasChanged    ChangeKind = "replicasChanged"    // Topic, TopicID, Partition, Replicas*
	RacksChanged       ChangeKind = "racksChanged"       // Topic, TopicID, Partition, Racks*
	BrokerRegistered   ChangeKind = "brokerRegistered"   // Broker, Racks* (After only)
	BrokerUnregistered ChangeKind = "brokerUnregistered" // Broker, Racks* (Before only)
	BrokerRackChanged  ChangeKind = "brokerRackChanged"  // Broker, Racks*
)

// Change is one difference between two images, in a form that can be told to
// a person. Lists of racks are sorted: the order of replicas is not in a hash.
type Change struct {
	Kind             ChangeKind
	Topic            string
	TopicID          kafka.TopicID
	OldTopicID       kafka.TopicID
	Partition        int32
	Broker           kafka.NodeID
	PartitionsBefore int
	PartitionsAfter  int
	ReplicasBefore   []kafka.NodeID
	ReplicasAfter    []kafka.NodeID
	RacksBefore      []string
	RacksAfter       []string
}

// String is the change in a few words, for tests and logs.
func (c Change) String() string {
	switch c.Kind {
	case TopicCreated:
		return fmt.Sprintf("%s %s, %d partitions", c.Kind, c.Topic, c.PartitionsAfter)
	case TopicDeleted:
		return fmt.Sprintf("%s %s", c.Kind, c.Topic)
	case TopicRecreated:
		return fmt.Sprintf("%s %s, id %s -> %s", c.Kind, c.Topic, c.OldTopicID, c.TopicID)
	case PartitionsAdded:
		return fmt.Sprintf("%s %s, %d -> %d", c.Kind, c.Topic, c.PartitionsBefore, c.PartitionsAfter)
	case ReplicasChanged:
		return fmt.Sprintf("%s %s-%d, %v -> %v", c.Kind, c.Topic, c.Partition, c.ReplicasBefore, c.ReplicasAfter)
	case RacksChanged:
		return fmt.Sprintf("%s %s-%d, %v -> %v", c.Kind, c.Topic, c.Partition, c.RacksBefore, c.RacksAfter)
	}
	return fmt.Sprintf("%s %d, %v -> %v", c.Kind, c.Broker, c.RacksBefore, c.RacksAfter)
}

// Changes yields what changed, brokers first, then deleted and touched topics.
// Its cost follows the number of touched topics. A broker's change of rack
// stands for itself: CompareTopic tells which partitions of a topic it moved.
func (d *Delta) Changes() iter.Seq[Change] {
	return func(yield func(Change) bool) {
		each := func(list []Change) bool {
			for i := range list {
				if !yield(list[i]) {
					return false
				}
			}
			return true
		}
		recreated := make(map[string]struct{})
		if !each(d.brokerChanges()) || !each(d.deletions(recreated)) {
			return
		}
		for t := range d.TouchedTopics() {
			if !each(d.topicChanges(t, recreated)) {
				return
			}
		}
	}
}

// deletions are the deleted topics; those of them that are there again are
// added to recreated.
func (d *Delta) deletions(recreated map[string]struct{}) (changes []Change) {
	for _, old := range d.deleted {
		if now, ok := d.next.Topics().ByName(old.Name); ok {
			recreated[old.Name] = struct{}{}
			changes = append(changes, Change{Kind: TopicRecreated, Topic: old.Name, TopicID: now.ID(), OldTopicID: old.ID})
			continue
		}
		changes = append(changes, Change{Kind: TopicDeleted, Topic: old.Name, TopicID: old.ID})
	}
	return changes
}

// topicChanges is what became of a touched topic, but that it was recreated.
func (d *Delta) topicChanges(t image.Topic, recreated map[string]struct{}) []Change {
	if before, existed := d.base.Topics().ByID(t.ID()); existed {
		return CompareTopic(d.base, d.next, before, t)
	}
	if _, again := recreated[t.Name()]; again {
		return nil
	}
	return []Change{{Kind: TopicCreated, Topic: t.Name(), TopicID: t.ID(), PartitionsAfter: t.NumPartitions()}}
}

func (d *Delta) brokerChanges() (changes []Change) {
	for _, id := range d.changedBrokers() {
		before, was := d.base.Cluster().Broker(id)
		after, is := d.next.Cluster().Broker(id)
		c := Change{Broker: id, RacksBefore: rackOf(before), RacksAfter: rackOf(after)}
		switch {
		case !was && is:
			c.Kind = BrokerRegistered
		case was && !is:
			c.Kind = BrokerUnregistered
		case was && !slices.Equal(c.RacksBefore, c.RacksAfter):
			c.Kind = BrokerRackChanged
		default:
			continue
		}
		changes = append(changes, c)
	}
	return changes
}

// RacksMoved says whether some broker's rack is not what it was: a broker
// with a rack registered or unregistered, or came back in another one. Only
// then can a topic's hash change without a record that names the topic.
func (d *Delta) RacksMoved() bool {
	for _, c := range d.brokerChanges() {
		if !slices.Equal(c.RacksBefore, c.RacksAfter) {
			return true
		}
	}
	return false
}

func (d *Delta) changedBrokers() []kafka.NodeID {
	ids := slices.Clone(d.brokers)
	if d.snapshot {
		for b := range d.base.Cluster().Brokers() {
			ids = append(ids, b.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func rackOf(b *image.Broker) []string {
	if b == nil || b.Rack == nil {
		return nil
	}
	return []string{*b.Rack}
}

// CompareTopic lists what differs between two states of one topic id: its
// number of partitions, and the replicas and racks of those partitions that
// both have.
func CompareTopic(baseImage, nextImage *image.MetadataImage, before, after image.Topic) (changes []Change) {
	if before.SameRows(after) && baseImage.Cluster() == nextImage.Cluster() {
		return nil
	}
	identity := Change{Topic: after.Name(), TopicID: after.ID()}
	if n, m := before.NumPartitions(), after.NumPartitions(); n != m {
		c := identity
		c.Kind, c.PartitionsBefore, c.PartitionsAfter = PartitionsAdded, n, m
		changes = append(changes, c)
	}
	var old []kafka.NodeID
	for number, p := range after.Partitions() {
		was := false
		if old, was = before.AppendReplicas(old[:0], number); !was {
			continue
		}
		if !slices.Equal(old, p.Replicas) {
			c := identity
			c.Kind, c.Partition = ReplicasChanged, number
			c.ReplicasBefore, c.ReplicasAfter = slices.Clone(old), slices.Clone(p.Replicas)
			changes = append(changes, c)
		}
		c := identity
		c.Kind, c.Partition = RacksChanged, number
		c.RacksBefore, c.RacksAfter = racks(baseImage, old), racks(nextImage, p.Replicas)
		if !slices.Equal(c.RacksBefore, c.RacksAfter) {
			changes = append(changes, c)
		}
	}
	return changes
}

// racks is the racks of the replicas, sorted, each as often as it occurs.
func racks(m *image.MetadataImage, replicas []kafka.NodeID) (list []string) {
	for _, id := range replicas {
		if rack, ok := m.Cluster().Rack(id); ok {
			list = append(list, rack)
		}
	}
	slices.Sort(list)
	return list
}
