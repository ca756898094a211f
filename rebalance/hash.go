package rebalance

import (
	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/topichash"
)

// hashStep is the comparison of the hash that a bump stores with images.
type hashStep struct {
	Q         question // but for after
	Before    int64
	HadBefore bool
	Was       question // of the hash before
	// Placeholder says that the value is none that was computed: Kafka 4.1
	// writes 0 when a member leaves a streams group.
	Placeholder bool
	Unknown     bool // the same of the hash before
	First       bool // the release before had no hash

	done  bool
	m     match
	got   finding
	base  *evaluation
	found *evaluation // what is known of the coordinator's cache from now on
	keep  bool        // found is the track's
}

// hash prepares the comparison. A record of Kafka 4.0 has no hash.
func (x *extractor) hash() {
	before, after := x.op.before, x.op.after
	if after.Type == groups.Classic || after.Hash.None {
		return
	}
	step := &hashStep{Q: question{
		Topics: after.SubscribedTopics, Hash: after.Hash.Value, Time: x.op.timestamp, Partition: x.partition,
	}}
	if before != nil && before.Hash != nil {
		step.Unknown = isPlaceholder(before)
		step.Before, step.HadBefore = before.Hash.Value, !before.Hash.None
		step.Was = question{
			Topics: before.SubscribedTopics, Hash: before.Hash.Value, Time: before.Hash.Timestamp, Partition: x.partition,
		}
		step.First = before.Hash.None && x.op.has(record.TypeConsumerGroupPartitionMetadata, true) ||
			before.Hash.None && after.Type == groups.Share
	}
	step.Placeholder = isPlaceholder(after) && len(x.diff.left) > 0
	x.b.Hash = step
	if step.First && after.Hash.Value != 0 {
		proof := []Evidence{x.proof}
		if r := x.op.find(record.TypeConsumerGroupPartitionMetadata, true, ""); r != nil {
			proof = append(proof, evidence(x.partition, r, x.op.timestamp))
		}
		x.recorded(Cause{Kind: FirstHash, Summary: "the coordinator runs a release that stores a hash, and the one before, Kafka 4.0, did not"}, proof...)
	}
}

// isPlaceholder says whether the hash may be a zero that was not computed. The
// groups of Kafka 4.1 have no configurations.
func isPlaceholder(g *groups.Group) bool {
	return g.Type == groups.Streams && g.Hash.Value == 0 && len(g.Streams.AssignmentConfigs) == 0
}

// hash looks for the image that explains the hash, and for what it differs in
// from the one of the previous evaluation.
func (s *settlement) hash() {
	step := s.b.Hash
	if step == nil {
		return
	}
	s.verdict = &Hash{Before: step.Before, HadBefore: step.HadBefore, After: step.Q.Hash, Verdict: topichash.None}
	if step.Placeholder {
		return
	}
	if !step.done && !s.search(step) {
		s.open = true
		if !s.force {
			return
		}
	}
	s.judgeHash(step)
	if step.got == found && step.base != nil {
		s.differences(step)
	}
}

// search runs once all that it depends on was read.
func (s *settlement) search(step *hashStep) bool {
	step.base = s.b.track.Last
	if s.b.Fresh {
		step.base = nil
	}
	if step.base == nil && step.HadBefore && !step.Unknown && !s.b.Fresh {
		m, got := s.e.history.explain(step.Was)
		if got == undecided {
			return false
		}
		if got == found {
			step.base = m.evaluation(step.Was.Topics)
		}
	}
	q := step.Q
	q.after = step.base
	if step.m, step.got = s.e.history.explain(q); step.got == undecided {
		return false
	}
	step.done, step.keep = true, true
	if step.got == found {
		step.found = step.m.evaluation(q.Topics)
	}
	return true
}

// judgeHash says how the stored hash relates to the images.
func (s *settlement) judgeHash(step *hashStep) {
	v := s.verdict
	v.Computed = step.m.computed
	if step.got == unexplained && s.b.Broken != "" {
		step.got = brokenOff
	}
	switch step.got {
	case found:
		v.Verdict = topichash.Match
		if v.Computed != v.After {
			v.Verdict = topichash.Stale
		}
		return
	case undecided:
		v.Verdict, v.Reason = topichash.Unknown, topichash.BehindCoordinator
	case beforeHistory, brokenOff:
		v.Verdict, v.Reason = topichash.Unknown, topichash.OlderThanHistory
	case tooMany:
		v.Verdict, v.Reason = topichash.Unknown, topichash.TooManyMixes
	case unexplained:
		v.Verdict = topichash.Drift
	}
	v.Computed = s.e.history.newestHash(step.Q)
}

// newestHash is the hash of a group by the newest image of its time.
func (h *history) newestHash(q question) int64 {
	at := h.asOf(q.Time + Skew).Offset
	var named []topichash.NamedHash
	for _, name := range q.Topics {
		versions := h.versionsOf(name)
		if v := versions[inEffect(versions, at)]; v.exists {
			named = append(named, topichash.NamedHash{Name: name, Hash: v.hash})
		}
	}
	return h.hasher.Group(topichash.Kafka, named)
}

// unknown is the cause where there is none to be found.
func (s *settlement) unknown() Cause {
	c := Cause{Kind: Unknown, Confidence: Likely, Partition: -1, Summary: "the cause is unknown"}
	step := s.b.Hash
	switch {
	case s.b.Broken != "":
		c.Reason = s.b.Broken
	case step == nil || step.HadBefore && step.Before == step.Q.Hash:
		c.Reason = "nothing that the coordinator recorded with it is a cause that is known here"
	case step.got == undecided:
		c.Reason = "the metadata log was not read as far as the bump"
	case step.got == unexplained:
		c.Reason = "no image of the metadata log has the hash that the coordinator stored"
	case step.got == tooMany:
		c.Reason = "the group's topics changed so often that not every explanation was tried"
	case step.HadBefore && step.Before == 0:
		c.Reason = "the hash before was 0, as Kafka 4.1 writes it when a member leaves a streams group"
	default:
		c.Reason = "it is older than what is kept of the metadata log"
	}
	return c
}
