// Package simquorum is a simulated quorum of KRaft controllers, of which nothing
// is heard that was not asked for. In a testing/synctest bubble, where tests use
// it, time is the bubble's; outside of one it runs in real time, for benchmarks.
// Connections are in memory. A process that is to connect needs a listener in
// between, whose address the controller is made to name (Advertise).
//
// It answers ApiVersions, Fetch and FetchSnapshot as Kafka 4.0 to 4.4 does
// (KafkaRaftClient.handleFetchRequest and handleFetchSnapshotRequest), down to
// records beyond the high watermark and answers cut at their size limit.
// Elections, commits and the cleaning of the log are commands. Faults can be
// injected per controller, and what each controller saw is counted.
package simquorum

import (
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// Config says how the quorum is to be.
type Config struct {
	// Controllers is their number; their ids are 1 to Controllers.
	Controllers int
	// ClusterID is what requests are checked against.
	ClusterID string
	// FetchVersion is the highest version of Fetch that is served: 17 is
	// Kafka 4.0, 18 is 4.1 and later.
	FetchVersion int16
	// SnapshotPiece is the most bytes of a snapshot that one answer holds; 0
	// is what the request allows.
	SnapshotPiece int
}

// Quorum is the simulated quorum. Its log is one: that of the leader. All
// methods may be called from any goroutine (of the bubble, if there is one).
type Quorum struct {
	config Config

	mu          sync.Mutex
	changed     chan struct{} // closed and replaced when a long poll may have its answer
	closed      chan struct{}
	controllers map[kafka.NodeID]*controller
	addresses   map[string]kafka.NodeID   // where a connection leads to
	conns       map[net.Conn]kafka.NodeID // the server's ends

	leader        kafka.NodeID
	epoch         kafka.Epoch
	highWatermark kafka.Offset // kafka.UnknownOffset until the leader knows it
	log           []recordbatch.Batch
	logStart      kafka.Offset
	snapshot      *snapshot
}

// controller is one node as the network sees it.
type controller struct {
	id         kafka.NodeID
	advertised string
	fault      Fault
	seen       Counts
}

// New makes a quorum without a leader and with an empty log.
func New(c Config) *Quorum {
	q := &Quorum{
		config:        c,
		changed:       make(chan struct{}),
		closed:        make(chan struct{}),
		controllers:   map[kafka.NodeID]*controller{},
		addresses:     map[string]kafka.NodeID{},
		conns:         map[net.Conn]kafka.NodeID{},
		leader:        kafka.NoNode,
		highWatermark: kafka.UnknownOffset,
	}
	for id := kafka.NodeID(1); int(id) <= c.Controllers; id++ {
		q.controllers[id] = &controller{id: id, advertised: Address(id)}
		q.addresses[Address(id)] = id
	}
	return q
}

// Address is where a controller listens.
func Address(id kafka.NodeID) string { return fmt.Sprintf("controller-%d:9093", id) }

// Close ends all connections.
func (q *Quorum) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	close(q.closed)
	for c := range q.conns {
		c.Close()
	}
}

// Advertise makes a controller name address as its own, whether anything
// listens there or not.
func (q *Quorum) Advertise(id kafka.NodeID, address string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.controllers[id].advertised = address
}

// Forward makes another address lead to a controller, as a tunnel would.
func (q *Quorum) Forward(address string, id kafka.NodeID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.addresses[address] = id
}

// wake lets long polls look again. The lock is held.
func (q *Quorum) wake() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// Append adds one batch of records with these values to the leader's log. It
// is not committed. It returns the offset of the first record.
func (q *Quorum) Append(values ...[]byte) kafka.Offset {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.wake()
	return q.append(0, keyless(values))
}

func keyless(values [][]byte) []recordbatch.Record {
	records := make([]recordbatch.Record, len(values))
	for i, v := range values {
		records[i].Value = v
	}
	return records
}

// append adds a batch; offsets and timestamps are set here. The lock is held.
func (q *Quorum) append(flags recordbatch.Attributes, records []recordbatch.Record) kafka.Offset {
	base := q.end().Offset
	b := makeBatch(base, q.epoch, flags, records)
	q.log = append(q.log, b)
	return base
}

// makeBatch builds a batch as the raft layer writes it.
func makeBatch(base kafka.Offset, epoch kafka.Epoch, flags recordbatch.Attributes, records []recordbatch.Record) recordbatch.Batch {
	now := time.Now().UnixMilli()
	for i := range records {
		records[i].Offset, records[i].Timestamp = base+kafka.Offset(i), now
	}
	raw, err := recordbatch.Append(nil, recordbatch.Header{
		BaseOffset: base, LeaderEpoch: epoch, Attributes: flags, LastOffsetDelta: int32(len(records) - 1),
		BaseTimestamp: now, MaxTimestamp: now, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1,
	}, records)
	if err != nil {
		panic(err) // a test built a batch that cannot be
	}
	b, _, err := recordbatch.Split(raw)
	if err != nil {
		panic(err)
	}
	return b
}

// Commit raises the high watermark to the end of the log.
func (q *Quorum) Commit() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.highWatermark = q.end().Offset
	q.wake()
}

// Elect starts the next epoch. The new leader lost the last lose batches of
// the log, which must not be committed, and its high watermark is not known
// before Commit. A leader of kafka.NoNode leaves the quorum without one.
func (q *Quorum) Elect(leader kafka.NodeID, lose int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.wake()
	q.log = q.log[:len(q.log)-lose]
	q.leader, q.highWatermark = leader, kafka.UnknownOffset
	q.epoch++
	if leader != kafka.NoNode {
		q.append(recordbatch.Control, []recordbatch.Record{leaderChange(leader)})
	}
}

// Rewrite replaces the whole log by one of n records written in epoch, as no
// quorum does that keeps its promises.
func (q *Quorum) Rewrite(n int, epoch kafka.Epoch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.wake()
	q.log, q.logStart, q.snapshot = nil, 0, nil
	q.epoch = epoch
	q.append(recordbatch.Control, []recordbatch.Record{leaderChange(q.leader)})
	for range n {
		q.append(0, keyless([][]byte{[]byte("rewritten")}))
	}
	q.highWatermark = q.end().Offset
}

// position is an offset with the epoch of the record before it.
type position struct {
	Offset kafka.Offset
	Epoch  kafka.Epoch
}

// end is the end of the log. The lock is held.
func (q *Quorum) end() position {
	if n := len(q.log); n > 0 {
		return position{q.log[n-1].NextOffset(), q.log[n-1].LeaderEpoch}
	}
	if q.snapshot != nil {
		return position{q.snapshot.end, q.snapshot.epoch}
	}
	return position{}
}

// endOfEpoch is the largest epoch <= epoch that the log has, and where it
// ends (ReplicatedLog.endOffsetForEpoch). The lock is held.
func (q *Quorum) endOfEpoch(epoch kafka.Epoch) position {
	end := position{Offset: q.logStart}
	if s := q.snapshot; s != nil && s.end == q.logStart {
		end.Epoch = s.epoch
	}
	for i := range q.log {
		if q.log[i].LeaderEpoch > epoch {
			break
		}
		end = position{q.log[i].NextOffset(), q.log[i].LeaderEpoch}
	}
	return end
}
