package metadatalog

import (
	"fmt"
	"time"

	"github.com/kraftside/kraftside/internal/kafka"
)

// Progress is how far a source is, and what keeps it.
type Progress struct {
	// Leader is the active controller, or kafka.NoNode while none is known,
	// and LeaderEpoch the epoch it leads in.
	Leader      kafka.NodeID
	LeaderEpoch kafka.Epoch
	// Address is the controller that answered last, as HOST:PORT.
	Address string
	// HighWatermark is the offset up to which the log is committed, as last
	// heard, exclusive; it never falls. kafka.UnknownOffset: not heard yet.
	HighWatermark kafka.Offset
	// Delivered is the position up to which the sink has the log.
	Delivered Position
	// EndOffset is the offset up to which the log is here, with what is not
	// committed yet.
	EndOffset kafka.Offset
	// Snapshot is the snapshot that is being downloaded, or nil.
	Snapshot *SnapshotProgress
	// Problem is what keeps the source from the log, or nil while the leader
	// answers.
	Problem *Problem
}

// Lag is the number of committed offsets that the sink does not have, or -1
// while it is not known.
func (p *Progress) Lag() int64 {
	if p.HighWatermark == kafka.UnknownOffset {
		return -1
	}
	return max(0, int64(p.HighWatermark-p.Delivered.Offset))
}

// SnapshotProgress is how much of a snapshot is here, in bytes. Size is 0
// until the leader's first answer.
type SnapshotProgress struct {
	ID       SnapshotID
	Position int64
	Size     int64
}

// ProblemKind tells problems apart. The names are stable.
type ProblemKind string

// What can keep a source from the log.
const (
	// Unreachable: no connection, a connection that was lost, or no answer in
	// time.
	Unreachable ProblemKind = "unreachable"
	// NoLeader: controllers answer, and none knows a leader.
	NoLeader ProblemKind = "no-leader"
	// WrongCluster: the controllers are of another cluster than the one that
	// was given.
	WrongCluster ProblemKind = "wrong-cluster"
	// NotAuthorized: the principal lacks CLUSTER_ACTION.
	NotAuthorized ProblemKind = "not-authorized"
	// NotController: what answers is a broker's listener, or not Kafka 4.
	NotController ProblemKind = "not-a-controller"
	// BadAnswer: an answer that breaks the protocol, or an error code that
	// has no place in it.
	BadAnswer ProblemKind = "bad-answer"
	// Corrupt: records whose CRC, offsets or epochs are wrong.
	Corrupt ProblemKind = "corrupt"
	// SnapshotFailed: the snapshot vanished, is incomplete, or cannot be
	// stored here.
	SnapshotFailed ProblemKind = "snapshot"
	// Diverged: the log of the quorum is not the one that was read before.
	Diverged ProblemKind = "diverged"
)

// Problem is why a source does not get on. It is tried again all the same.
type Problem struct {
	Kind ProblemKind
	// Node is the controller in question, or kafka.NoNode when its id is not
	// known; Address is where it was asked, as HOST:PORT.
	Node    kafka.NodeID
	Address string
	Err     error
	// Advice is what an operator can do, in one line.
	Advice string
	// Since is when it began; a problem of the same kind at the same
	// controller goes on.
	Since time.Time
	// Attempts is how often it was met since.
	Attempts int
}

// Error says where, what, and what to do.
func (p *Problem) Error() string {
	if p.Address == "" { // no controller is at fault
		return fmt.Sprintf("%v; %s", p.Err, p.Advice)
	}
	who := p.Address
	if p.Node != kafka.NoNode {
		who = fmt.Sprintf("%d at %s", p.Node, p.Address)
	}
	return fmt.Sprintf("controller %s: %v; %s", who, p.Err, p.Advice)
}

// Unwrap gives errors.Is the cause.
func (p *Problem) Unwrap() error { return p.Err }
