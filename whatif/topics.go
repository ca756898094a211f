package whatif

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/nearest"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// topic finds a topic by its name.
func (b *builder) topic(name string) (image.Topic, error) {
	if name == "" {
		return image.Topic{}, invalid("there is no topic")
	}
	if t, ok := b.image().Topics().ByName(name); ok {
		return t, nil
	}
	like := nearest.Of(name, func(yield func(string) bool) {
		for t := range b.image().Topics().All() {
			if !yield(t.Name()) {
				return
			}
		}
	})
	return image.Topic{}, notFound("there is no topic %.300q%s", name, meant(like))
}

// meant is the end of a message about a name that is like another.
func meant(like string) string {
	if like == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", like)
}

func didYouMean(name string, choices []string) string {
	if like := nearest.Of(name, slices.Values(choices)); like != "" {
		return meant(like)
	}
	return "; there are " + strings.Join(choices, ", ")
}

// addPartitions adds partitions at the end of a topic, with as many replicas as
// its first one has.
func (b *builder) addPartitions(c *Change) error {
	t, err := b.topic(c.Topic)
	if err != nil {
		return err
	}
	count := int32(t.NumPartitions())
	var first image.Partition
	switch {
	case c.Topic == kafka.OffsetsTopic:
		return invalid("the number of partitions of %s decides which coordinator a group has; what then happens is not predicted", c.Topic)
	case c.Partitions <= count:
		return invalid("topic %s has %d partitions, which %d is not more than", c.Topic, count, c.Partitions)
	case c.Partitions-count > maxNewPartitions:
		return invalid("%d partitions are more than a controller adds at once, %d", c.Partitions-count, maxNewPartitions)
	case !t.Partition(0, &first):
		return invalid("topic %s has no partition 0", c.Topic)
	}
	s := step{
		after: fmt.Sprintf("topic %s has %d partitions", c.Topic, c.Partitions),
		grown: map[string]struct{}{c.Topic: {}},
		why:   map[string][]string{c.Topic: {fmt.Sprintf("topic %s gets %d partitions, from %d", c.Topic, c.Partitions, count)}},
	}
	replicas, known := b.place(len(first.Replicas))
	if len(replicas) < len(first.Replicas) {
		return invalid("topic %s has %d replicas a partition, and only %d brokers are up", c.Topic, len(first.Replicas), len(replicas))
	}
	if !known {
		b.leaveOpen(c.Topic, fmt.Sprintf("the controller chooses the racks of the new partitions of %s", c.Topic))
	}
	return b.step(s, func(r *recorder) {
		for number := count; number < c.Partitions; number++ {
			r.add(newPartition(t.ID(), number, replicas))
		}
	})
}

// createTopic makes a topic with an id that is not in use. Which one, and where
// its replicas are, is for the controller to choose.
func (b *builder) createTopic(c *Change) error {
	_, exists := b.image().Topics().ByName(c.Topic)
	switch {
	case !isTopicName(c.Topic):
		return invalid("%.300q cannot be the name of a topic: it has 1 to 249 letters, digits, dots, underscores and dashes, and more than dots", c.Topic)
	case exists:
		return invalid("topic %s exists", c.Topic)
	case c.Topic == kafka.OffsetsTopic:
		return invalid("%s is made by Kafka itself", c.Topic)
	case c.Partitions < 1 || c.Partitions > maxNewPartitions:
		return invalid("topic %s cannot be created with %d partitions: 1 to %d are allowed at once", c.Topic, c.Partitions, maxNewPartitions)
	}
	replicas, _ := b.place(1)
	if len(replicas) == 0 {
		return invalid("topic %s cannot be created: there is no broker", c.Topic)
	}
	s := step{
		after:   fmt.Sprintf("topic %s is created", c.Topic),
		created: []string{c.Topic}, grown: map[string]struct{}{c.Topic: {}},
		why: map[string][]string{c.Topic: {fmt.Sprintf("topic %s is created", c.Topic)}},
	}
	b.leaveOpen(c.Topic, fmt.Sprintf("the controller chooses the id of topic %s", c.Topic))
	id := b.unusedID()
	return b.step(s, func(r *recorder) {
		r.add(&record.TopicRecord{Name: c.Topic, TopicID: id})
		for number := range c.Partitions {
			r.add(newPartition(id, number, replicas))
		}
	})
}

func (b *builder) deleteTopic(c *Change) error {
	t, err := b.topic(c.Topic)
	if err != nil {
		return err
	}
	if c.Topic == kafka.OffsetsTopic {
		return invalid("without %s there is no group", c.Topic)
	}
	s := step{
		after: fmt.Sprintf("topic %s is deleted", c.Topic),
		why:   map[string][]string{c.Topic: {fmt.Sprintf("topic %s is deleted", c.Topic)}},
	}
	return b.step(s, func(r *recorder) { r.add(&record.RemoveTopicRecord{TopicID: t.ID()}) })
}

// leaveOpen notes that a topic's hash is not to be told from the next image on.
func (b *builder) leaveOpen(topic, reason string) {
	if _, already := b.plan.open[topic]; !already {
		b.plan.open[topic] = opening{from: len(b.plan.images), reason: reason}
	}
}

// place puts a number of replicas on brokers that are up, and says whether
// their racks are known, whichever the controller takes.
func (b *builder) place(n int) (replicas []kafka.NodeID, known bool) {
	racks := make(map[string]struct{})
	all := 0
	for broker := range b.image().Cluster().Brokers() {
		all++
		rack, _ := b.image().Cluster().Rack(broker.ID)
		racks[rack] = struct{}{}
		if !broker.Fenced && len(replicas) < n {
			replicas = append(replicas, broker.ID)
		}
	}
	return replicas, len(racks) <= 1 && len(replicas) == n || len(replicas) == all
}

// unusedID makes up an id of a topic.
func (b *builder) unusedID() kafka.TopicID {
	for n := uint64(1); ; n++ {
		id := kafka.NewUUID(madeUp, n)
		if _, used := b.image().Topics().ByID(id); !used {
			return id
		}
	}
}

// madeUp is the first half of ids that are made up; that of a random one has
// other bits.
const madeUp = 0x7768_6174_6966_0000

func newPartition(topic kafka.TopicID, number int32, replicas []kafka.NodeID) *record.PartitionRecord {
	r := &record.PartitionRecord{TopicID: topic, PartitionID: number, Replicas: numbers(replicas), Isr: numbers(replicas), Leader: -1}
	if len(replicas) > 0 {
		r.Leader = int32(replicas[0])
	}
	return r
}

// isTopicName is Kafka's rule (Topic.validate).
func isTopicName(name string) bool {
	return name != "" && len(name) <= 249 && name != "." && name != ".." && strings.IndexFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
	}) < 0
}
