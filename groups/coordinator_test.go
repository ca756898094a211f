package groups

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
)

// coordinator writes the log of a partition as Kafka's coordinator does:
// operation by operation, each as the sequence of records that released Kafka
// writes for it. It knows what groups there are; the shard that replays the
// log must come to know the same.
type coordinator struct {
	tb     testing.TB
	rng    *rand.Rand
	offset kafka.Offset
	now    int64
	log    []event
	groups map[string]*simGroup
	simple map[string]bool // ids that offsets were committed for without a group
	open   map[int64]bool  // producers with a transaction
	ids    int
}

type simGroup struct {
	id              string
	kind            Type
	epoch           int32
	target          int32 // assignment epoch
	members         map[string]*simMember
	regexes         map[string]bool
	initialized     bool // share: record 15 is there
	topology        bool // streams: record 23 is there
	generation      int32
	withoutMetadata bool // there is no record 3 (yet)
}

type simMember struct {
	id, instance string
	topics       []string
	regex        string
	epoch        int32
	assigned     []int32
	target       []int32
	classic      bool
}

func newCoordinator(tb testing.TB, seed uint64) *coordinator {
	return &coordinator{
		tb: tb, rng: rand.New(rand.NewPCG(seed, 1)), offset: 5, now: 1_700_000_000_000,
		groups: map[string]*simGroup{}, simple: map[string]bool{}, open: map[int64]bool{},
	}
}

// emit writes a record; a nil value is a tombstone.
func (c *coordinator) emit(key record.Key, value record.Value) { c.emitAs(key, value, -1) }

func (c *coordinator) emitAs(key record.Key, value record.Value, producer int64) {
	r := Record{Offset: c.offset, Timestamp: c.now, ProducerID: producer, Key: keyBytes(c.tb, key)}
	if value != nil {
		r.Value = valueBytes(c.tb, value, value.Type().HighestVersion())
	}
	c.log = append(c.log, event{Record: r})
	c.offset++
}

// run writes operations until the log has n records.
func (c *coordinator) run(n int) []event {
	for len(c.log) < n {
		c.now += c.rng.Int64N(5000)
		c.operation()
		c.offset += kafka.Offset(c.rng.IntN(2)) // control records and gaps
	}
	return c.log
}

func (c *coordinator) operation() {
	id := fmt.Sprintf("group-%d", c.rng.IntN(6))
	g := c.groups[id]
	switch p := c.rng.IntN(20); {
	case p < 7:
		if g == nil {
			c.simple[id] = true
		}
		if p < 5 {
			c.commitOffsets(id)
		} else {
			c.transaction(id)
		}
	case g == nil:
		c.found(id)
	case p == 19:
		c.delete(g)
	case g.kind == Classic:
		c.classicOperation(g)
	case g.kind == Consumer:
		c.consumerOperation(g)
	case g.kind == Share:
		c.shareOperation(g)
	default:
		c.streamsOperation(g)
	}
}

func (c *coordinator) found(id string) {
	g := &simGroup{
		id: id, kind: c.groupType(id), epoch: 1, target: 1,
		members: map[string]*simMember{}, regexes: map[string]bool{}, withoutMetadata: true,
	}
	c.groups[id] = g
	switch g.kind {
	case Classic:
		c.writeClassic(g)
	case Consumer:
		c.consumerJoin(g)
	case Share:
		c.shareJoin(g)
	case Streams:
		c.streamsJoin(g)
	}
}

// groupType is the type of a new group. A simple group is not in the way of
// one but a share group, which is refused.
func (c *coordinator) groupType(id string) Type {
	for {
		if t := Classic + Type(c.rng.IntN(4)); t != Share || !c.simple[id] {
			return t
		}
	}
}

func (c *coordinator) newMember(g *simGroup) *simMember {
	c.ids++
	m := &simMember{id: fmt.Sprintf("member-%d", c.ids), topics: c.topics()}
	if c.rng.IntN(3) == 0 {
		m.instance = fmt.Sprintf("instance-%d", c.ids)
	}
	g.members[m.id] = m
	return m
}

func (c *coordinator) topics() []string {
	all := []string{"orders", "payments", "refunds", "audit"}
	c.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:1+c.rng.IntN(3)]
}

// pick returns a member, nil if there is none.
func (c *coordinator) pick(g *simGroup) *simMember {
	if len(g.members) == 0 {
		return nil
	}
	ids := g.memberIDs()
	return g.members[ids[c.rng.IntN(len(ids))]]
}

func (g *simGroup) memberIDs() []string { return slices.Sorted(maps.Keys(g.members)) }

// assign gives the partitions 0 to 5 to the members, and returns those whose
// target changed.
func (g *simGroup) assign() (changed []*simMember) {
	ids := g.memberIDs()
	for i, id := range ids {
		var target []int32
		for p := int32(0); p < 6; p++ {
			if int(p)%len(ids) == i {
				target = append(target, p)
			}
		}
		if m := g.members[id]; !slices.Equal(m.target, target) {
			m.target = target
			changed = append(changed, m)
		}
	}
	return changed
}

// reconcile moves a member towards its target as the coordinator would on its
// heartbeat, and says in which state that leaves it: first it gives up, then
// it takes what nobody holds.
func (g *simGroup) reconcile(m *simMember) (state int8, revoking []int32) {
	keep := slices.DeleteFunc(slices.Clone(m.assigned), func(p int32) bool { return !slices.Contains(m.target, p) })
	revoking = slices.DeleteFunc(slices.Clone(m.assigned), func(p int32) bool { return slices.Contains(m.target, p) })
	if len(revoking) > 0 {
		m.assigned = keep
		return 1, revoking
	}
	m.epoch = g.target
	for _, p := range m.target {
		held := slices.ContainsFunc(g.memberIDs(), func(id string) bool { return slices.Contains(g.members[id].assigned, p) })
		if !held {
			m.assigned = append(m.assigned, p)
		}
	}
	slices.Sort(m.assigned)
	if len(m.assigned) < len(m.target) {
		return 2, nil
	}
	return 0, nil
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func (c *coordinator) hash() int64 { return c.rng.Int64() }

// ---- offsets

func (c *coordinator) commitOffsets(id string) {
	for range 1 + c.rng.IntN(4) {
		topic, partition := c.topics()[0], int32(c.rng.IntN(5))
		if c.rng.IntN(30) == 0 {
			c.emit(&record.LegacyOffsetCommitKey{Group: id, Topic: topic, Partition: partition}, &record.LegacyOffsetCommitValue{Offset: 7, LeaderEpoch: -1})
			continue
		}
		key := &record.OffsetCommitKey{Group: id, Topic: topic, Partition: partition}
		if c.rng.IntN(8) == 0 {
			c.emit(key, nil)
			continue
		}
		c.emit(key, c.offsetValue())
	}
}

func (c *coordinator) offsetValue() *record.OffsetCommitValue {
	v := &record.OffsetCommitValue{Offset: c.rng.Int64N(1000), LeaderEpoch: int32(c.rng.IntN(3)), CommitTimestamp: c.now, TopicID: topicID(c.rng.IntN(3))}
	if c.rng.IntN(4) == 0 {
		v.Metadata = fmt.Sprint("meta", c.rng.IntN(3))
	}
	return v
}

func (c *coordinator) transaction(id string) {
	producer := c.rng.Int64N(4)
	if c.open[producer] && c.rng.IntN(3) > 0 {
		c.open[producer] = false
		c.log = append(c.log, event{end: true, commit: c.rng.IntN(3) > 0, Record: Record{ProducerID: producer}})
		c.offset++
		return
	}
	c.open[producer] = true
	for range 1 + c.rng.IntN(3) {
		key := &record.OffsetCommitKey{Group: id, Topic: c.topics()[0], Partition: int32(c.rng.IntN(5))}
		c.emitAs(key, c.offsetValue(), producer)
	}
}

// ---- deletion, which begins with the offsets

func (c *coordinator) delete(g *simGroup) {
	for range 2 {
		c.emit(&record.OffsetCommitKey{Group: g.id, Topic: c.topics()[0], Partition: int32(c.rng.IntN(5))}, nil)
	}
	switch g.kind {
	case Classic:
		c.emit(&record.GroupMetadataKey{Group: g.id}, nil)
	case Consumer:
		c.consumerTombstones(g)
	case Share:
		c.memberTombstones(g, record.TypeShareGroupCurrentMemberAssignment)
		c.memberTombstones(g, record.TypeShareGroupTargetAssignmentMember)
		c.emit(&record.ShareGroupTargetAssignmentMetadataKey{GroupID: g.id}, nil)
		c.memberTombstones(g, record.TypeShareGroupMemberMetadata)
		c.emit(&record.ShareGroupStatePartitionMetadataKey{GroupID: g.id}, nil)
		c.emit(&record.ShareGroupMetadataKey{GroupID: g.id}, nil)
	case Streams:
		c.memberTombstones(g, record.TypeStreamsGroupCurrentMemberAssignment)
		c.memberTombstones(g, record.TypeStreamsGroupTargetAssignmentMember)
		c.emit(&record.StreamsGroupTargetAssignmentMetadataKey{GroupID: g.id}, nil)
		c.memberTombstones(g, record.TypeStreamsGroupMemberMetadata)
		c.emit(&record.StreamsGroupMetadataKey{GroupID: g.id}, nil)
		c.emit(&record.StreamsGroupTopologyKey{GroupID: g.id}, nil)
	}
	delete(c.groups, g.id)
}

// memberTombstones writes a tombstone per member.
func (c *coordinator) memberTombstones(g *simGroup, t record.Type) {
	for _, id := range g.memberIDs() {
		c.emit(memberKey(t, g.id, id), nil)
	}
}

func memberKey(t record.Type, group, member string) record.Key {
	switch t {
	case record.TypeConsumerGroupMemberMetadata:
		return &record.ConsumerGroupMemberMetadataKey{GroupID: group, MemberID: member}
	case record.TypeConsumerGroupTargetAssignmentMember:
		return &record.ConsumerGroupTargetAssignmentMemberKey{GroupID: group, MemberID: member}
	case record.TypeConsumerGroupCurrentMemberAssignment:
		return &record.ConsumerGroupCurrentMemberAssignmentKey{GroupID: group, MemberID: member}
	case record.TypeShareGroupMemberMetadata:
		return &record.ShareGroupMemberMetadataKey{GroupID: group, MemberID: member}
	case record.TypeShareGroupTargetAssignmentMember:
		return &record.ShareGroupTargetAssignmentMemberKey{GroupID: group, MemberID: member}
	case record.TypeShareGroupCurrentMemberAssignment:
		return &record.ShareGroupCurrentMemberAssignmentKey{GroupID: group, MemberID: member}
	case record.TypeStreamsGroupMemberMetadata:
		return &record.StreamsGroupMemberMetadataKey{GroupID: group, MemberID: member}
	case record.TypeStreamsGroupTargetAssignmentMember:
		return &record.StreamsGroupTargetAssignmentMemberKey{GroupID: group, MemberID: member}
	}
	return &record.StreamsGroupCurrentMemberAssignmentKey{GroupID: group, MemberID: member}
}

// ---- classic groups

func (c *coordinator) writeClassic(g *simGroup) {
	v := &record.GroupMetadataValue{
		ProtocolType: "consumer", Generation: g.generation, CurrentStateTimestamp: c.now,
	}
	for _, id := range g.memberIDs() {
		m := g.members[id]
		assigned := []string{"orders"}
		for _, p := range m.target {
			assigned = append(assigned, fmt.Sprint(p))
		}
		v.Members = append(v.Members, record.MemberMetadata{
			MemberID: id, GroupInstanceID: optional(m.instance), ClientID: "client", ClientHost: "/host", RebalanceTimeout: 60000, SessionTimeout: 45000,
			Subscription: subscriptionBytes(c.tb, m.topics...), Assignment: assignmentBytes(c.tb, assigned...),
		})
		v.Leader, v.Protocol = &id, optional("range")
	}
	c.emit(&record.GroupMetadataKey{Group: g.id}, v)
}

func (c *coordinator) classicOperation(g *simGroup) {
	switch c.rng.IntN(5) {
	case 0: // everybody leaves
		g.members = map[string]*simMember{}
	case 1: // a static member comes back under another id, in the same generation
		if m := c.pick(g); m != nil && m.instance != "" {
			delete(g.members, m.id)
			m.id += "-again"
			g.members[m.id] = m
			c.writeClassic(g)
			return
		}
	case 2:
		c.upgrade(g)
		return
	default:
		c.newMember(g)
	}
	g.generation++
	g.assign()
	c.writeClassic(g)
}

// upgrade turns a classic group into a consumer group: a simple tombstone if it
// is empty, else with all members.
func (c *coordinator) upgrade(g *simGroup) {
	c.emit(&record.GroupMetadataKey{Group: g.id}, nil)
	g.kind, g.epoch, g.target, g.withoutMetadata = Consumer, 1, 1, true
	if len(g.members) > 0 {
		g.epoch, g.target, g.withoutMetadata = g.generation, g.generation, false
		for _, id := range g.memberIDs() {
			m := g.members[id]
			m.classic, m.epoch, m.assigned = true, g.generation, slices.Clone(m.target)
			c.writeConsumerMember(g, m)
		}
		c.emit(&record.ConsumerGroupMetadataKey{GroupID: g.id}, &record.ConsumerGroupMetadataValue{Epoch: g.epoch, MetadataHash: c.hash()})
		for _, id := range g.memberIDs() {
			c.writeConsumerTarget(g, g.members[id])
		}
		c.emit(&record.ConsumerGroupTargetAssignmentMetadataKey{GroupID: g.id}, &record.ConsumerGroupTargetAssignmentMetadataValue{AssignmentEpoch: g.epoch})
		for _, id := range g.memberIDs() {
			c.writeConsumerCurrent(g, g.members[id], 0, nil)
		}
	}
	c.consumerJoin(g)
}
