package store

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// aheadBytes is the usual size of the batches in which an image is written
// ahead.
const aheadBytes = 1 << 20

// replaceImage makes the pending batch one that names another image and removes
// the one that is there. The image is written ahead of it, under a generation
// of its own, in batches that are not synced: a commit comes after them in
// Pebble's log, and is.
func (s *Store) replaceImage(m *image.MetadataImage) {
	s.dropImage()
	s.metadata = metadataRow{s.nextGeneration(), m.Provenance()}
	s.pending.metadata = true
	s.ahead = &ahead{store: s, image: m, generation: s.metadata.generation}
}

// dropImage removes the image that the store has.
func (s *Store) dropImage() {
	if s.metadata.generation > 0 {
		from, to := imageRange(s.metadata.generation)
		s.pending.batch.removeRange(from, to)
	}
}

// writeAhead begins to write an image that waits for it, if nothing else is
// under way.
func (s *Store) writeAhead() {
	if s.ahead == nil || s.flight != nil || s.halt != nil {
		return
	}
	a := s.ahead
	s.ahead, a.number = nil, s.batches
	s.begin(a.write, func() { s.batches = a.number })
}

// ahead writes an image, which nobody changes, on the engine's goroutine. Of
// the store it uses the limits alone.
type ahead struct {
	store      *Store
	image      *image.MetadataImage
	generation uint32
	number     uint64 // of the last batch

	db    *pebble.DB
	batch batch
}

func (a *ahead) write(db *pebble.DB) error {
	a.db, a.batch = db, batch{db.NewBatch()}
	for _, d := range a.image.Topics().Directories() {
		a.batch.put(directoriesKey(nil, a.generation, d.Broker), appendDirectories(nil, d.Directories))
	}
	if err := a.image.WriteParts(a.part); err != nil {
		return err
	}
	for t := range a.image.Topics().All() {
		for chunk, packed := range t.Rows() {
			a.batch.putChunk(a.generation, t, chunk, packed)
		}
		if err := a.flush(a.store.o.ahead); err != nil {
			return err
		}
	}
	return a.flush(1)
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
	return a.flush(a.store.o.ahead)
}

// flush writes the batch if there are at least so many bytes in it.
func (a *ahead) flush(bytes int) error {
	if a.batch.Empty() || a.batch.Len() < bytes {
		return nil
	}
	b := a.batch
	a.batch = batch{a.db.NewBatch()}
	a.number++
	return a.store.commit(a.db, b, a.number, pebble.NoSync)
}
