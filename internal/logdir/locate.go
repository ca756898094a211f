package logdir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// open makes the reader ready at the next offset, or as near before it as is
// known. The committed end must have been known before: from the moment a
// segment is seen to be in the log, its bytes below that end are final.
func (f *Follower) open(end kafka.Offset) (again bool, err error) {
	if f.segment != nil && !f.segment.attached() {
		// It was truncated away, cleaned or deleted. Only of what was
		// committed while it was in the log is it known that it is the log.
		f.leave()
		f.doubtEpoch()
	}
	if f.segment == nil {
		if again, err := f.locate(); again || err != nil {
			return again, err
		}
	}
	same, err := f.segment.unchanged()
	if err != nil {
		return false, fmt.Errorf("read %s: %w", f.segment.path, err)
	}
	if !same {
		return false, f.suspect(f.diverged("the last batch read was overwritten or truncated away"))
	}
	f.limit = end
	f.reader = newReader(f.segment.file, f.segment.position)
	return false, nil
}

// locate opens the segment that the next offset is in.
func (f *Follower) locate() (again bool, err error) {
	l, err := List(f.dir)
	if err != nil {
		return false, err
	}
	if len(l.Segments) == 0 {
		return false, wait(errNoSegments)
	}
	if f.next < 0 {
		f.next = l.Segments[0].Base
	}
	at := l.find(f.next)
	if at < 0 {
		return false, f.startPassed(&l)
	}
	if err := f.checkEpoch(); err != nil {
		return false, err
	}
	f.segment, err = openSegment(l.Segments[at])
	if errors.Is(err, fs.ErrNotExist) {
		return f.reopen(err)
	}
	return false, err
}

// errNoSegments is the state of a directory that is just made, or emptied to
// start the log at a later offset.
var errNoSegments = errors.New("the directory has no segments")

func (f *Follower) startPassed(l *Listing) error {
	return &LogStartError{Dir: f.dir, Next: f.next, Start: l.Segments[0].Base}
}

func (f *Follower) diverged(reason string) error {
	return &DivergedError{Dir: f.dir, Next: f.next, Reason: reason}
}

// reopen has another look at the directory, unless it has had several.
func (f *Follower) reopen(why error) (again bool, err error) {
	f.leave()
	f.doubtEpoch()
	f.reopens++
	if f.reopens > maxReopens {
		return false, wait(why)
	}
	return true, nil
}

// doubtEpoch has the epoch checked before reading goes on: another file, or
// another directory, may have come in the place of the one that was read.
func (f *Follower) doubtEpoch() { f.epochChecked = f.next <= 0 || f.epoch < 0 }

// checkEpoch compares the epoch of the record before next with the one that
// the directory records there. Where it records none, nothing is known.
func (f *Follower) checkEpoch() error {
	if f.epochChecked {
		return nil
	}
	starts, err := EpochStarts(f.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if here := EpochAt(starts, f.next-1); here >= 0 && here != f.epoch {
		return f.diverged(fmt.Sprintf("offset %d has leader epoch %d, it had %d", f.next-1, here, f.epoch))
	}
	f.epochChecked = true
	return nil
}

// ended decides what it means that the segment cannot be read on from its
// position: it ended there (io.EOF), inside a batch, or in damage.
func (f *Follower) ended(cause error) (again bool, err error) {
	f.release()
	if !isData(cause) {
		return false, fmt.Errorf("read %s: %w", f.segment.path, cause)
	}
	l, err := List(f.dir)
	if err != nil {
		return false, err
	}
	if len(l.Segments) == 0 {
		return false, wait(errNoSegments)
	}
	at := l.find(f.next)
	switch {
	case at < 0:
		return false, f.startPassed(&l)
	case l.Segments[at].Base > f.segment.base:
		f.leave() // all of it is passed that counts
		return true, nil
	case l.Segments[at].Base < f.segment.base:
		return f.reopen(cause) // merged by the cleaner, or truncated away
	case at+1 == len(l.Segments):
		return false, f.tailEnded(cause)
	case !f.segment.sealed:
		f.segment.sealed = true // before it was, more may have been appended
		return true, nil
	}
	return f.sealedEnded(cause, l.Segments[at+1].Base)
}

// isData says whether an error of the reader is about the bytes, and not
// about reading them.
func isData(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, recordbatch.ErrPartial) ||
		errors.Is(err, recordbatch.ErrCorrupt) || errors.Is(err, recordbatch.ErrTooLarge)
}

// sealedEnded is the end of a segment that is not the newest, before the
// offset at which the following one begins.
func (f *Follower) sealedEnded(cause error, following kafka.Offset) (again bool, err error) {
	switch {
	case !errors.Is(cause, io.EOF):
		return false, f.suspect(f.corrupt(errors.Unwrap(cause)))
	case !f.Compacted:
		return false, f.suspect(f.corrupt(fmt.Errorf("%w: offsets %d to %d are missing, the next segment begins after them",
			recordbatch.ErrCorrupt, f.next, following-1)))
	}
	// The cleaner has left nothing before it, and with that nothing to tell
	// the epoch of the offset before by.
	f.next, f.epoch = following, kafka.UnknownEpoch
	f.leave()
	return true, nil
}

// tailEnded is the end of the newest segment.
func (f *Follower) tailEnded(cause error) error {
	switch {
	case errors.Is(cause, io.EOF) && f.segment.end < f.next:
		return f.suspect(f.diverged(fmt.Sprintf("it ends at offset %d", f.segment.end)))
	case errors.Is(cause, io.EOF):
		return ErrWait
	case errors.Is(cause, recordbatch.ErrPartial):
		return wait(f.corrupt(errors.Unwrap(cause)))
	case !f.Static && f.segment.torn():
		return wait(f.corrupt(errors.Unwrap(cause)))
	}
	return f.suspect(f.corrupt(errors.Unwrap(cause)))
}
