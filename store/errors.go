package store

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/cockroachdb/pebble/v2"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/image"
)

var (
	// ErrLocked means that another process, or another store of this one, has
	// the directory open.
	ErrLocked = errors.New("in use by another process: give each sidecar a --store.dir of its own")
	// ErrMismatch is what every MismatchError is.
	ErrMismatch = errors.New("store does not fit")
	// ErrDisk means that the operating system refused an operation, or does
	// not answer. The files may be in order.
	ErrDisk = errors.New("the disk failed")
	// ErrDamaged means that the files are not what was written.
	ErrDamaged = errors.New("store is damaged")
	// ErrStopped means that nothing is persisted at present; Status says why.
	ErrStopped = errors.New("not persisting")
)

// MismatchError is a store of another cluster, or of a newer format.
type MismatchError struct {
	Dir string
	// Cluster is the cluster id of the store and the one that was asked for;
	// empty if it is the format that does not fit.
	Cluster, WantCluster string
	Format               int // the store's, if it is newer than Format
}

func (e *MismatchError) Error() string {
	const remedy = "use another --store.dir, or --store.on-mismatch set-aside to start with an empty store"
	if e.Format > 0 {
		return fmt.Sprintf("store in %s has format %d, and this program knows formats up to %d: run a newer one, %s", e.Dir, e.Format, Format, remedy)
	}
	return fmt.Sprintf("store in %s is of cluster %s and not of %s: %s", e.Dir, e.Cluster, e.WantCluster, remedy)
}

// Unwrap gives errors.Is the sentinel.
func (e *MismatchError) Unwrap() error { return ErrMismatch }

// limitError is a limit that stops persisting before Pebble meets it.
type limitError struct{ reason string }

func (e *limitError) Error() string { return e.reason }

func diskError(what string, err error) error {
	return fmt.Errorf("%w: %s: %w", ErrDisk, what, err)
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// isDamage says whether err speaks of the files' contents.
func isDamage(err error) bool {
	return errors.Is(err, ErrDamaged) || errors.Is(err, image.ErrBadRows) || errors.Is(err, groups.ErrBadRow) ||
		pebble.IsCorruptionError(err)
}

// asDamage makes damage of an error that is none of the disk's: what the disk
// has given back and nobody can read is not what was written.
func asDamage(err error) error {
	if isDisk(err) || isDamage(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// isDisk says whether err speaks of the disk. A file that should be there and
// is not is damage.
func isDisk(err error) bool {
	var number syscall.Errno
	return errors.Is(err, ErrDisk) || errors.As(err, &number) && number != syscall.ENOENT
}
