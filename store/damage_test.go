package store

import (
	"errors"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups"
)

func copyOf(fs *vfs.MemFS) *vfs.MemFS {
	return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
}

func readFile(t testing.TB, fs vfs.FS, name string) []byte {
	f, err := fs.Open(name)
	require.NoError(t, err)
	defer f.Close()
	data, err := io.ReadAll(f)
	require.NoError(t, err)
	return data
}

// damages is what may have happened to a file.
var damages = map[string]func(rng *rand.Rand, data []byte) []byte{
	"a bit flipped": func(rng *rand.Rand, data []byte) []byte {
		data[rng.IntN(len(data))] ^= 1 << rng.IntN(8)
		return data
	},
	"a block of zeros": func(rng *rand.Rand, data []byte) []byte {
		from := rng.IntN(len(data))
		clear(data[from:min(len(data), from+512)])
		return data
	},
	"cut off": func(rng *rand.Rand, data []byte) []byte { return data[:rng.IntN(len(data))] },
	"garbage behind": func(rng *rand.Rand, data []byte) []byte {
		return append(data, randomBytes(rng.Uint64(), 1+rng.IntN(300))...)
	},
	"all garbage": func(rng *rand.Rand, data []byte) []byte { return randomBytes(rng.Uint64(), len(data)) },
	"empty":       func(*rand.Rand, []byte) []byte { return nil },
	"gone":        nil,
}

// Whatever happens to the files, opening and reading them ends the process
// never. Either the store is as it was after some slice, or the damage is told
// and all starts anew.
func TestDamagedFiles(t *testing.T) {
	// While Pebble compacts it finds damage by itself, at once.
	told := damageAll(t, memOptions)
	require.Greater(t, told["set aside by Open"], 20)
	// Otherwise it is found by who reads.
	told = damageAll(t, func(fs vfs.FS) Options {
		o := memOptions(fs)
		o.tune = func(p *pebble.Options) { p.Levels[0].BlockSize, p.DisableTableStats = 100, true }
		return o
	})
	require.NotZero(t, told["found by a Load"])
}

func damageAll(t *testing.T, options func(vfs.FS) Options) map[string]int {
	fs := vfs.NewCrashableMem()
	w := newWorld(t, 11)
	w.store = open(t, options(fs))
	saved := []*world{w.save()}
	for range 200 {
		w.turn()
		saved = append(saved, w.save())
		w.store.MaybeCommit(w.now)
	}
	require.NoError(t, w.store.Close())
	require.NoError(t, open(t, options(fs)).Close()) // the log becomes a table
	list, err := fs.List("dir/db")
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(4, 4))
	told := map[string]int{}
	for _, name := range list {
		for _, kind := range slices.Sorted(maps.Keys(damages)) {
			times := 2
			if strings.HasSuffix(name, ".sst") {
				times = 8
			}
			for range times {
				d := damageCase{fs: copyOf(fs), options: options, name: "dir/db/" + name, what: name + ": " + kind, saved: saved}
				told[d.play(t, rng, damages[kind])]++
			}
		}
	}
	t.Log(told)
	return told
}

// damageCase is one file that is damaged in one way.
type damageCase struct {
	fs         *vfs.MemFS
	options    func(vfs.FS) Options
	name, what string
	saved      []*world
}

func (d *damageCase) play(t *testing.T, rng *rand.Rand, damage func(*rand.Rand, []byte) []byte) (how string) {
	data := readFile(t, d.fs, d.name)
	require.NoError(t, d.fs.Remove(d.name))
	if damage != nil && len(data) > 0 {
		require.NoError(t, writeSynced(d.fs, d.name, string(damage(rng, data))))
	}
	s, warning, err := Open("dir", d.options(d.fs))
	if err != nil { // the format may have become a later one
		require.ErrorIs(t, err, ErrMismatch, d.what)
		return "mismatch"
	}
	if warning != nil {
		require.True(t, isDamage(warning.Cause) || errors.Is(warning.Cause, ErrMismatch), "%s: %v", d.what, warning)
		require.True(t, s.Status().Persisting, "%s: %s", d.what, s.Status().Reason)
		return playOn(t, s, d.fs, d.what, "set aside by Open")
	}
	loaded, err := load(t, s)
	if err == nil {
		requireSame(t, d.saved[loaded.slice], loaded, d.what)
		require.NoError(t, s.Close(), d.what)
		return "as it was"
	}
	require.True(t, isDamage(err), "%s: %v", d.what, err)
	require.Contains(t, s.Status().Reason, "it will be set aside; the history in it is lost", d.what)
	require.True(t, s.Recoverable(), d.what)
	warning, err = s.Rebuild(newWorld(t, 1).state())
	require.NoError(t, err, d.what)
	require.Equal(t, "dir/db.set-aside", warning.SetAside)
	return playOn(t, s, d.fs, d.what, "found by a Load")
}

// playOn shows that the store that took the place of a damaged one works.
func playOn(t *testing.T, s *Store, fs vfs.FS, what, how string) string {
	w := newWorld(t, 5)
	w.store = s
	require.Empty(t, s.Durable().Partitions, what)
	for range 5 {
		w.turn()
	}
	require.NoError(t, s.Close(), what)
	requireSame(t, w, reload(t, open(t, memOptions(fs))), what)
	return how
}

// Rows that Pebble vouches for may still be nonsense.
func TestBadRows(t *testing.T) {
	for name, row := range map[string]struct{ key, value string }{
		"created":              {"Mt", "\xff"},
		"unknown meta":         {"Mx", ""},
		"metadata offset":      {"Om", "\x01"},
		"partition offset":     {"Op\x00\x00\x00\x00", "short"},
		"unknown offset":       {"Oz", ""},
		"partition number":     {"Op\x00", ""},
		"no row of the image":  {"I\x00\x00\x00\x01", ""},
		"kind of row":          {"I\x00\x00\x00\x01z", ""},
		"directories":          {"I\x00\x00\x00\x01d\x00\x00\x00\x01", "seventeen bytes.."},
		"broker":               {"I\x00\x00\x00\x01d\x00", ""},
		"part":                 {"I\x00\x00\x00\x01px", "nonsense"},
		"part that is a topic": {"I\x00\x00\x00\x01px", "\x01\x02\x00\x02a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00"},
		"topic head":           {"I\x00\x00\x00\x01t0123456789abcdef", "\xff\xff\xff\xff\x0fabc"},
		"topic rows":           {"I\x00\x00\x00\x01t0123456789abcdef", "\x01aXXXXXXXXX"},
		"topic key":            {"I\x00\x00\x00\x01t0123", ""},
		"chunk":                {"I\x00\x00\x00\x01t0123456789abcdef\x00\x00\x00\x01", "XX"},
		"group row":            {"G\x00\x00\x00\x00\x02", ""},
		"batch number":         {"C\x00\x00\x00\x09", "\x08"},
		"batch":                {"C\x00\x00\x00\x09", "\x09"},
		"group value":          {"G\x00\x00\x00\x00\x01key", "\xff"},
		"hash":                 {"Hgroup", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			w := newWorld(t, 2)
			w.store = open(t, memOptions(fs))
			w.metadata(w.records(3))
			w.turn()
			require.NoError(t, w.store.Flush())
			require.NoError(t, w.store.engine.do(func(db *pebble.DB) error {
				return db.Set([]byte(row.key), []byte(row.value), pebble.Sync)
			}))
			require.NoError(t, w.store.Close())
			s, warning, err := Open("dir", memOptions(fs))
			require.NoError(t, err)
			if warning == nil {
				_, err = load(t, s)
				require.True(t, isDamage(err), "%v", err)
				warning, err = s.Rebuild(newWorld(t, 1).state())
				require.NoError(t, err)
			}
			require.True(t, isDamage(warning.Cause), "%v", warning)
			playOn(t, s, fs, name, "")
		})
	}
}

// A shard that does not accept its rows condemns the store as well.
func TestRowsThatAreRefused(t *testing.T) {
	w := newWorld(t, 2)
	w.store = open(t, memOptions(vfs.NewMem()))
	w.turn()
	require.NoError(t, w.store.Flush())
	_, _, err := w.store.LoadGroups(0, func(rows iter.Seq[groups.Row]) error {
		_, err := groups.Restore(0, groups.Options{}, func(yield func(groups.Row) bool) {
			rows(yield)
			yield(groups.Row{Kind: groups.RowGroup, Key: []byte("g"), Value: []byte("nonsense")})
		})
		return err
	})
	require.ErrorIs(t, err, groups.ErrBadRow)
	require.False(t, w.store.Status().Persisting)
	require.True(t, w.store.Recoverable())
}

// What the caller cannot read is damage, too, whatever it is called.
func TestCondemn(t *testing.T) {
	fs := vfs.NewMem()
	w := newWorld(t, 2)
	w.store = open(t, memOptions(fs))
	w.turn()
	require.NoError(t, w.store.Flush())
	nonsense := errors.New("nonsense")
	err := w.store.Condemn(nonsense)
	require.ErrorIs(t, err, ErrDamaged)
	require.ErrorIs(t, err, nonsense)
	require.Contains(t, w.store.Status().Reason, "store is damaged: nonsense: it will be set aside")
	require.True(t, w.store.Recoverable())
	warning, err := w.store.Rebuild(newWorld(t, 1).state())
	require.NoError(t, err)
	require.ErrorIs(t, warning, nonsense)
	playOn(t, w.store, fs, "condemned", "")
}

// Effects that were not committed yet are there for who reads a partition back.
func TestLoadAfterEffects(t *testing.T) {
	w := newWorld(t, 2)
	w.store = open(t, memOptions(vfs.NewMem()))
	for range 20 {
		w.turn()
		before := w.save()
		w.goBack(t)
		requireSame(t, before, w, "before any commit")
	}
	require.NoError(t, w.store.Close())
}
