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
	for _, id := range q.Groups {
		r.Groups = append(r.Groups, c.consumerGroup(id, q.IncludeAuthorizedOperations))
	}
	return r
}

func (c *call) consumerGroup(id string, operations bool) kmsg.ConsumerGroupDescribeResponseGroup {
	r := kmsg.ConsumerGroupDescribeResponseGroup{Group: id, AuthorizedOperations: notRequested}
	g, code := c.findNamed(id)
	switch {
	case code != codeNone:
		r.ErrorCode = code
		return r
	case g == nil || g.Type != groups.Consumer:
		r.ErrorCode, r.ErrorMessage = codeGroupIDNotFound, notFound(id, g, "consumer")
		return r
	case !c.mayDescribeTopics(g):
		r.ErrorCode, r.ErrorMessage = codeTopicAuthorizationFailed, new(hiddenTopics)
		return r
	}
	r.State, r.Epoch, r.AssignmentEpoch = string(g.State), g.Epoch, g.AssignmentEpoch
	r.AssignorName = g.Assignor
	if r.AssignorName == "" {
		r.AssignorName = defaultConsumerAssignor
	}
	r.AuthorizedOperations = c.authorized(operations, groupResource, id)
	for _, m := range g.Members {
		r.Members = append(r.Members, c.consumerMember(m))
	}
	return r
}

// hiddenTopics is what a group says some of whose topics may not be described.
const hiddenTopics = "The group has described topic(s) that the client is not authorized to describe."

func (c *call) consumerMember(m *groups.Member) kmsg.ConsumerGroupDescribeResponseGroupMember {
	r := kmsg.ConsumerGroupDescribeResponseGroupMember{
		MemberID: m.ID, InstanceID: optional(m.InstanceID), RackID: optional(m.RackID),
		MemberEpoch: m.Epoch, ClientID: m.ClientID, ClientHost: m.ClientHost,
		SubscribedTopics: m.SubscribedTopics, SubscribedTopicRegex: &m.SubscribedRegex,
		Assignment: c.assignment(m.Assigned), TargetAssignment: c.assignment(m.Target),
		MemberType: -1,
	}
	if c.version >= 1 {
		r.MemberType = 1
		if m.ClassicProtocol {
			r.MemberType = 0
		}
	}
	return r
}
