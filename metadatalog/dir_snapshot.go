package metadatalog

import (
	"errors"
	"fmt"
	"io"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir"
)

// errGap means that no snapshot reaches as far as the log goes back.
var errGap = errors.New("no snapshot reaches up to the start of the log")

// loadSnapshot delivers the newest snapshot that can be read and that the log
// goes on from. If there is none, and the log begins at offset 0, that is
// where reading begins. It says false if there is nothing to begin with.
//
// A snapshot holds committed records only, wherever the bound is: no replica
// takes one of more than its high watermark, and the ones that are fetched are
// the leader's.
func (d *Dir) loadSnapshot() (ok bool, err error) {
	l, err := logdir.List(d.dir)
	if err != nil {
		d.fail(err)
		return false, nil
	}
	var refused error
	for _, s := range l.Snapshots {
		if start, ok := logStart(&l); ok && s.EndOffset < start {
			break // those that follow are older still
		}
		file, err := d.openVerified(s)
		if err != nil {
			refused = errors.Join(refused, err)
			continue
		}
		defer file.Close()
		return true, d.deliverSnapshot(snapshotID(s), file)
	}
	start, known := logStart(&l)
	switch {
	case known && start == 0:
		d.delivered = Position{}
		return true, nil
	case refused != nil:
		d.fail(refused)
	case known:
		d.fail(fmt.Errorf("%w: %s starts at offset %d", errGap, d.dir, start))
	default:
		d.fail(fmt.Errorf("%s: %w", d.dir, errNoLog))
	}
	return false, nil
}

func snapshotID(s logdir.Snapshot) SnapshotID {
	return SnapshotID{EndOffset: s.EndOffset, Epoch: s.Epoch}
}

// logStart is the first offset that the segments hold.
func logStart(l *logdir.Listing) (kafka.Offset, bool) {
	if len(l.Segments) == 0 {
		return 0, false
	}
	return l.Segments[0].Base, true
}

// openVerified opens a snapshot after it was read once: a sink should not be
// given half of one.
func (d *Dir) openVerified(s logdir.Snapshot) (io.ReadSeekCloser, error) {
	file, err := logdir.OpenSnapshot(s)
	if err != nil {
		return nil, err
	}
	err = verifySnapshot(snapshotID(s), file)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

func (d *Dir) deliverSnapshot(id SnapshotID, file io.Reader) error {
	s, err := NewSnapshotReader(id, file)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := d.sink.LoadSnapshot(s); err != nil {
		return err
	}
	d.delivered = id.Position()
	if !d.offline {
		d.end = max(d.end, id.EndOffset)
	}
	return d.publish()
}

// CheckDir says whether the metadata log in a directory can be read: nil, or
// why not, above all whose permission is lacking. A log of which the newest
// snapshot is closed to us cannot.
func CheckDir(dir string) error {
	at, err := FindDir(dir)
	if err != nil {
		return err
	}
	l, err := logdir.List(at.Dir)
	if err != nil {
		return err
	}
	if len(l.Snapshots) > 0 {
		file, err := logdir.OpenSnapshot(l.Snapshots[0])
		if err != nil && !isMissing(err) {
			return err
		}
		if err == nil {
			file.Close()
		}
	}
	f := logdir.Follow(at.Dir, kafka.UnknownOffset, kafka.UnknownEpoch, logdir.Options{})
	defer f.Close()
	if _, err := f.Next(1); err != nil && !errors.Is(err, logdir.ErrWait) {
		return err
	}
	return nil
}
