package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Format is the version of all that is in the directory, of the rows as of
// Pebble's files. A program reads stores up to its own Format; an older one is
// brought up to it, one step at a time. 1 is the first.
const Format = 1

// directory is the directory of a store:
//
//	LOCK          held by the process that uses it
//	db            the database; made with mode 0700, since the image has secrets
//	db/FORMAT     the format, in decimal, with a line feed
//	db.set-aside  the last database that did not fit or was damaged
//
// The database has a directory below the one that is configured so that it can
// be renamed: the configured one may be a mount point, or stand where we have
// no right to rename.
type directory struct {
	fs   vfs.FS
	path string
	lock io.Closer
}

func (d *directory) db() string       { return d.fs.PathJoin(d.path, "db") }
func (d *directory) setAside() string { return d.db() + ".set-aside" }

// openDirectory makes the directory if need be, and locks it.
func openDirectory(fsys vfs.FS, path string) (*directory, error) {
	d := &directory{fs: fsys, path: path}
	if err := makeDirectory(fsys, path); err != nil {
		return nil, fmt.Errorf("make the store directory: %w", err)
	}
	d.protect(path)
	lock, err := fsys.Lock(fsys.PathJoin(path, "LOCK"))
	switch {
	case isHeld(err):
		return nil, fmt.Errorf("store in %s is %w", path, ErrLocked)
	case err != nil:
		return nil, fmt.Errorf("lock the store directory: %w", err)
	}
	d.lock = lock
	return d, nil
}

// isHeld says whether somebody else holds a lock: another process, for which
// the system has two numbers, or this one, for which Pebble has a text.
func isHeld(err error) bool {
	var (
		number syscall.Errno
		path   *fs.PathError // the file cannot be made
	)
	switch {
	case err == nil || errors.As(err, &path):
		return false
	case errors.As(err, &number):
		return number == syscall.EAGAIN || number == syscall.EACCES
	}
	return true
}

// makeDirectory makes a directory and what is missing above it, all durable.
func makeDirectory(fsys vfs.FS, path string) error {
	var above []string
	for at := path; ; at = fsys.PathDir(at) {
		if _, err := fsys.Stat(at); err == nil || at == fsys.PathDir(at) {
			break
		}
		above = append(above, fsys.PathDir(at))
	}
	if err := fsys.MkdirAll(path, 0o700); err != nil {
		return refusedBy(fsys, above, err)
	}
	for _, parent := range above {
		if err := syncDirectory(fsys, parent); err != nil {
			return err
		}
	}
	return nil
}

// refusedBy adds to an error of permissions who was refused what: the directory that
// is there, below which something was to be made.
func refusedBy(fsys vfs.FS, above []string, err error) error {
	if !errors.Is(err, fs.ErrPermission) || len(above) == 0 {
		return err
	}
	at := above[len(above)-1]
	info, statErr := fsys.Stat(at)
	if statErr != nil {
		return err
	}
	return fmt.Errorf("%w: %s has mode %04o and is not writable for UID %d, as which kraftside runs", err, at, info.Mode().Perm(), os.Getuid())
}

// protect takes the rights of others away. It may be that the directory is not
// ours, as a mounted volume is; what is secret stands in one that is.
func (d *directory) protect(path string) {
	if d.fs == vfs.Default {
		_ = os.Chmod(path, 0o700)
	}
}

// prepare makes sure that there is a database directory of a known format. An
// error that is neither a mismatch nor damage is of the disk.
func (d *directory) prepare() error {
	format, err := d.readFormat()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return d.create()
	case err != nil:
		return err
	case format > Format:
		return &MismatchError{Dir: d.path, Format: format}
	}
	d.protect(d.db())
	return nil
}

func (d *directory) readFormat() (int, error) {
	f, err := d.fs.Open(d.fs.PathJoin(d.db(), "FORMAT"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 64))
	if err != nil {
		return 0, diskError("read FORMAT", err)
	}
	format, err := strconv.Atoi(strings.TrimSuffix(string(text), "\n"))
	if err != nil || format < 1 {
		return 0, damaged("FORMAT says %.20q", text)
	}
	return format, nil
}

// create makes the database directory with its format, unless there is a
// database in it. Pebble's files come only after the format is synced, so that
// they never stand alone.
func (d *directory) create() error {
	list, err := d.fs.List(d.db())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return diskError("list the store", err)
	}
	for _, name := range list {
		if name != formatTemp {
			return damaged("there is %.40q and no FORMAT", name)
		}
	}
	if err := d.writeFormat(); err != nil {
		return diskError("make the store", err)
	}
	return nil
}

const formatTemp = "FORMAT.new"

func (d *directory) writeFormat() error {
	if err := d.fs.MkdirAll(d.db(), 0o700); err != nil {
		return err
	}
	temp := d.fs.PathJoin(d.db(), formatTemp)
	if err := writeSynced(d.fs, temp, strconv.Itoa(Format)+"\n"); err != nil {
		return err
	}
	if err := d.fs.Rename(temp, d.fs.PathJoin(d.db(), "FORMAT")); err != nil {
		return err
	}
	return errors.Join(syncDirectory(d.fs, d.db()), syncDirectory(d.fs, d.path))
}

func writeSynced(fsys vfs.FS, name, text string) error {
	f, err := fsys.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(text))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func syncDirectory(fsys vfs.FS, name string) error {
	f, err := fsys.OpenDir(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// moveAside renames the database, and says whether it has its new name. The one
// that was set aside before goes.
func (d *directory) moveAside() (moved bool, err error) {
	if err := d.fs.RemoveAll(d.setAside()); err != nil {
		return false, diskError("remove "+d.setAside(), err)
	}
	if err := d.fs.Rename(d.db(), d.setAside()); err != nil {
		return false, diskError("set the store aside", err)
	}
	if err := syncDirectory(d.fs, d.path); err != nil {
		return true, diskError("set the store aside", err)
	}
	return true, nil
}
