package store

import (
	"context"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// State is what Rebuild writes: all that a store holds but for the groups.
type State struct {
	Image  *image.MetadataImage
	Model  iter.Seq2[string, []byte]
	Hashes iter.Seq2[string, HashRecord]
}

// Rebuild makes the store hold the state, so that persisting goes on. It is for
// a store that has stopped (see Recoverable); a damaged one is set aside first,
// which the Warning says. It waits for the disk. After an error nothing is
// persisted still, and Status says why.
//
// Partitions stay as they are in the store, at their older offsets. To have
// effects on them kept again, the caller goes back: it loads the partition with
// LoadGroups and reads its log on from there, or starts it anew.
func (s *Store) Rebuild(state State) (*Warning, error) {
	s.await()
	s.resume.attempted, s.resume.ready = s.now, false
	warning, err := s.restart()
	if err != nil {
		return warning, err
	}
	s.replaceImage(state.Image)
	if s.halt == nil {
		s.replaceRows(state)
	}
	if err := s.Flush(); err != nil {
		return warning, fmt.Errorf("rebuild the store: %w", err)
	}
	s.status.Store(&Status{Persisting: true})
	return warning, nil
}

// restart makes sure that there is an engine, and room to write all anew.
func (s *Store) restart() (warning *Warning, err error) {
	cause := s.halt
	if s.engine == nil {
		if s.dead != nil && !s.dead.guard.settled(s.o.patience) {
			return nil, fmt.Errorf("rebuild the store: %w", errLate)
		}
		if !isDamage(cause) {
			cause = nil
		}
		if warning, err = s.open(cause); err != nil {
			return warning, err
		}
		if s.engine == nil {
			return warning, fmt.Errorf("rebuild the store: %w: %w", ErrStopped, s.halt)
		}
	}
	s.halt, s.pending = nil, s.newPending()
	s.makeRoom()
	return warning, nil
}

// makeRoom removes what attempts before have left behind and, where old and
// new image might not go side by side, the old one.
func (s *Store) makeRoom() {
	if err := s.engine.clean(s.metadata.generation, s.partitions); err != nil {
		s.stop(err)
		return
	}
	tight := false
	s.begin(func(db *pebble.DB) error {
		s.measure(db)
		return nil
	}, func() { tight = s.used.Load() > s.o.MaxBytes/2 })
	s.await()
	if !tight || s.halt != nil {
		return
	}
	s.dropImage()
	s.set(metadataKey, nil)
	s.metadata = metadataRow{}
	if s.Flush() != nil {
		return
	}
	s.begin(func(db *pebble.DB) error {
		return db.Compact(context.Background(), []byte{0}, []byte{0xFF}, false)
	}, func() {})
	// It may rewrite all there is, hundreds of MiB.
	s.settle(s.engine.wait(10 * s.o.patience))
}

// replaceRows writes the rows that are not of the image.
func (s *Store) replaceRows(state State) {
	for _, b := range []byte{modelFamily, hashFamily} {
		from, to := family(b)
		s.pending.batch.removeRange(from, to)
	}
	if s.cluster != "" {
		s.set(clusterKey, []byte(s.cluster))
	}
	for name, row := range state.Model {
		s.Model(name, row)
	}
	for group, h := range state.Hashes {
		s.Hash(group, h)
	}
}

// aheadBytes is the usual size of the batches in which an image is written
// ahead.
const aheadBytes = 1 << 20

// replaceImage writes an image under a generation of its own, and makes the
// pending batch one that names it and removes the old one. What is written
// ahead is not synced: a commit that names it comes after it in Pebble's log,
// and is.
func (s *Store) replaceImage(m *image.MetadataImage) {
	a := ahead{store: s, generation: s.nextGeneration()}
	if s.await(); s.halt == nil {
		a.batch = s.newBatch()
		a.image(m)
		a.flush()
		s.await()
	}
	if s.halt != nil {
		return
	}
	s.dropImage()
	s.metadata, s.pending.metadata = metadataRow{a.generation, m.Provenance()}, true
}

// dropImage removes the image that the store has.
func (s *Store) dropImage() {
	if s.metadata.generation > 0 {
		from, to := imageRange(s.metadata.generation)
		s.pending.batch.removeRange(from, to)
	}
}

// ahead writes the rows of an image.
type ahead struct {
	store      *Store
	generation uint32
	batch      batch
}

func (a *ahead) image(m *image.MetadataImage) {
	for _, d := range m.Topics().Directories() {
		a.batch.put(directoriesKey(nil, a.generation, d.Broker), appendDirectories(nil, d.Directories))
	}
	if err := m.WriteParts(a.part); err != nil {
		a.store.stop(err)
	}
	for t := range m.Topics().All() {
		for chunk, packed := range t.Rows() {
			a.batch.putChunk(a.generation, t, chunk, packed)
		}
		if !a.room() {
			return
		}
	}
}

func (a *ahead) part(m record.Message, version int16) error {
	key, ok := image.PartOf(m)
	if !ok {
		return fmt.Errorf("%s is no part of the image", m.Type().RecordName())
	}
	frame, err := record.AppendFrame(nil, m, version)
	if err != nil {
		return err
	}
	a.batch.put(partKey(nil, a.generation, key), frame)
	a.room()
	return nil
}

// room writes the batch if it is full. It returns false if persisting stopped.
func (a *ahead) room() bool {
	if a.batch.Len() >= a.store.o.ahead {
		a.flush()
	}
	return a.store.halt == nil
}

// flush begins to write the batch, after the one before.
func (a *ahead) flush() {
	s := a.store
	if s.await(); s.halt != nil {
		return
	}
	b := a.batch
	a.batch = s.newBatch()
	s.write(b, pebble.NoSync, func() {})
}
