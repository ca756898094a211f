package simquorum

import "github.com/kraftside/kraftside/internal/kafka"

// FaultKind is a way to misbehave.
type FaultKind int

// The ways to misbehave.
const (
	// Healthy answers as it should.
	Healthy FaultKind = iota
	// RefuseConnections lets no connection come about.
	RefuseConnections
	// DropPackets lets connections neither come about nor fail.
	DropPackets
	// CloseOnAccept closes every connection before a byte.
	CloseOnAccept
	// CloseOnRequest closes the connection instead of answering a request.
	CloseOnRequest
	// Stall never answers a request.
	Stall
	// EmptyAnswer answers without topics.
	EmptyAnswer
	// TopLevelError answers with Fault.Code for the whole request.
	TopLevelError
	// PartitionError answers with Fault.Code for the partition, and names the
	// leader as it is.
	PartitionError
	// AnswerAsBroker answers as a broker's listener does, which knows no topic
	// of the metadata log's id, and no leader of it.
	AnswerAsBroker
	// NoProgress answers without an error and without records.
	NoProgress
	// CorruptRecords answers with records that have one bit flipped.
	CorruptRecords
	// CutRecords answers with less than one batch.
	CutRecords
	// ForeignRecords answers with records of other offsets.
	ForeignRecords
	// NamesItself answers that it is not the leader, and names itself, in an
	// epoch that rises with every answer.
	NamesItself
	// Garbage answers with bytes that are no answer.
	Garbage
	// AlwaysDiverging answers every Fetch with a divergence at offset 0.
	AlwaysDiverging
)

// API says which requests a fault is about.
type API int

// The requests that faults are about.
const (
	Both API = iota
	FetchOnly
	FetchSnapshotOnly
)

// Fault is how a controller misbehaves.
type Fault struct {
	Kind FaultKind
	API  API
	Code int16
	// After is how many requests are answered as they should be first.
	After int
}

// Inject makes a controller misbehave until it is given Fault{}. Its
// connections are closed if the fault is about connections.
func (q *Quorum) Inject(id kafka.NodeID, f Fault) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.controllers[id].fault = f
	if f.Kind == RefuseConnections || f.Kind == DropPackets || f.Kind == CloseOnAccept {
		q.disconnect(id)
	}
	q.wake()
}

// Disconnect closes a controller's connections once.
func (q *Quorum) Disconnect(id kafka.NodeID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.disconnect(id)
}

func (q *Quorum) disconnect(id kafka.NodeID) {
	for c, owner := range q.conns {
		if owner == id {
			c.Close()
		}
	}
}
