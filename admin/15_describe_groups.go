package admin

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/pipeline"
)

// DescribeGroups v0-6 (GroupMetadataManager.describeGroups):
//
//   - Only classic groups are described. Of another, or of none, versions up to
//     5 say that it is Dead, v6 (KIP-1043) GROUP_ID_NOT_FOUND with the reason.
//   - An empty id is one like others.
//   - Members have their bytes as their client sent them.
//   - The states in which a group's members join are known to its broker
//     alone; see ListGroups.
func (c *call) describeGroups(q *kmsg.DescribeGroupsRequest) *kmsg.DescribeGroupsResponse {
	r := reply[*kmsg.DescribeGroupsResponse](q)
	for _, id := range q.Groups {
		r.Groups = append(r.Groups, c.classicGroup(id, q.IncludeAuthorizedOperations))
	}
	return r
}

// dead is the state of a group that does not exist.
const dead = "Dead"

func (c *call) classicGroup(id string, operations bool) kmsg.DescribeGroupsResponseGroup {
	r := kmsg.DescribeGroupsResponseGroup{Group: id, AuthorizedOperations: notRequested}
	g, code := c.find(id)
	switch {
	case code != codeNone:
		r.ErrorCode = code
		return r
	case g == nil || g.Type != groups.Classic:
		r.State = dead
		if c.version >= 6 {
			r.ErrorCode, r.ErrorMessage = codeGroupIDNotFound, notFound(id, g, groups.Classic)
		}
		r.AuthorizedOperations = c.authorized(operations && c.version < 6, groupResource, id)
		return r
	}
	r.State, r.ProtocolType = string(g.State), protocolType(g.Group)
	r.AuthorizedOperations = c.authorized(operations, groupResource, id)
	if g.Classic != nil && g.State == groups.Stable {
		r.Protocol = g.Classic.Protocol
	}
	r.Members = classicMembers(g)
	return r
}

func classicMembers(g *pipeline.Group) (list []kmsg.DescribeGroupsResponseGroupMember) {
	for _, m := range g.Members {
		member := kmsg.DescribeGroupsResponseGroupMember{
			MemberID: m.ID, InstanceID: optional(m.InstanceID), ClientID: m.ClientID, ClientHost: m.ClientHost,
		}
		if m.Classic != nil {
			member.ProtocolMetadata, member.MemberAssignment = m.Classic.Subscription, m.Classic.Assignment
		}
		list = append(list, member)
	}
	return list
}
