package admin

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
)

// maxDescribedPartitions is what a broker answers at a time at most
// (max.request.partition.size.limit).
const maxDescribedPartitions = 2000

// DescribeTopicPartitions v0 (DescribeTopicPartitionsRequestHandler, KIP-966):
//
//   - Topics come by name, all if none is named, from the cursor on, and so
//     many partitions that a limit is kept; the next cursor says where to go on.
//   - A topic that does not exist is told of where it is named, not where all
//     are meant.
func (c *call) describeTopicPartitions(q *kmsg.DescribeTopicPartitionsRequest) *kmsg.DescribeTopicPartitionsResponse {
	r := reply[*kmsg.DescribeTopicPartitionsResponse](q)
	room := int32(maxDescribedPartitions)
	if q.ResponsePartitionLimit > 0 {
		room = min(room, q.ResponsePartitionLimit)
	}
	names := c.topicsToDescribe(q)
	for i, name := range names {
		first := int32(0)
		if q.Cursor != nil && q.Cursor.Topic == name {
			first = q.Cursor.Partition
		}
		if room <= 0 {
			r.NextCursor = &kmsg.DescribeTopicPartitionsResponseNextCursor{Topic: names[i]}
			return r
		}
		t, next := c.describedTopic(name, first, room)
		r.Topics = append(r.Topics, t)
		room -= int32(len(t.Partitions))
		if next > 0 {
			r.NextCursor = &kmsg.DescribeTopicPartitionsResponseNextCursor{Topic: name, Partition: next}
			return r
		}
	}
	return r
}

// topicsToDescribe are the names, sorted, from the cursor on. Names that may
// not be described are left out if all topics are meant.
func (c *call) topicsToDescribe(q *kmsg.DescribeTopicPartitionsRequest) (names []string) {
	from := ""
	if q.Cursor != nil {
		from = q.Cursor.Topic
	}
	if len(q.Topics) == 0 {
		for t := range c.view.Image.Topics().All() {
			if t.Name() >= from && c.may(opDescribe, topicResource, t.Name()) {
				names = append(names, t.Name())
			}
		}
	}
	for _, t := range q.Topics {
		if t.Topic >= from {
			names = append(names, t.Topic)
		}
	}
	slices.SortFunc(names, cmp.Compare)
	return slices.Compact(names)
}

// describedTopic is a topic with at most so many of its partitions, from the
// first on. next is the one to go on with; 0 if that was all.
func (c *call) describedTopic(name string, first, most int32) (r kmsg.DescribeTopicPartitionsResponseTopic, next int32) {
	r = kmsg.NewDescribeTopicPartitionsResponseTopic()
	r.Topic, r.IsInternal, r.AuthorizedOperations = &name, internalTopic(name), notRequested
	t, ok := c.view.Image.Topics().ByName(name)
	switch {
	case !c.may(opDescribe, topicResource, name):
		r.ErrorCode = codeTopicAuthorizationFailed
		return r, 0
	case !ok && !validTopic(name):
		r.ErrorCode, r.AuthorizedOperations = codeInvalidTopic, c.authorized(true, topicResource, name)
		return r, 0
	case !ok:
		r.ErrorCode, r.AuthorizedOperations = codeUnknownTopicOrPartition, c.authorized(true, topicResource, name)
		return r, 0
	case !c.fresh.metadata:
		r.ErrorCode = codeLeaderNotAvailable
		return r, 0
	}
	r.TopicID, r.AuthorizedOperations = t.ID(), c.authorized(true, topicResource, name)
	for number, p := range t.Partitions() {
		if number < first {
			continue
		}
		if int32(len(r.Partitions)) == most {
			return r, number
		}
		r.Partitions = append(r.Partitions, c.describedPartition(number, p))
	}
	return r, 0
}

func (c *call) describedPartition(number int32, p *image.Partition) kmsg.DescribeTopicPartitionsResponseTopicPartition {
	r := kmsg.DescribeTopicPartitionsResponseTopicPartition{
		Partition: number, LeaderID: int32(p.Leader), LeaderEpoch: int32(p.LeaderEpoch),
		Replicas: c.ids.of(p.Replicas), ISR: c.ids.of(p.Isr), OfflineReplicas: c.offlineReplicas(p),
		EligibleLeaderReplicas: c.ids.of(p.Elr), LastKnownELR: c.ids.of(p.LastKnownElr),
	}
	if c.registered(p.Leader) == nil {
		r.LeaderID = int32(kafka.NoNode) // which is no error here
	}
	return r
}
