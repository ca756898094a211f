// Package storetest has disks that fail, for the tests of stores and of what
// keeps one.
package storetest

import (
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// Faults makes operations of a file system fail. The fields are set before its
// first use; the methods may be called by any goroutine.
type Faults struct {
	Kind errorfs.OpReadWrite
	// From is the first operation of the kind that fails, counted from 1; 0 is
	// none. With Always, all after it fail, too.
	From   int
	Always bool
	Err    error
	// OnFailure is called before the first operation fails, on its goroutine.
	// It may be nil.
	OnFailure func()

	mu       sync.Mutex
	ops      int
	repaired bool
	failed   string
}

// FS is a file system with the faults.
func (f *Faults) FS(fs vfs.FS) vfs.FS { return errorfs.Wrap(fs, f) }

// MaybeError implements errorfs.Injector.
func (f *Faults) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != f.Kind {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ops++
	if f.repaired || f.From == 0 || f.ops < f.From || f.ops > f.From && !f.Always {
		return nil
	}
	if f.failed == "" {
		f.failed = fmt.Sprintf("operation %d, %v of %s", f.ops, op.Kind, op.Path)
		if f.OnFailure != nil {
			f.OnFailure()
		}
	}
	return f.Err
}

// String implements errorfs.Injector.
func (f *Faults) String() string { return "faults" }

// Repair ends the faults.
func (f *Faults) Repair() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.repaired = true
}

// What is the first operation that failed; empty if none did.
func (f *Faults) What() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// Cloneable is a MemFS that may be cloned at any time: its own ReuseForWrite
// locks twice what CrashClone locks, and meets its end between the two.
type Cloneable struct{ *vfs.MemFS }

// ReuseForWrite implements vfs.FS.
func (c Cloneable) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := c.Rename(from, to); err != nil {
		return nil, err
	}
	return c.OpenReadWrite(to, category)
}
