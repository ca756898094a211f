package admin

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/groups"
)

// shareAssignor is the only assignor of share groups in Kafka 4.0 to 4.4,
// unless one is configured (group.share.assignors).
const shareAssignor = "simple"

// ShareGroupDescribe v0-1 (GroupMetadataManager.shareGroupDescribe). As
// ConsumerGroupDescribe.
func (c *call) shareGroupDescribe(q *kmsg.ShareGroupDescribeRequest) *kmsg.ShareGroupDescribeResponse {
	r := reply[*kmsg.ShareGroupDescribeResponse](q)
	for _, id := range q.GroupIDs {
		r.Groups = append(r.Groups, c.shareGroup(id, q.IncludeAuthorizedOperations))
	}
	return r
}

func (c *call) shareGroup(id string, operations bool) kmsg.ShareGroupDescribeResponseGroup {
	r := kmsg.ShareGroupDescribeResponseGroup{GroupID: id, AuthorizedOperations: notRequested}
	g, code, why := c.findOfType(id, groups.Share)
	if code != codeNone {
		r.ErrorCode, r.ErrorMessage = code, why
		if why == nil && code != codeInvalidGroupID && code != codeGroupAuthorizationFailed {
			r.ErrorMessage = errorMessage(code)
		}
		return r
	}
	r.GroupState, r.GroupEpoch, r.AssignmentEpoch = string(g.State), g.Epoch, g.AssignmentEpoch
	r.Assignor = shareAssignor
	r.AuthorizedOperations = c.authorized(operations, groupResource, id)
	for _, m := range g.Members {
		r.Members = append(r.Members, c.shareMember(m))
	}
	return r
}

func (c *call) shareMember(m *groups.Member) kmsg.ShareGroupDescribeResponseGroupMember {
	r := kmsg.ShareGroupDescribeResponseGroupMember{
		MemberID: m.ID, RackID: optional(m.RackID), MemberEpoch: m.Epoch,
		ClientID: m.ClientID, ClientHost: m.ClientHost, SubscribedTopicNames: m.SubscribedTopics,
	}
	for _, p := range c.appendAssignment(nil, m.Assigned) {
		r.Assignment.TopicPartitions = append(r.Assignment.TopicPartitions,
			kmsg.ShareGroupDescribeResponseGroupMemberAssignmentTopicPartition{TopicID: p.TopicID, Topic: p.Topic, Partitions: p.Partitions})
	}
	return r
}
