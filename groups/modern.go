package groups

import (
	"maps"
	"slices"
	"strings"

	"github.com/kraftside/kraftside/groups/record"
)

// What consumer, share and streams groups have in common (Kafka's ModernGroup,
// and StreamsGroup beside it): an epoch with a hash, members, a target
// assignment with an epoch of its own, and what each member currently has.

// recordTypes are the record types of a type of group.
type recordTypes struct {
	metadata, subscription, member, targetMetadata, target, current record.Type
}

var typesOf = [...]recordTypes{
	Consumer: {
		metadata:       record.TypeConsumerGroupMetadata,
		subscription:   record.TypeConsumerGroupPartitionMetadata,
		member:         record.TypeConsumerGroupMemberMetadata,
		targetMetadata: record.TypeConsumerGroupTargetAssignmentMetadata,
		target:         record.TypeConsumerGroupTargetAssignmentMember,
		current:        record.TypeConsumerGroupCurrentMemberAssignment,
	},
	Share: {
		metadata:       record.TypeShareGroupMetadata,
		subscription:   record.TypeShareGroupPartitionMetadata,
		member:         record.TypeShareGroupMemberMetadata,
		targetMetadata: record.TypeShareGroupTargetAssignmentMetadata,
		target:         record.TypeShareGroupTargetAssignmentMember,
		current:        record.TypeShareGroupCurrentMemberAssignment,
	},
	Streams: {
		metadata:       record.TypeStreamsGroupMetadata,
		subscription:   NoType,
		member:         record.TypeStreamsGroupMemberMetadata,
		targetMetadata: record.TypeStreamsGroupTargetAssignmentMetadata,
		target:         record.TypeStreamsGroupTargetAssignmentMember,
		current:        record.TypeStreamsGroupCurrentMemberAssignment,
	},
}

// memberRows says which records a member is made of.
type memberRows uint8

const (
	rowMember  memberRows = 1 << iota // 5, 10, 19
	rowTarget                         // 7, 13, 21
	rowCurrent                        // 8, 14, 22, or their tombstone

	rowExists = rowMember | rowCurrent
)

// modernGroup is the state of a group that is not classic.
type modernGroup struct {
	types  *recordTypes
	hash   *StoredHash // as stored; nil if there is no record of the epoch
	target targetMetadata
	// members has also target assignments of members that do not exist.
	members map[string]*Member
	size    int // members that exist
	// order is that of the members that existed when they were last listed, nil
	// if they were not; added are those that came since.
	order, added []string
	targets      int // members with a target assignment

	subscription []SubscribedTopic // nil if there is no such record
	regexes      map[string]*Regex
	owned        ownership
	share        *ShareGroup
	streams      StreamsGroup
}

// targetMetadata is the record of the target assignment's epoch. seen says
// that there is one, its tombstone included.
type targetMetadata struct {
	seen      bool
	epoch     int32
	timestamp int64
}

func newModernGroup(kind Type) *modernGroup {
	return &modernGroup{
		types:   &typesOf[kind],
		members: make(map[string]*Member),
		streams: StreamsGroup{ValidatedTopologyEpoch: -1, StoredDescriptionEpoch: -1, FailedDescriptionEpoch: -1},
	}
}

// removedEpoch is the epoch of a member or of a target assignment whose record
// has a tombstone (LEAVE_GROUP_MEMBER_EPOCH).
const removedEpoch = -1

func (s *Shard) groupEpoch(m *modernGroup) int32 {
	if m.hash == nil {
		return s.newGroupEpoch
	}
	return m.hash.Epoch
}

func (s *Shard) assignmentEpoch(m *modernGroup) int32 {
	if !m.target.seen {
		return s.newGroupEpoch
	}
	return m.target.epoch
}

// modern returns the group that a record of the given type of group is about,
// made if needed, or nil if the record has no effect
// (GroupMetadataManager.getOrMaybeCreatePersistedConsumerGroup and its likes).
func (s *Shard) modern(id string, kind Type, tombstone bool) *group {
	g := s.groups[id]
	switch {
	case g == nil || g.kind == noType:
		if tombstone {
			return nil
		}
		g = s.slot(id)
		s.create(g, kind)
	case g.kind == kind:
	case g.simple() && kind != Share:
		s.remove(g)
		g = s.slot(id)
		s.create(g, kind)
	default:
		return s.conflict(g, kind, tombstone)
	}
	return g
}

// conflict decides about a record of another type of group.
func (s *Shard) conflict(g *group, kind Type, tombstone bool) *group {
	id, reason := g.id, "the group is a "+g.kind.String()+" group"
	if !tombstone {
		s.remove(g)
		g = s.slot(id)
		s.create(g, kind)
	}
	s.anomaly(TypeConflict, id, reason)
	if tombstone {
		return nil
	}
	return g
}

// setHash is a record of the group epoch.
func (s *Shard) setHash(g *group, epoch int32, hash int64, none bool) {
	g.modern.hash = &StoredHash{
		Value: hash, None: none, Epoch: epoch, Offset: s.cur.Offset, Timestamp: s.cur.Timestamp,
	}
	s.put()
	s.changed(g)
}

// groupTombstone removes the group.
func (s *Shard) groupTombstone(g *group) {
	m := g.modern
	if epoch := s.assignmentEpoch(m); m.size > 0 || epoch != removedEpoch || m.targets > 0 && g.kind != Streams {
		s.anomaly(GroupNotEmpty, g.id, left(m, epoch))
	}
	s.remove(g)
}

// setTargetMetadata is a record of the assignment epoch.
func (s *Shard) setTargetMetadata(g *group, epoch int32, timestamp int64) {
	g.modern.target = targetMetadata{seen: true, epoch: epoch, timestamp: timestamp}
	s.put()
	s.changed(g)
}

func (s *Shard) targetMetadataTombstone(g *group) {
	if g.modern.targets > 0 {
		s.anomaly(TargetNotEmpty, g.id, left(g.modern, s.assignmentEpoch(g.modern)))
	}
	s.setTargetMetadata(g, removedEpoch, 0)
}

// edit returns a copy of the member to be changed and stored, or a new one.
func (m *modernGroup) edit(id string) *Member {
	if old := m.members[id]; old != nil {
		n := *old
		return &n
	}
	n := &Member{ID: id, PreviousEpoch: -1, RebalanceTimeoutMs: -1}
	if m.types == &typesOf[Streams] {
		n.Streams = &StreamsMember{}
	}
	return n
}

// store puts a member in the place of the one with its id. A member that no
// record is left of is removed.
func (s *Shard) store(g *group, n *Member) {
	m, old := g.modern, g.modern.members[n.ID]
	s.past.keepMember(m, n.ID, old)
	if old == nil {
		old = &Member{}
	}
	came := count(n.rows&rowExists) - count(old.rows&rowExists)
	m.size += came
	if came > 0 {
		m.appears(n.ID)
	}
	m.targets += count(n.rows&rowTarget) - count(old.rows&rowTarget)
	if g.kind != Streams {
		s.resubscribe(g, old.SubscribedTopics, n.SubscribedTopics)
	}
	if n.rows == 0 {
		delete(m.members, n.ID)
	} else {
		m.members[n.ID] = n
	}
	s.changed(g)
}

func count(rows memberRows) int {
	if rows == 0 {
		return 0
	}
	return 1
}

// memberTombstone removes a member, with all that is left of it.
func (s *Shard) memberTombstone(g *group, id string) {
	m := g.modern
	old := m.members[id]
	if old == nil || old.rows&rowExists == 0 {
		return
	}
	switch {
	case old.Epoch != removedEpoch:
		s.anomaly(MemberNotReleased, g.id, epochReason(old))
	case old.rows&rowTarget != 0:
		s.anomaly(MemberNotReleased, g.id, targetReason(old))
	}
	s.dropMember(g, old)
	s.disown(m, old)
	s.store(g, &Member{ID: id})
}

// currentTombstone takes from a member what it has. The member stays.
func (s *Shard) currentTombstone(g *group, id string) {
	m := g.modern
	old := m.members[id]
	if (old == nil || old.rows&rowExists == 0) && !s.restoring {
		return
	}
	if old != nil {
		s.disown(m, old)
	}
	n := m.edit(id)
	n.rows |= rowCurrent
	n.Epoch, n.PreviousEpoch, n.State = removedEpoch, removedEpoch, MemberStable
	n.Assigned, n.PendingRevocation = nil, nil
	n.setStreams(func(t *StreamsMember) { t.Assigned, t.PendingRevocation = Tasks{}, Tasks{} })
	s.put()
	s.store(g, n)
}

// targetTombstone takes from a member what it is to get.
func (s *Shard) targetTombstone(g *group, id string) {
	old := g.modern.members[id]
	if old == nil || old.rows&rowTarget == 0 {
		return
	}
	n := g.modern.edit(id)
	n.rows &^= rowTarget
	n.Target = nil
	n.setStreams(func(t *StreamsMember) { t.Target = Tasks{} })
	s.dropRecord(s.cur.Key)
	s.store(g, n)
}

// setSubscription is what a coordinator of Kafka 4.0 compares.
func (s *Shard) setSubscription(g *group, topics []record.TopicMetadata) {
	list := make([]SubscribedTopic, len(topics))
	for i := range topics {
		t := &topics[i]
		list[i] = SubscribedTopic{Name: t.TopicName, TopicID: t.TopicID, Partitions: t.NumPartitions}
	}
	slices.SortFunc(list, func(a, b SubscribedTopic) int { return strings.Compare(a.Name, b.Name) })
	g.modern.subscription = list
	s.put()
	s.changed(g)
}

func (s *Shard) subscriptionTombstone(g *group) {
	if g.modern.subscription == nil {
		return
	}
	g.modern.subscription = nil
	s.dropRecord(s.cur.Key)
	s.changed(g)
}

// dropMember removes the rows of a member.
func (s *Shard) dropMember(g *group, m *Member) {
	t := g.modern.types
	for _, row := range [...]struct {
		bit memberRows
		of  record.Type
	}{{rowCurrent, t.current}, {rowTarget, t.target}, {rowMember, t.member}} {
		if m.rows&row.bit != 0 {
			s.dropRecord(s.key(row.of, g.id, m.ID))
		}
	}
}

// dropModern removes the rows of the records of a group.
func (s *Shard) dropModern(g *group) {
	m := g.modern
	for _, id := range slices.Sorted(maps.Keys(m.members)) {
		s.dropMember(g, m.members[id])
	}
	for _, expression := range slices.Sorted(maps.Keys(m.regexes)) {
		s.dropRecord(s.key(record.TypeConsumerGroupRegularExpression, g.id, expression))
	}
	for _, row := range [...]struct {
		present bool
		of      record.Type
	}{
		{m.share != nil, record.TypeShareGroupStatePartitionMetadata},
		{m.streams.Topology != nil, record.TypeStreamsGroupTopology},
		{m.target.seen, m.types.targetMetadata},
		{m.subscription != nil, m.types.subscription},
		{m.hash != nil, m.types.metadata},
	} {
		if row.present {
			s.dropRecord(s.key(row.of, g.id))
		}
	}
}
