package groups

import "github.com/kraftside/kraftside/groups/record"

// The records of share groups, 10 to 15 (KIP-932), and 9 of Kafka 4.0. A nil
// value is a tombstone.

func (s *Shard) shareMetadata(id string, v *record.ShareGroupMetadataValue) {
	switch g := s.modern(id, Share, v == nil); {
	case g == nil:
	case v == nil:
		s.groupTombstone(g)
	default:
		s.setHash(g, v.Epoch, v.MetadataHash, v.Form40)
	}
}

// shareSubscription is a record that only Kafka 4.0 writes and knows. So it
// tells something of a share group that exists, and makes none.
func (s *Shard) shareSubscription(id string, v *record.ShareGroupPartitionMetadataValue) {
	switch g := s.groups[id]; {
	case g == nil || g.kind != Share:
	case v == nil:
		s.subscriptionTombstone(g)
	default:
		s.setSubscription(g, v.Topics)
	}
}

func (s *Shard) shareMember(id, member string, v *record.ShareGroupMemberMetadataValue) {
	g := s.modern(id, Share, v == nil)
	if g == nil {
		return
	}
	if v == nil {
		s.memberTombstone(g, member)
		return
	}
	n := g.modern.edit(member)
	n.rows |= rowMember
	n.RackID, n.ClientID, n.ClientHost = orEmpty(v.RackID), v.ClientID, v.ClientHost
	n.SubscribedTopics = s.names(v.SubscribedTopicNames)
	s.put()
	s.store(g, n)
}

func (s *Shard) shareTargetMetadata(id string, v *record.ShareGroupTargetAssignmentMetadataValue) {
	switch g := s.modern(id, Share, v == nil); {
	case g == nil:
	case v == nil:
		s.targetMetadataTombstone(g)
	default:
		s.setTargetMetadata(g, v.AssignmentEpoch, v.AssignmentTimestamp)
	}
}

func (s *Shard) shareTarget(id, member string, v *record.ShareGroupTargetAssignmentMemberValue) {
	switch g := s.modern(id, Share, v == nil); {
	case g == nil:
	case v == nil:
		s.targetTombstone(g, member)
	default:
		s.setTarget(g, member, v.TopicPartitions)
	}
}

func (s *Shard) shareCurrent(id, member string, v *record.ShareGroupCurrentMemberAssignmentValue) {
	g := s.modern(id, Share, v == nil)
	if g == nil {
		return
	}
	if v == nil {
		s.currentTombstone(g, member)
		return
	}
	n := g.modern.edit(member)
	n.rows |= rowCurrent
	n.Epoch, n.PreviousEpoch, n.State = v.MemberEpoch, v.PreviousMemberEpoch, memberState(v.State)
	n.Assigned = packPartitions(v.AssignedPartitions)
	s.put()
	s.store(g, n)
}

// shareState is for which partitions the share state exists. A value replaces
// all that was known.
func (s *Shard) shareState(id string, v *record.ShareGroupStatePartitionMetadataValue) {
	g := s.modern(id, Share, v == nil)
	if g == nil {
		return
	}
	if v == nil {
		if g.modern.share != nil {
			g.modern.share = nil
			s.dropRecord(s.cur.Key)
			s.changed(g)
		}
		return
	}
	g.modern.share = &ShareGroup{
		Initializing: packShare(v.InitializingTopics),
		Initialized:  packShare(v.InitializedTopics),
		Deleting:     packDeleting(v.DeletingTopics),
	}
	s.put()
	s.changed(g)
}

func packDeleting(in []record.ShareTopic) (out []TopicPartitions) {
	for i := range in {
		out = append(out, TopicPartitions{TopicID: in[i].TopicID, Topic: in[i].TopicName})
	}
	return sortPartitions(out)
}
