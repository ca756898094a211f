package store

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// guard is the file system that Pebble works on. Pebble answers a failed write
// by ending the process, or by a panic on a goroutine that nobody can catch; a
// failed read, while it opens, by closing what its other goroutines work with,
// which then panic. So it never sees one: the goroutine that met it is stopped
// for good, inside the call, and so is every other as soon as it comes to the
// disk. Whoever waits for Pebble is told by the channel failed.
//
// A Pebble that was stopped can change nothing any more once idle is true, and
// so the files may be opened again beside it. What it leaves behind is its
// goroutines and its memory, a few MiB; failures are rare, and attempts to
// start anew are spaced (see Store.Recoverable).
//
// Every method is written out, so that a new version of Pebble cannot add one
// that goes past the guard.
type guard struct {
	fs      vfs.FS
	running sync.RWMutex // read-locked by every operation
	beat    atomic.Int64 // when an operation last ended, by the system's clock
	once    sync.Once
	failed  chan struct{}
	cause   error // valid once failed is closed
}

func newGuard(fs vfs.FS) *guard { return &guard{fs: fs, failed: make(chan struct{})} }

// alive notes that the disk answers.
func (g *guard) alive() { g.beat.Store(time.Now().UnixNano()) }

// silent is how long nothing has ended.
func (g *guard) silent() time.Duration { return time.Since(time.Unix(0, g.beat.Load())) }

// fail stops Pebble. Only the first cause counts.
func (g *guard) fail(cause error) {
	g.once.Do(func() {
		g.cause = cause
		close(g.failed)
	})
}

// err is the cause of the failure, or nil.
func (g *guard) err() error {
	select {
	case <-g.failed:
		return g.cause
	default:
		return nil
	}
}

// idle says, of a guard that has failed, whether no operation is still under
// way. Once it is true it stays true.
func (g *guard) idle() bool {
	if !g.running.TryLock() {
		return false
	}
	g.running.Unlock()
	return true
}

// settled waits until idle is true, or says false.
func (g *guard) settled(patience time.Duration) bool {
	free := make(chan struct{})
	go func() {
		g.running.Lock()
		defer g.running.Unlock()
		close(free)
	}()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-free:
		return true
	case <-late.C:
		return false
	}
}

// stop ends the calling goroutine without running what it has deferred: that
// is Pebble's, and expects a Pebble that works.
func stop() { select {} }

func (g *guard) enter() {
	g.running.RLock()
	g.stopIfFailed()
}

func (g *guard) leave() {
	g.alive()
	g.stopIfFailed()
	g.running.RUnlock()
}

func (g *guard) stopIfFailed() {
	if g.err() != nil {
		g.running.RUnlock()
		stop()
	}
}

// change runs an operation that changes the disk. It does not return if that
// fails.
func (g *guard) change(what, name string, op func() error) {
	g.enter()
	if err := op(); err != nil {
		g.fail(diskError(what+" "+name, err))
	}
	g.leave()
}

// read runs an operation that does not change the disk. It does not return if
// the disk fails; that there is nothing to read is for Pebble to know.
func (g *guard) read(what, name string, op func() error) error {
	g.enter()
	err := op()
	if err != nil && isDisk(err) {
		g.fail(diskError(what+" "+name, err))
	}
	g.leave()
	return err
}

// try runs an operation that may fail.
func (g *guard) try(op func() error) error {
	g.enter()
	err := op()
	g.leave()
	return err
}

// open opens a file for writing.
func (g *guard) open(what, name string, open func() (vfs.File, error)) (vfs.File, error) {
	f := &guardFile{guard: g, name: name, writable: true}
	g.change(what, name, func() (err error) {
		f.file, err = open()
		return err
	})
	return f, nil
}

// Create implements vfs.FS.
//
// Pebble names its current manifest by a marker, an empty file, and syncs both
// names at once. A disk might keep the marker's alone, so the manifest's is
// synced before it.
func (g *guard) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(g.PathBase(name), "marker.") {
		g.change("sync the directory of", name, func() error { return syncDirectory(g.fs, g.PathDir(name)) })
	}
	return g.open("create", name, func() (vfs.File, error) { return g.fs.Create(name, c) })
}

// OpenReadWrite implements vfs.FS.
func (g *guard) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return g.open("open", name, func() (vfs.File, error) { return g.fs.OpenReadWrite(name, c, opts...) })
}

// ReuseForWrite implements vfs.FS.
func (g *guard) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return g.open("reuse", from, func() (vfs.File, error) { return g.fs.ReuseForWrite(from, to, c) })
}

// OpenDir implements vfs.FS. Directories are opened to be synced.
func (g *guard) OpenDir(name string) (vfs.File, error) {
	return g.open("open", name, func() (vfs.File, error) { return g.fs.OpenDir(name) })
}

// Open implements vfs.FS.
func (g *guard) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	f := &guardFile{guard: g, name: name}
	err := g.read("open", name, func() (err error) {
		f.file, err = g.fs.Open(name, opts...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Link implements vfs.FS.
func (g *guard) Link(from, to string) error {
	g.change("link", from, func() error { return g.fs.Link(from, to) })
	return nil
}

// Remove implements vfs.FS. That the file is not there is for Pebble to know.
func (g *guard) Remove(name string) (err error) {
	g.change("remove", name, func() error {
		err = g.fs.Remove(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return err
}

// RemoveAll implements vfs.FS.
func (g *guard) RemoveAll(name string) error {
	g.change("remove", name, func() error { return g.fs.RemoveAll(name) })
	return nil
}

// Rename implements vfs.FS.
func (g *guard) Rename(from, to string) error {
	g.change("rename", from, func() error { return g.fs.Rename(from, to) })
	return nil
}

// MkdirAll implements vfs.FS.
func (g *guard) MkdirAll(name string, perm os.FileMode) error {
	g.change("make directory", name, func() error { return g.fs.MkdirAll(name, perm) })
	return nil
}

// List implements vfs.FS.
func (g *guard) List(name string) (list []string, err error) {
	err = g.read("list", name, func() error {
		list, err = g.fs.List(name)
		return err
	})
	return list, err
}

// Stat implements vfs.FS.
func (g *guard) Stat(name string) (info vfs.FileInfo, err error) {
	err = g.read("look at", name, func() error {
		info, err = g.fs.Stat(name)
		return err
	})
	return info, err
}

// GetDiskUsage implements vfs.FS.
func (g *guard) GetDiskUsage(name string) (usage vfs.DiskUsage, err error) {
	err = g.read("look at the disk of", name, func() error {
		usage, err = g.fs.GetDiskUsage(name)
		return err
	})
	return usage, err
}

// PathBase implements vfs.FS.
func (g *guard) PathBase(path string) string { return g.fs.PathBase(path) }

// PathJoin implements vfs.FS.
func (g *guard) PathJoin(elem ...string) string { return g.fs.PathJoin(elem...) }

// PathDir implements vfs.FS.
func (g *guard) PathDir(path string) string { return g.fs.PathDir(path) }

// Unwrap implements vfs.FS: nobody gets at what is behind the guard.
func (g *guard) Unwrap() vfs.FS { return nil }

// Lock implements vfs.FS. The store has locked the directory above, and keeps
// that lock while a Pebble is replaced by another.
func (g *guard) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// guardFile is a file of a guard.
type guardFile struct {
	file     vfs.File
	guard    *guard
	name     string
	writable bool
}

// Write implements vfs.File.
func (f *guardFile) Write(p []byte) (n int, err error) {
	f.guard.change("write", f.name, func() error {
		n, err = f.file.Write(p)
		return err
	})
	return n, nil
}

// WriteAt implements vfs.File.
func (f *guardFile) WriteAt(p []byte, at int64) (n int, err error) {
	f.guard.change("write", f.name, func() error {
		n, err = f.file.WriteAt(p, at)
		return err
	})
	return n, nil
}

// Sync implements vfs.File.
func (f *guardFile) Sync() error {
	f.guard.change("sync", f.name, f.file.Sync)
	return nil
}

// SyncData implements vfs.File.
func (f *guardFile) SyncData() error {
	f.guard.change("sync", f.name, f.file.SyncData)
	return nil
}

// SyncTo implements vfs.File.
func (f *guardFile) SyncTo(length int64) (full bool, err error) {
	f.guard.change("sync", f.name, func() error {
		full, err = f.file.SyncTo(length)
		return err
	})
	return full, nil
}

// Close implements vfs.File.
func (f *guardFile) Close() error {
	if !f.writable {
		return f.guard.try(f.file.Close)
	}
	f.guard.change("close", f.name, f.file.Close)
	return nil
}

// Fd implements vfs.File.
func (f *guardFile) Fd() uintptr { return f.file.Fd() }

// Stat implements vfs.File.
func (f *guardFile) Stat() (info vfs.FileInfo, err error) {
	err = f.guard.read("look at", f.name, func() error {
		info, err = f.file.Stat()
		return err
	})
	return info, err
}

// Prefetch implements vfs.File. It is advice, whatever comes of it.
func (f *guardFile) Prefetch(at, length int64) error {
	return f.guard.try(func() error { return f.file.Prefetch(at, length) })
}

// Preallocate implements vfs.File. Not every file system can.
func (f *guardFile) Preallocate(at, length int64) error {
	return f.guard.try(func() error { return f.file.Preallocate(at, length) })
}

// Read implements vfs.File.
func (f *guardFile) Read(p []byte) (n int, err error) {
	err = f.guard.read("read", f.name, func() error {
		n, err = f.file.Read(p)
		return err
	})
	return n, err
}

// ReadAt implements vfs.File.
func (f *guardFile) ReadAt(p []byte, at int64) (n int, err error) {
	err = f.guard.read("read", f.name, func() error {
		n, err = f.file.ReadAt(p, at)
		return err
	})
	return n, err
}
