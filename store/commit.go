package store

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

const (
	// commitDelay is how long effects wait for others to be committed with.
	commitDelay = 50 * time.Millisecond
	// commitBytes is how many of them are not made to wait.
	commitBytes = 256 << 10
	// pendingBytes is how many may wait for the commit before theirs; the
	// writer is held up when there are more.
	pendingBytes = 4 << 20
	// progressEvery is how often offsets are committed that come alone.
	progressEvery = 5 * time.Second
	// patience is how long a disk may take for an operation, when there is no
	// other that ends, before it counts as failed.
	patience = 30 * time.Second
)

// pending is the effects since the last commit was begun.
type pending struct {
	batch      batch
	metadata   bool               // its offset has moved
	partitions map[int32]struct{} // whose offset has moved
	since      time.Time          // the first MaybeCommit that saw effects in it
}

func (s *Store) newPending() pending {
	return pending{batch: s.newBatch(), partitions: map[int32]struct{}{}}
}

// wait is how long the effects may wait still; false if there are none.
func (p *pending) wait(now, progress time.Time) (time.Duration, bool) {
	switch n := p.batch.Count(); {
	case n > 0 && p.since.IsZero():
		p.since = now
		fallthrough
	case n > 0:
		if p.batch.Len() >= commitBytes {
			return 0, true
		}
		return max(0, p.since.Add(commitDelay).Sub(now)), true
	case p.metadata || len(p.partitions) > 0:
		return max(0, progress.Add(progressEvery).Sub(now)), true
	}
	return 0, false
}

// flight is a call of the engine that nobody waits for.
type flight struct {
	done func() // after success
}

// MaybeCommit ends a slice: what came since the last call belongs together. It
// begins a commit if it is time for one, and returns after how long it wants
// to be called again at the latest, 0 if it need not be before the next slice.
// It does not wait for the disk, unless the writer is far ahead of it.
func (s *Store) MaybeCommit(now time.Time) time.Duration {
	s.now = now
	s.poll()
	if s.halt != nil {
		return s.probe()
	}
	s.writeAhead()
	wait, any := s.pending.wait(now, s.progress)
	switch {
	case !any:
		return 0
	case wait > 0:
		return wait
	case s.flight != nil && s.pending.batch.Len() < pendingBytes:
		return commitDelay
	}
	if s.settleAll() {
		s.handOver()
	}
	return 0
}

// Flush commits what is pending and waits until it is durable.
func (s *Store) Flush() error {
	if s.settleAll() && s.pending.any() {
		s.handOver()
		s.await()
	}
	if s.halt != nil {
		return fmt.Errorf("%w: %w", ErrStopped, s.halt)
	}
	return nil
}

func (p *pending) any() bool { return p.batch.Count() > 0 || p.metadata || len(p.partitions) > 0 }

// handOver begins the commit of what is pending.
func (s *Store) handOver() {
	p, after, row := s.pending, s.offsets(), s.metadata
	s.pending = s.newPending()
	s.progress = s.now
	s.commits++
	number := s.commits
	s.putOffsets(&p)
	s.write(p.batch, pebble.Sync, func() {
		s.stored = row
		s.durable.Store(after)
		s.committed = number
	})
}

// putOffsets adds the offsets that moved. What they are now is what the rows of
// the batch lead to.
func (s *Store) putOffsets(p *pending) {
	if p.metadata {
		p.batch.put(metadataKey, s.metadata.append(nil))
	}
	for number := range p.partitions {
		if at := s.partitions[number]; at != nil && at.known {
			p.batch.put(partitionKey(nil, number), at.at.append(nil))
		}
	}
}

// write begins to write a batch, if there is room. None may be under way.
func (s *Store) write(b batch, sync *pebble.WriteOptions, done func()) {
	number := s.batches + 1
	s.begin(func(db *pebble.DB) error { return s.commit(db, b, number, sync) }, func() {
		s.batches = number
		done()
	})
}

// commit writes a batch with its number, on the engine's goroutine.
func (s *Store) commit(db *pebble.DB, b batch, number uint64, sync *pebble.WriteOptions) error {
	b.put(chainKey(nil, number), binary.AppendUvarint(nil, number))
	if err := s.room(db, b.Len()); err != nil {
		return err
	}
	if err := b.Commit(sync); err != nil {
		return err
	}
	return b.Close()
}

func (s *Store) begin(call func(*pebble.DB) error, done func()) {
	s.flight = &flight{done}
	s.engine.start(call)
}

// poll takes the result of what is under way, if there is one.
func (s *Store) poll() {
	if s.engine == nil {
		return
	}
	if s.flight == nil {
		if err := s.engine.guard.err(); err != nil { // in the background
			s.stop(err)
		}
		return
	}
	if err, done := s.engine.poll(s.o.patience); done {
		s.settle(err)
	}
}

// await waits for what is under way.
func (s *Store) await() {
	if s.flight != nil {
		s.settle(s.engine.wait(s.o.patience))
	}
}

// settleAll waits until nothing stands before the commit of what is pending.
// It returns false if persisting has stopped.
func (s *Store) settleAll() bool {
	for s.await(); s.ahead != nil; s.await() {
		s.writeAhead()
	}
	return s.halt == nil
}

func (s *Store) settle(err error) {
	f := s.flight
	s.flight = nil
	if err != nil {
		s.stop(err)
		return
	}
	f.done()
}
