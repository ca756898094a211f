package logdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kraftside/kraftside/internal/kafka"
)

// ErrWait means that there is no more to read at present. What it is wrapped
// with, if anything, is why the log seems to end before the committed end: a
// batch that is half written, or damage that is still to be told from a write
// in progress.
var ErrWait = errors.New("nothing more to read at present")

// ErrFormat means that a small file of the directory does not have the form
// that Kafka gives it.
var ErrFormat = errors.New("not in Kafka's format")

// LogStartError means that the log no longer has the next offset: its older
// segments are gone. A reader of metadata loads a snapshot; a reader of the
// group log starts the partition over.
type LogStartError struct {
	Dir   string
	Next  kafka.Offset // the offset that was to be read
	Start kafka.Offset // the first one that is there
}

func (e *LogStartError) Error() string {
	return fmt.Sprintf("log %s starts at offset %d, past offset %d which comes next here", e.Dir, e.Start, e.Next)
}

// DivergedError means that the log is not the one that was read before: it
// ends below the next offset although that much is committed, or holds
// something else where the last batch was. What was read of it must be
// dropped.
type DivergedError struct {
	Dir    string
	Next   kafka.Offset
	Reason string
}

func (e *DivergedError) Error() string {
	return fmt.Sprintf("log %s is not the one read up to offset %d: %s; what was read of it must be read anew", e.Dir, e.Next, e.Reason)
}

// CorruptError says where a log or a snapshot cannot be read.
type CorruptError struct {
	Path     string
	Position int64        // of the first byte that is wrong, or of its batch
	Offset   kafka.Offset // that comes next there
	Err      error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("read %s at byte %d, offset %d: %v", e.Path, e.Position, e.Offset, e.Err)
}

// Unwrap gives errors.Is the cause.
func (e *CorruptError) Unwrap() error { return e.Err }

// PermissionError means that a file or directory may not be read by us. Kafka
// makes snapshots readable for its own user alone.
type PermissionError struct {
	Path  string
	Owner int // the UID it belongs to, -1 if that is not known
	Mode  fs.FileMode
}

func (e *PermissionError) Error() string {
	if e.Owner < 0 {
		return fmt.Sprintf("open %s: permission denied; run kraftside as the user that Kafka runs as", e.Path)
	}
	return fmt.Sprintf("open %s: permission denied: it belongs to UID %d with mode %04o; run kraftside as that UID (it is %d)",
		e.Path, e.Owner, e.Mode.Perm(), os.Getuid())
}

// Unwrap makes it an fs.ErrPermission.
func (e *PermissionError) Unwrap() error { return fs.ErrPermission }

// explain turns a refusal of the system into a PermissionError, about the
// directory above if that is what cannot be entered.
func explain(path string, err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	for at := path; ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil {
			return &PermissionError{Path: at, Owner: owner(info), Mode: info.Mode()}
		}
		if at == filepath.Dir(at) {
			return &PermissionError{Path: path, Owner: -1}
		}
	}
}

// Open opens a file for reading. Where that is not allowed, the error is a
// *PermissionError.
func Open(path string) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, explain(path, err)
	}
	return file, nil
}
