package groups

import (
	"github.com/kraftside/kraftside/internal/kafka"
)

// Type is the type of a group.
type Type uint8

const (
	noType Type = iota // only offsets are known of the id
	Classic
	Consumer
	Share
	Streams
)

// String is Kafka's name of the type, in lower case.
func (t Type) String() string {
	return [...]string{"none", "classic", "consumer", "share", "streams"}[t]
}

// State is the state of a group as Kafka names it (ConsumerGroup, ShareGroup,
// StreamsGroup and ClassicGroupState). The log tells no more of a classic
// group than Empty and Stable: a rebalance under way leaves no trace in it.
type State string

const (
	Empty       State = "Empty"       // no members
	NotReady    State = "NotReady"    // streams: the topology is not, or not validly, configured
	Assigning   State = "Assigning"   // the target assignment is older than the group epoch
	Reconciling State = "Reconciling" // a member has not reached the target assignment
	Stable      State = "Stable"
)

// MemberState is the state of a member's reconciliation.
type MemberState uint8

const (
	MemberStable               MemberState = iota
	MemberUnrevokedPartitions              // has yet to give up partitions
	MemberUnreleasedPartitions             // waits for partitions that others hold
	MemberUnrevokedTasks
	MemberUnreleasedTasks
	MemberUnknown // a number that Kafka 4.0 to 4.4 do not have
)

// String is Kafka's name of the state.
func (s MemberState) String() string {
	return [...]string{
		"STABLE", "UNREVOKED_PARTITIONS", "UNRELEASED_PARTITIONS", "UNREVOKED_TASKS", "UNRELEASED_TASKS", "UNKNOWN",
	}[s]
}

// Group is a group as of one record of the log. It is shared and must not be
// written to. What a type does not have is zero.
type Group struct {
	ID    string
	Type  Type
	State State
	// Epoch is the group epoch; of a classic group, the generation.
	Epoch int32
	// AssignmentEpoch is the epoch of the target assignment; of a classic
	// group, the generation. -1 while the group is being deleted.
	AssignmentEpoch int32
	// AssignmentTimestamp is when the target assignment was computed, in
	// milliseconds since 1970; 0 where Kafka does not say (before 4.3).
	AssignmentTimestamp int64
	// Hash is nil as long as no record of the group's epoch was seen.
	Hash *StoredHash
	// Assignor is the server assignor that most members prefer, the first by
	// name if several do; empty if none has a preference. Of a classic group,
	// the protocol.
	Assignor string
	// Members are sorted by id.
	Members []*Member
	// SubscribedTopics are the names that members subscribe to and the topics
	// of all resolved regular expressions; of a streams group the source,
	// repartition source and changelog topics of the topology. Sorted, and not
	// all of them need exist.
	SubscribedTopics []string
	// Regexes are the resolved regular expressions, sorted.
	Regexes []*Regex
	// Subscription is what a coordinator of Kafka 4.0 compared instead of a
	// hash. Nil if there is no such record, and empty but not nil if it is
	// empty. From 4.1 on the next bump of a consumer group removes it.
	Subscription []SubscribedTopic
	Classic      *ClassicGroup
	Share        *ShareGroup
	Streams      *StreamsGroup
	// Anomalies counts the records of the group that Kafka would not replay.
	Anomalies   int64
	LastAnomaly *Anomaly
}

// StoredHash is what the latest record 3, 11 or 17 of a group says.
type StoredHash struct {
	// Value is the MetadataHash; 0 for a group without topics, and for what
	// Kafka 4.0 wrote.
	Value int64
	// None says that Kafka 4.0 wrote the record, which has no hash. It is
	// certain for share groups; a consumer group has it as long as its
	// Subscription is there and Value is 0.
	None bool
	// Epoch is the group epoch in the same record.
	Epoch     int32
	Offset    kafka.Offset
	Timestamp int64 // of the record, in milliseconds since 1970
}

// Regex is a regular expression and what the coordinator resolved it to.
type Regex struct {
	Expression string
	Topics     []string // sorted
	// Version is the metadata offset that it was resolved at.
	Version int64
	// Timestamp is when the resolution began, in milliseconds since 1970.
	Timestamp int64
	// Offset is that of the record.
	Offset kafka.Offset
}

// SubscribedTopic is a topic as a coordinator of Kafka 4.0 knew it.
type SubscribedTopic struct {
	Name       string
	TopicID    kafka.TopicID
	Partitions int32
}

// Member is a member of a group.
type Member struct {
	ID string
	// InstanceID is the group.instance.id of a static member, else empty.
	InstanceID           string
	RackID               string // empty for none
	ClientID, ClientHost string
	SubscribedTopics     []string // sorted
	SubscribedRegex      string   // empty for none
	Assignor             string   // the server assignor that it prefers, empty for none
	// RebalanceTimeoutMs is -1 if unknown.
	RebalanceTimeoutMs int32
	// Classic is what a member of a classic group sent, nil for others.
	Classic *ClassicMember
	// SessionTimeoutMs is known of members that use the classic protocol,
	// otherwise 0: it is a configuration of the group.
	SessionTimeoutMs int32
	// ClassicProtocol says that a member of a consumer group uses the classic
	// protocol: it makes the coordinator compare hashes when it joins, not
	// while it heartbeats.
	ClassicProtocol bool
	// Epoch is -1 for a member that is being removed, -2 for a static one that
	// is away. Of a classic group, the generation.
	Epoch         int32
	PreviousEpoch int32
	State         MemberState
	// Assigned, PendingRevocation and Target are sorted by topic. Streams
	// members have tasks instead.
	Assigned, PendingRevocation, Target []TopicPartitions
	Streams                             *StreamsMember

	rows memberRows
}

// Ghost says that a current assignment is all that is known of the member:
// its metadata was not seen (yet), or was compacted away.
func (m *Member) Ghost() bool { return m.rows&rowMember == 0 }

// TopicPartitions are partitions of one topic.
type TopicPartitions struct {
	// TopicID is zero in classic groups, which assign by name.
	TopicID kafka.TopicID
	// Topic is set where the record itself has the name: in classic groups and
	// in ShareGroup.
	Topic      string
	Partitions []int32 // sorted
	// Epochs are the member epochs at which each of Partitions was assigned.
	// Only what members of consumer groups own has them.
	Epochs []int32
}

// ClassicGroup is what only a classic group has. It is nil for a simple group,
// which exists because offsets were committed without one.
type ClassicGroup struct {
	ProtocolType string // "consumer", "connect", …
	Protocol     string
	Leader       string // member id
	// StateTimestamp is when the group got its state, in milliseconds since
	// 1970, -1 if not known.
	StateTimestamp int64
}

// ShareGroup says for which partitions the share state exists (record 15).
type ShareGroup struct {
	Initializing, Initialized []TopicPartitions // sorted by topic
	// Deleting are the topics whose share state is being deleted.
	Deleting []TopicPartitions
}

// StreamsGroup is what only a streams group has.
type StreamsGroup struct {
	// ValidatedTopologyEpoch is the topology epoch that the coordinator found
	// valid; -1 for none, and always in Kafka 4.1.
	ValidatedTopologyEpoch int32
	// AssignmentConfigs are the configurations of the last assignment, sorted
	// by key. Kafka 4.1 does not record them, later releases always do.
	AssignmentConfigs []KeyValue
	// StoredDescriptionEpoch and FailedDescriptionEpoch are the topology epochs
	// whose description was stored or refused (Kafka 4.4), -1 for none.
	StoredDescriptionEpoch, FailedDescriptionEpoch int32
	// Topology is nil as long as its record was not seen.
	Topology *Topology
}

// KeyValue is a configuration or a client tag.
type KeyValue struct{ Key, Value string }

// Topology is the topology of a streams group.
type Topology struct {
	Epoch         int32
	Subtopologies []Subtopology // in the order of the record
}

// InternalTopic is a topic of a streams group as its client described it.
type InternalTopic struct {
	Name string
	// Partitions and ReplicationFactor are 0 where the coordinator decides.
	Partitions        int32
	ReplicationFactor int16
	Configs           []KeyValue // in the order of the record
}

// TopicNames are the names of internal topics, in their order.
func TopicNames(list []InternalTopic) []string {
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}
	return names
}

// Subtopology has the topics that its tasks read, and so need, and the
// RepartitionSinks that they write to. All are sorted by name.
type Subtopology struct {
	ID                        string
	Sources, RepartitionSinks []string
	// RepartitionSources and Changelogs are internal topics.
	RepartitionSources, Changelogs []InternalTopic
}

// StreamsMember is what only a member of a streams group has.
type StreamsMember struct {
	TopologyEpoch int32
	ProcessID     string
	Endpoint      *Endpoint // nil for none
	ClientTags    []KeyValue
	// Assigned, PendingRevocation and Target are those of the member.
	Assigned, PendingRevocation, Target Tasks
}

// Endpoint is where a streams member answers interactive queries.
type Endpoint struct {
	Host string
	Port uint16
}

// Tasks are tasks by what their member does with them. Each list is sorted by
// subtopology.
type Tasks struct{ Active, Standby, Warmup []TaskIDs }

// ClassicMember is the bytes of a member of a classic group, which mean to its
// clients whatever they like.
type ClassicMember struct {
	// Subscription is what it offered for the protocol that was chosen,
	// Assignment what the leader gave it.
	Subscription, Assignment []byte
}

// TaskIDs are tasks of one subtopology.
type TaskIDs struct {
	Subtopology string
	Partitions  []int32 // sorted
	// Epochs are the member epochs at which each task was assigned. Only
	// active tasks that a member owns have them.
	Epochs []int32
}
