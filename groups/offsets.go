package groups

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"unique"

	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/wire"
)

// CommittedOffset is an offset that a group has committed.
type CommittedOffset struct {
	Topic           string
	Partition       int32
	Offset          int64
	LeaderEpoch     int32 // -1 for none
	Metadata        string
	CommitTimestamp int64 // milliseconds since 1970
	// TopicID is zero where Kafka does not record it: before 4.1, and in
	// transactions.
	TopicID kafka.TopicID
	// RecordOffset is the offset of the record in __consumer_offsets.
	RecordOffset kafka.Offset
	// ProducerID is that of the open transaction that the commit is part of,
	// -1 for one that is in effect.
	ProducerID int64
}

// committed is an offset in memory, where there may be millions.
type committed struct {
	offset          int64
	recordOffset    kafka.Offset // -1: there is none for this partition
	commitTimestamp int64
	detail          *offsetDetail // nil: neither metadata nor topic id
	leaderEpoch     int32
}

// offsetDetail is what is mostly the same for many partitions. It is shared
// and not changed.
type offsetDetail struct {
	metadata string
	topicID  kafka.TopicID
}

// topicOffsets are the offsets of a group in one topic. Partitions are held in
// an array as far as they have no gaps, else in a map, so that memory follows
// the number of offsets and not that of the highest partition.
type topicOffsets struct {
	name   unique.Handle[string] // one string for all groups
	dense  []committed
	sparse map[int32]committed
	size   int
	detail *offsetDetail // the last one made
}

func (t *topicOffsets) get(partition int32) (committed, bool) {
	if uint32(partition) < uint32(len(t.dense)) {
		c := t.dense[partition]
		return c, c.recordOffset >= 0
	}
	c, ok := t.sparse[partition]
	return c, ok
}

func (t *topicOffsets) put(partition int32, c committed) {
	if uint32(partition) < uint32(len(t.dense)) {
		if t.dense[partition].recordOffset < 0 {
			t.size++
		}
		t.dense[partition] = c
		return
	}
	if int(partition) != len(t.dense) {
		if t.sparse == nil {
			t.sparse = make(map[int32]committed)
		}
		before := len(t.sparse)
		t.sparse[partition] = c
		t.size += len(t.sparse) - before
		return
	}
	t.dense = append(t.dense, c)
	t.size++
	t.absorb()
}

// absorb moves what the array has grown up to from the map.
func (t *topicOffsets) absorb() {
	for len(t.sparse) > 0 {
		next := int32(len(t.dense))
		c, ok := t.sparse[next]
		if !ok {
			return
		}
		t.dense = append(t.dense, c)
		delete(t.sparse, next)
	}
	t.sparse = nil
}

func (t *topicOffsets) remove(partition int32) bool {
	if _, ok := t.get(partition); !ok {
		return false
	}
	t.size--
	if uint32(partition) >= uint32(len(t.dense)) {
		delete(t.sparse, partition)
		return true
	}
	t.dense[partition] = committed{recordOffset: kafka.UnknownOffset}
	for n := len(t.dense); n > 0 && t.dense[n-1].recordOffset < 0; n-- {
		t.dense = t.dense[:n-1]
	}
	return true
}

// all yields the offsets, in any order.
func (t *topicOffsets) all(yield func(int32, committed)) {
	for p, c := range t.dense {
		if c.recordOffset >= 0 {
			yield(int32(p), c)
		}
	}
	for p, c := range t.sparse {
		yield(p, c)
	}
}

// detailOf returns a shared detail for what the value says.
func (t *topicOffsets) detailOf(old *offsetDetail, v *record.OffsetCommitValue) *offsetDetail {
	if v.Metadata == "" && v.TopicID.IsZero() {
		return nil
	}
	for _, d := range [...]*offsetDetail{old, t.detail} {
		if d != nil && d.topicID == v.TopicID && d.metadata == v.Metadata {
			return d
		}
	}
	t.detail = &offsetDetail{metadata: v.Metadata, topicID: v.TopicID}
	return t.detail
}

// topic returns the offsets of the group in a topic, made if needed.
func (g *group) topic(name []byte) *topicOffsets {
	t := g.offsets[string(name)]
	if t == nil {
		t = &topicOffsets{name: unique.Make(string(name))}
		if g.offsets == nil {
			g.offsets = make(map[string]*topicOffsets, 1)
		}
		g.offsets[t.name.Value()] = t
	}
	return t
}

// offsetKey is the key of a record 0 or 1, which only differ in that number.
// The texts alias the record.
type offsetKey struct {
	group, topic []byte
	partition    int32
}

func isOffsetKey(key []byte) bool {
	return len(key) >= 2 && key[0] == 0 && key[1] <= byte(record.TypeOffsetCommit)
}

// readOffsetKey reads a key without allocating what its texts need. The
// decoder of package record would do that for every other group or topic.
func (s *Shard) readOffsetKey(key []byte) (k offsetKey, err error) {
	r := &s.reader
	r.Reset(key[2:])
	k.group = readClassicText(r)
	k.topic = readClassicText(r)
	k.partition = r.Int32()
	r.End()
	if err := r.Err(); err != nil {
		return k, &record.DecodeError{Type: s.curType, Version: -1, Err: err}
	}
	return k, nil
}

func readClassicText(r *wire.Reader) []byte {
	n := r.ShortLen()
	if n < 0 {
		r.Fail(wire.ErrMalformed)
		return nil
	}
	return r.Raw(n)
}

// readOffsetValue decodes a value. With the detail that the partition has, the
// same metadata is not allocated again.
func (s *Shard) readOffsetValue(value []byte, detail *offsetDetail) (*record.OffsetCommitValue, error) {
	v := &s.offsetValue
	if detail != nil {
		v.Metadata = detail.metadata
	}
	s.reader.Reset(value)
	version := s.reader.Int16()
	v.Decode(&s.reader, version)
	s.reader.End()
	if err := s.reader.Err(); err != nil {
		return nil, &record.DecodeError{Type: s.curType, Version: version, Err: err}
	}
	return v, nil
}

// replayOffset applies a record 0 or 1 (OffsetMetadataManager.replay).
func (s *Shard) replayOffset() {
	s.curType = record.Type(s.cur.Key[1])
	k, err := s.readOffsetKey(s.cur.Key)
	if err != nil {
		s.undecodable(UndecodableKey, "", err)
		return
	}
	g := s.groupOf(k)
	if s.cur.Value == nil {
		s.out.Group = string(k.group)
		if g != nil {
			s.offsetTombstone(g, k)
		}
		return
	}
	var old committed
	var t *topicOffsets
	if g != nil {
		if t = s.topicOf(g, k); t != nil {
			old, _ = t.get(k.partition)
		}
	}
	v, err := s.readOffsetValue(s.cur.Value, old.detail)
	if err != nil {
		s.out.Group = string(k.group)
		s.undecodable(UndecodableValue, s.out.Group, err)
		return
	}
	if g == nil || g.kind == noType {
		g = s.slot(string(k.group))
		s.create(g, Classic)
	}
	s.out.Group = g.id
	s.out.Change |= OffsetsChanged
	if s.cur.ProducerID != noProducer {
		s.addPending(g, k, v)
		return
	}
	if t == nil {
		t = g.topic(k.topic)
	}
	t.put(k.partition, s.committed(t, old.detail, v))
	s.putOffset(k)
}

// groupOf and topicOf find what the key is about. Mostly that is what the
// record before was about: a client commits all its partitions at once.

func (s *Shard) groupOf(k offsetKey) *group {
	if g := s.lastGroup; g != nil && g.id == string(k.group) {
		return g
	}
	s.lastGroup, s.lastOffsets = s.groups[string(k.group)], nil
	return s.lastGroup
}

func (s *Shard) topicOf(g *group, k offsetKey) *topicOffsets {
	if t := s.lastOffsets; t != nil && t.name.Value() == string(k.topic) {
		return t
	}
	s.lastOffsets = g.offsets[string(k.topic)]
	return s.lastOffsets
}

func (s *Shard) committed(t *topicOffsets, old *offsetDetail, v *record.OffsetCommitValue) committed {
	return committed{
		offset: v.Offset, recordOffset: s.cur.Offset, commitTimestamp: v.CommitTimestamp,
		leaderEpoch: v.LeaderEpoch, detail: t.detailOf(old, v),
	}
}

// putOffset adds the row of the current record, under the key that both types
// of record share.
func (s *Shard) putOffset(k offsetKey) {
	s.put()
	if s.curType != record.TypeOffsetCommit {
		s.out.Effects[len(s.out.Effects)-1].Key = s.offsetKey(k)
	}
}

// offsetKey is the key of a record 1.
func (s *Shard) offsetKey(k offsetKey) []byte {
	if s.curType == record.TypeOffsetCommit {
		return s.cur.Key
	}
	return s.key1(string(k.group), string(k.topic), k.partition)
}

func (s *Shard) key1(group, topic string, partition int32) []byte {
	key := s.key(record.TypeOffsetCommit, group, topic)
	s.keys = wire.AppendInt32(s.keys, partition)
	return s.keys[len(s.keys)-len(key)-4 : len(s.keys) : len(s.keys)]
}

// offsetTombstone removes an offset, and those of open transactions.
func (s *Shard) offsetTombstone(g *group, k offsetKey) {
	if t := g.offsets[string(k.topic)]; t != nil && t.remove(k.partition) {
		s.out.Change |= OffsetsChanged
		s.dropRecord(s.offsetKey(k))
		if t.size == 0 {
			delete(g.offsets, t.name.Value())
			s.lastOffsets = nil
		}
	}
	if g.pending > 0 {
		s.removePending(g, k)
	}
	s.release(g)
}

// Offsets are the offsets of a group, those of open transactions included,
// sorted by topic and partition, the one in effect first. They are copied. A group id may have offsets
// without there being a group.
func (s *Shard) Offsets(id string) []CommittedOffset {
	g := s.groups[id]
	if g == nil {
		return nil
	}
	var out []CommittedOffset
	for topic, t := range g.offsets {
		t.all(func(p int32, c committed) {
			out = append(out, c.export(topic, p, noProducer))
		})
	}
	if g.pending > 0 {
		out = s.appendPending(out, g)
	}
	slices.SortFunc(out, func(a, b CommittedOffset) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.ProducerID, b.ProducerID))
	})
	return out
}

// OffsetsOf yields those of Offsets, in no order, that are of partitions given by
// the ids of their topics. What has no topic id is left out. It costs less.
func (s *Shard) OffsetsOf(id string, of []TopicPartitions) iter.Seq[CommittedOffset] {
	return func(yield func(CommittedOffset) bool) {
		g := s.groups[id]
		if g == nil || len(of) == 0 {
			return
		}
		for topic, t := range g.offsets {
			for i := range of {
				for _, p := range of[i].Partitions {
					c, ok := t.get(p)
					if ok && c.of(of[i].TopicID) && !yield(c.export(topic, p, noProducer)) {
						return
					}
				}
			}
		}
		if g.pending > 0 {
			s.pendingOf(g, of)(yield)
		}
	}
}

// pendingOf yields those of open transactions.
func (s *Shard) pendingOf(g *group, of []TopicPartitions) iter.Seq[CommittedOffset] {
	return func(yield func(CommittedOffset) bool) {
		for _, o := range s.appendPending(nil, g) {
			for i := range of {
				if !o.TopicID.IsZero() && o.TopicID == of[i].TopicID && slices.Contains(of[i].Partitions, o.Partition) && !yield(o) {
					return
				}
			}
		}
	}
}

// of says whether the offset is known to be of a topic.
func (c *committed) of(id kafka.TopicID) bool {
	return c.detail != nil && !id.IsZero() && c.detail.topicID == id
}

func (c *committed) export(topic string, partition int32, producerID int64) CommittedOffset {
	o := CommittedOffset{
		Topic: topic, Partition: partition, Offset: c.offset, LeaderEpoch: c.leaderEpoch,
		CommitTimestamp: c.commitTimestamp, RecordOffset: c.recordOffset, ProducerID: producerID,
	}
	if c.detail != nil {
		o.Metadata, o.TopicID = c.detail.metadata, c.detail.topicID
	}
	return o
}
