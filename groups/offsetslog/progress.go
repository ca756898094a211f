package offsetslog

import (
	"fmt"
	"time"

	"github.com/kraftside/kraftside/internal/kafka"
)

// Progress is how far a partition is, and what keeps it.
type Progress struct {
	Partition int32
	// Leader is the broker that is asked, or kafka.NoNode; LeaderEpoch the
	// epoch it leads in, as far as known.
	Leader      kafka.NodeID
	LeaderEpoch kafka.Epoch
	// Next and Epoch are the position that the sink has reached: Next is the
	// offset of the record that comes next, Epoch that of the one before it.
	Next  kafka.Offset
	Epoch kafka.Epoch
	// End is the high watermark as last heard, kafka.UnknownOffset before.
	End kafka.Offset
	// Loading says that Next has not yet reached LoadEnd, the high watermark
	// at the time of Start. Reading began at LoadStart.
	Loading            bool
	LoadStart, LoadEnd kafka.Offset
	// Bytes is how much was read since Start, and Since the time of that.
	Bytes int64
	Since time.Time
	// Unreadable is the number of batches since Start of which some or all
	// records could not be read, and were passed over.
	Unreadable int
	// Problem is what keeps the source from the partition, or nil.
	Problem *Problem
}

// Lag is the number of offsets below the high watermark that the sink does not
// have, or -1 while it is not known.
func (p *Progress) Lag() int64 {
	if p.End < 0 || p.Next < 0 {
		return -1
	}
	return max(0, int64(p.End-p.Next))
}

// Percent is how much of the loading is done, from 0 to 100. It counts
// offsets, of which compaction may have left more in one place than in
// another.
func (p *Progress) Percent() float64 {
	switch {
	case !p.Loading:
		return 100
	case p.LoadEnd <= p.LoadStart:
		return 0
	}
	return 100 * float64(p.Next-p.LoadStart) / float64(p.LoadEnd-p.LoadStart)
}

// Remaining is how long loading will take from now on at the pace so far, or
// -1 if that cannot be told yet.
func (p *Progress) Remaining(now time.Time) time.Duration {
	done := p.Percent() / 100
	switch {
	case !p.Loading:
		return 0
	case done <= 0:
		return -1
	}
	return time.Duration(float64(now.Sub(p.Since)) * (1 - done) / done)
}

// ProblemKind tells problems apart. The names are stable.
type ProblemKind string

// What can keep a source from a partition.
const (
	// Unreachable: no connection, a lost one, or no answer in time.
	Unreachable ProblemKind = "unreachable"
	// NoLeader: the partition has no leader, or the one it is said to have
	// does not say so itself.
	NoLeader ProblemKind = "no-leader"
	// WrongCluster: what was given is another cluster's.
	WrongCluster ProblemKind = "wrong-cluster"
	// NotAuthorized: the login or an ACL is lacking; with files, permission.
	NotAuthorized ProblemKind = "not-authorized"
	// BadAnswer: an answer that breaks the protocol, or an error code that
	// has no place in it.
	BadAnswer ProblemKind = "bad-answer"
	// Corrupt: a batch whose CRC is wrong, or a damaged file.
	Corrupt ProblemKind = "corrupt"
	// Unreadable: the directory is not there, or its disk fails.
	Unreadable ProblemKind = "unreadable"
)

// Problem is why a source does not get on. It is tried again all the same.
type Problem struct {
	Kind ProblemKind
	// Node is the broker in question, kafka.NoNode if it is none in
	// particular.
	Node kafka.NodeID
	Err  error
	// Advice is what an operator can do, in one line; "" is wait.
	Advice string
	// Since is when it began; a problem of the same kind at the same broker
	// goes on.
	Since time.Time
	// Attempts is how often it was met since.
	Attempts int
}

// Error says where, what, and what to do.
func (p *Problem) Error() string {
	s := p.Err.Error()
	if p.Node != kafka.NoNode {
		s = fmt.Sprintf("broker %d: %s", p.Node, s)
	}
	if p.Advice != "" {
		s += "; " + p.Advice
	}
	return s
}

// Unwrap gives errors.Is the cause.
func (p *Problem) Unwrap() error { return p.Err }

// after carries on from an earlier problem, if it is the same one.
func (p *Problem) after(old *Problem) *Problem {
	p.Since, p.Attempts = time.Now(), 1
	if old != nil && old.Kind == p.Kind && old.Node == p.Node {
		p.Since, p.Attempts = old.Since, old.Attempts+1
	}
	return p
}
