package groups

import (
	"slices"
	"strings"

	"github.com/kraftside/kraftside/groups/record"
)

// The records of streams groups, 17 and 19 to 23 (KIP-1071). A nil value is a
// tombstone.

func (s *Shard) streamsMetadata(id string, v *record.StreamsGroupMetadataValue) {
	g := s.modern(id, Streams, v == nil)
	if g == nil {
		return
	}
	if v == nil {
		s.groupTombstone(g)
		return
	}
	t := &g.modern.streams
	t.ValidatedTopologyEpoch = v.ValidatedTopologyEpoch
	t.AssignmentConfigs = packConfigs(v.LastAssignmentConfigs)
	t.StoredDescriptionEpoch = v.StoredDescriptionTopologyEpoch
	t.FailedDescriptionEpoch = v.FailedDescriptionTopologyEpoch
	s.setHash(g, v.Epoch, v.MetadataHash, false)
}

func packConfigs(in []record.LastAssignmentConfig) []KeyValue {
	if len(in) == 0 {
		return nil
	}
	out := make([]KeyValue, len(in))
	for i := range in {
		out[i] = KeyValue{in[i].Key, in[i].Value}
	}
	return sortKeys(out)
}

func sortKeys(list []KeyValue) []KeyValue {
	slices.SortStableFunc(list, func(a, b KeyValue) int { return strings.Compare(a.Key, b.Key) })
	return list
}

func (s *Shard) streamsMember(id, member string, v *record.StreamsGroupMemberMetadataValue) {
	g := s.modern(id, Streams, v == nil)
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
	n.RebalanceTimeoutMs = v.RebalanceTimeoutMs
	n.setStreams(func(t *StreamsMember) {
		t.TopologyEpoch, t.ProcessID = v.TopologyEpoch, v.ProcessID
		t.Endpoint, t.ClientTags = nil, nil
		if v.UserEndpoint != nil {
			t.Endpoint = &Endpoint{v.UserEndpoint.Host, v.UserEndpoint.Port}
		}
		for i := range v.ClientTags {
			t.ClientTags = append(t.ClientTags, KeyValue{v.ClientTags[i].Key, v.ClientTags[i].Value})
		}
		sortKeys(t.ClientTags)
	})
	s.put()
	s.store(g, n)
}

// setStreams changes a copy of what only a streams member has.
func (m *Member) setStreams(change func(*StreamsMember)) {
	if m.Streams == nil {
		return
	}
	n := *m.Streams
	change(&n)
	m.Streams = &n
}

func (s *Shard) streamsTargetMetadata(id string, v *record.StreamsGroupTargetAssignmentMetadataValue) {
	switch g := s.modern(id, Streams, v == nil); {
	case g == nil:
	case v == nil:
		s.targetMetadataTombstone(g)
	default:
		s.setTargetMetadata(g, v.AssignmentEpoch, v.AssignmentTimestamp)
	}
}

func (s *Shard) streamsTarget(id, member string, v *record.StreamsGroupTargetAssignmentMemberValue) {
	g := s.modern(id, Streams, v == nil)
	if g == nil {
		return
	}
	if v == nil {
		s.targetTombstone(g, member)
		return
	}
	n := g.modern.edit(member)
	n.rows |= rowTarget
	n.setStreams(func(t *StreamsMember) {
		t.Target = Tasks{
			Active: packTasks(v.ActiveTasks), Standby: packTasks(v.StandbyTasks), Warmup: packTasks(v.WarmupTasks),
		}
	})
	s.put()
	s.store(g, n)
}

func (s *Shard) streamsCurrent(id, member string, v *record.StreamsGroupCurrentMemberAssignmentValue) {
	g := s.modern(id, Streams, v == nil)
	if g == nil {
		return
	}
	if v == nil {
		s.currentTombstone(g, member)
		return
	}
	n := g.modern.edit(member)
	n.rows |= rowCurrent
	n.Epoch, n.PreviousEpoch, n.State = v.MemberEpoch, v.PreviousMemberEpoch, streamsMemberState(v.State)
	n.setStreams(func(t *StreamsMember) {
		t.Assigned = Tasks{
			Active:  packCurrentTasks(v.ActiveTasks, true, v.MemberEpoch),
			Standby: packCurrentTasks(v.StandbyTasks, false, 0),
			Warmup:  packCurrentTasks(v.WarmupTasks, false, 0),
		}
		t.PendingRevocation = Tasks{
			Active:  packCurrentTasks(v.ActiveTasksPendingRevocation, true, v.MemberEpoch),
			Standby: packCurrentTasks(v.StandbyTasksPendingRevocation, false, 0),
			Warmup:  packCurrentTasks(v.WarmupTasksPendingRevocation, false, 0),
		}
	})
	s.put()
	s.store(g, n)
}

// streamsMemberState is the state of a member of a streams group, which has
// other numbers than that of the other types (streams.MemberState).
func streamsMemberState(n int8) MemberState {
	switch n {
	case 1:
		return MemberStable
	case 2:
		return MemberUnrevokedTasks
	case 3:
		return MemberUnreleasedTasks
	}
	return MemberUnknown
}

// streamsTopology is the topology. When a group is deleted its tombstone comes
// after that of the group, and so finds none.
func (s *Shard) streamsTopology(id string, v *record.StreamsGroupTopologyValue) {
	g := s.modern(id, Streams, v == nil)
	if g == nil {
		return
	}
	t := &g.modern.streams
	if v == nil && t.Topology == nil {
		return
	}
	before := t.Topology.topics(s)
	if v == nil {
		t.Topology = nil
		s.dropRecord(s.cur.Key)
	} else {
		t.Topology = s.packTopology(v)
		s.put()
	}
	s.resubscribe(g, before, t.Topology.topics(s))
	s.changed(g)
}

func (s *Shard) packTopology(v *record.StreamsGroupTopologyValue) *Topology {
	t := &Topology{Epoch: v.Epoch, Subtopologies: make([]Subtopology, len(v.Subtopologies))}
	for i := range v.Subtopologies {
		in := &v.Subtopologies[i]
		t.Subtopologies[i] = Subtopology{
			ID:                 in.SubtopologyID,
			Sources:            s.names(in.SourceTopics),
			RepartitionSinks:   s.names(in.RepartitionSinkTopics),
			RepartitionSources: packTopics(in.RepartitionSourceTopics),
			Changelogs:         packTopics(in.StateChangelogTopics),
		}
	}
	return t
}

func packTopics(in []record.TopicInfo) []InternalTopic {
	out := make([]InternalTopic, len(in))
	for i := range in {
		t := InternalTopic{Name: in[i].Name, Partitions: in[i].Partitions, ReplicationFactor: in[i].ReplicationFactor}
		for _, c := range in[i].TopicConfigs {
			t.Configs = append(t.Configs, KeyValue{c.Key, c.Value})
		}
		out[i] = t
	}
	slices.SortStableFunc(out, func(a, b InternalTopic) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// topics are the topics that the tasks of the topology need
// (StreamsTopology.requiredTopics).
func (t *Topology) topics(s *Shard) []string {
	if t == nil {
		return nil
	}
	var lists [][]string
	for i := range t.Subtopologies {
		sub := &t.Subtopologies[i]
		lists = append(lists, sub.Sources, TopicNames(sub.RepartitionSources), TopicNames(sub.Changelogs))
	}
	return s.names(lists...)
}
