package metadatalog

import (
	"errors"
	"math"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// ReadDir gives sink the metadata log of a directory that nobody writes to, a
// copy for instance: the newest snapshot at or below end that the log goes on
// from, and the batches that end at or below end. With kafka.UnknownOffset
// everything is read, committed or not: nothing says which it is. Progress is
// called as by Dir.
//
// An error names the position; everything before it was delivered. A log that
// ends inside a batch gives recordbatch.ErrPartial: it was copied while it
// was written.
func ReadDir(dir string, end kafka.Offset, sink Sink) error {
	at, err := FindDir(dir)
	if err != nil {
		return err
	}
	if end == kafka.UnknownOffset {
		end = math.MaxInt64
	}
	d := &Dir{sink: sink, dir: at.Dir, end: end, offline: true, snapshotDue: true}
	defer d.leave()
	if ok, err := d.begin(); err != nil {
		return err
	} else if !ok {
		return d.problem.Err
	}
	for {
		b, err := d.follower.Next(end)
		if err != nil {
			return errors.Join(endOfDir(err), d.publish())
		}
		if err := d.deliver(&b); err != nil {
			return err
		}
	}
}

// endOfDir is what stopped the reading of a directory, or nil if it was its
// end.
func endOfDir(err error) error {
	if errors.Is(err, logdir.ErrWait) && !errors.Is(err, recordbatch.ErrPartial) {
		return nil
	}
	return err
}
