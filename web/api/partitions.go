package api

import (
	"slices"
	"time"

	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
)

// Roles of a sidecar for a partition.
const (
	RoleAnswers = "answers" // it speaks for the partition's groups
	RoleFollows = "follows" // it only keeps up, to take over at once
)

// OffsetsPartition is how a partition of __consumer_offsets stands.
type OffsetsPartition struct {
	Partition int32  `json:"partition"`
	Role      string `json:"role"`
	// Offset is that of the last record read, EndOffset the high watermark as
	// last heard, exclusive.
	Offset    *kafka.Offset `json:"offset"`
	EndOffset *kafka.Offset `json:"endOffset"`
	Leader    *kafka.NodeID `json:"leader"` // by the image
	Loading   bool          `json:"loading"`
	// Percent and RemainingMs are there while it is loading.
	Percent     *int           `json:"percent,omitempty"`
	RemainingMs *int64         `json:"remainingMs,omitempty"`
	Problem     *GroupsProblem `json:"problem,omitempty"`
}

// GroupsProblem is what keeps a partition of __consumer_offsets from being
// read, or which are to be read from being known.
type GroupsProblem struct {
	Kind     offsetslog.ProblemKind `json:"kind"`
	Message  string                 `json:"message"`
	Advice   string                 `json:"advice"`
	Since    *Time                  `json:"since"`
	Attempts int                    `json:"attempts"`
}

// OffsetsPartitions lists the partitions of __consumer_offsets that the view's
// sidecar has to follow, ascending. Those that nobody began to read yet, which
// the view does not have, are among them, as loading.
func OffsetsPartitions(v *pipeline.View) []pipeline.Partition {
	all := slices.Clone(v.Partitions)
	for _, number := range v.Assignment.Partitions {
		if _, begun := v.Partition(number); !begun {
			all = append(all, notBegun(v, number))
		}
	}
	slices.SortFunc(all, func(a, b pipeline.Partition) int { return int(a.Partition - b.Partition) })
	return all
}

func notBegun(v *pipeline.View, number int32) pipeline.Partition {
	leader := LeaderOf(v.Image, number)
	return pipeline.Partition{
		Progress: offsetslog.Progress{
			Partition: number, Leader: kafka.NoNode, Next: kafka.UnknownOffset, End: kafka.UnknownOffset, Loading: true,
		},
		Answers:     v.Scope == pipeline.All || leader == v.NodeID,
		Coordinator: leader,
		Hidden:      true,
	}
}

// LeaderOf is the broker that leads a partition of __consumer_offsets, or
// kafka.NoNode.
func LeaderOf(m *image.MetadataImage, partition int32) kafka.NodeID {
	topic, ok := m.Topics().ByName(kafka.OffsetsTopic)
	if p := (image.Partition{}); ok && topic.Partition(partition, &p) {
		return p.Leader
	}
	return kafka.NoNode
}

// NewOffsetsPartitions is how the partitions of __consumer_offsets stand at
// the given time.
func NewOffsetsPartitions(v *pipeline.View, now time.Time) []OffsetsPartition {
	all := []OffsetsPartition{}
	for _, p := range OffsetsPartitions(v) {
		o := OffsetsPartition{
			Partition: p.Partition, Role: RoleFollows, Offset: Offset(p.Next - 1), EndOffset: Offset(p.End),
			Leader: Node(p.Coordinator), Loading: p.Loading, Problem: newGroupsProblem(p.Problem),
		}
		if p.Answers {
			o.Role = RoleAnswers
		}
		if p.Loading {
			o.Percent, o.RemainingMs = new(int(p.Percent())), remaining(&p, now)
		}
		all = append(all, o)
	}
	return all
}

func newGroupsProblem(p *offsetslog.Problem) *GroupsProblem {
	if p == nil {
		return nil
	}
	return &GroupsProblem{
		Kind: p.Kind, Message: withoutAdvice(p.Error(), p.Advice), Advice: p.Advice,
		Since: timeOf(p.Since.UnixMilli()), Attempts: p.Attempts,
	}
}

func remaining(p *pipeline.Partition, now time.Time) *int64 {
	left := p.Remaining(now)
	if left < 0 {
		return nil
	}
	return new(left.Milliseconds())
}

// Loading is a partition whose groups are not in the answer, or not as they
// are now: its log has not been read to the end yet.
type Loading struct {
	Broker    *kafka.NodeID `json:"broker"` // of the sidecar that reads it
	Partition int32         `json:"partition"`
	Percent   int           `json:"percent"`
	// RemainingMs is how long it will take about; null if that cannot be told.
	RemainingMs *int64         `json:"remainingMs"`
	Problem     *GroupsProblem `json:"problem,omitempty"`
}

// NewLoading lists the partitions that v answers for and that are loading at
// the given time.
func NewLoading(v *pipeline.View, now time.Time) (all []Loading) {
	for _, p := range OffsetsPartitions(v) {
		if p.Loading && p.Answers {
			all = append(all, Loading{
				Broker: Node(v.NodeID), Partition: p.Partition, Percent: int(p.Percent()),
				RemainingMs: remaining(&p, now), Problem: newGroupsProblem(p.Problem),
			})
		}
	}
	return all
}
