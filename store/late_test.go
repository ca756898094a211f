package store

import (
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"
)

// hang is a disk that stops to answer.
type hang struct {
	mu   sync.Mutex
	gate chan struct{} // nil: it answers
}

func (h *hang) MaybeError(op errorfs.Op) error {
	h.mu.Lock()
	gate := h.gate
	h.mu.Unlock()
	if gate != nil && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
		<-gate
	}
	return nil
}

func (h *hang) String() string { return "hang" }

func (h *hang) set(gate chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gate = gate
}

// A disk that does not answer holds the writer up for a moment at most. Until
// the operation has ended that hangs, the files are not touched again.
func TestDiskHangs(t *testing.T) {
	fs := vfs.NewMem()
	var h hang
	o := memOptions(errorfs.Wrap(fs, &h))
	o.patience = 20 * time.Millisecond
	w := newWorld(t, 6)
	w.store = open(t, o)
	for range 10 {
		w.turn()
	}
	require.NoError(t, w.store.Flush())

	gate := make(chan struct{})
	h.set(gate)
	require.Eventually(t, func() bool {
		w.turn()
		w.now = w.now.Add(commitDelay)
		w.store.MaybeCommit(w.now)
		return !w.store.Status().Persisting
	}, 10*time.Second, time.Millisecond)
	require.Contains(t, w.store.Status().Reason, "the disk failed: it does not answer")
	for range 100 {
		w.now = w.now.Add(time.Second)
		w.store.MaybeCommit(w.now)
	}
	require.False(t, w.store.Recoverable())
	_, err := w.store.Rebuild(w.state())
	require.ErrorIs(t, err, ErrDisk)

	h.set(nil)
	close(gate)
	w.finish(t, fs)
}

// It does not hold up the end for long either; but the directory stays locked.
func TestDiskHangsAtTheEnd(t *testing.T) {
	fs := vfs.NewMem()
	var h hang
	o := memOptions(errorfs.Wrap(fs, &h))
	o.patience = 20 * time.Millisecond
	w := newWorld(t, 6)
	w.store = open(t, o)
	w.turn()
	gate := make(chan struct{})
	h.set(gate)
	require.ErrorIs(t, w.store.Close(), ErrDisk)
	_, _, err := Open("dir", memOptions(fs))
	require.ErrorIs(t, err, ErrLocked)
	close(gate)
}
