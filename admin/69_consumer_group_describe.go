package admin

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/groups"
)

// defaultConsumerAssignor is the one that a coordinator takes if no member
// prefers one, unless it is configured otherwise
// (group.consumer.assignors), which is in no log.
const defaultConsumerAssignor = "uniform"

// ConsumerGroupDescribe v0-1 (GroupMetadataManager.consumerGroupDescribe):
//
//   - A group of another type, or none, is GROUP_ID_NOT_FOUND.
//   - v1 tells members of the classic protocol apart.
//   - Who may not describe one of the topics that members subscribe to is told
//     nothing of the group.
func (c *call) consumerGroupDescribe(q *kmsg.ConsumerGroupDescribeRequest) kmsg.Response {
	r := reply[*kmsg.ConsumerGroupDescribeResponse](q)
	s := stream(r, r, 1) // tagged fields follow
	s.count, s.bytes = len(q.Groups), len(q.Groups)*groupBytes
	if !c.door.closed() && c.groupsComplete() &&
		c.Server.described.use(s, describedState{c.view.GroupsVersion(), c.view.Image.Topics()}, c.question(q), c.o.Now()) {
		return s
	}
	s.elements = func(yield func(kmsg.Response) bool) {
		one := &kmsg.ConsumerGroupDescribeResponse{Version: c.version, Groups: make([]kmsg.ConsumerGroupDescribeResponseGroup, 1)}
		for _, id := range q.Groups {
			c.consumerGroup(&one.Groups[0], id, q.IncludeAuthorizedOperations)
			if code := one.Groups[0].ErrorCode; code != codeNone && code != codeGroupIDNotFound {
				s.keep = nil // the answer depends on more than groups
			}
			if !yield(one) {
				return
			}
		}
	}
	return s
}

// groupBytes is about what a group with a member takes.
const groupBytes = 150

// consumerGroup fills r, and uses its memory again.
func (c *call) consumerGroup(r *kmsg.ConsumerGroupDescribeResponseGroup, id string, operations bool) {
	*r = kmsg.ConsumerGroupDescribeResponseGroup{Group: id, AuthorizedOperations: notRequested, Members: r.Members[:0]}
	g, code, why := c.findOfType(id, groups.Consumer)
	if code != codeNone {
		r.ErrorCode, r.ErrorMessage = code, why
		return
	}
	r.State, r.Epoch, r.AssignmentEpoch = string(g.State), g.Epoch, g.AssignmentEpoch
	r.AssignorName = g.Assignor
	if r.AssignorName == "" {
		r.AssignorName = defaultConsumerAssignor
	}
	r.AuthorizedOperations = c.authorized(operations, groupResource, id)
	r.Members = slices.Grow(r.Members, len(g.Members))[:len(g.Members)]
	for i, m := range g.Members {
		c.consumerMember(&r.Members[i], m)
	}
}

// consumerMember fills r, and uses its memory again.
func (c *call) consumerMember(r *kmsg.ConsumerGroupDescribeResponseGroupMember, m *groups.Member) {
	r.MemberID, r.InstanceID, r.RackID = m.ID, optional(m.InstanceID), optional(m.RackID)
	r.MemberEpoch, r.ClientID, r.ClientHost = m.Epoch, m.ClientID, m.ClientHost
	r.SubscribedTopics, r.SubscribedTopicRegex = m.SubscribedTopics, &m.SubscribedRegex
	r.Assignment.TopicPartitions = c.appendAssignment(r.Assignment.TopicPartitions[:0], m.Assigned)
	r.TargetAssignment.TopicPartitions = c.appendAssignment(r.TargetAssignment.TopicPartitions[:0], m.Target)
	r.MemberType = -1
	if c.version >= 1 {
		r.MemberType = 1
		if m.ClassicProtocol {
			r.MemberType = 0
		}
	}
}
