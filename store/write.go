package store

import (
	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
)

// Metadata takes the change from one image to the next, both published, so that
// no transaction is open in between. The images must follow each other; where
// they do not, as after a snapshot, the whole image is written anew.
func (s *Store) Metadata(d *delta.Delta) {
	if s.halt != nil {
		return
	}
	next := d.Image()
	if d.IsSnapshot() || d.Base().Provenance() != s.metadata.provenance() {
		s.replaceImage(next)
		return
	}
	if s.metadata.generation == 0 {
		s.metadata.generation = s.nextGeneration()
	}
	s.putDirectories(d.Base().Topics(), next.Topics())
	for _, p := range d.PartEdits() {
		s.set(partKey(nil, s.metadata.generation, p.Key), p.Frame)
	}
	s.putTopics(d)
	s.metadata.at, s.pending.metadata = next.Provenance(), true
}

func (s *Store) nextGeneration() uint32 {
	s.generation++
	return s.generation
}

// putDirectories writes the lists that differ. None ever gets shorter.
func (s *Store) putDirectories(before, after *image.TopicsImage) {
	if before.SameDirectories(after) {
		return
	}
	known := make(map[kafka.NodeID]int)
	for _, b := range before.Directories() {
		known[b.Broker] = len(b.Directories)
	}
	for _, b := range after.Directories() {
		if len(b.Directories) != known[b.Broker] {
			s.set(directoriesKey(nil, s.metadata.generation, b.Broker), appendDirectories(nil, b.Directories))
		}
	}
}

// putTopics writes the topics that changed, after the removal of those that
// are gone: one may be gone and there again with its old id.
func (s *Store) putTopics(d *delta.Delta) {
	base := d.Base().Topics()
	gone := make(map[kafka.TopicID]bool, len(d.DeletedTopics()))
	for _, t := range d.DeletedTopics() {
		gone[t.ID] = true
		if before, ok := base.ByID(t.ID); ok {
			for chunk := range before.Rows() {
				s.set(chunkKey(nil, s.metadata.generation, t.ID, chunk), nil)
			}
		}
	}
	for t := range d.TouchedTopics() {
		rows := t.Rows()
		if before, ok := base.ByID(t.ID()); ok && !gone[t.ID()] {
			rows = t.ChangedRows(before)
		}
		for chunk, packed := range rows {
			s.pending.batch.putChunk(s.metadata.generation, t, chunk, packed)
		}
	}
}

// Group takes what one record did to the rows of a partition. The partition
// must have been loaded or started; of one that was not, nothing is kept.
func (s *Store) Group(partition int32, effects []groups.Effect) {
	if s.halt != nil || !s.Live(partition) {
		return
	}
	for i := range effects {
		e := &effects[i]
		s.key = groupRowKey(s.key[:0], partition, &e.Row)
		if e.Delete {
			s.set(s.key, nil)
			continue
		}
		s.value = appendGroupRow(s.value[:0], &e.Row)
		s.set(s.key, s.value)
	}
}

// Live says whether effects on a partition are kept: the caller loaded or
// started it, and persisting has not stopped since.
func (s *Store) Live(partition int32) bool {
	p := s.partitions[partition]
	return p != nil && p.live
}

// GroupsStart forgets a partition: it is read from its start from now on, or
// not at all.
func (s *Store) GroupsStart(number int32) {
	if s.halt != nil {
		return
	}
	if _, any := s.partitions[number]; any {
		from, to := groupsRange(number)
		s.pending.batch.removeRange(from, to)
		s.set(partitionKey(nil, number), nil)
		delete(s.pending.partitions, number)
	}
	s.partitions[number] = &partition{live: true}
}

// GroupsOffset takes how far a partition was read. All effects before it must
// have come.
func (s *Store) GroupsOffset(number int32, at PartitionOffset) {
	if s.halt != nil || !s.Live(number) {
		return
	}
	p := s.partitions[number]
	p.at, p.known = at, true
	s.pending.partitions[number] = struct{}{}
}

// Model takes a row of the hash model; nil deletes it.
func (s *Store) Model(name string, row []byte) {
	if s.halt == nil {
		s.set(modelKey(nil, name), row)
	}
}

// Hash takes what is known of a group's MetadataHash.
func (s *Store) Hash(group string, h HashRecord) {
	if s.halt == nil {
		s.set(hashKey(nil, group), h.append(nil))
	}
}

// ForgetHash deletes it.
func (s *Store) ForgetHash(group string) {
	if s.halt == nil {
		s.set(hashKey(nil, group), nil)
	}
}

// set puts a row into the pending batch; nil deletes it.
func (s *Store) set(key, value []byte) { s.pending.batch.put(key, value) }
