package realkafka

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A directory is copied while files in it, and folders, come and go.
func TestCopyDir(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.Mkdir(filepath.Join(from, "orders-0"), 0o755))
	stays := filepath.Join("orders-0", "00000000000000000000.log")
	require.NoError(t, os.WriteFile(filepath.Join(from, stays), []byte("batches"), 0o600))
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		moving, gone := filepath.Join(from, "orders-0", "checkpoint"), filepath.Join(from, "orders-0", "old")
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.WriteFile(moving, nil, 0o600)
			_ = os.MkdirAll(gone, 0o755)
			_ = os.Remove(moving)
			_ = os.Remove(gone)
		}
	}()
	for range 500 {
		require.NoError(t, CopyDir(from, to))
		copied, err := os.ReadFile(filepath.Join(to, stays))
		require.NoError(t, err)
		require.Equal(t, "batches", string(copied))
	}
	close(stop)
	<-ended
	require.ErrorIs(t, CopyDir(filepath.Join(from, "nowhere"), to), os.ErrNotExist)
}
