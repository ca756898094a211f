package rebalance

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/topichash"
)

// hashStep is the comparison of the hash that a bump stores with images.
type hashStep struct {
	q         question // but for after
	before    int64
	hadBefore bool
	was       question // of the hash before
	// placeholder says that the value is none that was computed: Kafka 4.1
	// writes 0 when a member leaves a streams group.
	placeholder bool
	first       bool // the release before had no hash

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
	if after.Hash.None {
		return
	}
	step := &hashStep{q: question{
		topics: after.SubscribedTopics, hash: after.Hash.Value, time: x.op.timestamp, partition: x.partition,
	}}
	if before != nil && before.Hash != nil {
		step.before, step.hadBefore = before.Hash.Value, !before.Hash.None
		step.was = question{
			topics: before.SubscribedTopics, hash: before.Hash.Value, time: before.Hash.Timestamp, partition: x.partition,
		}
		step.first = before.Hash.None && x.op.has(record.TypeConsumerGroupPartitionMetadata, true) ||
			before.Hash.None && after.Type == groups.Share
	}
	step.placeholder = after.Type == groups.Streams && after.Hash.Value == 0 && len(after.Streams.AssignmentConfigs) == 0 && len(x.diff.left) > 0
	x.b.hash = step
	if step.first && after.Hash.Value != 0 {
		proof := []Evidence{x.proof}
		if r := x.op.find(record.TypeConsumerGroupPartitionMetadata, true, ""); r != nil {
			proof = append(proof, evidence(x.partition, r, x.op.timestamp))
		}
		x.recorded(Cause{Kind: FirstHash, Summary: "the coordinator runs a release that stores a hash, and the one before, Kafka 4.0, did not"}, proof...)
	}
}

// hash looks for the image that explains the hash, and for what it differs in
// from the one of the previous evaluation.
func (s *settlement) hash() {
	step := s.b.hash
	if step == nil {
		return
	}
	s.verdict = &Hash{Before: step.before, HadBefore: step.hadBefore, After: step.q.hash, Verdict: topichash.None}
	if step.placeholder {
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
	step.base = s.b.track.last
	if s.b.fresh {
		step.base = nil
	}
	if step.base == nil && step.hadBefore && !s.b.fresh {
		m, got := s.e.history.explain(step.was)
		if got == undecided {
			return false
		}
		if got == found {
			step.base = m.evaluation(step.was.topics)
		}
	}
	q := step.q
	q.after = step.base
	if step.m, step.got = s.e.history.explain(q); step.got == undecided {
		return false
	}
	step.done, step.keep = true, true
	if step.got == found {
		step.found = step.m.evaluation(q.topics)
	}
	return true
}

// judgeHash says how the stored hash relates to the images.
func (s *settlement) judgeHash(step *hashStep) {
	v := s.verdict
	v.Computed = step.m.computed
	if step.got == unexplained && s.b.broken != "" {
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
	v.Computed = s.e.history.newestHash(step.q)
}

// newestHash is the hash of a group by the newest image of its time.
func (h *history) newestHash(q question) int64 {
	at := h.asOf(q.time + Skew).Offset
	var named []topichash.NamedHash
	for _, name := range q.topics {
		versions := h.versionsOf(name)
		if v := versions[inEffect(versions, at)]; v.exists {
			named = append(named, topichash.NamedHash{Name: name, Hash: v.hash})
		}
	}
	return h.hasher.Group(topichash.Kafka, named)
}

// differences are the causes in the metadata of the topics that the group was
// evaluated with before as well.
func (s *settlement) differences(step *hashStep) {
	for i, name := range step.q.topics {
		was, ok := step.base.topics[name]
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

// unknown is the cause where there is none to be found.
func (s *settlement) unknown() Cause {
	c := Cause{Kind: Unknown, Confidence: Likely, Partition: -1, Summary: "the cause is unknown"}
	step := s.b.hash
	switch {
	case s.b.broken != "":
		c.Reason = s.b.broken
	case step == nil || step.hadBefore && step.before == step.q.hash:
		c.Reason = "nothing that the coordinator recorded with it is a cause that is known here"
	case step.got == undecided:
		c.Reason = "the metadata log was not read as far as the bump"
	case step.got == unexplained:
		c.Reason = "no image of the metadata log has the hash that the coordinator stored"
	case step.got == tooMany:
		c.Reason = "the group's topics changed so often that not every explanation was tried"
	case step.hadBefore && step.before == 0:
		c.Reason = "the hash before was 0, as Kafka 4.1 writes it when a member leaves a streams group"
	default:
		c.Reason = "it is older than what is kept of the metadata log"
	}
	return c
}
