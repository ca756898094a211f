package store

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
)

// disk is a disk with so many bytes free.
type disk struct{ free atomic.Int64 }

func (d *disk) options(fs vfs.FS) Options {
	o := memOptions(fs)
	o.MinFree = 10 << 20
	o.FreeBytes = func(string) (int64, error) { return d.free.Load(), nil }
	return o
}

// Persisting stops while there is room for Pebble still, and goes on when there
// is some to spare.
func TestDiskFills(t *testing.T) {
	var d disk
	d.free.Store(20 << 20)
	fs := vfs.NewMem()
	w := newWorld(t, 3)
	w.store = open(t, d.options(fs))
	play := func(n int) {
		for range n {
			w.turn()
			w.store.MaybeCommit(w.now)
		}
		w.store.await()
	}
	play(30)
	require.True(t, w.store.Status().Persisting)
	before := w.store.Durable()

	d.free.Store(10<<20 - 1)
	play(30)
	require.Equal(t, "the disk of dir has 9 MiB left, and 10 MiB must stay free (--store.min-free): nothing is persisted, all is served from memory", w.store.Status().Reason)
	require.ErrorIs(t, w.store.Flush(), ErrStopped)
	durable := w.store.Durable()
	require.Less(t, durable.Partitions[0].Next, before.Partitions[0].Next+30)
	require.NotNil(t, w.store.engine, "Pebble is well")

	d.free.Store(11 << 20) // not enough to spare
	for range 20 {
		w.now = w.now.Add(time.Second)
		w.store.MaybeCommit(w.now)
		w.store.await()
	}
	require.False(t, w.store.Recoverable())
	d.free.Store(20 << 20)
	require.Nil(t, w.recover(t))
	require.Equal(t, durable.Partitions[0].Next, w.partitions[0].at.Next, "the partition goes on from what is stored")
	w.finish(t, fs)
}

// The limit on the size counts everything, and a store that has reached it does
// not ask for a rebuild until something has gone.
func TestStoreReachesItsLimit(t *testing.T) {
	o := memOptions(vfs.NewMem())
	s := open(t, o)
	s.o.MaxBytes = 1 << 20 // below what Options allow
	now, most := start, int64(0)
	fill := func(n int) {
		for i := range n {
			s.Model(fmt.Sprintf("row-%d", i), randomBytes(uint64(i), 4<<10))
			s.MaybeCommit(now.Add(-commitDelay))
			s.MaybeCommit(now)
			s.await()
			most = max(most, s.Status().Bytes) // Pebble gives some of it back when it likes
			now = now.Add(time.Second)
		}
	}
	s.GroupsStart(0)
	s.GroupsOffset(0, PartitionOffset{Next: 1})
	fill(30)
	require.True(t, s.Status().Persisting)
	fill(400)
	require.Regexp(t, `^the store in dir takes . MiB, and its limit is 1 MiB \(--store.max-bytes\): nothing is persisted`, s.Status().Reason)
	require.Greater(t, most, int64(400<<10))
	require.Less(t, most, int64(2<<20), "it stopped in time")

	s.o.MaxBytes = 16 << 20
	for !s.Recoverable() {
		s.MaybeCommit(now)
		s.await()
		now = now.Add(time.Second)
	}
	w := newWorld(t, 1)
	w.model["row-1"] = []byte("x")
	_, err := s.Rebuild(w.state())
	require.NoError(t, err)
	require.True(t, s.Status().Persisting)
	model, err := s.LoadModel()
	require.NoError(t, err)
	require.Equal(t, w.model, model)
	require.Equal(t, kafka.Offset(1), s.Durable().Partitions[0].Next)
	require.NoError(t, s.Close())
}

// Where old and new image may not go side by side the old one goes first.
func TestRebuildInLittleRoom(t *testing.T) {
	fs := vfs.NewMem()
	w := newWorld(t, 5)
	w.store = open(t, memOptions(fs))
	for range 60 {
		w.turn()
		w.store.MaybeCommit(w.now)
	}
	for i := range 400 { // ballast, which the new state does not have
		w.store.Model(fmt.Sprintf("ballast-%d", i), randomBytes(uint64(i), 4<<10))
		require.NoError(t, w.store.Flush())
	}
	w.store.MaybeCommit(w.now)
	require.NoError(t, w.store.engine.do(func(db *pebble.DB) error { w.store.measure(db); return nil }))
	w.store.stop(&limitError{"as if"})
	w.store.o.MaxBytes = w.store.Status().Bytes * 3 / 2
	w.store.resume.ready = true
	w.recover(t)
	w.store.o.MaxBytes = defaultMaxBytes
	w.finish(t, fs)
}

func randomBytes(seed uint64, n int) []byte {
	b := make([]byte, n)
	x := seed + 1
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
	return b
}
