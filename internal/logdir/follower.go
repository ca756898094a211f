package logdir

import (
	"fmt"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// confirmations is how many calls of Next in a row must meet the same damage
// before it is reported: a file that is read while it is written, truncated
// or replaced can look damaged once.
const confirmations = 3

// maxReopens is how often one call of Next starts on another file at or
// before the one it was in, before it leaves the directory time to settle.
const maxReopens = 4

// Options say what kind of log is followed.
type Options struct {
	// Compacted says that offsets may be missing, because the log cleaner
	// has been at work. Otherwise a missing offset is damage.
	Compacted bool
	// Static says that nothing writes to the directory: damage is reported
	// at first sight. The committed end is then to be the caller's
	// math.MaxInt64, or an offset to stop at.
	Static bool
}

// Follower reads one partition's log. It belongs to one goroutine. It holds at
// most one file open, and while it reads, a buffer of 1 MiB or of the largest
// batch.
type Follower struct {
	dir string
	Options

	next  kafka.Offset // of what is to be yielded next; < 0 is the log's start
	epoch kafka.Epoch  // of the record before next

	// epochChecked says that the directory agrees on epoch. While one file
	// is read on, it does.
	epochChecked bool

	segment *segment
	reader  *reader // nil: to be opened, at the segment's position
	// limit is the committed end that was known before the reader's first
	// read. What it holds of later offsets may have changed since.
	limit   kafka.Offset
	doubt   doubt
	reopens int
}

// doubt is damage that was seen, and how often in a row.
type doubt struct {
	base     kafka.Offset
	position int64
	seen     int
}

// Follow returns a Follower of a partition's directory that yields next first,
// or, if next is kafka.UnknownOffset, the first batch there is. The epoch is
// the one of the record before next, or kafka.UnknownEpoch; a directory that
// has another epoch there has diverged. It does no I/O.
func Follow(dir string, next kafka.Offset, epoch kafka.Epoch, o Options) *Follower {
	f := &Follower{dir: dir, Options: o, next: next, epoch: epoch}
	f.doubtEpoch()
	return f
}

// Next returns the next batch that ends at or below end, the committed end:
// the offset after the last record that is known to be committed *in this
// directory's copy of the log*. The batch is valid until the next call. The
// first batch may begin before the offset that Follow was given.
//
// The error wraps ErrWait, or is, or wraps, a *LogStartError, a
// *DivergedError, a *CorruptError, a *PermissionError, or what the system
// says of a file; fs.ErrNotExist means that the directory is gone. All but
// *LogStartError and *DivergedError may pass: Next can be called again.
func (f *Follower) Next(end kafka.Offset) (recordbatch.Batch, error) {
	f.reopens = 0
	for {
		if f.next >= end {
			f.release()
			return recordbatch.Batch{}, ErrWait
		}
		b, again, err := f.step(end)
		if !again {
			return b, err
		}
	}
}

// Offset is the offset that comes next, or kafka.UnknownOffset before the
// start of the log is known. Next may move it without yielding a batch, where
// the cleaner has left none.
func (f *Follower) Offset() kafka.Offset { return f.next }

// Epoch is the leader epoch of the record before Offset, as far as it is
// known: what Follow needs to go on there.
func (f *Follower) Epoch() kafka.Epoch { return f.epoch }

// Close gives back the file and the buffer. The last batch is valid no longer.
func (f *Follower) Close() {
	f.release()
	f.leave()
}

// step reads one batch, or moves on to where one may be.
func (f *Follower) step(end kafka.Offset) (b recordbatch.Batch, again bool, err error) {
	if f.reader == nil {
		if again, err := f.open(end); again || err != nil {
			return b, again, err
		}
	}
	b, err = f.reader.Next()
	switch {
	case err == nil:
		return f.take(b, end)
	case f.limit < end: // it may have read before what is committed now was written
		f.release()
		return b, true, nil
	}
	again, err = f.ended(err)
	return b, again, err
}

// take decides on a batch that was read.
func (f *Follower) take(b recordbatch.Batch, end kafka.Offset) (_ recordbatch.Batch, again bool, err error) {
	switch {
	case b.BaseOffset < f.segment.end:
		return f.refuse(fmt.Errorf("%w: offsets go back from %d to %d", recordbatch.ErrCorrupt, f.segment.end, b.BaseOffset))
	case b.NextOffset() <= f.next:
		f.segment.pass(&b)
		return recordbatch.Batch{}, true, nil
	case b.NextOffset() > min(f.limit, end):
		// Not committed when it was read: what is there may have changed.
		again = f.limit < end
		f.release()
		return recordbatch.Batch{}, again, ErrWait
	case b.BaseOffset > f.next && !f.Compacted:
		return f.refuse(fmt.Errorf("%w: offsets %d to %d are missing", recordbatch.ErrCorrupt, f.next, b.BaseOffset-1))
	case b.LeaderEpoch < f.epoch:
		return f.refuse(fmt.Errorf("%w: leader epoch goes back from %d to %d", recordbatch.ErrCorrupt, f.epoch, b.LeaderEpoch))
	}
	f.segment.pass(&b)
	f.next, f.epoch, f.doubt = b.NextOffset(), b.LeaderEpoch, doubt{}
	return b, false, nil
}

func (f *Follower) refuse(cause error) (recordbatch.Batch, bool, error) {
	f.release()
	return recordbatch.Batch{}, false, f.suspect(f.corrupt(cause))
}

func (f *Follower) corrupt(cause error) error {
	return &CorruptError{Path: f.segment.path, Position: f.segment.position, Offset: f.next, Err: cause}
}

// suspect reports damage once it has been seen often enough in the same
// place. What was read is forgotten, so that it is read anew.
func (f *Follower) suspect(damage error) error {
	seen := doubt{base: f.segment.base, position: f.segment.position, seen: 1}
	if f.doubt.base == seen.base && f.doubt.position == seen.position {
		seen.seen += f.doubt.seen
	}
	f.doubt = seen
	if f.Static || seen.seen >= confirmations {
		return damage
	}
	return wait(damage)
}

func wait(why error) error { return fmt.Errorf("%w: %w", ErrWait, why) }
