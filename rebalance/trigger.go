package rebalance

import (
	"fmt"
	"slices"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
)

// trigger is the first event after a change of racks that made the coordinator
// drop its hash of the topic: a record named the topic, or the coordinator
// moved. Later ones are not needed, so that it stays what it is.
func (s *settlement) trigger(topic string, after kafka.Offset) *Trigger {
	h := s.e.history
	if after < h.complete {
		return nil // what set it off may have been forgotten
	}
	var touched *touch
	for i := range h.topic(topic).touches {
		if t := &h.topics[topic].touches[i]; s.within(t.time, t.offset, after) {
			touched = t
			break
		}
	}
	var moved *election
	for i := range h.elections[s.b.id.Partition] {
		if e := &h.elections[s.b.id.Partition][i]; s.within(e.time, e.offset, after) {
			moved = e
			break
		}
	}
	switch {
	case moved != nil && (touched == nil || moved.offset < touched.offset):
		return moved.trigger()
	case touched != nil:
		return touched.trigger(topic)
	}
	if !s.due {
		s.open = true
	}
	return nil
}

func (t *touch) trigger(topic string) *Trigger {
	summary := fmt.Sprintf("a record named topic %s", topic)
	if t.effect != "" {
		summary += ": " + t.effect
	}
	return &Trigger{Kind: TopicTouched, Summary: summary, Evidence: []Evidence{{
		Log: MetadataLog, Offset: t.offset, Timestamp: t.time, Record: t.record, Detail: t.effect,
	}}}
}

func (e *election) trigger() *Trigger {
	summary := fmt.Sprintf("the coordinator moved from broker %d to broker %d", e.from, e.leader)
	switch e.from {
	case kafka.NoNode:
		summary = fmt.Sprintf("broker %d became the coordinator", e.leader)
	case e.leader:
		summary = fmt.Sprintf("broker %d became the coordinator again, in leader epoch %d", e.leader, e.epoch)
	}
	return &Trigger{Kind: CoordinatorMoved, Summary: summary, Evidence: []Evidence{{
		Log: MetadataLog, Offset: e.offset, Timestamp: e.time, Record: e.record, Detail: summary,
	}}}
}

// effectOf is what a record did to the ISR of a partition, in words.
func effectOf(d *delta.Delta, s *delta.Source) string {
	if s.Partition < 0 {
		return ""
	}
	var before, after image.Partition
	t, ok := d.Base().Topics().ByID(s.Topic.ID)
	if !ok || !t.Partition(s.Partition, &before) {
		return ""
	}
	if t, ok = d.Image().Topics().ByID(s.Topic.ID); !ok || !t.Partition(s.Partition, &after) {
		return ""
	}
	for _, change := range []struct {
		from, to []kafka.NodeID
		words    string
	}{{before.Isr, after.Isr, "left"}, {after.Isr, before.Isr, "came back to"}} {
		for _, id := range change.from {
			if !slices.Contains(change.to, id) {
				return fmt.Sprintf("broker %d %s the ISR of partition %d", id, change.words, s.Partition)
			}
		}
	}
	if before.Leader != after.Leader && after.Leader != kafka.NoNode {
		return fmt.Sprintf("broker %d leads partition %d", after.Leader, s.Partition)
	}
	return ""
}
