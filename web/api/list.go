package api

import (
	"cmp"
	"slices"
	"time"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
)

// Completeness says what an answer has, and what it lacks.
type Completeness struct {
	// Missing are the sidecars that did not answer, by broker.
	Missing []Missing `json:"missing"`
	// Loading are partitions whose groups are not there yet, or are old.
	Loading []Loading `json:"loading,omitempty"`
	// OffsetsPartitions are those of __consumer_offsets whose groups the answer
	// is about, ascending.
	OffsetsPartitions []int32 `json:"offsetsPartitions"`
}

// Missing is a sidecar that did not answer, or not for all that its broker
// leads; that may be the one that was asked, which has no host here. Broker is
// -1 for a sidecar without a broker, and for partitions that no broker leads.
type Missing struct {
	Broker kafka.NodeID `json:"broker"`
	Host   string       `json:"host"`
	Error  string       `json:"error"`
}

// NewCompleteness is that of what v's sidecar answers alone at the given time.
func NewCompleteness(v *pipeline.View, now time.Time) Completeness {
	c := Completeness{Missing: []Missing{}, Loading: NewLoading(v, now), OffsetsPartitions: []int32{}}
	if !v.Assignment.Known {
		c.Missing = append(c.Missing, Missing{Broker: v.NodeID, Error: NotKnown(v)})
	}
	for _, p := range OffsetsPartitions(v) {
		if p.Answers {
			c.OffsetsPartitions = append(c.OffsetsPartitions, p.Partition)
		}
	}
	return c
}

// NotKnown says why a sidecar that has just started, or cannot reach Kafka, has
// no groups.
func NotKnown(v *pipeline.View) string {
	text := "this sidecar does not know yet which partitions of " + kafka.OffsetsTopic + " there are"
	if p := v.Assignment.Problem; p != nil {
		text += ": " + p.Error()
	}
	return text
}

// Add joins that of another sidecar's answer.
func (c *Completeness) Add(other Completeness) {
	c.Missing = append(list(c.Missing), other.Missing...)
	c.Loading = append(c.Loading, other.Loading...)
	c.OffsetsPartitions = append(list(c.OffsetsPartitions), other.OffsetsPartitions...)
	slices.SortFunc(c.Missing, func(a, b Missing) int { return cmp.Compare(a.Broker, b.Broker) })
	slices.SortFunc(c.Loading, func(a, b Loading) int { return cmp.Compare(a.Partition, b.Partition) })
	slices.Sort(c.OffsetsPartitions)
	c.OffsetsPartitions = slices.Compact(c.OffsetsPartitions)
}

// Groups is the answer of /v1/groups and /v1/verify: of Group values, or of
// their encoded form.
type Groups[G any] struct {
	Groups []G `json:"groups"`
	Completeness
	// Next is what ?after= takes for the next page; absent on the last one.
	Next string `json:"next,omitempty"`
}

// TopicList is the answer of /v1/topics: of Topic values, or of their encoded
// form.
type TopicList[T any] struct {
	Topics []T `json:"topics"`
	Completeness
	Next string `json:"next,omitempty"`
}

// OneTopic is the answer of /v1/topics/{topic}.
type OneTopic struct {
	*Topic
	Completeness
}

// SubscriptionList is the answer of /v1/subscriptions.
type SubscriptionList struct {
	Topics Subscriptions `json:"topics"`
	Completeness
}

// Error is what every answer but a good one holds.
type Error struct {
	Error ErrorBody `json:"error"`
}

// ErrorBody says what is wrong: Code is for programs, Message for people.
type ErrorBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// Missing is there with code incomplete.
	Missing []Missing `json:"missing,omitempty"`
}
