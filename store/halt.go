package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// schedule spaces the attempts to go on after persisting has stopped.
type schedule struct {
	ready     bool // it is worth an attempt
	next      time.Time
	every     time.Duration
	attempted time.Time // the last attempt
	flushed   bool      // since persisting stopped
}

const (
	probeEvery  = 5 * time.Second
	probeRarest = 15 * time.Minute
	// calm is how long after an attempt a new failure has nothing to do with
	// the one before.
	calm = 10 * time.Minute
)

// stop ends persisting. What is pending is dropped: the caller has it in its
// own state, and hands that over when persisting goes on.
func (s *Store) stop(cause error) {
	s.halt = cause
	s.rollBack()
	var limit *limitError
	if !errors.As(cause, &limit) && s.engine != nil {
		s.engine.abandon(cause)
		s.dead, s.engine = s.engine, nil
	}
	r := schedule{every: probeEvery, attempted: s.resume.attempted}
	again := !r.attempted.IsZero() && s.now.Sub(r.attempted) < calm
	if again {
		r.every = min(2*max(s.resume.every, probeEvery), probeRarest)
	}
	r.next = s.now.Add(r.every)
	r.ready = isDamage(cause) && !again
	s.resume = r
	s.status.Store(&Status{Reason: s.reason(cause)})
}

// reason is for people: what is wrong, what it means, what to do.
func (s *Store) reason(cause error) string {
	const memory = "nothing is persisted, all is served from memory"
	var limit *limitError
	switch {
	case errors.As(cause, &limit):
		return fmt.Sprintf("%s: %s", limit.reason, memory)
	case isDamage(cause):
		return fmt.Sprintf("store in %s: %v: it will be set aside; the history in it is lost, the state is rebuilt from the logs", s.directory.path, cause)
	}
	return fmt.Sprintf("store in %s: %v: %s until the disk works again", s.directory.path, cause, memory)
}

// Recoverable says whether persisting has stopped and it is time to call
// Rebuild.
func (s *Store) Recoverable() bool { return s.halt != nil && s.resume.ready }

// probe looks from time to time whether the cause is gone. It returns when it
// wants to be called again.
func (s *Store) probe() time.Duration {
	r := &s.resume
	if r.ready || s.flight != nil {
		return probeEvery
	}
	if wait := r.next.Sub(s.now); wait > 0 {
		return wait
	}
	r.next = s.now.Add(r.every)
	if s.engine != nil {
		s.probeEngine()
	} else {
		r.ready = s.buried() && s.checkFree(s.comfort()) == nil
	}
	return r.every
}

// comfort is how much more than needed must be free before persisting goes on,
// so that it does not stop again at once.
func (s *Store) comfort() int64 { return s.o.MinFree / 4 }

// probeEngine measures. The first time it lets Pebble see all that was deleted,
// so that it can give the space back. To ask for a compaction would be wrong:
// it may need as much space again.
func (s *Store) probeEngine() {
	flush := !s.resume.flushed
	s.resume.flushed = true
	var err error
	s.begin(func(db *pebble.DB) error {
		if flush && s.checkFree(0) == nil {
			if err := db.Flush(); err != nil {
				return err
			}
		}
		err = errors.Join(s.checkUsed(s.measure(db)+s.slack()), s.checkFree(s.comfort()))
		return nil
	}, func() { s.resume.ready = err == nil })
}

// buried says whether an engine that failed is at rest.
func (s *Store) buried() bool {
	if s.dead != nil && s.dead.guard.idle() {
		s.dead = nil
	}
	return s.dead == nil
}

// atRest waits until it is.
func (s *Store) atRest() bool {
	if s.dead != nil && s.dead.guard.settled(s.o.patience) {
		s.dead = nil
	}
	return s.dead == nil
}

// room fails if more bytes would take the files past a limit. It runs on the
// engine's goroutine.
func (s *Store) room(db *pebble.DB, more int) error {
	if err := s.checkUsed(s.measure(db) + int64(more)); err != nil {
		return err
	}
	return s.checkFree(int64(more))
}

// measure is how much the files take.
func (s *Store) measure(db *pebble.DB) int64 {
	used := int64(db.Metrics().DiskSpaceUsage())
	s.used.Store(used)
	return used
}

// slack is the part of the limit that is left to Pebble, which writes files
// anew before it removes the old ones, and, once more, what must become free
// before persisting goes on.
func (s *Store) slack() int64 { return s.o.MaxBytes / 8 }

func (s *Store) checkUsed(used int64) error {
	if used <= s.o.MaxBytes-s.slack() {
		return nil
	}
	return &limitError{fmt.Sprintf("the store in %s takes %d MiB, and its limit is %d MiB (--store.max-bytes)", s.directory.path, used>>20, s.o.MaxBytes>>20)}
}

// checkFree fails if less than the floor would be free without more bytes. A
// file system that does not tell has enough.
func (s *Store) checkFree(more int64) error {
	free, err := s.o.FreeBytes(s.directory.path)
	if err != nil || free-more >= s.o.MinFree {
		return nil
	}
	return &limitError{fmt.Sprintf("the disk of %s has %d MiB left, and %d MiB must stay free (--store.min-free)", s.directory.path, free>>20, s.o.MinFree>>20)}
}
