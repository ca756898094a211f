package logdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir/logdirtest"
)

// unprivileged runs fn without the superuser's rights over files, if the test
// has them: on a thread of its own, which ends with it.
func unprivileged(t *testing.T, fn func()) {
	const nobody = 65534
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked
		if os.Getuid() == 0 {
			if err := syscall.Setfsuid(nobody); err != nil {
				t.Error(err)
				return
			}
		}
		fn()
	}()
	<-done
}

func TestPermissionDenied(t *testing.T) {
	l := logdirtest.New(t, t.TempDir(), 0)
	l.Append(1, "a")
	snapshot := Snapshot{10, 2, l.Snapshot(10, 2, nil)}
	file, err := OpenSnapshot(snapshot)
	require.NoError(t, err)
	require.NoError(t, file.Close())

	denied := func(path string, open func() error) {
		var err error
		unprivileged(t, func() { err = open() })
		require.ErrorIs(t, err, fs.ErrPermission)
		refused, ok := errors.AsType[*PermissionError](err)
		require.True(t, ok)
		require.Equal(t, path, refused.Path)
		require.Equal(t, os.Getuid(), refused.Owner)
	}
	openSnapshot := func() error { _, err := OpenSnapshot(snapshot); return err }

	above := filepath.Dir(l.Dir) // made by package testing
	require.NoError(t, os.Chmod(above, 0))
	denied(above, openSnapshot)
	require.NoError(t, os.Chmod(above, 0o755))

	require.NoError(t, os.Chmod(snapshot.Path, 0))
	denied(snapshot.Path, openSnapshot)
	require.NoError(t, os.Chmod(l.Path(0), 0))
	denied(l.Path(0), func() error {
		_, err := Follow(l.Dir, 0, kafka.UnknownEpoch, Options{}).Next(1)
		return err
	})
	require.NoError(t, os.Chmod(l.Dir, 0))
	denied(l.Dir, func() error { _, err := List(l.Dir); return err })
	require.NoError(t, os.Chmod(l.Dir, 0o755))
}
