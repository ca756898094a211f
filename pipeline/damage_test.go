package pipeline

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/store"
)

// row is a row of a store's database, as docs/format/store.md says.
type row struct{ key, value []byte }

// family is what a row is of: the letters that its key begins with, without
// what tells it from others of its kind.
func (r *row) family() string {
	switch k := r.key; k[0] {
	case 'M', 'O':
		return string(k[:2])
	case 'I':
		if len(k) > 1+4+1+16 && k[5] == 't' {
			return "I chunk"
		}
		return "I " + string(k[5])
	case 'G':
		return fmt.Sprint("G ", k[5])
	case 'T':
		kind, _, _ := bytes.Cut(k, []byte("/"))
		return string(kind)
	}
	return string(r.key[:1])
}

// damages make of a row another one, which nobody has written.
var damages = map[string]func(row) row{
	"empty":          func(r row) row { return row{r.key, []byte{}} },
	"cut short":      func(r row) row { return row{r.key, r.value[:len(r.value)-1]} },
	"garbage behind": func(r row) row { return row{r.key, append(slices.Clone(r.value), 0x5A)} },
	"all ones":       func(r row) row { return row{r.key, bytes.Repeat([]byte{0xFF}, len(r.value))} },
	"another form":   func(r row) row { return row{append(slices.Clip(r.key[:2]), "\x7F?"...), r.value} },
}

// diskAt is a copy of a file system.
func diskAt(fs *vfs.MemFS) *vfs.MemFS {
	return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
}

// openRows opens the database of a store, which must be closed.
func openRows(t *testing.T, fs vfs.FS) *pebble.DB {
	db, err := pebble.Open("dir/db", &pebble.Options{FS: fs, Logger: silent{}})
	require.NoError(t, err)
	return db
}

type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

// rowsOf are the first and the last row of each family.
func rowsOf(t *testing.T, fs *vfs.MemFS) map[string][]row {
	db := openRows(t, diskAt(fs))
	defer func() { require.NoError(t, db.Close()) }()
	it, err := db.NewIter(nil)
	require.NoError(t, err)
	families := map[string][]row{}
	for valid := it.First(); valid; valid = it.Next() {
		r := row{bytes.Clone(it.Key()), bytes.Clone(it.Value())}
		if all := families[r.family()]; len(all) == 2 {
			all[1] = r
		} else {
			families[r.family()] = append(all, r)
		}
	}
	require.NoError(t, it.Close())
	return families
}

func openStore(t *testing.T, fs vfs.FS) (*store.Store, *store.Warning) {
	st, warning, err := store.Open("dir", store.Options{FS: fs, ClusterID: "cluster-a", Now: time.UnixMilli(1)})
	require.NoError(t, err)
	return st, warning
}

// stored is a file system with the store of a sidecar to which the whole story
// was told.
func stored(t *testing.T, s *story) *vfs.MemFS {
	fs := vfs.NewCrashableMem()
	st, warning := openStore(t, fs)
	require.Nil(t, warning)
	r := startRun(t, s, st)
	for i := range s.events {
		r.play(i)
	}
	require.Empty(t, r.told)
	require.NoError(t, st.Close())
	return fs
}

// Whichever row of the store is not what was written: either it does no harm,
// or its loss is told once, the logs are read from the beginning, and the next
// start finds all in order.
func TestDamagedRows(t *testing.T) {
	s := tellStory(t)
	views := s.views(t)
	last := views[len(views)-1]
	fs := stored(t, s)
	families := rowsOf(t, fs)
	told := map[string]int{}
	for family, rows := range families {
		for _, r := range rows {
			for name, damage := range damages {
				d := diskAt(fs)
				if setRow(t, d, damage(r)) && startDamaged(t, s, d, last, fmt.Sprintf("%s: %q %s", family, r.key, name)) {
					told[family]++
				}
			}
		}
	}
	t.Log(told)
	for family := range families {
		require.Equal(t, family != "H", told[family] > 0, "%s: the pipeline reads every family but the groups' hashes", family)
	}
	require.Equal(t, 18, len(families), "as many as docs/format/store.md has")
}

// setRow is false if the row is there already.
func setRow(t *testing.T, fs vfs.FS, r row) bool {
	db := openRows(t, fs)
	defer func() { require.NoError(t, db.Close()) }()
	if value, closer, err := db.Get(r.key); err == nil {
		same := bytes.Equal(value, r.value)
		require.NoError(t, closer.Close())
		if same {
			return false
		}
	}
	require.NoError(t, db.Set(r.key, r.value, pebble.Sync))
	return true
}

// startDamaged starts a sidecar twice, and says whether it found damage.
func startDamaged(t *testing.T, s *story, fs *vfs.MemFS, last *View, what string) bool {
	end := s.last()
	st, warning := openStore(t, fs)
	r := startRun(t, s, st)
	if warning != nil {
		r.told = append(r.told, warning)
	}
	require.True(t, st.Status().Persisting, "%s: %s", what, st.Status().Reason)
	if lost := len(r.told) > 0; lost {
		r.requireLost(what)
	}
	told := len(r.told)
	r.catchUp(len(s.events))
	r.tick(end)
	requireView(t, last, r.p.View(), what)
	require.Len(t, r.told, told, what)
	require.NoError(t, st.Close(), what)

	st, warning = openStore(t, fs)
	require.Nil(t, warning, what)
	again := startRun(t, s, st)
	require.True(t, last.Image.Equal(again.p.View().Image), what)
	again.catchUp(len(s.events))
	again.tick(end)
	require.Empty(t, again.told, what)
	for number, next := range again.resumed {
		require.Equal(t, again.ends[number], next, what)
	}
	requireView(t, last, again.p.View(), what)
	require.NoError(t, st.Close(), what)
	return told > 0
}

// requireLost requires that the loss was told once, and nothing is left.
func (r *run) requireLost(what string) {
	require.Len(r.t, r.told, 1, what)
	var warning *store.Warning
	require.ErrorAs(r.t, r.told[0], &warning, what)
	require.Equal(r.t, "dir/db.set-aside", warning.SetAside, what)
	require.Contains(r.t, warning.Error(), "its history is lost, the state is rebuilt from the logs", what)
	require.Zero(r.t, r.p.MetadataPosition().Offset, what)
	require.Empty(r.t, r.p.View().Partitions, what)
	for number := range int32(3) {
		require.Equal(r.t, kafka.UnknownOffset, r.p.GroupsSink().Resume(number).Offset, what)
	}
}

// What is told is why, and where it is now.
func TestBadModelIsTold(t *testing.T) {
	s := tellStory(t)
	disk := stored(t, s)
	for key, want := range map[string]string{
		"Ttopic/orders":    `store is damaged: restore the hashes of topic "orders": not the history of a topic's hash; it was set aside`,
		"Tcoordinator/1":   `store is damaged: restore the coordinator of partition "1": not a row of the hash model; it was set aside`,
		"Tcoordinator/one": `store is damaged: restore the coordinator of partition "one": not a row of the hash model; it was set aside`,
		"Tracks/1":         `store is damaged: restore "racks/1": not a row of the hash model; it was set aside`,
	} {
		fs := diskAt(disk)
		require.True(t, setRow(t, fs, row{[]byte(key), []byte("nonsense")}))
		st, _ := openStore(t, fs)
		_, lost := New(Options{Scope: All, NodeID: kafka.NoNode, Store: st})
		require.ErrorContains(t, lost, want)
		require.ErrorIs(t, lost, store.ErrDamaged)
		require.NoError(t, st.Close())
	}
}

// A coordinator that the image does not have is no row of the same commit.
func TestCoordinatorOfAnotherImage(t *testing.T) {
	s := tellStory(t)
	fs := stored(t, s)
	c := coordinator{leader: 3, leaderEpoch: 9}
	require.True(t, setRow(t, fs, row{[]byte("Tcoordinator/1"), c.append(nil)}))
	st, _ := openStore(t, fs)
	_, lost := New(Options{Scope: All, NodeID: kafka.NoNode, Store: st})
	require.ErrorContains(t, lost, "restore the coordinator of partition 1: broker 3 in epoch 9, and the image has broker 2 in epoch 0; it was set aside")
	require.NoError(t, st.Close())
}

// A partition that left is in the store, for the case that it comes back. After
// a restart it is not shown once it is known not to be followed; before that,
// and while nobody knows of any partition, it may be.
func TestPartitionThatLeft(t *testing.T) {
	s := tellStory(t)
	st, _ := openStore(t, stored(t, s))
	r := startRun(t, s, st)
	require.Empty(t, r.told)
	sink := r.p.GroupsSink()
	require.NoError(t, sink.Assigned(offsetslog.Assignment{Known: true}))
	require.Len(t, r.p.View().Partitions, 3)
	require.NoError(t, sink.Assigned(offsetslog.Assignment{Known: true, Partitions: []int32{0, 1}}))
	require.Len(t, r.p.View().Partitions, 2)
	_, shown := r.p.View().Group("away")
	require.False(t, shown)
	require.Equal(t, kafka.Offset(2), sink.Resume(2).Offset)
	require.NoError(t, st.Close())
}
