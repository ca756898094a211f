package image

import (
	"slices"

	"github.com/kraftside/kraftside/internal/kafka"
)

// Leader recovery states (org.apache.kafka.metadata.LeaderRecoveryState).
const (
	LeaderRecovered  int8 = 0
	LeaderRecovering int8 = 1
)

// Partition is what the image knows of one partition (Kafka's
// PartitionRegistration). A list that Kafka would leave out is empty.
//
// It is a value to read into and to write from: the image keeps partitions
// packed, and a Partition shares no memory with it.
type Partition struct {
	// Replicas in order of preference, and the log directory of each.
	Replicas    []kafka.NodeID
	Directories []kafka.UUID
	// Isr in the order in which the controller wrote it.
	Isr []kafka.NodeID
	// RemovingReplicas and AddingReplicas are not empty only while a
	// reassignment runs.
	RemovingReplicas []kafka.NodeID
	AddingReplicas   []kafka.NodeID
	// Elr and LastKnownElr are the eligible leader replicas of KIP-966.
	Elr          []kafka.NodeID
	LastKnownElr []kafka.NodeID
	// Leader is kafka.NoNode while the partition has none.
	Leader              kafka.NodeID
	LeaderRecoveryState int8
	LeaderEpoch         kafka.Epoch
	// PartitionEpoch counts the changes of the partition.
	PartitionEpoch int32
}

// Reset empties p and keeps its memory.
func (p *Partition) Reset() {
	*p = Partition{
		Replicas:         p.Replicas[:0],
		Directories:      p.Directories[:0],
		Isr:              p.Isr[:0],
		RemovingReplicas: p.RemovingReplicas[:0],
		AddingReplicas:   p.AddingReplicas[:0],
		Elr:              p.Elr[:0],
		LastKnownElr:     p.LastKnownElr[:0],
	}
}

// Equal compares every field; list order counts.
func (p *Partition) Equal(q *Partition) bool {
	return p.Leader == q.Leader &&
		p.LeaderRecoveryState == q.LeaderRecoveryState &&
		p.LeaderEpoch == q.LeaderEpoch &&
		p.PartitionEpoch == q.PartitionEpoch &&
		slices.Equal(p.Replicas, q.Replicas) &&
		slices.Equal(p.Directories, q.Directories) &&
		slices.Equal(p.Isr, q.Isr) &&
		slices.Equal(p.RemovingReplicas, q.RemovingReplicas) &&
		slices.Equal(p.AddingReplicas, q.AddingReplicas) &&
		slices.Equal(p.Elr, q.Elr) &&
		slices.Equal(p.LastKnownElr, q.LastKnownElr)
}
