//go:build unix

package jvm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// CacheDir returns the directory that holds jars and compiled programs: $KRAFTSIDE_CACHE, or kraftside in the user's
// cache directory. It exists on return.
func CacheDir() (string, error) {
	dir := os.Getenv("KRAFTSIDE_CACHE")
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no cache directory, set KRAFTSIDE_CACHE: %w", err)
		}
		dir = filepath.Join(user, "kraftside")
	}
	return dir, os.MkdirAll(dir, 0o755)
}

// Cached returns the directory name of the cache, made by fill if it is not there. It appears under its name only when
// fill has succeeded, and one process at a time fills it. The name must change with what the content depends on.
func Cached(name string, fill func(dir string) error) (string, error) {
	root, err := CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, name)
	if exists(dir) {
		return dir, nil
	}
	unlock, err := lock(filepath.Join(root, "."+name+".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if exists(dir) {
		return dir, nil
	}
	temp, err := os.MkdirTemp(root, name+".part-")
	if err != nil {
		return "", err
	}
	if err := fill(temp); err != nil {
		return "", errors.Join(err, os.RemoveAll(temp))
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		return "", err
	}
	return dir, os.Rename(temp, dir)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// lock waits for the lock file and returns the function that gives it up. The kernel gives it up for a process that dies.
func lock(path string) (func(), error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return func() { f.Close() }, nil
}
