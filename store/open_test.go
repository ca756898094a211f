package store

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
)

// played is a file system with a store of cluster-a that has a few slices.
func played(t *testing.T) (*vfs.MemFS, *world) {
	fs := vfs.NewMem()
	w := newWorld(t, 9)
	w.store = open(t, memOptions(fs))
	for range 5 {
		w.turn()
	}
	require.NoError(t, w.store.Close())
	return fs, w
}

func ofCluster(fs vfs.FS, id string, m OnMismatch) Options {
	o := memOptions(fs)
	o.ClusterID, o.OnMismatch = id, m
	return o
}

func TestAnotherCluster(t *testing.T) {
	fs, w := played(t)
	_, _, err := Open("dir", ofCluster(fs, "cluster-b", Fail))
	require.ErrorIs(t, err, ErrMismatch)
	require.EqualError(t, err, "store in dir is of cluster cluster-a and not of cluster-b: use another --store.dir, or --store.on-mismatch set-aside to start with an empty store")

	s, warning, err := Open("dir", ofCluster(fs, "cluster-b", SetAside))
	require.NoError(t, err)
	require.Contains(t, warning.Error(), "it was set aside as dir/db.set-aside: its history is lost, the state is rebuilt from the logs")
	require.Equal(t, "cluster-b", s.ClusterID())
	requireSame(t, newWorld(t, 1), reload(t, s), "a new store is empty")
	require.NoError(t, s.Close())

	// What was set aside is whole: it can be put back.
	require.NoError(t, fs.RemoveAll("dir/db"))
	require.NoError(t, fs.Rename("dir/db.set-aside", "dir/db"))
	s = open(t, memOptions(fs))
	requireSame(t, w, reload(t, s), "put back")
	require.NoError(t, s.Close())
}

func TestOneIsKeptAside(t *testing.T) {
	fs, w := played(t)
	for _, id := range []string{"cluster-b", "cluster-c"} {
		s, warning, err := Open("dir", ofCluster(fs, id, ""))
		require.NoError(t, err)
		require.NotNil(t, warning)
		require.NoError(t, s.Close())
	}
	list, err := fs.List("dir")
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"LOCK", "db", "db.set-aside"}, list)
	require.NoError(t, fs.RemoveAll("dir/db"))
	require.NoError(t, fs.Rename("dir/db.set-aside", "dir/db"))
	s := open(t, ofCluster(fs, "cluster-b", Fail))
	requireSame(t, newWorld(t, 1), reload(t, s), "the store of cluster-b, and not that of cluster-a")
	require.NotEqual(t, w.dump(), "")
	require.NoError(t, s.Close())
}

// A sidecar may have to open its store before it knows the cluster.
func TestClusterIsToldLater(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, ofCluster(fs, "", ""))
	require.Empty(t, s.ClusterID())
	require.NoError(t, s.SetClusterID("cluster-a"))
	require.NoError(t, s.Close())

	s = open(t, ofCluster(fs, "", ""))
	require.Equal(t, "cluster-a", s.ClusterID())
	require.NoError(t, s.SetClusterID("cluster-a"))
	require.ErrorIs(t, s.SetClusterID("cluster-b"), ErrMismatch)
	require.NoError(t, s.Close())

	s, warning, err := Open("dir", ofCluster(fs, "cluster-b", ""))
	require.NoError(t, err)
	require.ErrorIs(t, warning.Cause, ErrMismatch)
	require.NoError(t, s.Close())
}

// A store that was opened without a cluster id and is damaged later on is
// followed by one of the same cluster.
func TestClusterOutlivesDamage(t *testing.T) {
	fs, w := played(t)
	s := open(t, ofCluster(fs, "", ""))
	s.stop(damaged("as if"))
	warning, err := s.Rebuild(w.state())
	require.NoError(t, err)
	require.NotNil(t, warning)
	require.Equal(t, "cluster-a", s.ClusterID())
	require.NoError(t, s.Close())
	s = open(t, ofCluster(fs, "cluster-a", Fail))
	require.NoError(t, s.Close())
}

func TestNewerFormat(t *testing.T) {
	fs, _ := played(t)
	require.NoError(t, writeSynced(fs, "dir/db/FORMAT", "2\n"))
	before := readFile(t, fs, "dir/db/FORMAT")
	_, _, err := Open("dir", ofCluster(fs, "cluster-a", Fail))
	require.EqualError(t, err, "store in dir has format 2, and this program knows formats up to 1: run a newer one, use another --store.dir, or --store.on-mismatch set-aside to start with an empty store")
	require.Equal(t, before, readFile(t, fs, "dir/db/FORMAT"), "an older program leaves it as it is")

	s, warning, err := Open("dir", memOptions(fs))
	require.NoError(t, err)
	require.ErrorIs(t, warning.Cause, ErrMismatch)
	require.NoError(t, s.Close())
	require.Equal(t, "1\n", string(readFile(t, fs, "dir/db/FORMAT")))
}

func TestForeignDirectory(t *testing.T) {
	fs := vfs.NewMem()
	require.NoError(t, fs.MkdirAll("dir/db", 0o755))
	require.NoError(t, writeSynced(fs, "dir/db/000001.sst", "somebody's"))
	s, warning, err := Open("dir", memOptions(fs))
	require.NoError(t, err)
	require.EqualError(t, warning.Cause, `store is damaged: there is "000001.sst" and no FORMAT`)
	require.Equal(t, "somebody's", string(readFile(t, fs, "dir/db.set-aside/000001.sst")))
	require.NoError(t, s.Close())
}

func TestOptions(t *testing.T) {
	for text, o := range map[string]Options{
		`store.on-mismatch "ignore": set-aside or fail are possible`: {OnMismatch: "ignore"},
		`store.max-bytes 1000: at least 33554432 are needed`:         {MaxBytes: 1000},
		`store.min-free -1 is negative`:                              {MinFree: -1},
	} {
		_, _, err := Open("dir", o)
		require.EqualError(t, err, text)
	}
}

// On a real disk: who else may look, and who else may open.
func TestDirectory(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "a", "b")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	s, warning, err := Open(dir, Options{ClusterID: "c", Now: start})
	require.NoError(t, err)
	require.Nil(t, warning)
	for _, name := range []string{dir, filepath.Join(dir, "db")} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), name)
	}
	_, _, err = Open(dir, Options{})
	require.ErrorIs(t, err, ErrLocked)
	require.ErrorContains(t, err, "in use by another process: give each sidecar a --store.dir of its own")
	require.NoError(t, s.Close())

	stop := openElsewhere(t, dir)
	_, _, err = Open(dir, Options{})
	require.ErrorIs(t, err, ErrLocked)
	stop()
	s, _, err = Open(dir, Options{})
	require.NoError(t, err)
	require.Equal(t, "c", s.ClusterID())
	require.Positive(t, s.Status().Bytes+1)
	require.NoError(t, s.Close())

	file := filepath.Join(parent, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, _, err = Open(file, Options{})
	require.ErrorContains(t, err, "make the store directory")
}

const elsewhere = "STORE_TEST_OPEN"

// openElsewhere opens a store in another process, until the function is called.
func openElsewhere(t *testing.T, dir string) (stop func()) {
	program, err := os.Executable()
	require.NoError(t, err)
	child := exec.Command(program, "-test.run", "^TestHoldStore$")
	child.Env = append(os.Environ(), elsewhere+"="+dir)
	in, err := child.StdinPipe()
	require.NoError(t, err)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "open\n", line)
	return func() {
		require.NoError(t, in.Close())
		_, _ = io.Copy(io.Discard, out)
		require.NoError(t, child.Wait())
	}
}

// TestHoldStore is the other process of openElsewhere.
func TestHoldStore(t *testing.T) {
	dir := os.Getenv(elsewhere)
	if dir == "" {
		return
	}
	s, _, err := Open(dir, Options{})
	require.NoError(t, err)
	_, _ = os.Stdout.WriteString("open\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
	require.NoError(t, s.Close())
}

// Pebble's fatal path, and a panic of its, end one goroutine each.
func TestFatal(t *testing.T) {
	for name, call := range map[string]func(*engine) func(*pebble.DB) error{
		"fatal: no 7": func(e *engine) func(*pebble.DB) error {
			return func(*pebble.DB) error {
				fatal{e.guard}.Fatalf("no %d", 7)
				return nil
			}
		},
		"panic: no 7": func(*engine) func(*pebble.DB) error { return func(*pebble.DB) error { panic("no 7") } },
	} {
		s := open(t, memOptions(vfs.NewMem()))
		s.begin(call(s.engine), func() {})
		s.await()
		require.EqualError(t, s.halt, name)
		require.Contains(t, s.Status().Reason, name)
		require.NoError(t, s.Close())
	}
}
