package groups

import (
	"slices"
	"strings"

	"github.com/kraftside/kraftside/groups/record"
)

// classicGroup is a classic group as its one record (2) says it: a snapshot
// that replaces the one before.
type classicGroup struct {
	ClassicGroup
	generation int32
	members    []*Member
}

// consumerProtocol is the protocol type of consumers. Members of others (Kafka
// Connect has "connect") send bytes that mean something else.
const consumerProtocol = "consumer"

// classicGroup replaces or removes whatever group has the id, of any type and
// without a question.
func (s *Shard) classicGroup(id string, v *record.GroupMetadataValue) {
	g := s.groups[id]
	if v == nil {
		if g != nil && g.kind != noType {
			s.remove(g)
		}
		return
	}
	if g != nil && g.kind != noType && g.kind != Classic {
		s.remove(g)
	}
	g = s.slot(id)
	if g.kind == noType {
		s.create(g, Classic)
	}
	before := g.classic.topics(s)
	g.classic = s.packClassic(v)
	s.resubscribe(g, before, g.classic.topics(s))
	s.put()
	s.changed(g)
}

func (s *Shard) packClassic(v *record.GroupMetadataValue) *classicGroup {
	c := &classicGroup{
		ClassicGroup: ClassicGroup{
			ProtocolType:   v.ProtocolType,
			Protocol:       orEmpty(v.Protocol),
			Leader:         orEmpty(v.Leader),
			StateTimestamp: v.CurrentStateTimestamp,
		},
		generation: v.Generation,
		members:    make([]*Member, len(v.Members)),
	}
	sent := packSent(v.Members)
	for i := range v.Members {
		c.members[i] = s.packClassicMember(c, &v.Members[i])
		c.members[i].Classic = &sent[i]
	}
	slices.SortStableFunc(c.members, func(a, b *Member) int { return strings.Compare(a.ID, b.ID) })
	return c
}

func (s *Shard) packClassicMember(c *classicGroup, in *record.MemberMetadata) *Member {
	m := &Member{
		ID: in.MemberID, InstanceID: orEmpty(in.GroupInstanceID), ClientID: in.ClientID, ClientHost: in.ClientHost,
		RebalanceTimeoutMs: in.RebalanceTimeout, SessionTimeoutMs: in.SessionTimeout,
		ClassicProtocol: true, Epoch: c.generation, PreviousEpoch: -1, rows: rowMember,
	}
	if m.RebalanceTimeoutMs == -1 { // before version 1 there was one timeout
		m.RebalanceTimeoutMs = m.SessionTimeoutMs
	}
	if c.ProtocolType == consumerProtocol {
		s.parseConsumer(m, in)
	}
	return m
}

// packSent copies what members sent, all in one piece of memory.
func packSent(in []record.MemberMetadata) []ClassicMember {
	size := 0
	for i := range in {
		size += len(in[i].Subscription) + len(in[i].Assignment)
	}
	room, out := make([]byte, 0, size), make([]ClassicMember, len(in))
	keep := func(b []byte) []byte {
		start := len(room)
		room = append(room, b...)
		return room[start:len(room):len(room)]
	}
	for i := range in {
		out[i] = ClassicMember{Subscription: keep(in[i].Subscription), Assignment: keep(in[i].Assignment)}
	}
	return out
}

// parseConsumer reads what the client put into the record. As in Kafka
// (ClassicGroup.computeSubscribedTopics) it is no fault of the group if it
// means nothing to us.
func (s *Shard) parseConsumer(m *Member, in *record.MemberMetadata) {
	if _, err := s.subscription.Parse(in.Subscription); err == nil {
		m.SubscribedTopics = s.names(s.subscription.Topics)
		m.RackID = orEmpty(s.subscription.RackID)
	}
	if _, err := s.assignment.Parse(in.Assignment); err == nil {
		m.Assigned = packByName(s.assignment.AssignedPartitions)
	}
}

// topics are what the members subscribe to.
func (c *classicGroup) topics(s *Shard) []string {
	if c == nil {
		return nil
	}
	lists := make([][]string, len(c.members))
	for i, m := range c.members {
		lists[i] = m.SubscribedTopics
	}
	return s.names(lists...)
}
