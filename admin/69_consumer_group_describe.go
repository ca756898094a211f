package admin

import (
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
func (c *call) consumerGroupDescribe(q *kmsg.ConsumerGroupDescribeRequest) *kmsg.ConsumerGroupDescribeResponse {
	r := reply[*kmsg.ConsumerGroupDescribeResponse](q)
	r.Groups = make([]kmsg.ConsumerGroupDescribeResponseGroup, len(q.Groups))
	for i, id := range q.Groups {
		c.consumerGroup(&r.Groups[i], id, q.IncludeAuthorizedOperations)
	}
	return r
}

// consumerGroup fills r.
func (c *call) consumerGroup(r *kmsg.ConsumerGroupDescribeResponseGroup, id string, operations bool) {
	r.Group, r.AuthorizedOperations = id, notRequested
	g, code := c.findNamed(id)
	switch {
	case code != codeNone:
		r.ErrorCode = code
		return
	case g == nil || g.Type != groups.Consumer:
		r.ErrorCode, r.ErrorMessage = codeGroupIDNotFound, notFound(id, g, "consumer")
		return
	case !c.mayDescribeTopics(g):
		r.ErrorCode, r.ErrorMessage = codeTopicAuthorizationFailed, new(hiddenTopics)
		return
	}
	r.State, r.Epoch, r.AssignmentEpoch = string(g.State), g.Epoch, g.AssignmentEpoch
	r.AssignorName = g.Assignor
	if r.AssignorName == "" {
		r.AssignorName = defaultConsumerAssignor
	}
	r.AuthorizedOperations = c.authorized(operations, groupResource, id)
	r.Members = c.members.take(len(g.Members))[:len(g.Members)]
	for i, m := range g.Members {
		c.consumerMember(&r.Members[i], m)
	}
}

// hiddenTopics is what a group says some of whose topics may not be described.
const hiddenTopics = "The group has described topic(s) that the client is not authorized to describe."

// consumerMember fills r.
func (c *call) consumerMember(r *kmsg.ConsumerGroupDescribeResponseGroupMember, m *groups.Member) {
	r.MemberID, r.InstanceID, r.RackID = m.ID, optional(m.InstanceID), optional(m.RackID)
	r.MemberEpoch, r.ClientID, r.ClientHost = m.Epoch, m.ClientID, m.ClientHost
	r.SubscribedTopics, r.SubscribedTopicRegex = m.SubscribedTopics, &m.SubscribedRegex
	r.Assignment, r.TargetAssignment = c.assignment(m.Assigned), c.assignment(m.Target)
	r.MemberType = -1
	if c.version >= 1 {
		r.MemberType = 1
		if m.ClassicProtocol {
			r.MemberType = 0
		}
	}
}
