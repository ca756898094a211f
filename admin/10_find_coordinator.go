package admin

import (
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
)

// coordinatorTopics are the logs of coordinators, by the type of a key
// (FindCoordinatorRequest.CoordinatorType).
var coordinatorTopics = []string{kafka.OffsetsTopic, "__transaction_state", "__share_group_state"}

// Types of keys.
const (
	groupCoordinator = 0
	transactional    = 1
	shareCoordinator = 2
)

// FindCoordinator v0-6 (KafkaApis.handleFindCoordinatorRequest):
//
//   - The coordinator is the leader of the partition that the key belongs to.
//   - A broker creates the log of a coordinator that is not there yet; here the
//     answer is COORDINATOR_NOT_AVAILABLE until somebody did.
//   - v0-3 have one key; v6 (KIP-932) has the type of share coordinators.
func (c *call) findCoordinator(q *kmsg.FindCoordinatorRequest) *kmsg.FindCoordinatorResponse {
	r := reply[*kmsg.FindCoordinatorResponse](q)
	if c.version < 4 {
		one := c.coordinator(q.CoordinatorType, q.CoordinatorKey)
		r.ErrorCode, r.ErrorMessage = one.ErrorCode, one.ErrorMessage
		if r.ErrorCode == codeNone {
			r.ErrorMessage = new("NONE")
		}
		r.NodeID, r.Host, r.Port = one.NodeID, one.Host, one.Port
		return r
	}
	for _, key := range q.CoordinatorKeys {
		r.Coordinators = append(r.Coordinators, c.coordinator(q.CoordinatorType, key))
	}
	return r
}

func (c *call) coordinator(kind int8, key string) kmsg.FindCoordinatorResponseCoordinator {
	r := kmsg.FindCoordinatorResponseCoordinator{Key: key, NodeID: int32(kafka.NoNode), Port: -1}
	partitions, leader, code := c.coordinatorOf(kind, key)
	switch {
	case code != codeNone:
		r.ErrorCode = code
	case partitions == 0 || leader == kafka.NoNode || !c.fresh.metadata:
		r.ErrorCode = codeCoordinatorNotAvailable
	default:
		r.NodeID = int32(leader)
		r.Host, r.Port = c.address(leader)
	}
	r.ErrorMessage = new("")
	switch {
	case r.ErrorCode == codeCoordinatorNotAvailable, r.ErrorCode == codeClusterAuthorizationFailed,
		r.ErrorCode == codeInvalidRequest && kind != shareCoordinator:
		r.ErrorMessage = errorMessage(r.ErrorCode)
	}
	return r
}

// coordinatorOf is the broker that leads the partition of a key.
func (c *call) coordinatorOf(kind int8, key string) (partitions int32, leader kafka.NodeID, code int16) {
	switch {
	case kind < groupCoordinator || int(kind) >= len(coordinatorTopics) || kind == shareCoordinator && c.version < 6:
		return 0, kafka.NoNode, codeInvalidRequest
	case !c.mayFind(kind, key):
		return 0, kafka.NoNode, notAuthorizedToFind(kind)
	case kind == shareCoordinator && !sharePartitionKey(key):
		return 0, kafka.NoNode, codeInvalidRequest
	}
	topic, ok := c.view.Image.Topics().ByName(coordinatorTopics[kind])
	if !ok || topic.NumPartitions() == 0 {
		return 0, kafka.NoNode, codeNone
	}
	partitions = int32(topic.NumPartitions())
	var p image.Partition
	if !topic.Partition(groups.PartitionFor(key, partitions), &p) {
		return 0, kafka.NoNode, codeNone
	}
	if b, ok := c.view.Image.Cluster().Broker(p.Leader); !ok || b.Fenced {
		return partitions, kafka.NoNode, codeNone
	}
	return partitions, p.Leader, codeNone
}

func (c *call) mayFind(kind int8, key string) bool {
	switch kind {
	case groupCoordinator:
		return c.may(opDescribe, groupResource, key)
	case transactional:
		return c.may(opDescribe, transactionalIDResource, key)
	}
	return c.may(opClusterAction, clusterResource, clusterName)
}

func notAuthorizedToFind(kind int8) int16 {
	switch kind {
	case groupCoordinator:
		return codeGroupAuthorizationFailed
	case transactional:
		return codeTransactionalIDAuthorizationFailed
	}
	return codeClusterAuthorizationFailed
}

// sharePartitionKey says whether a key is GROUP:TOPIC-ID:PARTITION
// (SharePartitionKey.validate).
func sharePartitionKey(key string) bool {
	parts := strings.Split(key, ":")
	if len(parts) != 3 || strings.TrimSpace(parts[0]) == "" {
		return false
	}
	_, err := kafka.ParseUUID(parts[1])
	number, notNumber := strconv.ParseInt(parts[2], 10, 32)
	return err == nil && notNumber == nil && number >= 0
}
