package reload

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file that is replaced is read again; one that cannot be read, or means
// nothing, leaves what it was.
func TestReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte("first"), 0o600))
	f, err := Open(func(contents ...[]byte) (string, error) {
		if string(contents[0]) == "wrong" {
			return "", errors.New("it means nothing")
		}
		return string(contents[0]), nil
	}, path)
	require.NoError(t, err)
	require.Equal(t, "first", f.Get())
	for _, step := range []struct{ content, want string }{{"second!", "second!"}, {"wrong", "second!"}, {"3", "3"}} {
		require.NoError(t, os.WriteFile(path, []byte(step.content), 0o600))
		require.Equal(t, step.want, f.Get())
	}
	require.NoError(t, os.Remove(path))
	require.Equal(t, "3", f.Get())
}

// What cannot be read at first is an error that names the file.
func TestUnreadable(t *testing.T) {
	_, err := Open(Pool, filepath.Join(t.TempDir(), "absent"))
	require.ErrorIs(t, err, os.ErrNotExist)
	path := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(path, []byte("text"), 0o600))
	_, err = Open(Pool, path)
	require.ErrorIs(t, err, errNoCertificate)
	require.ErrorContains(t, err, path)
	require.NoError(t, os.WriteFile(path, make([]byte, maxSecret+1), 0o600))
	_, err = Open(Pool, path)
	require.ErrorContains(t, err, "larger than")
}
