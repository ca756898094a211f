package store

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/store/storetest"
)

// crash is a file system as it may be found after the machine stopped.
type crash struct {
	fs          *vfs.MemFS
	what        string
	atLeast     int // the slice that was durable
	atMost      int // the slice that was under way
	unsyncedPct int
}

// crasher stops the machine before operations on the disk, or rather makes a
// copy of what would be left of it.
type crasher struct {
	mem      *vfs.MemFS
	every    int // of the operations that change the disk
	only     int // this one alone; 0 is any
	unsynced int // percent, with only
	store    atomic.Pointer[Store]
	slice    atomic.Int64

	mu      sync.Mutex
	rng     *rand.Rand
	ops     int
	crashes []crash
}

// disk is c's file system, stopping where c wants.
func (c *crasher) disk() vfs.FS { return errorfs.Wrap(storetest.Cloneable{MemFS: c.mem}, c) }

func (c *crasher) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() == errorfs.OpIsRead {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ops++
	found := crash{what: fmt.Sprintf("operation %d, %v of %s", c.ops, op.Kind, op.Path), unsyncedPct: c.unsynced}
	if c.only == 0 {
		found.unsyncedPct = []int{0, 50, 100}[c.rng.IntN(3)]
	}
	if c.only > 0 && c.ops != c.only || c.rng.IntN(c.every) > 0 {
		return nil
	}
	if s := c.store.Load(); s != nil {
		found.atLeast = int(s.Durable().Partitions[0].Next)
	}
	found.fs = c.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: found.unsyncedPct, RNG: c.rng})
	found.atMost = int(c.slice.Load())
	c.crashes = append(c.crashes, found)
	return nil
}

func (c *crasher) String() string { return "crasher" }

func (c *crasher) take() (list []crash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list, c.crashes = c.crashes, nil
	return list
}

// Invariant 3: whenever the machine stops, and whatever of the unsynced blocks
// and names reaches the disk, the store opens as it was after some slice: not a
// later one, not one before what was durable, and never a mix of two.
func TestCrashAnywhere(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("every operation, seed ", seed), func(t *testing.T) { crashHistory(t, seed, 25, 1) })
	}
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("long history, seed ", seed), func(t *testing.T) { crashHistory(t, 100+seed, 300, 20) })
	}
}

func crashHistory(t *testing.T, seed uint64, slices, every int) {
	mem := vfs.NewCrashableMem()
	c := &crasher{mem: mem, every: every, rng: rand.New(rand.NewPCG(seed, 2))}
	w := newWorld(t, seed)
	saved := []*world{w.save()}
	w.store = open(t, memOptions(c.disk()))
	c.store.Store(w.store)
	checked := 0
	check := func() {
		for _, found := range c.take() {
			checked++
			checkCrash(t, found, saved)
		}
	}
	for range slices {
		w.turn()
		saved = append(saved, w.save())
		c.slice.Store(int64(w.slice))
		w.store.MaybeCommit(w.now)
		if w.rng.IntN(20) == 0 {
			require.NoError(t, w.store.Flush())
			require.Equal(t, w.slice, int(w.store.Durable().Partitions[0].Next))
		}
		check()
	}
	require.NoError(t, w.store.Close())
	check()
	require.NotZero(t, checked)
	t.Logf("%d operations, %d crashes", c.ops, checked)
}

func checkCrash(t *testing.T, found crash, saved []*world) {
	s, warning, err := Open("dir", memOptions(found.fs))
	where := fmt.Sprintf("%s with %d%% of what was not synced", found.what, found.unsyncedPct)
	require.NoError(t, err, where)
	require.Nil(t, warning, "%s: %v", where, warning)
	require.True(t, s.Status().Persisting, "%s: %s", where, s.Status().Reason)
	loaded := reload(t, s)
	require.GreaterOrEqual(t, loaded.slice, found.atLeast, where)
	require.LessOrEqual(t, loaded.slice, found.atMost, where)
	requireSame(t, saved[loaded.slice], loaded, where)
	require.Empty(t, strays(t, s), where)
	require.NoError(t, s.Close())
}

// strays is the keys of rows that no commit names.
func strays(t *testing.T, s *Store) (keys []string) {
	from, to := imageRange(s.metadata.generation)
	require.NoError(t, s.engine.scan([]byte{0}, []byte{0xFF}, func(key, _ []byte) error {
		image := key[0] == imageFamily && (string(key) < string(from) || string(key) >= string(to))
		group := key[0] == groupsFamily && !s.partitions[int32(binary.BigEndian.Uint32(key[1:]))].known
		if image || group {
			keys = append(keys, string(key))
		}
		return nil
	}))
	return keys
}
