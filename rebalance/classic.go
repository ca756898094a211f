package rebalance

import (
	"fmt"
	"slices"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/groups"
)

// classicStep is a new generation of a classic group in which no member came
// or went.
type classicStep struct {
	Topics      []string
	Since, Time int64 // of the two generations
	Proof       Evidence
}

const classicReason = "Kafka records only that a generation of a classic group is complete, not why it began"

// classic compares the members of two generations.
func (x *extractor) classic() {
	before, after, t := x.op.before, x.op.after, x.track
	since := t.ClassicAt
	if before != nil && before.Classic != nil && before.Classic.StateTimestamp > 0 {
		since = max(since, before.Classic.StateTimestamp)
	}
	t.ClassicAt = x.op.timestamp
	add := func(c Cause) {
		c.Confidence, c.Reason, c.Partition, c.Evidence = Likely, classicReason, -1, []Evidence{x.proof}
		x.b.Recorded = append(x.b.Recorded, c)
	}
	for _, m := range x.diff.joined {
		add(Cause{Kind: MemberJoined, Member: m.ID, Summary: memberName(m) + " joined"})
	}
	for _, m := range x.diff.left {
		add(Cause{Kind: MemberLeft, Member: m.ID, Summary: memberName(m) + " left or timed out"})
	}
	for _, c := range x.diff.changed {
		if !slices.Equal(c[0].SubscribedTopics, c[1].SubscribedTopics) {
			add(Cause{
				Kind: SubscriptionChanged, Member: c[1].ID, Before: c[0].SubscribedTopics, After: c[1].SubscribedTopics,
				Summary: memberName(c[1]) + " changed the topics that it subscribes to",
			})
		}
	}
	if before != nil && before.Type == groups.Classic && before.Assignor != after.Assignor && before.Assignor != "" && after.Assignor != "" {
		add(Cause{
			Kind: AssignorChanged, Before: nonEmpty(before.Assignor), After: nonEmpty(after.Assignor),
			Summary: fmt.Sprintf("the members agreed on the assignor %s, and had %s", after.Assignor, before.Assignor),
		})
	}
	if len(x.b.Recorded) == 0 {
		x.b.Classic = &classicStep{Topics: after.SubscribedTopics, Since: since, Time: x.op.timestamp, Proof: x.proof}
	}
}

// classic looks for what the leader of a group of consumers looks for: another
// number of partitions, or other racks, of a topic of the group.
func (s *settlement) classic() {
	step := s.b.Classic
	if step == nil {
		return
	}
	if !s.due {
		s.open = true
		return
	}
	first := len(s.causes)
	if step.Since > 0 {
		for _, name := range step.Topics {
			s.classicTopic(step, name)
		}
	}
	for i := first; i < len(s.causes); i++ {
		c := &s.causes[i]
		c.Confidence, c.Reason, c.Trigger = Likely, classicReason+"; this is what changed since the last one", nil
		c.Evidence = append([]Evidence{step.Proof}, c.Evidence...)
	}
	if len(s.causes) == first {
		s.causes = append(s.causes, Cause{
			Kind: ClassicRebalance, Confidence: Likely, Partition: -1, Evidence: []Evidence{step.Proof},
			Reason:  classicReason,
			Summary: "a member asked for it: the members, what they subscribe to and their topics are what they were",
		})
	}
}

func (s *settlement) classicTopic(step *classicStep, name string) {
	versions := s.e.history.versionsOf(name)
	a := &versions[inEffect(versions, s.e.history.asOf(step.Since).Offset)]
	b := &versions[inEffect(versions, s.e.history.asOf(step.Time).Offset)]
	if a == b || a.exists && b.exists && a.topic.ID() == b.topic.ID() &&
		len(delta.CompareTopic(a.from.image, b.from.image, a.topic, b.topic)) == 0 {
		return
	}
	s.difference(name, a, b)
}
