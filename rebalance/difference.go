package rebalance

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/internal/kafka"
)

// differences are the causes in the metadata of the topics that the group was
// evaluated with before as well.
func (s *settlement) differences(step *hashStep) {
	for i, name := range step.Q.Topics {
		was, ok := step.base.Topics[name]
		if !ok {
			continue
		}
		low, ok := locate(step.m.versions[i], was)
		if high := step.m.chosen[i]; ok && low < high {
			s.difference(name, &step.m.versions[i][low], &step.m.versions[i][high])
		}
	}
}

// difference adds what two states of a topic differ in.
func (s *settlement) difference(name string, a, b *version) {
	c := Cause{Kind: Metadata, Topic: name, Partition: -1}
	switch {
	case !a.exists:
		c.Field, c.TopicID, c.After = FieldTopic, b.topic.ID(), []string{name}
		c.Summary = fmt.Sprintf("topic %s was created", name)
		s.add(c, a, b, func(r *source) bool { return r.record == topicRecord })
	case !b.exists:
		c.Field, c.TopicID, c.Before = FieldTopic, a.topic.ID(), []string{name}
		c.Summary = fmt.Sprintf("topic %s was deleted", name)
		s.add(c, a, b, func(r *source) bool { return r.record == removeTopic })
	case a.topic.ID() != b.topic.ID():
		c.Field, c.TopicID, c.Before, c.After = FieldID, b.topic.ID(), []string{a.topic.ID().String()}, []string{b.topic.ID().String()}
		c.Summary = fmt.Sprintf("topic %s was deleted, and created again", name)
		s.add(c, a, b, func(r *source) bool { return r.record == topicRecord || r.record == removeTopic })
	default:
		for _, change := range delta.CompareTopic(a.from.image, b.from.image, a.topic, b.topic) {
			s.change(c, &change, a, b)
		}
	}
}

// change adds one difference of the partitions.
func (s *settlement) change(c Cause, d *delta.Change, a, b *version) {
	c.TopicID = d.TopicID
	switch d.Kind {
	case delta.PartitionsAdded:
		c.Field, c.Before, c.After = FieldPartitions, number(d.PartitionsBefore), number(d.PartitionsAfter)
		c.Summary = fmt.Sprintf("topic %s has %d partitions, no longer %d", c.Topic, d.PartitionsAfter, d.PartitionsBefore)
		s.add(c, a, b, func(r *source) bool { return int(r.partition) >= d.PartitionsBefore })
	case delta.RacksChanged:
		c.Field, c.Partition, c.Before, c.After = FieldRacks, d.Partition, d.RacksBefore, d.RacksAfter
		c.Summary = fmt.Sprintf("the racks of topic %s changed", c.Topic)
		s.add(c, a, b, func(r *source) bool { return r.partition == d.Partition })
	}
}

func number(n int) []string { return []string{strconv.Itoa(n)} }

// add gives a cause the records between two versions that made it, and the
// trigger if none of them made the coordinator look.
func (s *settlement) add(c Cause, a, b *version, relevant func(*source) bool) {
	c.Confidence = Certain
	within := func(o kafka.Offset) bool { return o > a.from.Offset && o <= b.from.Offset }
	for i := range s.e.history.topic(c.Topic).sources {
		if r := &s.e.history.topics[c.Topic].sources[i]; within(r.offset) && relevant(r) {
			c.Evidence = append(c.Evidence, Evidence{Log: MetadataLog, Offset: r.offset, Timestamp: r.time, Record: r.record})
		}
	}
	touching := len(c.Evidence)
	if c.Field == FieldRacks {
		if touching > 0 {
			c.Summary += ": its replicas were reassigned"
		}
		s.brokers(&c, a, b, within)
	}
	switch {
	case len(c.Evidence) == 0:
		c.Confidence, c.Reason = Likely, "the records that changed it are older than what is kept of the metadata log"
	case touching == 0:
		c.Trigger = s.trigger(c.Topic, c.Evidence[len(c.Evidence)-1].Offset)
	}
	slices.SortFunc(c.Evidence, func(a, b Evidence) int { return int(a.Offset - b.Offset) })
	s.causes = append(s.causes, c)
}

// brokers adds the registrations that changed the racks of a partition.
func (s *settlement) brokers(c *Cause, a, b *version, within func(kafka.Offset) bool) {
	replicas, _ := a.topic.AppendReplicas(nil, c.Partition)
	replicas, _ = b.topic.AppendReplicas(replicas, c.Partition)
	var told []string
	for i := range s.e.history.brokers {
		r := &s.e.history.brokers[i]
		if !within(r.offset) || !slices.Contains(replicas, r.broker) {
			continue
		}
		c.Evidence = append(c.Evidence, Evidence{Log: MetadataLog, Offset: r.offset, Timestamp: r.time, Record: r.record, Detail: r.String()})
		told = append(told, r.String())
	}
	if len(told) > 0 {
		separator := ": "
		if len(told) < len(c.Evidence) {
			separator = ", "
		}
		c.Summary += separator + strings.Join(told, ", ")
	}
}

// String is the change of a broker's rack in a sentence.
func (b *brokerChange) String() string {
	switch {
	case b.before == nil:
		return fmt.Sprintf("broker %d registered in %s", b.broker, *b.after)
	case b.after == nil && b.record == "UnregisterBrokerRecord":
		return fmt.Sprintf("broker %d (%s) is no longer registered", b.broker, *b.before)
	case b.after == nil:
		return fmt.Sprintf("broker %d is in no rack, was in %s", b.broker, *b.before)
	}
	return fmt.Sprintf("broker %d is in %s, was in %s", b.broker, *b.after, *b.before)
}
