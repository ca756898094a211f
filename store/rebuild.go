package store

import (
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/rebalance"
)

// State is what Rebuild writes: all that a store holds but for the groups.
type State struct {
	Image  *image.MetadataImage
	Model  iter.Seq2[string, []byte]
	Hashes iter.Seq2[string, HashRecord]
	// Rebalances begin with the removal of the rows that they replace.
	Rebalances iter.Seq[rebalance.Row]
	// Exports replace those of the partitions that ExportsOf has.
	ExportsOf []int32
	Exports   iter.Seq2[ExportKey, ExportRow]
	Changes   iter.Seq2[kafka.Offset, []byte]
}

// Rebuild makes the store hold the state, so that persisting goes on. It is for
// a store that has stopped (see Recoverable), and does nothing to another; a
// damaged one is set aside first, which the Warning says. It waits for the disk.
// After an error nothing is persisted still, and Status says why.
//
// Partitions stay as they are in the store, at their older offsets. To have
// effects on them kept again, the caller goes back: it loads the partition with
// LoadGroups and reads its log on from there, or starts it anew.
func (s *Store) Rebuild(state State) (*Warning, error) {
	s.await()
	if s.halt == nil {
		return nil, nil
	}
	s.resume.attempted, s.resume.ready = s.now, false
	warning, err := s.restart()
	if err != nil {
		return warning, err
	}
	if s.halt == nil { // there is room
		s.replaceImage(state.Image)
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
		if !s.atRest() {
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
		err := db.Flush() // so that Pebble sees what it can give back
		s.measure(db)
		return err
	}, func() {})
	s.await()
}

// replaceRows writes the rows that are not of the image.
func (s *Store) replaceRows(state State) {
	for _, b := range []byte{modelFamily, hashFamily, changesFamily} {
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
	for r := range state.Rebalances {
		s.Rebalance(r)
	}
	for _, partition := range state.ExportsOf {
		s.pending.batch.removeRange(beginningWith(exportsKey(partition)))
	}
	for k, row := range state.Exports {
		s.Export(k, row)
	}
	for offset, row := range state.Changes {
		s.Change(offset, row)
	}
}
