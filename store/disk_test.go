package store

import (
	"fmt"
	"iter"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/store/storetest"
)

// Whatever operation on the disk fails, once or from then on: the process goes
// on, the failure is told, the state in memory is whole, the files are those of
// some slice; and when the disk works again, the store does.
func TestDiskFailsAnywhere(t *testing.T) {
	for _, kind := range []errorfs.OpReadWrite{errorfs.OpIsWrite, errorfs.OpIsRead} {
		for name, f := range map[string]*storetest.Faults{
			"once": {Kind: kind, Err: syscall.EIO}, "from then on": {Kind: kind, Err: syscall.ENOSPC, Always: true},
		} {
			t.Run(fmt.Sprint(kind, " ", name), func(t *testing.T) {
				f.From = 1
				for ; failAt(t, f); f.From++ {
				}
				t.Logf("%d operations", f.From)
			})
		}
	}
}

// failAt plays a history in which an operation fails; false if the history has
// not so many.
func failAt(t *testing.T, template *storetest.Faults) bool {
	f := &storetest.Faults{Kind: template.Kind, From: template.From, Always: template.Always, Err: template.Err}
	fs := vfs.NewMem()
	w := newWorld(t, 7)
	s, warning, err := Open("dir", memOptions(f.FS(fs)))
	if err != nil { // it could not even be locked
		require.ErrorIs(t, err, f.Err, f.What())
		return true
	}
	require.Nil(t, warning, "%s: %v", f.What(), warning)
	w.store = s
	saved := []*world{w.save()}
	stopped := false
	for range 30 {
		w.turn()
		saved = append(saved, w.save())
		s.MaybeCommit(w.now)
		if status := s.Status(); !status.Persisting && !stopped {
			stopped = true
			require.NotEmpty(t, f.What(), status.Reason)
			require.Contains(t, status.Reason, f.Err.Error(), f.What())
		}
	}
	_ = s.Flush()
	durable := int(s.Durable().Partitions[0].Next)
	if f.What() != "" && template.From%2 == 0 { // one half ends, the other goes on
		f.Repair()
		w.finish(t, fs)
		return true
	}
	err = s.Close()
	if f.What() == "" {
		require.NoError(t, err)
		return false
	}
	s = open(t, memOptions(fs))
	loaded := reload(t, s)
	require.GreaterOrEqual(t, loaded.slice, durable, f.What())
	requireSame(t, saved[loaded.slice], loaded, f.What())
	require.NoError(t, s.Close())
	return true
}

// recover waits until the store wants to go on, and lets it.
func (w *world) recover(t *testing.T) *Warning {
	if w.store.Status().Persisting {
		return nil
	}
	warning, err := w.rebuild(t)
	for range 10 {
		if err != nil {
			warning, err = w.rebuild(t)
		}
	}
	require.NoError(t, err)
	require.True(t, w.store.Status().Persisting)
	require.Empty(t, w.store.Status().Reason)
	w.goBack(t)
	return warning
}

// rebuild waits until it is time for an attempt, and makes one.
func (w *world) rebuild(t *testing.T) (*Warning, error) {
	deadline := w.now.Add(time.Hour)
	for !w.store.Recoverable() {
		require.True(t, w.now.Before(deadline), "%s", w.store.Status().Reason)
		w.turn() // its effects are dropped
		w.now = w.now.Add(time.Second)
		w.store.MaybeCommit(w.now)
		w.store.await()
	}
	return w.store.Rebuild(w.state())
}

// goBack makes the partitions those of the store.
func (w *world) goBack(t *testing.T) {
	for number, p := range w.partitions {
		p.rows = map[string]groups.Row{}
		at, known, err := w.store.LoadGroups(number, func(rows iter.Seq[groups.Row]) error {
			for row := range rows {
				row.Key, row.Value = append([]byte{}, row.Key...), append([]byte{}, row.Value...)
				p.rows[fmt.Sprint(row.Kind, row.ProducerID, string(row.Key))] = row
			}
			return nil
		})
		require.NoError(t, err)
		if p.at = at; !known {
			w.start(number)
		}
	}
}

// finish plays on for a while, closes the store, and looks at it. A failure in
// the background may show late.
func (w *world) finish(t *testing.T, fs vfs.FS) {
	for stopped := true; stopped; stopped = w.store.Flush() != nil {
		w.recover(t)
		for range 10 {
			w.turn()
			w.store.MaybeCommit(w.now)
		}
	}
	_ = w.store.Close()
	s := open(t, memOptions(fs))
	requireSame(t, w, reload(t, s), "after all")
	require.NoError(t, s.Close())
}
