package metadatalog

import (
	"errors"
	"fmt"
	"math"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// ReadDir gives sink the metadata log of a directory that nobody writes to, a
// copy for instance, up to end: its batches from as early as they go back,
// which tells what was true before, after the oldest snapshot that they go on
// from, unless they begin at offset 0. With kafka.UnknownOffset everything is
// read, committed or not: nothing says which it is. Progress is called as by
// Dir.
//
// An error names the position; everything before it was delivered, and then
// the next snapshot beyond it, if there is one, and what follows that. A log
// that ends inside a batch gives recordbatch.ErrPartial: it was copied while it
// was written.
func ReadDir(dir string, end kafka.Offset, sink Sink) error {
	at, err := FindDir(dir)
	if err != nil {
		return err
	}
	if end == kafka.UnknownOffset {
		end = math.MaxInt64
	}
	l, err := logdir.List(at.Dir)
	if err != nil {
		return err
	}
	d := &Dir{sink: sink, dir: at.Dir, end: end, offline: true}
	defer d.leave()
	if err := d.loadFirst(&l); err != nil {
		return err
	}
	var damage error
	for {
		b, err := d.follower.Next(end)
		if err == nil {
			if err := d.deliver(&b); err != nil {
				return err
			}
			continue
		}
		if err = endOfDir(err); err == nil {
			return errors.Join(damage, d.publish())
		}
		damage = errors.Join(damage, err)
		if found, err := d.loadOldest(&l, d.delivered.Offset+1); err != nil {
			return err
		} else if !found {
			return errors.Join(damage, d.publish())
		}
	}
}

// loadFirst delivers what comes before the first batch to be read.
func (d *Dir) loadFirst(l *logdir.Listing) error {
	start, known := logStart(l)
	if known && start == 0 {
		d.follow()
		return nil
	}
	if !known && len(l.Snapshots) > 0 {
		start = l.Snapshots[0].EndOffset // the newest is all there is to say
	}
	found, err := d.loadOldest(l, start)
	switch {
	case found || err != nil:
		return err
	case d.problem != nil:
		return d.problem.Err
	case known:
		return fmt.Errorf("%w: %s starts at offset %d", errGap, d.dir, start)
	}
	return fmt.Errorf("%s: %w", d.dir, errNoLog)
}

// loadOldest delivers the oldest snapshot of an end offset from the given one
// on that can be read, and makes ready to read the log after it.
func (d *Dir) loadOldest(l *logdir.Listing, from kafka.Offset) (found bool, err error) {
	for i := len(l.Snapshots) - 1; i >= 0; i-- {
		s := l.Snapshots[i]
		if s.EndOffset < from || s.EndOffset > d.end {
			continue
		}
		file, err := d.openVerified(s)
		if err != nil {
			d.fail(err)
			continue
		}
		defer file.Close()
		if err := d.deliverSnapshot(snapshotID(s), file); err != nil {
			return false, err
		}
		d.follow()
		return true, nil
	}
	return false, nil
}

// endOfDir is what stopped the reading of a directory, or nil if it was its
// end.
func endOfDir(err error) error {
	if errors.Is(err, logdir.ErrWait) && !errors.Is(err, recordbatch.ErrPartial) {
		return nil
	}
	return err
}
