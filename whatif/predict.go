package whatif

import (
	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/topichash"
)

// nodeID is short for the type of a broker's id.
type nodeID = kafka.NodeID

// Group is a group as it is before the plan.
type Group struct {
	*groups.Group
	// Partition of __consumer_offsets that its coordinator leads.
	Partition int32
	// Answer is the verdict on its hash in the image that the plan starts from.
	Answer topichash.Answer
}

// Bump says whether a group's epoch will be raised.
type Bump string

const (
	// Certain: it will be, however heartbeats fall.
	Certain Bump = "certain"
	// IfHeartbeatFallsInside: it will be if a member heartbeats between some
	// of the steps; otherwise the coordinator sees no difference.
	IfHeartbeatFallsInside Bump = "ifHeartbeatFallsInside"
	// AtNextEvent: the plan makes the hash untrue that the coordinator holds,
	// and the coordinator does not notice until something else touches the
	// topic or moves the coordinator.
	AtNextEvent Bump = "atNextEvent"
	// No: it will not be.
	No Bump = "no"
)

// Prediction is what a plan does to a group.
type Prediction struct {
	Bump Bump
	// Min and Max are how often the epoch is raised, that of AtNextEvent
	// included.
	Min, Max int
	// Steps are the bumps if a member heartbeats after every step of the plan.
	Steps []Step
	// Before is the stored hash; nil if there is none.
	Before *int64
	// After is the hash that the group ends with; nil if it cannot be told,
	// for a Reason.
	After  *int64
	Reason string
	// Why is a sentence for each thing that bumps the group, or why nothing
	// does.
	Why []string
}

// Step is a bump, and the step of the plan that it comes after. Hash is nil if
// the controller decides on it.
type Step struct {
	After string
	Hash  *int64
}

// Predict says what the plan does to a group; false if it is none of its
// business.
func (p *Plan) Predict(g Group) (*Prediction, bool) {
	w := p.newWalk(g)
	switch {
	case g.Type == groups.Classic:
		return w.refused("a classic group has no hash: its members refresh their metadata by themselves, and join again when they see the change", p.resizes)
	case g.Answer.Verdict == topichash.None && g.Type == groups.Share:
		return w.refused("the coordinator stores no hash of a share group in this release", p.resizes)
	case !w.concerned():
		return nil, false
	case !w.hasMembers():
		return w.refused("no member makes the coordinator compare: its hash is computed when one joins", p.changes)
	}
	return w.predict()
}

// refused is the prediction of a group that will not be bumped, if the plan
// does to one of its topics what it might be expected to be bumped for.
func (w *walk) refused(why string, does func(topic string) []string) (*Prediction, bool) {
	out := &Prediction{Bump: No}
	if h := w.g.Hash; h != nil && w.g.Answer.Verdict != topichash.None {
		out.Before, out.After = &h.Value, &h.Value
	}
	for _, name := range w.topics() {
		out.Why = addAll(out.Why, does(name))
	}
	if len(out.Why) == 0 {
		return nil, false
	}
	out.Why = add(out.Why, why)
	return out, true
}

// resizes says how the plan changes the partitions of a topic.
func (p *Plan) resizes(topic string) (why []string) {
	l := p.line(lineKey{topic, true})
	for i := range p.steps {
		if l.at[i+1] != l.at[i] {
			why = addAll(why, p.steps[i].why[topic])
		}
	}
	return why
}

// changes says what of a topic the plan changes that is in its hash.
func (p *Plan) changes(topic string) (why []string) {
	l := p.line(lineKey{topic, false})
	for i := range p.steps {
		if l.at[i+1] != l.at[i] {
			why = addAll(why, p.steps[i].reasons(topic))
		}
	}
	return why
}

// reasons are why a topic's hash changes with the step.
func (s *step) reasons(topic string) []string {
	if why := s.why[topic]; len(why) > 0 {
		return why
	}
	if s.cause != "" {
		return []string{s.cause}
	}
	return nil
}

// leaderOf is the coordinator of a partition in an image.
func leaderOf(m *image.MetadataImage, partition int32) kafka.NodeID {
	var p image.Partition
	if t, ok := m.Topics().ByName(kafka.OffsetsTopic); ok && t.Partition(partition, &p) {
		return p.Leader
	}
	return kafka.NoNode
}

// maxWhy bounds the sentences about one group.
const maxWhy = 12

// add adds a sentence that is not there.
func add(why []string, sentence string) []string {
	for _, w := range why {
		if w == sentence {
			return why
		}
	}
	if len(why) >= maxWhy {
		return why
	}
	return append(why, sentence)
}

func addAll(why, sentences []string) []string {
	for _, s := range sentences {
		why = add(why, s)
	}
	return why
}
