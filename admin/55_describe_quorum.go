package admin

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
)

// DescribeQuorum v0-2 (KafkaApis.handleDescribeQuorumRequest, which asks the
// active controller):
//
//   - Leader, epoch and high watermark are what the tail of the metadata log
//     last heard; kafka.NoNode is the leader while it has heard of none.
//   - The controllers that are registered stand for the voters, and are the
//     nodes (v2). How far they are is known to the leader alone, and unknown here
//     but for itself, whose log is at the high watermark at least. Observers are
//     not listed.
func (c *call) describeQuorum(q *kmsg.DescribeQuorumRequest) *kmsg.DescribeQuorumResponse {
	r := reply[*kmsg.DescribeQuorumResponse](q)
	r.ErrorMessage = new("")
	if !c.may(opDescribe, clusterResource, clusterName) {
		r.ErrorCode, r.ErrorMessage = codeClusterAuthorizationFailed, errorMessage(codeClusterAuthorizationFailed)
		return r
	}
	good := false
	for _, t := range q.Topics {
		topic := kmsg.DescribeQuorumResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			topic.Partitions = append(topic.Partitions, c.quorumPartition(t.Topic, p.Partition))
			good = good || topic.Partitions[len(topic.Partitions)-1].ErrorCode == codeNone
		}
		r.Topics = append(r.Topics, topic)
	}
	if !good {
		return r
	}
	for controller := range c.view.Image.Cluster().Controllers() {
		r.Nodes = append(r.Nodes, quorumNode(controller))
	}
	return r
}

func (c *call) quorumPartition(topic string, number int32) kmsg.DescribeQuorumResponseTopicPartition {
	r := kmsg.DescribeQuorumResponseTopicPartition{Partition: number}
	if topic != kafka.MetadataTopic || number != 0 {
		r.ErrorCode, r.ErrorMessage = codeUnknownTopicOrPartition, errorMessage(codeUnknownTopicOrPartition)
		return r
	}
	at := &c.view.Metadata
	r.ErrorMessage = new("")
	r.LeaderID, r.LeaderEpoch, r.HighWatermark = int32(at.Leader), int32(at.LeaderEpoch), int64(at.HighWatermark)
	for controller := range c.view.Image.Cluster().Controllers() {
		voter := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
		voter.ReplicaID, voter.LogEndOffset = int32(controller.ID), unknownOffset
		if controller.ID == at.Leader {
			voter.LogEndOffset = int64(at.HighWatermark)
		}
		r.CurrentVoters = append(r.CurrentVoters, voter)
	}
	return r
}

// unknownOffset is how the leader, too, says that it does not know how far a
// replica is.
const unknownOffset = -1

func quorumNode(c *image.Controller) kmsg.DescribeQuorumResponseNode {
	n := kmsg.DescribeQuorumResponseNode{NodeID: int32(c.ID)}
	for _, e := range c.EndPoints {
		n.Listeners = append(n.Listeners, kmsg.DescribeQuorumResponseNodeListener{Name: e.Name, Host: e.Host, Port: e.Port})
	}
	return n
}
