package rebalance

import (
	"fmt"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/topichash"
)

// Rebalance is one bump of a group's epoch and what came of it. It is shared
// and must not be written to.
type Rebalance struct {
	ID    ID `cbor:"-"` // see rows.go, as of Members
	Group string
	Type  groups.Type
	// Epoch is the group epoch that it brought; of a classic group, the
	// generation.
	Epoch, PreviousEpoch int32
	// StartedAt and CompletedAt are the times of records, in milliseconds since
	// 1970. CompletedAt is 0 until the last member has reached Epoch; of a
	// classic group, whose log tells no more than the end, both are equal.
	StartedAt, CompletedAt int64
	// TargetAt is when the target assignment of the epoch was written, 0 until
	// then: from Kafka 4.3 on that may be later than the bump.
	TargetAt int64
	// SupersededBy is the epoch of the bump that came before this one was
	// completed, 0 if none did. It will not be completed then.
	SupersededBy int32
	// Settled says that Causes and Hash are final.
	Settled bool
	// Causes has the deciding one first. At least one is there once the
	// rebalance is settled.
	Causes []Cause
	// MoreCauses is the number of causes beyond those listed.
	MoreCauses int
	Hash       *Hash // nil where the type of group or the release has none
	// Members are those before and after, sorted by id.
	Members []Member `cbor:"-"`
	// Moved is the number of partitions, of a streams group of active tasks,
	// that are taken from one member and given to another.
	Moved int
}

// Open says whether members have yet to reach the epoch.
func (r *Rebalance) Open() bool { return r.CompletedAt == 0 && r.SupersededBy == 0 }

// Explained says whether the causes are known.
func (r *Rebalance) Explained() bool {
	return r.Settled && len(r.Causes) > 0 && r.Causes[0].Kind != Unknown
}

// Hash is the group's MetadataHash beside the bump.
type Hash struct {
	// Before is what was stored until then, if HadBefore.
	Before    int64
	HadBefore bool
	After     int64
	// Computed is the hash by the image that explains After; where none does,
	// by the newest image of that time.
	Computed int64
	Verdict  topichash.Verdict
	Reason   string // of topichash.Unknown
}

// Kind is the kind of a cause.
type Kind string

// The kinds of causes.
const (
	Metadata                   Kind = "metadata" // of a subscribed topic, see Field
	MemberJoined               Kind = "memberJoined"
	MemberLeft                 Kind = "memberLeft"
	MemberTimedOut             Kind = "memberTimedOut"
	SubscriptionChanged        Kind = "subscriptionChanged"
	RegexChanged               Kind = "regexChanged"  // that of a member
	RegexResolved              Kind = "regexResolved" // to other topics than before
	AssignorChanged            Kind = "assignorChanged"
	FirstHash                  Kind = "firstHash" // the coordinator was upgraded from Kafka 4.0
	SharePartitionsInitialized Kind = "sharePartitionsInitialized"
	StreamsMemberChanged       Kind = "streamsMemberChanged"
	TopologyValidated          Kind = "topologyValidated"
	AssignmentConfigsChanged   Kind = "assignmentConfigsChanged"
	WarmupRefined              Kind = "warmupRefined"
	GroupConverted             Kind = "groupConverted"
	ClassicRebalance           Kind = "classicRebalance"
	Unknown                    Kind = "unknown"
)

// Field is what of a topic changed.
type Field string

// The fields that a hash covers.
const (
	FieldTopic      Field = "topic" // it appeared or disappeared
	FieldID         Field = "id"    // it was deleted and created again
	FieldPartitions Field = "partitions"
	FieldRacks      Field = "racks"
)

// Confidence says whether records prove a cause.
type Confidence string

// Certain causes are proven by records; Likely ones say what they rest on.
const (
	Certain Confidence = "certain"
	Likely  Confidence = "likely"
)

// Cause is one reason for a bump.
type Cause struct {
	Kind Kind
	// Summary is one sentence. It holds names as they are in the logs, which
	// are to be escaped before they are shown.
	Summary    string
	Confidence Confidence
	Reason     string // why it is not certain; empty if it is
	Member     string // member id, where it is about one
	Topic      string
	TopicID    kafka.TopicID
	Field      Field // of Metadata
	Partition  int32 // of FieldRacks, else -1
	// Before and After are the racks of a partition, sorted, or one value: the
	// number of partitions, the topic id, the topic's name. Empty is none.
	Before, After []string
	Evidence      []Evidence
	// Trigger is what made the coordinator look, nil if the cause itself did.
	Trigger *Trigger
}

// MetadataLog is the Log of evidence from the metadata log; that of a
// partition of __consumer_offsets is OffsetsLog.
const MetadataLog = "metadata"

// OffsetsLog is the Log of evidence from a partition of __consumer_offsets.
func OffsetsLog(partition int32) string { return fmt.Sprintf("offsets-%d", partition) }

// Evidence is a record.
type Evidence struct {
	Log       string
	Offset    kafka.Offset
	Timestamp int64 // milliseconds since 1970; in the metadata log that of the batch
	Record    string
	Detail    string
}

// TriggerKind is the kind of a trigger.
type TriggerKind string

// The kinds of triggers.
const (
	TopicTouched     TriggerKind = "topicTouched"     // a record named the topic
	CoordinatorMoved TriggerKind = "coordinatorMoved" // and began with an empty cache
	RegexRefresh     TriggerKind = "regexRefresh"     // regular expressions were resolved again
)

// Trigger is what made the coordinator notice a cause.
type Trigger struct {
	Kind     TriggerKind
	Summary  string
	Evidence []Evidence
}

// Member is what the rebalance means for one member.
type Member struct {
	MemberID, InstanceID, ClientID, ClientHost string
	// Before is what it had at the bump, After what it is to get. Of a streams
	// group they are active tasks, with the subtopology in place of the topic.
	// After is nil as long as there is no target assignment.
	Before, After []groups.TopicPartitions
	// Joined and Left say that it was not there before, or is not any more.
	Joined, Left bool
	// WaitedFor are the members that had partitions it is to get, as last seen
	// while it waited for them.
	WaitedFor []Wait
	// ReconciledAt is when it reached the epoch with all it is to get, in
	// milliseconds since 1970; 0 until then.
	ReconciledAt int64
}

// Wait is a member that has yet to release partitions.
type Wait struct {
	MemberID   string
	Partitions []groups.TopicPartitions
}
