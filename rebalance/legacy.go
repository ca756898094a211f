package rebalance

import (
	"fmt"
	"slices"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
)

// legacyStep is a topic that a coordinator of Kafka 4.0 found changed. It
// records what it knows of each topic instead of a hash, so that the record
// proves the cause, and the metadata log only adds where it came from.
type legacyStep struct {
	Cause Cause
	// What the origin may be: the removal of a topic, the creation of one, or
	// the partitions from First on and before End of the cause's topic.
	Removed, Created kafka.TopicID
	First, End       int32
}

// made says whether a record of the topic may be the origin.
func (l *legacyStep) made(r *source) bool {
	switch r.record {
	case removeTopic:
		return r.id == l.Removed
	case topicRecord:
		return r.id == l.Created
	}
	return r.id == l.Cause.TopicID && r.partition >= l.First && r.partition < l.End
}

// legacy compares what a coordinator of Kafka 4.0 recorded of the topics that
// the group subscribed to before and does after.
func (x *extractor) legacy() {
	before, after := x.op.before, x.op.after
	r := x.op.find(record.TypeConsumerGroupPartitionMetadata, false, "")
	if r == nil {
		r = x.op.find(record.TypeShareGroupPartitionMetadata, false, "")
	}
	if r == nil || before == nil || before.Hash == nil {
		return
	}
	for _, name := range after.SubscribedTopics {
		if _, both := slices.BinarySearch(before.SubscribedTopics, name); both {
			x.compareLegacy(name, subscribed(before, name), subscribed(after, name), evidence(x.partition, r, x.op.timestamp))
		}
	}
}

// subscribed is what was recorded of a topic; nil if it did not exist.
func subscribed(g *groups.Group, name string) *groups.SubscribedTopic {
	for i := range g.Subscription {
		if g.Subscription[i].Name == name {
			return &g.Subscription[i]
		}
	}
	return nil
}

func (x *extractor) compareLegacy(name string, a, b *groups.SubscribedTopic, proof Evidence) {
	c := Cause{Kind: Metadata, Topic: name}
	var step legacyStep
	switch {
	case a == nil && b == nil, a != nil && b != nil && *a == *b:
		return
	case a == nil:
		c.Field, c.TopicID, c.After = FieldTopic, b.TopicID, []string{name}
		c.Summary = fmt.Sprintf("topic %s was created", name)
		step.Created = b.TopicID
	case b == nil:
		c.Field, c.TopicID, c.Before = FieldTopic, a.TopicID, []string{name}
		c.Summary = fmt.Sprintf("topic %s was deleted", name)
		step.Removed = a.TopicID
	case a.TopicID != b.TopicID:
		c.Field, c.TopicID, c.Before, c.After = FieldID, b.TopicID, []string{a.TopicID.String()}, []string{b.TopicID.String()}
		c.Summary = fmt.Sprintf("topic %s was deleted, and created again", name)
		step.Removed, step.Created = a.TopicID, b.TopicID
	default:
		c.Field, c.TopicID, c.Before, c.After = FieldPartitions, b.TopicID, number(int(a.Partitions)), number(int(b.Partitions))
		c.Summary = fmt.Sprintf("topic %s has %d partitions, no longer %d", name, b.Partitions, a.Partitions)
		step.First, step.End = a.Partitions, b.Partitions
	}
	step.Cause = x.certain(c, proof, x.proof)
	x.b.Legacy = append(x.b.Legacy, step)
}

// legacy adds the records of the metadata log.
func (s *settlement) legacy() {
	for i := range s.b.Legacy {
		step := &s.b.Legacy[i]
		c, n := step.Cause, len(step.Cause.Evidence)
		c.Evidence = slices.Clone(c.Evidence)
		for j := range s.e.history.topic(c.Topic).sources {
			if r := &s.e.history.topics[c.Topic].sources[j]; step.made(r) && s.within(r.time, r.offset, kafka.UnknownOffset) {
				c.Evidence = append(c.Evidence, Evidence{Log: MetadataLog, Offset: r.offset, Timestamp: r.time, Record: r.record})
			}
		}
		if len(c.Evidence) == n && !s.due {
			s.open = true
		}
		s.causes = append(s.causes, c)
	}
}
