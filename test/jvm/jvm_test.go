//go:build unix

package jvm

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Several at once fill a directory of the cache once, and a failed fill leaves nothing behind.
func TestCached(t *testing.T) {
	root := t.TempDir()
	t.Setenv("KRAFTSIDE_CACHE", root)
	_, err := Cached("thing", func(string) error { return errors.New("no network") })
	require.EqualError(t, err, "no network")
	require.NoDirExists(t, filepath.Join(root, "thing"))

	fills := make(chan struct{}, 10)
	var all sync.WaitGroup
	for range cap(fills) {
		all.Go(func() {
			dir, err := Cached("thing", func(dir string) error {
				fills <- struct{}{}
				return os.WriteFile(filepath.Join(dir, "file"), []byte("whole"), 0o600)
			})
			if err != nil {
				t.Error(err)
				return
			}
			b, err := os.ReadFile(filepath.Join(dir, "file"))
			if err != nil || string(b) != "whole" {
				t.Errorf("read %q, %v", b, err)
			}
		})
	}
	all.Wait()
	require.Len(t, fills, 1)
	left, err := filepath.Glob(filepath.Join(root, "*.part-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestPartitionWord(t *testing.T) {
	a, empty := "a", ""
	require.Equal(t, ".", partitionWord(nil))
	require.Equal(t, "-", partitionWord([]*string{nil}))
	require.Equal(t, "a,-,,a", partitionWord([]*string{&a, nil, &empty, &a}))
}
