package admin

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/groups"
)

// streamsAssignor is the one that a coordinator takes, unless it is configured
// otherwise (group.streams.assignors).
const streamsAssignor = "sticky"

// notStored is what is said of the description of a topology that is asked for.
const notStored = 1

// StreamsGroupDescribe v0-1 (GroupMetadataManager.streamsGroupDescribe):
//
//   - How far the tasks of members are (TaskOffsets) is in no log.
//   - The description of the topology (v1, KIP-1331) is kept outside of the
//     group coordinator's log, by a plugin: it says NOT_STORED.
func (c *call) streamsGroupDescribe(q *kmsg.StreamsGroupDescribeRequest) *kmsg.StreamsGroupDescribeResponse {
	r := reply[*kmsg.StreamsGroupDescribeResponse](q)
	for _, id := range q.Groups {
		r.Groups = append(r.Groups, c.streamsGroup(id, q.IncludeAuthorizedOperations, q.IncludeTopologyDescription))
	}
	return r
}

func (c *call) streamsGroup(id string, operations, descriptions bool) kmsg.StreamsGroupDescribeResponseGroup {
	r := kmsg.NewStreamsGroupDescribeResponseGroup()
	r.Group, r.AuthorizedOperations = id, notRequested
	g, code, why := c.findOfType(id, groups.Streams)
	if code != codeNone {
		r.ErrorCode, r.ErrorMessage = code, why
		return r
	}
	r.State, r.Epoch, r.AssignmentEpoch = string(g.State), g.Epoch, g.AssignmentEpoch
	r.AuthorizedOperations = c.authorized(operations, groupResource, id)
	r.AssignorName = new(streamsAssignor)
	if descriptions {
		r.TopologyDescriptionStatus = notStored
	}
	if g.Streams != nil && g.Streams.Topology != nil {
		r.Topology = c.describedTopology(g.Streams.Topology)
	}
	for _, m := range g.Members {
		if m.Streams != nil {
			r.Members = append(r.Members, streamsMember(m))
		}
	}
	return r
}

func (c *call) describedTopology(t *groups.Topology) *kmsg.StreamsGroupDescribeResponseGroupTopology {
	r := &kmsg.StreamsGroupDescribeResponseGroupTopology{Epoch: t.Epoch}
	for i := range t.Subtopologies {
		sub := &t.Subtopologies[i]
		r.Subtopologies = append(r.Subtopologies, kmsg.StreamsGroupDescribeResponseGroupTopologySubtopology{
			SubtopologyID: sub.ID, SourceTopics: sub.Sources, RepartitionSinkTopics: sub.RepartitionSinks,
			StateChangelogTopics: c.topicInfos(sub.Changelogs), RepartitionSourceTopics: c.topicInfos(sub.RepartitionSources),
		})
	}
	return r
}

func (c *call) topicInfos(list []groups.InternalTopic) (infos []kmsg.TopicInfo) {
	for i := range list {
		info := kmsg.TopicInfo{Topic: list[i].Name, NumPartitions: list[i].Partitions, ReplicationFactor: list[i].ReplicationFactor}
		if t, ok := c.view.Image.Topics().ByName(info.Topic); ok && info.NumPartitions == 0 {
			info.NumPartitions = int32(t.NumPartitions()) // which the coordinator has decided
		}
		for _, set := range list[i].Configs {
			info.Configs = append(info.Configs, kmsg.TopicInfoConfig{Key: set.Key, Value: set.Value})
		}
		infos = append(infos, info)
	}
	return infos
}

func streamsMember(m *groups.Member) kmsg.StreamsGroupDescribeResponseGroupMember {
	s := m.Streams
	r := kmsg.StreamsGroupDescribeResponseGroupMember{
		MemberID: m.ID, MemberEpoch: m.Epoch, InstanceID: optional(m.InstanceID), RackID: optional(m.RackID),
		ClientID: m.ClientID, ClientHost: m.ClientHost, TopologyEpoch: s.TopologyEpoch, ProcessID: s.ProcessID,
		Assignment: tasks(&s.Assigned), TargetAssignment: tasks(&s.Target),
	}
	if s.Endpoint != nil {
		r.UserEndpoint = &kmsg.StreamsGroupDescribeResponseGroupMemberUserEndpoint{Host: s.Endpoint.Host, Port: s.Endpoint.Port}
	}
	for _, tag := range s.ClientTags {
		r.ClientTags = append(r.ClientTags, kmsg.StreamsGroupDescribeResponseGroupMemberClientTag{Key: tag.Key, Value: tag.Value})
	}
	return r
}

func tasks(t *groups.Tasks) kmsg.StreamsAssignment {
	return kmsg.StreamsAssignment{ActiveTasks: taskIDs(t.Active), StandbyTasks: taskIDs(t.Standby), WarmupTasks: taskIDs(t.Warmup)}
}

func taskIDs(list []groups.TaskIDs) (ids []kmsg.TaskIDs) {
	for i := range list {
		ids = append(ids, kmsg.TaskIDs{SubtopologyID: list[i].Subtopology, Partitions: list[i].Partitions})
	}
	return ids
}
