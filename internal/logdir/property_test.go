package logdir

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir/logdirtest"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// world is a log, what of it is committed, and a reader of it.
type world struct {
	t    testing.TB
	rand *rand.Rand
	log  *logdirtest.Log

	epoch     kafka.Epoch
	committed kafka.Offset
	truth     []recordbatch.Batch // what was committed, in order
	written   int

	options  Options
	follower *Follower
	next     int // of truth, to be yielded
	seen     map[kafka.Offset]string
	cleaned  map[kafka.Offset]bool
}

func newWorld(t testing.TB, seed uint64, o Options) *world {
	w := &world{
		t: t, rand: rand.New(rand.NewPCG(seed, 0)), log: logdirtest.New(t, t.TempDir(), 0), epoch: 1,
		options: o, seen: make(map[kafka.Offset]string), cleaned: make(map[kafka.Offset]bool),
	}
	w.follower = Follow(w.log.Dir, 0, kafka.UnknownEpoch, o)
	return w
}

func (w *world) values() []string {
	values := make([]string, 1+w.rand.IntN(3))
	for i := range values {
		w.written++
		values[i] = fmt.Sprint("value ", w.written)
	}
	return values
}

// write lets Kafka do one thing.
func (w *world) write() {
	switch n := w.rand.IntN(100); {
	case n < 35:
		w.log.Append(w.epoch, w.values()...)
	case n < 42:
		w.log.AppendTorn(w.epoch, 1+w.rand.IntN(100), w.values()...)
	case n < 62:
		w.commit()
	case n < 70:
		w.log.Roll()
	case n < 80:
		w.truncate()
	case n < 85:
		w.log.DeleteBelow(w.between(w.log.Start(), w.committed))
	case n < 90:
		w.log.RemoveDeleted()
	case n < 93:
		w.log.Preallocate(w.rand.IntN(2000))
	case n < 95 && !w.options.Compacted:
		w.restart()
	case n >= 95 && w.options.Compacted:
		w.clean()
	default:
		w.log.Finish()
	}
}

func (w *world) between(low, high kafka.Offset) kafka.Offset {
	return low + kafka.Offset(w.rand.Int64N(int64(high-low)+1))
}

// commit raises the committed end to some batch's.
func (w *world) commit() {
	w.log.Finish()
	to := w.between(w.committed, w.log.End())
	for _, b := range w.log.Batches() {
		if b.BaseOffset >= w.committed && b.NextOffset() <= to {
			w.truth = append(w.truth, b)
		}
	}
	if n := len(w.truth); n > 0 {
		w.committed = max(w.committed, w.truth[n-1].NextOffset())
	}
}

// truncate loses some of what is not committed to a new leader.
func (w *world) truncate() {
	at := w.between(w.committed, w.log.End())
	for _, b := range w.log.Batches() {
		if b.BaseOffset >= w.committed && b.BaseOffset >= at {
			w.log.TruncateTo(b.BaseOffset)
			break
		}
	}
	w.epoch++
}

// restart lets the log begin at a snapshot that was fetched.
func (w *world) restart() {
	w.committed = w.log.End() + kafka.Offset(w.rand.IntN(3)) + 1
	w.log.TruncateFullyAndStartAt(w.committed)
	w.epoch++
}

// clean removes some committed records below the active segment.
func (w *world) clean() {
	n := w.rand.IntN(w.log.Segments())
	if n == 0 || w.log.Start() >= w.committed {
		return
	}
	l, err := List(w.log.Dir)
	require.NoError(w.t, err)
	if l.Segments[n].Base > w.committed {
		return
	}
	keep := w.rand.IntN(3)
	w.log.Clean(n, func(r recordbatch.Record) bool {
		gone := w.cleaned[r.Offset] || keep == 0 || w.rand.IntN(3) == keep
		w.cleaned[r.Offset] = gone
		return !gone
	})
}

// read lets the reader go on for a while.
func (w *world) read() {
	if w.rand.IntN(10) == 0 { // a restart of ours
		next, epoch := w.follower.Offset(), w.follower.Epoch()
		w.follower.Close()
		w.follower = Follow(w.log.Dir, next, epoch, w.options)
	}
	for range 1 + w.rand.IntN(5) {
		if !w.readOne() {
			return
		}
	}
}

func (w *world) readOne() bool {
	b, err := w.follower.Next(w.committed)
	var passed *LogStartError
	switch {
	case err == nil:
		w.check(&b)
		return true
	case errors.As(err, &passed):
		require.Equal(w.t, w.log.Start(), passed.Start)
		w.follower.Close()
		w.follower = Follow(w.log.Dir, passed.Start, kafka.UnknownEpoch, w.options)
		w.next, _ = slices.BinarySearchFunc(w.truth, passed.Start, func(b recordbatch.Batch, o kafka.Offset) int { return int(b.BaseOffset - o) })
		return true
	}
	require.ErrorIs(w.t, err, ErrWait)
	return false
}

func (w *world) check(b *recordbatch.Batch) {
	if !w.options.Compacted {
		require.Less(w.t, w.next, len(w.truth), "offset %d is not committed", b.BaseOffset)
		require.Equal(w.t, w.truth[w.next].Bytes(), b.Bytes())
		w.next++
		return
	}
	require.LessOrEqual(w.t, b.NextOffset(), w.committed)
	var d recordbatch.Decoder
	require.NoError(w.t, d.Start(b))
	for r := (recordbatch.Record{}); d.Next(&r); {
		require.NotContains(w.t, w.seen, r.Offset, "offset %d came twice", r.Offset)
		w.seen[r.Offset] = string(r.Value)
	}
	require.NoError(w.t, d.Err())
}

// finish lets everything be committed and read.
func (w *world) finish() {
	w.log.Finish()
	w.log.Append(w.epoch, "the last")
	for w.committed < w.log.End() {
		w.commit()
	}
	for w.readOne() {
	}
	require.Equal(w.t, w.committed, w.follower.Offset())
	w.follower.Close()
	if !w.options.Compacted {
		require.Len(w.t, w.truth, w.next)
		return
	}
	for _, b := range w.log.Batches() {
		var d recordbatch.Decoder
		require.NoError(w.t, d.Start(&b))
		for r := (recordbatch.Record{}); d.Next(&r); {
			require.Equal(w.t, string(r.Value), w.seen[r.Offset], "offset %d was left out", r.Offset)
		}
	}
}

// Whatever Kafka does to the directory and whenever it is read, what is
// yielded is the committed log, each batch once.
func TestAnyInterleavingYieldsTheCommittedLog(t *testing.T) {
	for name, o := range map[string]Options{"contiguous": {}, "compacted": {Compacted: true}} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(300) {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					w := newWorld(t, seed, o)
					for range 120 {
						if w.rand.IntN(2) == 0 {
							w.write()
						} else {
							w.read()
						}
					}
					w.finish()
				})
			}
		})
	}
}

// The writer runs free here, so that it appends, rolls and truncates between
// any two system calls of the reader.
func TestFollowWhileKafkaWrites(t *testing.T) {
	for name, bounded := range map[string]bool{"below the committed end": true, "to the end of a log that is never truncated": false} {
		t.Run(name, func(t *testing.T) {
			const batches = 1000
			l := logdirtest.New(t, t.TempDir(), 0)
			var committed atomic.Int64
			if !bounded {
				committed.Store(math.MaxInt64)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				for i := range batches {
					l.Append(1, "value")
					if i%3 == 0 {
						l.Roll()
					}
					if bounded {
						committed.Store(int64(l.End()))
						l.Append(1, "lost", "lost")
						l.TruncateTo(kafka.Offset(i + 1))
					}
				}
			}()
			defer func() { <-done }()
			f := Follow(l.Dir, 0, kafka.UnknownEpoch, Options{Compacted: !bounded})
			defer f.Close()
			patience := confirmations
			for next := kafka.Offset(0); next < batches; {
				b, err := f.Next(kafka.Offset(committed.Load()))
				if err != nil {
					require.ErrorIs(t, err, ErrWait)
					select {
					case <-done:
						require.Positive(t, patience, "offset %d does not come", next)
						patience--
					default:
					}
					continue
				}
				require.Equal(t, next, b.BaseOffset)
				require.EqualValues(t, 1, b.Count)
				next = b.NextOffset()
			}
		})
	}
}
