package store

import (
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// OnMismatch says what happens at a store that is of another cluster or of a
// newer format.
type OnMismatch string

const (
	// SetAside renames it, and starts with an empty one.
	SetAside OnMismatch = "set-aside"
	// Fail makes Open fail.
	Fail OnMismatch = "fail"
)

// Options configure a Store. Zero values stand for the defaults.
type Options struct {
	// ClusterID is the cluster whose logs are read. It may be empty when it is
	// not known yet: then the store may be of any; see SetClusterID.
	ClusterID string
	// OnMismatch is SetAside by default.
	OnMismatch OnMismatch
	// MaxBytes is how much the files may take, space that Pebble has not given
	// back yet included. Persisting stops at seven eighths of it; the rest is
	// for Pebble, which writes files anew before it removes the old ones. A
	// store that was set aside is not counted. Default 512 MiB, at least
	// 32 MiB.
	MaxBytes int64
	// MinFree is how much of the disk must stay free. It is for Pebble's own
	// needs, too, which rewrites files. Default 64 MiB.
	MinFree int64
	// Now is when the store is opened. A new store keeps it.
	Now time.Time
	// FS is the file system; nil is the operating system's.
	FS vfs.FS
	// FreeBytes tells how much of the disk with dir is free; nil asks FS.
	FreeBytes func(dir string) (int64, error)

	// Tests make everything smaller.
	tune     func(*pebble.Options)
	ahead    int           // size of the batches in which an image is written ahead
	patience time.Duration // how long an operation may take
}

const (
	defaultMaxBytes = 512 << 20
	leastMaxBytes   = 32 << 20 // a few write-ahead logs of Pebble and some data
	defaultMinFree  = 64 << 20
)

// Validate says what is wrong with the options, by the names of their flags.
func (o *Options) Validate() error {
	switch o.OnMismatch {
	case "", SetAside, Fail:
	default:
		return fmt.Errorf("store.on-mismatch %q: %s or %s are possible", o.OnMismatch, SetAside, Fail)
	}
	if o.MaxBytes != 0 && o.MaxBytes < leastMaxBytes {
		return fmt.Errorf("store.max-bytes %d: at least %d are needed", o.MaxBytes, leastMaxBytes)
	}
	if o.MinFree < 0 {
		return fmt.Errorf("store.min-free %d is negative", o.MinFree)
	}
	return nil
}

func (o Options) withDefaults() Options {
	if o.OnMismatch == "" {
		o.OnMismatch = SetAside
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.MinFree == 0 {
		o.MinFree = defaultMinFree
	}
	if o.ahead == 0 {
		o.ahead = aheadBytes
	}
	if o.patience == 0 {
		o.patience = patience
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.FreeBytes == nil {
		fs := o.FS
		o.FreeBytes = func(dir string) (int64, error) {
			usage, err := fs.GetDiskUsage(dir)
			return int64(min(usage.AvailBytes, 1<<62)), err
		}
	}
	return o
}
