package main

import (
	"fmt"
	"slices"

	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
)

// topic is one that a group consumes, alone.
type topic struct {
	name       string
	id         kafka.TopicID
	partitions int32
}

// slot is a partition of one of a group's topics.
type slot struct{ topic, partition int32 }

func compareSlots(a, b slot) int {
	if a.topic != b.topic {
		return int(a.topic - b.topic)
	}
	return int(a.partition - b.partition)
}

// member is a member of a group, with what it has and is to get, sorted.
type member struct {
	id, host     string
	epoch        int32
	owned, wants []slot
}

// group is a consumer group as its coordinator knows it, or a classic group.
type group struct {
	id      string
	classic bool
	size    int // that it stays near
	epoch   int32
	hash    int64
	topics  []topic
	members []*member
	reports []report // of the rebalance under way
}

// report is what a member will say that it has.
type report struct {
	member          *member
	epoch           int32
	state           int8
	owned, revoking []slot
}

// States of members, as in Kafka's MemberState.
const (
	stable int8 = iota
	unrevoked
	unreleased
)

// newGroup makes a group that has been there for a while.
func (w *writer) newGroup(size int, classic bool) *group {
	number := len(w.groups)
	g := &group{id: fmt.Sprintf("service-%03d", number), classic: classic, size: size, epoch: 10 + w.Int32N(1000)}
	topics := 1 + w.IntN(3)
	for n := range topics {
		g.topics = append(g.topics, topic{
			name: fmt.Sprintf("events-%03d-%d", number, n), id: kafka.NewUUID(w.Uint64(), w.Uint64()),
			partitions: int32(3*size/topics + 1),
		})
	}
	for range size {
		g.members = append(g.members, w.newMember(g))
	}
	i := 0
	for s := range g.slots() {
		m := g.members[i%size]
		m.owned = append(m.owned, s)
		i++
	}
	for _, m := range g.members {
		m.wants = m.owned
	}
	return g
}

func (w *writer) newMember(g *group) *member {
	return &member{
		id: kafka.NewUUID(w.Uint64(), w.Uint64()).String(), host: fmt.Sprintf("/10.0.%d.%d", w.IntN(256), w.IntN(256)), epoch: g.epoch,
	}
}

// slots yields the partitions of the group's topics, in order.
func (g *group) slots() func(yield func(slot) bool) {
	return func(yield func(slot) bool) {
		for t := range g.topics {
			for p := range g.topics[t].partitions {
				if !yield(slot{int32(t), p}) {
					return
				}
			}
		}
	}
}

// reassign gives a member what others are to give up.
func reassign(to *member, slots ...slot) {
	to.wants = append(slices.Clone(to.wants), slots...)
	slices.SortFunc(to.wants, compareSlots)
}

// takeOne takes a partition from a member that has several.
func takeOne(from *member) []slot {
	if len(from.wants) < 2 {
		return nil
	}
	last := len(from.wants) - 1
	taken := from.wants[last:]
	from.wants = from.wants[:last:last]
	return taken
}

// plan has every member report what it has, in the order in which that is
// possible: what is taken is given up before another member has it.
func (w *writer) plan(g *group) {
	var first, released, last []report
	for _, m := range g.members {
		kept := intersect(m.owned, m.wants)
		lost, gains := len(kept) < len(m.owned), len(kept) < len(m.wants)
		if lost {
			first = append(first, report{m, m.epoch, unrevoked, kept, subtract(m.owned, kept)})
		}
		if gains {
			waits := report{m, g.epoch, unreleased, kept, nil}
			last = append(last, report{m, g.epoch, stable, m.wants, nil})
			if lost {
				released = append(released, waits)
			} else {
				first = append(first, waits)
			}
			continue
		}
		done := report{m, g.epoch, stable, kept, nil}
		if lost {
			released = append(released, done)
		} else {
			first = append(first, done)
		}
	}
	for _, list := range [][]report{first, released, last} {
		w.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		g.reports = append(g.reports, list...)
	}
}

func intersect(a, b []slot) []slot {
	return slices.DeleteFunc(slices.Clone(a), func(s slot) bool { return !has(b, s) })
}

func subtract(a, b []slot) []slot {
	return slices.DeleteFunc(slices.Clone(a), func(s slot) bool { return has(b, s) })
}

func has(sorted []slot, s slot) bool {
	_, found := slices.BinarySearchFunc(sorted, s, compareSlots)
	return found
}

// byTopic yields what lies in each topic.
func (g *group) byTopic(sorted []slot, yield func(*topic, []int32)) {
	for len(sorted) > 0 {
		t := sorted[0].topic
		var partitions []int32
		for len(sorted) > 0 && sorted[0].topic == t {
			partitions = append(partitions, sorted[0].partition)
			sorted = sorted[1:]
		}
		yield(&g.topics[t], partitions)
	}
}

func (g *group) target(sorted []slot) *record.ConsumerGroupTargetAssignmentMemberValue {
	v := new(record.ConsumerGroupTargetAssignmentMemberValue)
	g.byTopic(sorted, func(t *topic, partitions []int32) {
		v.TopicPartitions = append(v.TopicPartitions, record.TopicPartitions{TopicID: t.id, Partitions: partitions})
	})
	return v
}

// said is the record of what a member has.
func (g *group) said(r *report) (record.Key, record.Value) {
	v := &record.ConsumerGroupCurrentMemberAssignmentValue{MemberEpoch: r.epoch, PreviousMemberEpoch: r.member.epoch, State: r.state}
	list := func(sorted []slot) (all []record.CurrentTopicPartitions) {
		g.byTopic(sorted, func(t *topic, partitions []int32) {
			epochs := slices.Repeat([]int32{r.epoch}, len(partitions))
			all = append(all, record.CurrentTopicPartitions{TopicID: t.id, Partitions: partitions, AssignmentEpochs: epochs})
		})
		return all
	}
	v.AssignedPartitions, v.PartitionsPendingRevocation = list(r.owned), list(r.revoking)
	return &record.ConsumerGroupCurrentMemberAssignmentKey{GroupID: g.id, MemberID: r.member.id}, v
}

// joined is the record of a member.
func (g *group) joined(m *member) (record.Key, record.Value) {
	v := &record.ConsumerGroupMemberMetadataValue{ClientID: g.id, ClientHost: m.host, RebalanceTimeoutMs: 300_000}
	for i := range g.topics {
		v.SubscribedTopicNames = append(v.SubscribedTopicNames, g.topics[i].name)
	}
	return &record.ConsumerGroupMemberMetadataKey{GroupID: g.id, MemberID: m.id}, v
}

// bumped is the record of the group's epoch.
func (g *group) bumped() (record.Key, record.Value) {
	return &record.ConsumerGroupMetadataKey{GroupID: g.id}, &record.ConsumerGroupMetadataValue{Epoch: g.epoch, MetadataHash: g.hash}
}

// assigned is the record of the target assignment's epoch.
func (g *group) assigned(at int64) (record.Key, record.Value) {
	return &record.ConsumerGroupTargetAssignmentMetadataKey{GroupID: g.id},
		&record.ConsumerGroupTargetAssignmentMetadataValue{AssignmentEpoch: g.epoch, AssignmentTimestamp: at}
}

// generation is the record of a classic group.
func (g *group) generation(at int64) (record.Key, record.Value) {
	protocol := "range"
	v := &record.GroupMetadataValue{
		ProtocolType: "consumer", Generation: g.epoch, Protocol: &protocol, Leader: &g.members[0].id, CurrentStateTimestamp: at,
	}
	subscription := record.ConsumerProtocolSubscription{GenerationID: g.epoch}
	for i := range g.topics {
		subscription.Topics = append(subscription.Topics, g.topics[i].name)
	}
	for _, m := range g.members {
		v.Members = append(v.Members, record.MemberMetadata{
			MemberID: m.id, ClientID: g.id, ClientHost: m.host, RebalanceTimeout: 300_000, SessionTimeout: 45_000,
			Subscription: protocolBytes(subscription.Append), Assignment: protocolBytes(g.protocolAssignment(m).Append),
		})
	}
	return &record.GroupMetadataKey{Group: g.id}, v
}

func (g *group) protocolAssignment(m *member) *record.ConsumerProtocolAssignment {
	a := new(record.ConsumerProtocolAssignment)
	g.byTopic(m.owned, func(t *topic, partitions []int32) {
		a.AssignedPartitions = append(a.AssignedPartitions, record.ProtocolTopicPartitions{Topic: t.name, Partitions: partitions})
	})
	return a
}

// protocolVersion is that of the consumer protocol.
const protocolVersion = 3

// protocolBytes is what a classic consumer sends. Its error would be that of a
// version that is not known.
func protocolBytes(encode func([]byte, int16) ([]byte, error)) []byte {
	b, _ := encode([]byte{0, protocolVersion}, protocolVersion)
	return b
}
