package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"unsafe"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
)

// LoadImage returns the image at Durable().Metadata; the empty one if there is
// none. After an error, which stops persisting, the image has to come from the
// log. This is so of all Load methods.
func (s *Store) LoadImage() (*image.MetadataImage, error) {
	m := image.Empty()
	if s.metadata.generation == 0 {
		return m, nil
	}
	r := delta.NewRestore()
	err := s.load("image", func(e *engine) error {
		from, to := imageRange(s.metadata.generation)
		return e.scan(from, to, func(key, value []byte) error { return restoreRow(r, key[len(from):], value) })
	})
	if err != nil {
		return m, err
	}
	return r.Apply(s.metadata.at), nil
}

// restoreRow takes a row of the image; key is what follows the generation.
func restoreRow(r *delta.Restore, key, value []byte) error {
	if len(key) == 0 {
		return damaged("row of the image without a key")
	}
	kind, key := key[0], key[1:]
	switch {
	case kind == directoriesRow && len(key) == 4:
		list, err := readDirectories(value)
		if err != nil {
			return err
		}
		broker := kafka.NodeID(binary.BigEndian.Uint32(key))
		return r.Directories([]image.BrokerDirectories{{Broker: broker, Directories: list}})
	case kind == partRow:
		return r.Part(value)
	case kind == topicRow && len(key) == 16:
		name, rows, err := readTopicHead(value)
		if err != nil {
			return err
		}
		return r.Topic(kafka.TopicID(key), text(name), text(rows))
	case kind == topicRow && len(key) == 20:
		return r.Chunk(binary.BigEndian.Uint32(key[16:]), text(value))
	}
	return damaged("row %q of the image with a key of %d bytes", kind, len(key))
}

// text is b as a string that is valid as long as b is. What it is given to
// copies it.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// LoadGroups hands restore the rows of a partition, which are valid during each
// step, and returns the offset to read on from. From then on effects on the
// partition are kept. It returns false, without calling restore, if there is
// nothing of the partition: it has to be started.
func (s *Store) LoadGroups(partition int32, restore func(iter.Seq[groups.Row]) error) (PartitionOffset, bool, error) {
	if s.Live(partition) { // effects that wait are not in the rows yet, but in the offset
		if err := s.Flush(); err != nil {
			return PartitionOffset{}, false, err
		}
	}
	p := s.partitions[partition]
	if p == nil || !p.known {
		return PartitionOffset{}, false, nil
	}
	err := s.load(fmt.Sprintf("partition %d of %s", partition, kafka.OffsetsTopic), func(e *engine) error {
		var failed error
		err := restore(func(yield func(groups.Row) bool) { failed = e.scanGroups(partition, yield) })
		if failed != nil {
			return failed
		}
		return err
	})
	if err != nil {
		return PartitionOffset{}, false, err
	}
	p.live = s.halt == nil
	return p.at, true, nil
}

// scanGroups yields rows until the end, or until yield has enough.
func (e *engine) scanGroups(partition int32, yield func(groups.Row) bool) error {
	from, to := groupsRange(partition)
	err := e.scan(from, to, func(key, value []byte) error {
		row, err := readGroupRow(key[len(from):], value)
		if err == nil && !yield(row) {
			return errEnough
		}
		return err
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

var errEnough = errors.New("enough rows") // ends a scan

// LoadModel returns the rows of the hash model by name.
func (s *Store) LoadModel() (map[string][]byte, error) {
	model := map[string][]byte{}
	from, to := family(modelFamily)
	return model, s.load("hash model", func(e *engine) error {
		return e.scan(from, to, func(key, value []byte) error {
			model[string(key[1:])] = bytes.Clone(value)
			return nil
		})
	})
}

// LoadHashes returns what is known of the groups' MetadataHash, by group.
func (s *Store) LoadHashes() (map[string]HashRecord, error) {
	hashes := map[string]HashRecord{}
	from, to := family(hashFamily)
	return hashes, s.load("hashes", func(e *engine) error {
		return e.scan(from, to, func(key, value []byte) (err error) {
			hashes[string(key[1:])], err = readHashRecord(value)
			return err
		})
	})
}

// load reads. The caller waits however long it takes.
func (s *Store) load(what string, read func(*engine) error) error {
	s.await()
	if s.engine == nil {
		return fmt.Errorf("load the %s: %w: %w", what, ErrStopped, s.halt)
	}
	if err := read(s.engine); err != nil {
		return s.Condemn(fmt.Errorf("load the %s: %w", what, err))
	}
	return nil
}

// Condemn says why the caller cannot read what a Load method has given it. The
// store is damaged then, as if it had seen that itself: persisting stops, and
// Rebuild sets the database aside. The error is for the caller to pass on.
func (s *Store) Condemn(cause error) error {
	cause = asDamage(cause)
	s.stop(cause)
	return cause
}
