package admin

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
)

// ListGroups v0-5 (KafkaApis.handleListGroupsRequest, GroupCoordinatorService.listGroups):
//
//   - The groups are those that the connection's broker coordinates; all that
//     the sidecar answers for, if the connection stands for no broker.
//   - States may be asked for from v4 on, types from v5 on, in any case.
//   - While one of the partitions is loading the whole answer is
//     COORDINATOR_LOAD_IN_PROGRESS.
//   - Of a classic group the log tells Empty and Stable. The states between,
//     while its members join, are known to its broker alone.
func (c *call) listGroups(q *kmsg.ListGroupsRequest) kmsg.Response {
	r := reply[*kmsg.ListGroupsResponse](q)
	if !c.groupsComplete() {
		r.ErrorCode = codeLoadInProgress
		return r
	}
	after := 0
	if r.IsFlexible() {
		after = 1 // tagged fields
	}
	s := stream(r, r, after)
	all := c.may(opDescribe, clusterResource, clusterName)
	if all && c.Server.listed.use(s, c.view.GroupsVersion(), c.question(q), c.o.Now()) {
		return s
	}
	listed := c.wantedGroups(q, all)
	s.count, s.bytes = len(listed), len(listed)*listedBytes
	s.elements = func(yield func(kmsg.Response) bool) {
		one := &kmsg.ListGroupsResponse{Version: c.version, Groups: make([]kmsg.ListGroupsResponseGroup, 1)}
		for _, g := range listed {
			one.Groups[0] = kmsg.ListGroupsResponseGroup{
				Group: g.ID, ProtocolType: protocolType(g.Group), GroupState: string(g.State), GroupType: g.Type.String(),
			}
			if !yield(one) {
				return
			}
		}
	}
	return s
}

// listedBytes is about what a group takes.
const listedBytes = 48

// wantedGroups are the groups that are asked for, and may be seen.
func (c *call) wantedGroups(q *kmsg.ListGroupsRequest, all bool) []*pipeline.Group {
	states, types := lower(q.StatesFilter), lower(q.TypesFilter)
	list := make([]*pipeline.Group, 0, c.view.NumGroups())
	for g := range c.view.GroupsFrom("") {
		if c.coordinates(g) && wanted(states, string(g.State)) && wanted(types, g.Type.String()) &&
			(all || c.may(opDescribe, groupResource, g.ID)) {
			list = append(list, g)
		}
	}
	return list
}

// coordinates says whether a group is one of those that the connection answers
// for.
func (c *call) coordinates(g *pipeline.Group) bool {
	return c.view.Answers(g) && (c.broker == kafka.NoNode || g.Coordinator == c.broker)
}

// groupsComplete says whether all partitions are read whose groups the
// connection answers for, and not too old.
func (c *call) groupsComplete() bool {
	if !c.fresh.metadata || !c.view.Assignment.Known {
		return false
	}
	for i := range c.view.Partitions {
		p := &c.view.Partitions[i]
		if p.Answers && (c.broker == kafka.NoNode || p.Coordinator == c.broker) && !c.fresh.partition(p) {
			return false
		}
	}
	return true
}

func lower(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strings.ToLower(s)
	}
	return out
}

func wanted(filter []string, value string) bool {
	return len(filter) == 0 || slices.Contains(filter, strings.ToLower(value))
}

// protocolType is what Kafka says of a group: that of a classic one is its
// client's.
func protocolType(g *groups.Group) string {
	if g.Type != groups.Classic {
		return g.Type.String()
	}
	if g.Classic == nil {
		return ""
	}
	return g.Classic.ProtocolType
}
