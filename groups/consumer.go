package groups

import "github.com/kraftside/kraftside/groups/record"

// The records of consumer groups, 3 to 8 and 16 (KIP-848). A nil value is a
// tombstone.

func (s *Shard) consumerMetadata(id string, v *record.ConsumerGroupMetadataValue) {
	switch g := s.modern(id, Consumer, v == nil); {
	case g == nil:
	case v == nil:
		s.groupTombstone(g)
	default:
		s.setHash(g, v.Epoch, v.MetadataHash, false)
	}
}

// consumerSubscription is a record that only Kafka 4.0 writes, and later
// releases only remove.
func (s *Shard) consumerSubscription(id string, v *record.ConsumerGroupPartitionMetadataValue) {
	switch g := s.modern(id, Consumer, v == nil); {
	case g == nil:
	case v == nil:
		s.subscriptionTombstone(g)
	default:
		s.setSubscription(g, v.Topics)
	}
}

func (s *Shard) consumerMember(id, member string, v *record.ConsumerGroupMemberMetadataValue) {
	g := s.modern(id, Consumer, v == nil)
	if g == nil {
		return
	}
	if v == nil {
		s.memberTombstone(g, member)
		return
	}
	n := g.modern.edit(member)
	n.rows |= rowMember
	n.InstanceID, n.RackID = orEmpty(v.InstanceID), orEmpty(v.RackID)
	n.ClientID, n.ClientHost = v.ClientID, v.ClientHost
	n.SubscribedTopics = s.names(v.SubscribedTopicNames)
	n.SubscribedRegex = orEmpty(v.SubscribedTopicRegex)
	n.Assignor = orEmpty(v.ServerAssignor)
	n.RebalanceTimeoutMs = v.RebalanceTimeoutMs
	n.ClassicProtocol, n.SessionTimeoutMs = false, 0
	if v.ClassicMemberMetadata != nil {
		n.ClassicProtocol, n.SessionTimeoutMs = true, v.ClassicMemberMetadata.SessionTimeoutMs
	}
	s.put()
	s.store(g, n)
}

func (s *Shard) consumerTargetMetadata(id string, v *record.ConsumerGroupTargetAssignmentMetadataValue) {
	switch g := s.modern(id, Consumer, v == nil); {
	case g == nil:
	case v == nil:
		s.targetMetadataTombstone(g)
	default:
		s.setTargetMetadata(g, v.AssignmentEpoch, v.AssignmentTimestamp)
	}
}

func (s *Shard) consumerTarget(id, member string, v *record.ConsumerGroupTargetAssignmentMemberValue) {
	switch g := s.modern(id, Consumer, v == nil); {
	case g == nil:
	case v == nil:
		s.targetTombstone(g, member)
	default:
		s.setTarget(g, member, v.TopicPartitions)
	}
}

// setTarget is what a member of a consumer or share group is to get.
func (s *Shard) setTarget(g *group, member string, partitions []record.TopicPartitions) {
	n := g.modern.edit(member)
	n.rows |= rowTarget
	n.Target = packPartitions(partitions)
	s.put()
	s.store(g, n)
}

func (s *Shard) consumerCurrent(id, member string, v *record.ConsumerGroupCurrentMemberAssignmentValue) {
	g := s.modern(id, Consumer, v == nil)
	if g == nil {
		return
	}
	if v == nil {
		s.currentTombstone(g, member)
		return
	}
	m := g.modern
	if old := m.members[member]; old != nil {
		s.disown(m, old)
	}
	n := m.edit(member)
	n.rows |= rowCurrent
	n.Epoch, n.PreviousEpoch, n.State = v.MemberEpoch, v.PreviousMemberEpoch, memberState(v.State)
	n.Assigned = packOwned(v.AssignedPartitions, v.MemberEpoch)
	n.PendingRevocation = packOwned(v.PartitionsPendingRevocation, v.MemberEpoch)
	s.put()
	s.store(g, n)
	s.own(g, n)
}

// memberState is the state of a member of a consumer or share group. A number
// that is not known is one of a later release (MemberState.fromValue).
func memberState(n int8) MemberState {
	switch n {
	case 0:
		return MemberStable
	case 1:
		return MemberUnrevokedPartitions
	case 2:
		return MemberUnreleasedPartitions
	}
	return MemberUnknown
}

func (s *Shard) consumerRegex(id, expression string, v *record.ConsumerGroupRegularExpressionValue) {
	g := s.modern(id, Consumer, v == nil)
	if g == nil {
		return
	}
	m := g.modern
	s.past.keepRegexes(m)
	old := m.regexes[expression]
	if v == nil {
		if old != nil {
			delete(m.regexes, expression)
			s.resubscribe(g, old.Topics, nil)
			s.dropRecord(s.cur.Key)
			s.changed(g)
		}
		return
	}
	n := &Regex{
		Expression: expression, Topics: s.names(v.Topics), Version: v.Version, Timestamp: v.Timestamp, Offset: s.cur.Offset,
	}
	if m.regexes == nil {
		m.regexes = make(map[string]*Regex)
	}
	m.regexes[expression] = n
	if old == nil {
		old = &Regex{}
	}
	s.resubscribe(g, old.Topics, n.Topics)
	s.put()
	s.changed(g)
}

// orEmpty is a nullable string; null and empty are the same.
func orEmpty(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}
