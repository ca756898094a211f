package admin

import (
	"iter"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
)

// Metadata v0-13 (KafkaApis.handleTopicMetadataRequest, KRaftMetadataCache):
//
//   - The addresses are those of sidecars; see addresses. The controller is a
//     broker that leads to us, as brokers name one that is alive: the leader of
//     the quorum is no broker.
//   - v0 lists all topics if none is named; from v1 on none means none, and null
//     all. From v12 on a topic may be named by its id.
//   - A topic that does not exist is not created, whatever the request allows.
//   - A broker leaves out partitions whose leader has not the listener that the
//     client uses. There is no such thing here.
func (c *call) metadata(q *kmsg.MetadataRequest) kmsg.Response {
	r := reply[*kmsg.MetadataResponse](q)
	for b := range c.aliveBrokers() {
		host, port := c.address(b.ID)
		r.Brokers = append(r.Brokers, kmsg.MetadataResponseBroker{NodeID: int32(b.ID), Host: host, Port: port, Rack: b.Rack})
	}
	r.ClusterID = new(c.o.ClusterID())
	r.ControllerID = int32(c.controller())
	r.AuthorizedOperations = c.clusterOperations(q.IncludeClusterAuthorizedOperations)
	m := topicMetadata{c: c, operations: q.IncludeTopicAuthorizedOperations, stale: !c.fresh.metadata}
	if q.Topics == nil || c.version == 0 && len(q.Topics) == 0 {
		return m.all(r)
	}
	asked := map[string]bool{} // by name: once each
	for i := range q.Topics {
		if name := q.Topics[i].Topic; name != nil {
			if asked[*name] {
				continue
			}
			asked[*name] = true
		}
		r.Topics = append(r.Topics, m.requested(&q.Topics[i]))
	}
	return r
}

// aliveBrokers are the brokers that clients may use, by id.
func (c *call) aliveBrokers() iter.Seq[*image.Broker] {
	return func(yield func(*image.Broker) bool) {
		for b := range c.view.Image.Cluster().Brokers() {
			if !b.Fenced && !yield(b) {
				return
			}
		}
	}
}

// controller is the broker that clients send to what is for the controller:
// the one whose connection it is, or one that is alive; kafka.NoNode if none.
func (c *call) controller() kafka.NodeID {
	if c.broker != kafka.NoNode {
		return c.broker
	}
	for b := range c.aliveBrokers() {
		return b.ID
	}
	return kafka.NoNode
}

// topicMetadata makes the topics of a response.
type topicMetadata struct {
	c          *call
	operations bool // the authorized ones are asked for
	stale      bool
}

// all is a response with all topics that the client may see.
func (m *topicMetadata) all(r *kmsg.MetadataResponse) kmsg.Response {
	var visible []image.Topic
	partitions := 0
	for t := range m.c.view.Image.Topics().All() {
		if m.c.may(opDescribe, topicResource, t.Name()) {
			visible = append(visible, t)
			partitions += t.NumPartitions()
		}
	}
	s := streamedMetadata(r)
	s.count, s.bytes = len(visible), partitions*partitionBytes
	if topics := m.c.view.Image.Topics(); !m.operations && !m.stale && s.count == topics.NumTopics() &&
		m.c.Server.topics.use(s, topicsState{topics, m.c.view.Image.Cluster()}, question{version: m.c.version}, m.c.o.Now()) {
		return s
	}
	s.elements = func(yield func(kmsg.Response) bool) {
		one := &kmsg.MetadataResponse{Version: m.c.version, Topics: make([]kmsg.MetadataResponseTopic, 1)}
		ids := nodeIDs{free: make([]int32, maxPiece)}
		for _, t := range visible {
			m.c.ids = ids // of the topic before
			one.Topics[0] = m.topic(t, one.Topics[0].Partitions[:0])
			if !yield(one) {
				return
			}
		}
	}
	return s
}

// partitionBytes is about what a partition with three replicas takes.
const partitionBytes = 48

// streamedMetadata is a response whose topics are to come. Behind them are
// authorized operations in v8 to v10, an error code from v13 on, and tagged fields
// from v9 on.
func streamedMetadata(r *kmsg.MetadataResponse) *streamed {
	after := 0
	if r.Version >= 8 && r.Version <= 10 {
		after += 4
	}
	if r.Version >= 13 {
		after += 2
	}
	if r.Version >= 9 {
		after++
	}
	return stream(r, &kmsg.MetadataResponse{Version: r.Version}, after)
}

// requested is what is said of a topic that the request names.
func (m *topicMetadata) requested(q *kmsg.MetadataRequestTopic) kmsg.MetadataResponseTopic {
	topics := m.c.view.Image.Topics()
	if q.Topic == nil || m.c.version >= 10 && q.TopicID != [16]byte{} {
		t, ok := topics.ByID(q.TopicID)
		switch {
		case !ok:
			return m.missing(nil, q.TopicID, codeUnknownTopicID)
		case !m.c.may(opDescribe, topicResource, t.Name()):
			return m.missing(nil, q.TopicID, codeTopicAuthorizationFailed)
		}
		return m.topic(t, nil)
	}
	if !m.c.may(opDescribe, topicResource, *q.Topic) {
		return m.missing(q.Topic, [16]byte{}, codeTopicAuthorizationFailed)
	}
	t, found := topics.ByName(*q.Topic)
	switch {
	case found:
		return m.topic(t, nil)
	case !validTopic(*q.Topic):
		return m.missing(q.Topic, [16]byte{}, codeInvalidTopic)
	}
	return m.missing(q.Topic, [16]byte{}, codeUnknownTopicOrPartition)
}

func (m *topicMetadata) missing(name *string, id [16]byte, code int16) kmsg.MetadataResponseTopic {
	r := kmsg.MetadataResponseTopic{ErrorCode: code, Topic: name, TopicID: id, AuthorizedOperations: notRequested}
	r.IsInternal = name != nil && code != codeTopicAuthorizationFailed && internalTopic(*name)
	return r
}

// topic is what is said of a topic, with its partitions in the given room.
func (m *topicMetadata) topic(t image.Topic, room []kmsg.MetadataResponseTopicPartition) kmsg.MetadataResponseTopic {
	name := t.Name()
	r := kmsg.MetadataResponseTopic{
		Topic: &name, TopicID: t.ID(), IsInternal: internalTopic(name),
		AuthorizedOperations: m.c.authorized(m.operations, topicResource, name),
	}
	if m.stale {
		r.ErrorCode = codeLeaderNotAvailable
		return r
	}
	r.Partitions = slices.Grow(room, t.NumPartitions())
	for number, p := range t.Partitions() {
		r.Partitions = append(r.Partitions, m.c.partitionMetadata(number, p))
	}
	return r
}

func (c *call) partitionMetadata(number int32, p *image.Partition) kmsg.MetadataResponseTopicPartition {
	r := kmsg.MetadataResponseTopicPartition{
		Partition: number, Leader: int32(p.Leader), LeaderEpoch: int32(p.LeaderEpoch),
		OfflineReplicas: c.offlineReplicas(p),
	}
	if c.version == 0 {
		r.Replicas, r.ISR = c.alive(p.Replicas), c.alive(p.Isr)
	} else {
		r.Replicas, r.ISR = c.ids.of(p.Replicas), c.ids.of(p.Isr)
	}
	switch {
	case c.registered(p.Leader) == nil:
		r.ErrorCode, r.Leader = codeLeaderNotAvailable, int32(kafka.NoNode)
	case len(r.Replicas) < len(p.Replicas), len(r.ISR) < len(p.Isr):
		r.ErrorCode = codeReplicaNotAvailable
	}
	return r
}
