package metadatalog

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// batchOf is a batch of n records whose value tells the offset.
func batchOf(t testing.TB, base kafka.Offset, n int, epoch kafka.Epoch) recordbatch.Batch {
	records := make([]recordbatch.Record, n)
	for i := range records {
		records[i] = recordbatch.Record{Offset: base + kafka.Offset(i), Value: fmt.Append(nil, base)}
	}
	raw, err := recordbatch.Append(nil, recordbatch.Header{BaseOffset: base, LeaderEpoch: epoch, LastOffsetDelta: int32(n - 1)}, records)
	require.NoError(t, err)
	b, _, err := recordbatch.Split(raw)
	require.NoError(t, err)
	return b
}

func mustAdd(t *testing.T, l *tail, b recordbatch.Batch) {
	t.Helper()
	room, err := l.add(b)
	require.NoError(t, err)
	require.True(t, room)
}

func TestTailTakesOnlyWhatContinuesIt(t *testing.T) {
	var l tail
	l.restart(Position{Offset: 10, Epoch: 3})
	for _, b := range []recordbatch.Batch{
		batchOf(t, 11, 1, 3), // a gap
		batchOf(t, 9, 1, 3),  // what is here already
		batchOf(t, 10, 1, 2), // an older epoch
	} {
		_, err := l.add(b)
		require.ErrorIs(t, err, errOutOfOrder)
	}
	mustAdd(t, &l, batchOf(t, 8, 5, 3)) // 10 lies inside it
	require.Equal(t, Position{13, 3}, l.end())
	_, err := l.add(batchOf(t, 12, 3, 3)) // a position may lie inside a batch only at the start
	require.ErrorIs(t, err, errOutOfOrder)
}

// A batch that spans the high watermark waits until all of it is committed.
func TestTailDeliversWholeBatches(t *testing.T) {
	var l tail
	l.restart(Position{})
	mustAdd(t, &l, batchOf(t, 0, 3, 1))
	mustAdd(t, &l, batchOf(t, 3, 2, 1))
	require.Nil(t, l.committed(), "no high watermark yet")
	l.raise(2)
	require.Nil(t, l.committed())
	l.raise(4)
	require.Equal(t, kafka.Offset(0), l.committed().BaseOffset)
	l.deliver()
	require.Nil(t, l.committed())
	require.Equal(t, Position{3, 1}, l.delivered)
	l.raise(kafka.UnknownOffset)
	l.raise(1)
	require.Equal(t, kafka.Offset(4), l.highWatermark, "it never falls")
	require.False(t, l.behind())
	l.raise(9)
	require.True(t, l.behind())
}

func TestTailIsBounded(t *testing.T) {
	var l tail
	l.restart(Position{})
	big := batchOf(t, 0, 1, 1)
	big.Size = maxPending // as if
	mustAdd(t, &l, big)
	room, err := l.add(batchOf(t, 1, 1, 1))
	require.NoError(t, err)
	require.False(t, room)
	l.raise(1)
	l.deliver()
	mustAdd(t, &l, batchOf(t, 1, 1, 1))
}

func TestTailTruncates(t *testing.T) {
	pending := func() *tail {
		l := new(tail)
		l.restart(Position{Offset: 10, Epoch: 2})
		mustAdd(t, l, batchOf(t, 10, 2, 2))
		mustAdd(t, l, batchOf(t, 12, 2, 3))
		mustAdd(t, l, batchOf(t, 14, 2, 3))
		return l
	}
	for _, c := range []struct {
		at, end Position
		err     error
	}{
		{at: Position{14, 3}, end: Position{14, 3}},
		{at: Position{15, 3}, end: Position{14, 3}}, // in the middle of a batch
		{at: Position{99, 2}, end: Position{12, 2}}, // its epoch 2 ends later than ours
		{at: Position{12, 2}, end: Position{12, 2}},
		{at: Position{10, 2}, end: Position{10, 2}},
		{at: Position{9, 2}, end: Position{16, 3}, err: errDiverged},  // below what was delivered
		{at: Position{16, 3}, end: Position{16, 3}, err: errDiverged}, // nothing to drop: what was delivered is wrong
	} {
		l := pending()
		require.ErrorIs(t, l.truncate(c.at), c.err)
		require.Equal(t, c.end, l.end(), "truncate at %v", c.at)
	}
}

// Whatever the leaders do that keep raft's promises, what is delivered is a
// prefix of what is committed, in order, once, and in the end all of it.
func TestTailDeliversTheCommittedLog(t *testing.T) {
	for seed := range uint64(300) {
		q := &raftModel{t: t, rand: rand.New(rand.NewPCG(seed, 0)), epoch: 1}
		q.tail.restart(Position{})
		for range 200 {
			q.step()
		}
		q.committed, q.settled = len(q.log), true
		for range 3 { // truncate, fetch, deliver
			q.fetch(1 << 20)
		}
		require.Equal(t, len(q.log), len(q.delivered), "seed %d", seed)
	}
}

// raftModel is a leader's log that may lose what is not committed.
type raftModel struct {
	t         *testing.T
	rand      *rand.Rand
	epoch     kafka.Epoch
	log       []recordbatch.Batch
	committed int  // batches
	settled   bool // the leader knows its high watermark
	tail      tail
	delivered []recordbatch.Batch
}

func (q *raftModel) step() {
	switch q.rand.IntN(6) {
	case 0:
		q.log = append(q.log, batchOf(q.t, q.end().Offset, 1+q.rand.IntN(3), q.epoch))
	case 1:
		q.committed += q.rand.IntN(len(q.log) - q.committed + 1)
	case 2: // an election
		q.log = q.log[:q.committed+q.rand.IntN(len(q.log)-q.committed+1)]
		q.epoch++
	default:
		q.fetch(1 + q.rand.IntN(3))
	}
}

func (q *raftModel) end() Position {
	if len(q.log) == 0 {
		return Position{}
	}
	return after(&q.log[len(q.log)-1])
}

// fetch is what an observer does with one answer of at most n batches.
func (q *raftModel) fetch(n int) {
	from := q.tail.end()
	shared := Position{}
	next := 0
	for i := range q.log {
		if q.log[i].LeaderEpoch <= from.Epoch {
			shared, next = after(&q.log[i]), i+1
		}
	}
	if from.Offset > 0 && (shared.Epoch != from.Epoch || shared.Offset < from.Offset) {
		require.NoError(q.t, q.tail.truncate(shared))
		return
	}
	for i := range q.log {
		if q.log[i].BaseOffset >= from.Offset {
			next = i
			break
		}
		next = i + 1
	}
	for _, b := range q.log[next:min(len(q.log), next+n)] {
		_, err := q.tail.add(b)
		require.NoError(q.t, err)
	}
	hw := kafka.Offset(0)
	if q.committed > 0 {
		hw = q.log[q.committed-1].NextOffset()
	}
	if !q.settled && q.rand.IntN(4) == 0 {
		hw = kafka.UnknownOffset
	}
	q.tail.raise(hw)
	q.deliver()
}

func (q *raftModel) deliver() {
	for b := q.tail.committed(); b != nil; b = q.tail.committed() {
		i := len(q.delivered)
		require.Less(q.t, i, q.committed, "not committed")
		require.Equal(q.t, q.log[i].Bytes(), b.Bytes())
		q.delivered = append(q.delivered, *b)
		q.tail.deliver()
	}
}
