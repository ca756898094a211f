package realkafka

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// passing are the extensions of files that a server is making or giving up.
var passing = []string{".tmp", ".part", ".deleted"}

// CopyDir copies a directory of a server that may be running, as it is now, with
// all that is below it. What goes away meanwhile is left out; what is copied
// everybody may read.
func CopyDir(from, to string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err == nil {
			err = copyEntry(path, filepath.Join(to, path[len(from):]), e)
		}
		if path != from && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

func copyEntry(from, to string, e fs.DirEntry) error {
	if e.IsDir() {
		return os.MkdirAll(to, 0o755)
	}
	if slices.Contains(passing, filepath.Ext(from)) {
		return nil
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	copied, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(copied, source)
	return errors.Join(err, copied.Close())
}
