package whatif

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// move is the reassignment of one partition.
type move struct {
	topic     image.Topic
	partition int32
	before    image.Partition
	target    []kafka.NodeID
	adding    []kafka.NodeID
	removing  []kafka.NodeID
	stalled   kafka.NodeID // a broker that cannot catch up, or kafka.NoNode
}

// merged are the replicas while data moves (PartitionReassignmentReplicas).
func (m *move) merged() []kafka.NodeID { return append(slices.Clone(m.target), m.removing...) }

// reassign has two steps: each partition gets the replicas of both sides, and
// once the new ones are in the ISR it loses the others. The second one comes
// for each partition at its own time. A partition that gets no new broker is
// done at once.
func (b *builder) reassign(c *Change) error {
	if len(c.Plan) == 0 {
		return invalid("there is no plan")
	}
	r, err := ParseReassignment(c.Plan)
	if err != nil {
		return err
	}
	moves, err := b.moves(r)
	if err != nil {
		return err
	}
	begin := step{after: "the reassignment begins", why: make(map[string][]string)}
	end := step{after: "the new replicas are in the ISR", spread: true, why: make(map[string][]string), parts: make(map[string]int)}
	for i := range moves {
		b.explainMove(&moves[i], &begin, &end)
	}
	if err := b.step(begin, func(r *recorder) { beginMoves(r, moves) }); err != nil {
		return err
	}
	if err := b.step(end, func(r *recorder) { endMoves(r, moves) }); err != nil {
		return err
	}
	return b.preferLeaders(moves)
}

// moves checks the plan against the image. What is as it should be already is
// no move.
func (b *builder) moves(r *Reassignment) (moves []move, err error) {
	for i := range r.Partitions {
		p := &r.Partitions[i]
		topic, err := b.topic(p.Topic)
		if err != nil {
			return nil, err
		}
		m := move{topic: topic, partition: *p.Partition, target: p.Replicas, stalled: kafka.NoNode}
		if !topic.Partition(m.partition, &m.before) {
			return nil, notFound("topic %s has no partition %d; it has %d", p.Topic, m.partition, topic.NumPartitions())
		}
		for _, id := range m.target {
			broker, ok := b.image().Cluster().Broker(id)
			if !ok {
				return nil, fmt.Errorf("partition %d of topic %s: %w", m.partition, p.Topic, b.noBroker(id))
			}
			if !slices.Contains(m.before.Replicas, id) {
				m.adding = append(m.adding, id)
			}
			if broker.Fenced && !slices.Contains(m.before.Isr, id) {
				m.stalled = id
			}
		}
		m.removing = without(m.before.Replicas, m.target)
		if !slices.Equal(m.before.Replicas, m.target) {
			moves = append(moves, m)
		}
	}
	return moves, nil
}

func beginMoves(r *recorder, moves []move) {
	for i := range moves {
		m := &moves[i]
		if len(m.adding) == 0 {
			r.add(m.done())
			continue
		}
		r.add(&record.PartitionChangeRecord{
			TopicID: m.topic.ID(), PartitionID: m.partition, Leader: noChange, LeaderRecoveryState: -1,
			Replicas: numbers(m.merged()), AddingReplicas: numbers(m.adding), RemovingReplicas: numbers(m.removing),
			Directories: make([]kafka.UUID, len(m.merged())),
		})
	}
}

func endMoves(r *recorder, moves []move) {
	for i := range moves {
		if m := &moves[i]; len(m.adding) > 0 && m.stalled == kafka.NoNode {
			r.add(m.done())
		}
	}
}

// done is the record with which a partition has its new replicas, all of which
// are in the ISR. A leader that is not among them makes room for the first.
func (m *move) done() *record.PartitionChangeRecord {
	isr := slices.DeleteFunc(slices.Clone(m.target), func(id kafka.NodeID) bool {
		return !slices.Contains(m.adding, id) && !slices.Contains(m.before.Isr, id)
	})
	r := &record.PartitionChangeRecord{
		TopicID: m.topic.ID(), PartitionID: m.partition, Leader: noChange, LeaderRecoveryState: -1,
		Replicas: numbers(m.target), Isr: numbers(isr), AddingReplicas: []int32{}, RemovingReplicas: []int32{},
		Directories: make([]kafka.UUID, len(m.target)),
	}
	if !slices.Contains(m.target, m.before.Leader) && len(isr) > 0 {
		r.Leader = int32(isr[0])
	}
	return r
}

// explainMove says in words what a move does to racks.
func (b *builder) explainMove(m *move, begin, end *step) {
	name := m.topic.Name()
	before, during, after := b.racksOf(m.before.Replicas), b.racksOf(m.merged()), b.racksOf(m.target)
	if len(m.adding) == 0 {
		if !slices.Equal(before, after) {
			begin.say(name, fmt.Sprintf("partition %d loses a replica in %s", m.partition, strings.Join(less(before, after), " ")))
		}
		return
	}
	if !slices.Equal(during, after) {
		end.parts[name]++
	}
	gained, lost := less(after, before), less(before, after)
	switch {
	case m.stalled != kafka.NoNode:
		begin.say(name, fmt.Sprintf("partition %d gets more replicas, and keeps the old ones: broker %d is fenced, so that the move does not end",
			m.partition, m.stalled))
	case slices.Equal(before, after) && !slices.Equal(before, during):
		begin.say(name, fmt.Sprintf("partition %d moves within its racks; while data moves the racks of its old and its new replicas count", m.partition))
	case len(lost) == 0:
		begin.say(name, fmt.Sprintf("partition %d gets a replica in %s", m.partition, strings.Join(gained, " ")))
	case len(gained) == 0:
		end.say(name, fmt.Sprintf("partition %d loses a replica in %s", m.partition, strings.Join(lost, " ")))
	default:
		end.say(name, fmt.Sprintf("partition %d leaves %s for %s", m.partition, strings.Join(lost, " "), strings.Join(gained, " ")))
	}
}

// maxSaid bounds what is kept of one topic in words.
const maxSaid = 4

// say adds a sentence about a topic.
func (s *step) say(topic, sentence string) {
	switch n := len(s.why[topic]); {
	case n < maxSaid:
		s.why[topic] = append(s.why[topic], topic+": "+sentence)
	case n == maxSaid:
		s.why[topic] = append(s.why[topic], topic+": and more partitions in the same way")
	}
}

// racksOf are the racks of brokers, sorted, each as often as it occurs.
func (b *builder) racksOf(ids []kafka.NodeID) (racks []string) {
	for _, id := range ids {
		if rack, ok := b.image().Cluster().Rack(id); ok {
			racks = append(racks, rack)
		}
	}
	slices.Sort(racks)
	return racks
}

// less is a without what is in b, each as often as it occurs; both are sorted.
func less(a, b []string) (rest []string) {
	for _, x := range a {
		for len(b) > 0 && b[0] < x {
			b = b[1:]
		}
		if len(b) > 0 && b[0] == x {
			b = b[1:]
			continue
		}
		rest = append(rest, x)
	}
	return rest
}

// preferLeaders is what auto.leader.rebalance.enable does with partitions of
// __consumer_offsets after a move: that moves coordinators.
func (b *builder) preferLeaders(moves []move) error {
	prefer := step{after: "the preferred replicas become the coordinators", spread: true, optional: true}
	return b.step(prefer, func(r *recorder) {
		for i := range moves {
			m := &moves[i]
			if m.topic.Name() != kafka.OffsetsTopic || m.stalled != kafka.NoNode {
				continue
			}
			var p image.Partition
			if now, ok := b.image().Topics().ByName(kafka.OffsetsTopic); ok && now.Partition(m.partition, &p) && p.Leader != p.Replicas[0] &&
				slices.Contains(p.Isr, p.Replicas[0]) {
				r.add(lead(m.topic, m.partition, p.Replicas[0]))
			}
		}
	})
}

// noChange is the leader of a record that elects none.
const noChange = -2

// lead is the record that makes a broker the leader of a partition.
func lead(t image.Topic, partition int32, leader kafka.NodeID) *record.PartitionChangeRecord {
	return &record.PartitionChangeRecord{TopicID: t.ID(), PartitionID: partition, Leader: int32(leader), LeaderRecoveryState: -1}
}

// numbers is a list that is not nil, which in a record would be no change.
func numbers(ids []kafka.NodeID) []int32 {
	out := make([]int32, len(ids))
	for i, id := range ids {
		out[i] = int32(id)
	}
	return out
}

func without(list, others []kafka.NodeID) (rest []kafka.NodeID) {
	for _, id := range list {
		if !slices.Contains(others, id) {
			rest = append(rest, id)
		}
	}
	return rest
}
