package pipeline

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/store"
	"github.com/kraftside/kraftside/store/storetest"
)

// Whatever operation on the disk fails, once or from then on, at the start, in
// the middle or after a restart: what is served stays right, and the store says
// that nothing is persisted. When the disk works again, the store holds the
// state again. And whenever the process or the machine stops, what is on the
// disk and what is read from there on make the state of a sidecar that was never
// stopped, in which no effect is applied twice.
func TestDiskFailsAnywhere(t *testing.T) {
	law := newDiskLaw(t)
	for name, faults := range map[string]*storetest.Faults{
		"a write":     {Kind: errorfs.OpIsWrite},
		"every write": {Kind: errorfs.OpIsWrite, Always: true},
		"a read":      {Kind: errorfs.OpIsRead},
	} {
		t.Run(name, func(t *testing.T) {
			n := 1
			for ; law.failAt(t, faults.Kind, n, faults.Always); n++ {
			}
			require.Greater(t, n, 50)
			t.Logf("%d operations", n-1)
		})
	}
	t.Logf("%d restarts", law.restarts)
}

// diskLaw is what a sidecar on a disk that fails is compared with.
type diskLaw struct {
	story    *story
	views    []*View
	ref      *run  // after the whole story
	end      int64 // its clock
	restarts int
}

func newDiskLaw(t *testing.T) *diskLaw {
	s := tellStory(t)
	l := &diskLaw{story: s, views: s.views(t), ref: startRun(t, s, nil), end: s.last() + 24*time.Hour.Milliseconds()}
	l.ref.catchUp(len(s.events))
	l.ref.tick(l.end)
	return l
}

// onDisk is a sidecar on a disk that fails.
type onDisk struct {
	*run
	law    *diskLaw
	t      *testing.T
	mem    *vfs.MemFS
	faults *storetest.Faults
	lost   int // percent of what was not synced that a crash loses
	what   string
	seen   bool     // that it failed
	left   []onDisk // what crashes leave behind
}

// failAt plays the story on a disk of which an operation fails; false if there
// are not so many.
func (l *diskLaw) failAt(t *testing.T, kind errorfs.OpReadWrite, n int, always bool) bool {
	d := &onDisk{law: l, t: t, mem: vfs.NewCrashableMem(), lost: 100 * (n % 2)}
	d.faults = &storetest.Faults{Kind: kind, From: n, Always: always, Err: syscall.EIO, OnFailure: func() { d.crash("when it failed") }}
	d.start()
	for i := range l.story.events {
		if i == len(l.story.events)/2 && n%3 > 0 { // else the disk may be away for long
			d.restart(i)
		}
		d.run.play(i)
		d.check(i)
	}
	d.heal()
	for i := range d.left {
		d.left[i].requireRestart()
	}
	return d.faults.What() != "" || n%3 == 0 // which has fewer operations
}

func (d *onDisk) where() string { return d.faults.What() + ": " + d.what }

// crash keeps what is left of the disk if the machine stops now.
func (d *onDisk) crash(what string) {
	clone := d.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100 - d.lost, RNG: rand.New(rand.NewPCG(1, 1))})
	d.left = append(d.left, onDisk{law: d.law, t: d.t, mem: clone, what: what, faults: d.faults})
}

// start starts a sidecar. Where not even the directory can be had, it waits for
// the disk.
func (d *onDisk) start() {
	open := func() (*store.Store, *store.Warning, error) {
		return store.Open("dir", store.Options{FS: d.faults.FS(storetest.Cloneable{MemFS: d.mem}), ClusterID: "cluster-a", Now: time.UnixMilli(1)})
	}
	st, warning, err := open()
	if err != nil {
		require.ErrorIs(d.t, err, d.faults.Err, d.where())
		d.faults.Repair()
		d.seen = true
		st, warning, err = open()
	}
	require.NoError(d.t, err, d.where())
	require.Nil(d.t, warning, d.where())
	d.run = startRun(d.t, d.law.story, st)
	d.whenRebuilt = func() { d.crash("before the sources start again") }
	for _, lost := range d.told {
		require.ErrorIs(d.t, lost, d.faults.Err, d.where())
	}
	d.told = nil
}

// restart stops the sidecar in order, and starts it again.
func (d *onDisk) restart(n int) {
	if err := d.store.Close(); err != nil {
		require.ErrorIs(d.t, err, d.faults.Err, d.where())
	}
	if d.faults.What() != "" {
		d.seen = true
		d.crash("at the restart")
	}
	d.start()
	d.catchUp(n)
	d.check(n - 1)
}

// check compares what is served after an event, and what the store says.
func (d *onDisk) check(i int) {
	d.what = fmt.Sprintf("after event %d", i)
	requireView(d.t, d.law.views[i], d.p.View(), d.where())
	if i%3 == 0 {
		_ = d.p.Flush()
	}
	if d.faults.What() != "" && d.faults.Kind == errorfs.OpIsWrite && !d.seen {
		d.requireStopped(d.law.story.events[i].at)
	}
}

// requireStopped requires that a write that failed is told.
func (d *onDisk) requireStopped(at int64) {
	d.seen = true
	for range 3 {
		_ = d.p.Flush()
		d.tick(at)
	}
	status := d.store.Status()
	if d.rebuilt > 0 {
		return
	}
	require.False(d.t, status.Persisting, d.where())
	require.Contains(d.t, status.Reason, d.faults.Err.Error(), d.where())
	require.Contains(d.t, status.Reason, "nothing is persisted, all is served from memory until the disk works again", d.where())
	d.crash("while nothing is persisted")
}

// heal repairs the disk, and waits until the store holds the state again.
func (d *onDisk) heal() {
	d.faults.Repair()
	at := d.law.story.last()
	for ; d.p.Flush() != nil; at += 1000 {
		require.Less(d.t, at, d.law.end, "%s: %s", d.where(), d.store.Status().Reason)
		d.tick(at)
		runtime.Gosched() // to what Pebble has not ended yet
	}
	d.crash("after it was repaired")
	d.tick(d.law.end)
	require.NoError(d.t, d.p.Flush(), d.where())
	require.Equal(d.t, store.Status{Persisting: true}, withoutBytes(d.store.Status()), d.where())
	require.Empty(d.t, d.told, d.where())
	d.requireState(d.run)
	require.NoError(d.t, d.store.Close(), d.where())
	d.faults.From = 0
	d.start()
	d.catchUp(len(d.law.story.events))
	require.Zero(d.t, d.p.Stats().GroupRecords, d.where())
	d.requireState(d.run)
	require.NoError(d.t, d.store.Close(), d.where())
}

func withoutBytes(s store.Status) store.Status {
	s.Bytes = 0
	return s
}

// requireRestart starts a sidecar on what a crash has left.
func (d *onDisk) requireRestart() {
	d.law.restarts++
	st, warning := openStore(d.t, d.mem)
	require.Nil(d.t, warning, d.where())
	r := startRun(d.t, d.law.story, st)
	require.Empty(d.t, r.told, d.where())
	at := st.Durable()
	r.catchUp(len(d.law.story.events))
	for number, from := range r.resumed {
		require.Equal(d.t, max(0, at.Partitions[number].Next), from, d.where())
	}
	d.requireState(r)
	require.NoError(d.t, st.Close(), d.where())
}

// requireState compares all of a sidecar's state with that of one that was
// never stopped, at the end.
func (d *onDisk) requireState(r *run) {
	r.tick(d.law.end)
	requireView(d.t, d.law.ref.p.View(), r.p.View(), d.where())
	requireRebalances(d.t, d.law.ref, r, d.where())
	want, got := d.law.ref.p.state, r.p.state
	for number, sh := range want.shards {
		require.True(d.t, sh.Equal(got.shards[number].Shard), "%s: partition %d: %v\n%v", d.where(), number, sh, got.shards[number])
	}
	if !reflect.DeepEqual(want.coordinators, got.coordinators) {
		require.Fail(d.t, "coordinators differ", "%s: %v, not %v", d.where(), got.coordinators, want.coordinators)
	}
}

// A damaged store on a disk that fails while it is set aside: that it was is
// told once, however often it is tried, and the state is stored in the end.
func TestDiskFailsWhileSettingAside(t *testing.T) {
	law := newDiskLaw(t)
	disk := stored(t, law.story)
	require.True(t, setRow(t, disk, row{[]byte("Ttopic/orders"), []byte("nonsense")}))
	n, told := 1, 0
	for ; law.failAside(t, disk, n, &told); n++ {
	}
	require.Greater(t, n, 30)
	require.Greater(t, told, 30)
	t.Logf("%d operations, told %d times", n-1, told)
}

func (l *diskLaw) failAside(t *testing.T, disk *vfs.MemFS, n int, told *int) bool {
	fs := diskAt(disk)
	faults := &storetest.Faults{Kind: errorfs.OpIsWrite, From: n, Err: syscall.EIO}
	st, warning, err := store.Open("dir", store.Options{FS: faults.FS(fs), ClusterID: "cluster-a", Now: time.UnixMilli(1)})
	if err != nil { // there is no sidecar
		require.ErrorIs(t, err, faults.Err, faults.What())
		return true
	}
	require.Nil(t, warning, faults.What())
	r := startRun(t, l.story, st)
	r.catchUp(len(l.story.events))
	faults.Repair()
	for at := l.story.last(); r.p.Flush() != nil; at += 1000 {
		require.Less(t, at, l.end, "%s: %s", faults.What(), st.Status().Reason)
		r.tick(at)
	}
	r.tick(l.end)
	requireView(t, l.ref.p.View(), r.p.View(), faults.What())
	require.NoError(t, st.Close(), faults.What())
	warnings := 0
	for _, lost := range r.told {
		if w := (*store.Warning)(nil); errors.As(lost, &w) {
			warnings++
		}
	}
	_, err = fs.Stat("dir/db.set-aside")
	require.Equal(t, err == nil, warnings == 1, "%s: %v", faults.What(), r.told)
	require.LessOrEqual(t, warnings, 1, "%s: %v", faults.What(), r.told)
	require.NotEmpty(t, r.told, faults.What())
	*told += warnings

	st, warning = openStore(t, fs)
	require.Nil(t, warning, faults.What())
	require.Empty(t, startRun(t, l.story, st).told, faults.What())
	require.NoError(t, st.Close(), faults.What())
	return faults.What() != ""
}
