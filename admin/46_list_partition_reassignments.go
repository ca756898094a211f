package admin

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/image"
)

// ListPartitionReassignments v0 (ReplicationControlManager.listPartitionReassignments):
//
//   - A partition is listed while it has replicas that are to be added or
//     removed. A topic without one, or that does not exist, is not listed.
//   - Null for the topics means all.
func (c *call) listPartitionReassignments(q *kmsg.ListPartitionReassignmentsRequest) *kmsg.ListPartitionReassignmentsResponse {
	r := reply[*kmsg.ListPartitionReassignmentsResponse](q)
	switch {
	case !c.may(opDescribe, clusterResource, clusterName):
		r.ErrorCode, r.ErrorMessage = codeClusterAuthorizationFailed, errorMessage(codeClusterAuthorizationFailed)
		return r
	case !c.fresh.metadata:
		r.ErrorCode, r.ErrorMessage = codeRequestTimedOut, errorMessage(codeRequestTimedOut)
		return r
	}
	topics := c.view.Image.Topics()
	if q.Topics == nil {
		for t := range topics.All() {
			r.Topics = c.appendReassignments(r.Topics, t, nil)
		}
		slices.SortFunc(r.Topics, func(a, b kmsg.ListPartitionReassignmentsResponseTopic) int { return cmp.Compare(a.Topic, b.Topic) })
		return r
	}
	for _, asked := range q.Topics {
		if t, ok := topics.ByName(asked.Topic); ok {
			r.Topics = c.appendReassignments(r.Topics, t, asked.Partitions)
		}
	}
	return r
}

// appendReassignments adds a topic if one of the partitions is being moved; of
// all, if only is nil.
func (c *call) appendReassignments(list []kmsg.ListPartitionReassignmentsResponseTopic, t image.Topic, only []int32) []kmsg.ListPartitionReassignmentsResponseTopic {
	r := kmsg.ListPartitionReassignmentsResponseTopic{Topic: t.Name()}
	add := func(number int32, p *image.Partition) {
		if len(p.AddingReplicas)+len(p.RemovingReplicas) > 0 {
			r.Partitions = append(r.Partitions, kmsg.ListPartitionReassignmentsResponseTopicPartition{
				Partition: number, Replicas: c.ids.of(p.Replicas),
				AddingReplicas: c.ids.of(p.AddingReplicas), RemovingReplicas: c.ids.of(p.RemovingReplicas),
			})
		}
	}
	if only == nil {
		for number, p := range t.Partitions() {
			add(number, p)
		}
	}
	var p image.Partition
	for _, number := range only {
		if t.Partition(number, &p) {
			add(number, &p)
		}
	}
	if len(r.Partitions) == 0 {
		return list
	}
	return append(list, r)
}
