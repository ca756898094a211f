package api

import (
	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/topichash"
)

// Group is a group with its members and the verdict on its hash.
type Group struct {
	Group           string        `json:"group"`
	Type            string        `json:"type"`
	State           string        `json:"state"`
	Epoch           int32         `json:"epoch"`
	AssignmentEpoch int32         `json:"assignmentEpoch"`
	Coordinator     *kafka.NodeID `json:"coordinator"`
	// OffsetsPartition is the partition of __consumer_offsets.
	OffsetsPartition int32        `json:"offsetsPartition"`
	Assignor         *string      `json:"assignor"`
	Members          []Member     `json:"members"`
	SubscribedTopics []string     `json:"subscribedTopics"`
	Regexes          []Regex      `json:"regexes,omitempty"`
	MetadataHash     MetadataHash `json:"metadataHash"`
	ReadAt           ReadAt       `json:"readAt"`

	Classic   *Classic   `json:"classic,omitempty"`
	Share     *Share     `json:"share,omitempty"`
	Streams   *Streams   `json:"streams,omitempty"`
	Anomalies *Anomalies `json:"anomalies,omitempty"`
}

// Member is a member of a group. Assigned and Target are partitions by topic
// name; a topic that the image does not have stands under its id. A member of
// a streams group has tasks instead. Target is null where the log has none, as
// for classic groups.
type Member struct {
	MemberID          string      `json:"memberId"`
	InstanceID        *string     `json:"instanceId"`
	RackID            *string     `json:"rackId"`
	ClientID          string      `json:"clientId"`
	ClientHost        string      `json:"clientHost"`
	SubscribedTopics  []string    `json:"subscribedTopics"`
	SubscribedRegex   *string     `json:"subscribedRegex"`
	MemberEpoch       int32       `json:"memberEpoch"`
	State             *string     `json:"state"` // null in classic groups
	Assigned          Assignment  `json:"assigned"`
	PendingRevocation Assignment  `json:"pendingRevocation,omitempty"`
	Target            *Assignment `json:"target"`

	Streams *StreamsMember `json:"streams,omitempty"`
}

// Assignment is partitions by topic.
type Assignment map[string][]int32

// Regex is a regular expression and the topics that the coordinator resolved
// it to, with the metadata offset that it did so at.
type Regex struct {
	Expression     string        `json:"expression"`
	Topics         []string      `json:"topics"`
	MetadataOffset *kafka.Offset `json:"metadataOffset"`
	Timestamp      *Time         `json:"timestamp"`
}

// MetadataHash is the hash that the coordinator stored, and the one that the
// image gives.
type MetadataHash struct {
	Scheme           string            `json:"scheme"`
	Stored           *Hash             `json:"stored"`
	StoredAtEpoch    *int32            `json:"storedAtEpoch"`
	Computed         *Hash             `json:"computed"`
	ComputedAtOffset *kafka.Offset     `json:"computedAtOffset"`
	Verdict          topichash.Verdict `json:"verdict"`
	Reason           *string           `json:"reason"`
	Since            *Time             `json:"since"`
}

// ReadAt says how much of both logs an answer rests on: the offset of the last
// metadata record, and that of the last record of the group's partition.
type ReadAt struct {
	MetadataOffset *kafka.Offset `json:"metadataOffset"`
	Offset         *kafka.Offset `json:"offset"`
}

// Anomalies counts records of the group that Kafka would not replay.
type Anomalies struct {
	Count int64   `json:"count"`
	Last  Anomaly `json:"last"`
}

// Anomaly is one such record.
type Anomaly struct {
	Kind      string        `json:"kind"`
	Offset    *kafka.Offset `json:"offset"`
	Timestamp *Time         `json:"timestamp"`
	Record    *string       `json:"record"`
	Reason    string        `json:"reason"`
}

// NewGroup is the group as v has it.
func NewGroup(v *pipeline.View, g *pipeline.Group) *Group {
	partition, _ := v.Partition(g.Partition)
	out := &Group{
		Group:            g.ID,
		Type:             g.Type.String(),
		State:            string(g.State),
		Epoch:            g.Epoch,
		AssignmentEpoch:  g.AssignmentEpoch,
		Coordinator:      Node(g.Coordinator),
		OffsetsPartition: g.Partition,
		Assignor:         text(g.Assignor),
		Members:          make([]Member, len(g.Members)),
		SubscribedTopics: list(g.SubscribedTopics),
		MetadataHash:     metadataHash(v, g),
		ReadAt: ReadAt{
			MetadataOffset: Offset(v.Image.Provenance().Offset),
			Offset:         Offset(partition.Next - 1),
		},
		Anomalies: anomalies(g.Group),
	}
	n := names{v.Image.Topics()}
	for i, m := range g.Members {
		out.Members[i] = n.member(g.Type, m)
	}
	for _, r := range g.Regexes {
		out.Regexes = append(out.Regexes, Regex{
			Expression: r.Expression, Topics: list(r.Topics),
			MetadataOffset: Offset(kafka.Offset(r.Version)), Timestamp: timeOf(r.Timestamp),
		})
	}
	n.ofType(out, g.Group)
	return out
}

func metadataHash(v *pipeline.View, g *pipeline.Group) MetadataHash {
	h := MetadataHash{
		Scheme:  topichash.Kafka.String(),
		Verdict: g.Answer.Verdict,
		Reason:  text(g.Answer.Reason),
		Since:   timeOf(g.Answer.Since),
	}
	if g.Hash != nil {
		h.Stored, h.StoredAtEpoch = new(Hash(g.Hash.Value)), new(g.Hash.Epoch)
	}
	if g.Answer.Verdict != topichash.None {
		h.Computed, h.ComputedAtOffset = new(Hash(g.Answer.Computed)), Offset(v.Image.Provenance().Offset)
	}
	return h
}

func anomalies(g *groups.Group) *Anomalies {
	if g.LastAnomaly == nil {
		return nil
	}
	last := g.LastAnomaly
	a := &Anomalies{Count: g.Anomalies, Last: Anomaly{
		Kind: last.Kind.String(), Offset: Offset(last.Offset), Timestamp: timeOf(last.Timestamp), Reason: last.Reason,
	}}
	if last.Type != groups.NoType {
		a.Last.Record = text(last.Type.RecordName())
	}
	return a
}
