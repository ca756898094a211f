package groups

import (
	"maps"
	"slices"

	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/wire"
)

// noProducer is the producer id of a record outside a transaction.
const noProducer = -1

// Options is what the state depends on besides the records.
type Options struct {
	// NewGroupEpoch is the group epoch and the assignment epoch of a consumer,
	// share or streams group that has no record of them: 0 with coordinators
	// up to Kafka 4.2, 1 from 4.3 on.
	NewGroupEpoch int32
}

// Record is a record of __consumer_offsets.
type Record struct {
	Offset     kafka.Offset
	Timestamp  int64 // milliseconds since 1970
	ProducerID int64 // -1 if the record is not part of a transaction
	Key        []byte
	Value      []byte // nil is a tombstone; an empty value is not one
}

// Shard is the state of one partition of __consumer_offsets.
type Shard struct {
	partition     int32
	newGroupEpoch int32
	groups        map[string]*group
	topics        map[string]*topicGroups
	transactions  map[int64]transaction
	anomalies     Anomalies

	// What follows belongs to the current call.
	cur       Record
	curType   record.Type
	out       Outcome
	keys      []byte // memory of the keys and values of effects
	restoring bool

	decoder      record.Decoder
	reader       wire.Reader
	offsetValue  record.OffsetCommitValue
	lastGroup    *group        // of the last record of an offset, while it is there
	lastOffsets  *topicOffsets // in lastGroup
	subscription record.ConsumerProtocolSubscription
	assignment   record.ConsumerProtocolAssignment
	lastTopics   []string
	past         past
}

// NewShard returns the state of a partition before its first record.
func NewShard(partition int32, o Options) *Shard {
	return &Shard{
		partition:     partition,
		newGroupEpoch: o.NewGroupEpoch,
		groups:        make(map[string]*group),
		topics:        make(map[string]*topicGroups),
		transactions:  make(map[int64]transaction),
	}
}

// Partition is the number of the partition.
func (s *Shard) Partition() int32 { return s.partition }

// SetNewGroupEpoch changes Options.NewGroupEpoch, for the groups that exist as
// well. It says for how many of them the epochs changed.
func (s *Shard) SetNewGroupEpoch(epoch int32) (changed int) {
	if epoch == s.newGroupEpoch {
		return 0
	}
	s.newGroupEpoch = epoch
	for _, g := range s.groups {
		if g.modern != nil && (g.modern.hash == nil || !g.modern.target.seen) {
			g.view = nil
			changed++
		}
	}
	return changed
}

// Replay applies a record. It never fails: see AnomalyKind. Key and Value are
// not kept.
func (s *Shard) Replay(r *Record) Outcome {
	s.begin(r)
	if isOffsetKey(r.Key) {
		s.replayOffset()
	} else {
		s.replayGroup()
	}
	return s.out
}

func (s *Shard) begin(r *Record) {
	s.cur = *r
	s.curType = NoType
	s.out.reset()
	s.keys = s.keys[:0]
}

// replayGroup applies a record of a group, as opposed to one of an offset.
func (s *Shard) replayGroup() {
	key, err := s.decoder.Key(s.cur.Key)
	if len(s.cur.Key) >= 2 {
		s.curType = record.Type(int16(s.cur.Key[0])<<8 | int16(s.cur.Key[1]))
	}
	if err != nil {
		s.undecodable(UndecodableKey, "", err)
		return
	}
	var value record.Value
	if s.cur.Value != nil {
		if value, _, err = s.decoder.Value(key.Type(), s.cur.Value); err != nil {
			s.out.Group = key.Owner()
			s.undecodable(UndecodableValue, key.Owner(), err)
			return
		}
	}
	s.apply(key, value)
}

// apply is the table of the records of groups. A nil value is a tombstone.
func (s *Shard) apply(key record.Key, value record.Value) {
	s.out.Group = key.Owner()
	switch k := key.(type) {
	case *record.GroupMetadataKey:
		v, _ := value.(*record.GroupMetadataValue)
		s.classicGroup(k.Group, v)

	case *record.ConsumerGroupMetadataKey:
		v, _ := value.(*record.ConsumerGroupMetadataValue)
		s.consumerMetadata(k.GroupID, v)
	case *record.ConsumerGroupPartitionMetadataKey:
		v, _ := value.(*record.ConsumerGroupPartitionMetadataValue)
		s.consumerSubscription(k.GroupID, v)
	case *record.ConsumerGroupMemberMetadataKey:
		v, _ := value.(*record.ConsumerGroupMemberMetadataValue)
		s.consumerMember(k.GroupID, k.MemberID, v)
	case *record.ConsumerGroupTargetAssignmentMetadataKey:
		v, _ := value.(*record.ConsumerGroupTargetAssignmentMetadataValue)
		s.consumerTargetMetadata(k.GroupID, v)
	case *record.ConsumerGroupTargetAssignmentMemberKey:
		v, _ := value.(*record.ConsumerGroupTargetAssignmentMemberValue)
		s.consumerTarget(k.GroupID, k.MemberID, v)
	case *record.ConsumerGroupCurrentMemberAssignmentKey:
		v, _ := value.(*record.ConsumerGroupCurrentMemberAssignmentValue)
		s.consumerCurrent(k.GroupID, k.MemberID, v)
	case *record.ConsumerGroupRegularExpressionKey:
		v, _ := value.(*record.ConsumerGroupRegularExpressionValue)
		s.consumerRegex(k.GroupID, k.RegularExpression, v)

	case *record.ShareGroupMetadataKey:
		v, _ := value.(*record.ShareGroupMetadataValue)
		s.shareMetadata(k.GroupID, v)
	case *record.ShareGroupPartitionMetadataKey:
		v, _ := value.(*record.ShareGroupPartitionMetadataValue)
		s.shareSubscription(k.GroupID, v)
	case *record.ShareGroupMemberMetadataKey:
		v, _ := value.(*record.ShareGroupMemberMetadataValue)
		s.shareMember(k.GroupID, k.MemberID, v)
	case *record.ShareGroupTargetAssignmentMetadataKey:
		v, _ := value.(*record.ShareGroupTargetAssignmentMetadataValue)
		s.shareTargetMetadata(k.GroupID, v)
	case *record.ShareGroupTargetAssignmentMemberKey:
		v, _ := value.(*record.ShareGroupTargetAssignmentMemberValue)
		s.shareTarget(k.GroupID, k.MemberID, v)
	case *record.ShareGroupCurrentMemberAssignmentKey:
		v, _ := value.(*record.ShareGroupCurrentMemberAssignmentValue)
		s.shareCurrent(k.GroupID, k.MemberID, v)
	case *record.ShareGroupStatePartitionMetadataKey:
		v, _ := value.(*record.ShareGroupStatePartitionMetadataValue)
		s.shareState(k.GroupID, v)

	case *record.StreamsGroupMetadataKey:
		v, _ := value.(*record.StreamsGroupMetadataValue)
		s.streamsMetadata(k.GroupID, v)
	case *record.StreamsGroupMemberMetadataKey:
		v, _ := value.(*record.StreamsGroupMemberMetadataValue)
		s.streamsMember(k.GroupID, k.MemberID, v)
	case *record.StreamsGroupTargetAssignmentMetadataKey:
		v, _ := value.(*record.StreamsGroupTargetAssignmentMetadataValue)
		s.streamsTargetMetadata(k.GroupID, v)
	case *record.StreamsGroupTargetAssignmentMemberKey:
		v, _ := value.(*record.StreamsGroupTargetAssignmentMemberValue)
		s.streamsTarget(k.GroupID, k.MemberID, v)
	case *record.StreamsGroupCurrentMemberAssignmentKey:
		v, _ := value.(*record.StreamsGroupCurrentMemberAssignmentValue)
		s.streamsCurrent(k.GroupID, k.MemberID, v)
	case *record.StreamsGroupTopologyKey:
		v, _ := value.(*record.StreamsGroupTopologyValue)
		s.streamsTopology(k.GroupID, v)
	}
}

// GroupIDs are the ids of the groups that exist, sorted.
func (s *Shard) GroupIDs() []string {
	ids := make([]string, 0, len(s.groups))
	for id, g := range s.groups {
		if g.kind != noType {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// GroupsByTopic are the ids of the groups that subscribe to a topic, sorted,
// classic groups of the consumer protocol among them.
func (s *Shard) GroupsByTopic(topic string) []string {
	t := s.topics[topic]
	if t == nil {
		return nil
	}
	ids := make([]string, 0, len(t.groups))
	for g := range t.groups {
		ids = append(ids, g.id)
	}
	slices.Sort(ids)
	return ids
}

// SubscribedTopics are the topics that at least one consumer, share or streams
// group of the shard subscribes to, sorted.
func (s *Shard) SubscribedTopics() []string {
	var topics []string
	for _, name := range slices.Sorted(maps.Keys(s.topics)) {
		if s.topics[name].hashed > 0 {
			topics = append(topics, name)
		}
	}
	return topics
}
