package image

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"iter"
	"slices"
	"strings"

	"github.com/kraftside/kraftside/internal/kafka"
)

// TopicsImage is every topic of the cluster with its partitions. It never
// changes after it is published and may be read by any number of goroutines.
type TopicsImage struct {
	rows       vector
	byID       trie
	byName     trie
	free       *freeOrdinal
	dirs       *directoryTable
	topics     int
	partitions int
}

// freeOrdinal is a persistent stack of ordinals whose topics are gone.
type freeOrdinal struct {
	ord  ordinal
	next *freeOrdinal
}

// topicRow holds a topic: its id, the length of its name, its name, and the
// chunk of the partitions 0 to 255, all in one string. A hole has none.
type topicRow struct {
	data string
	more *[]farChunk // partitions from 256 on, by key; nil: none
}

// farChunk is a chunk past the first; key is the partition number / chunkRows.
type farChunk struct {
	key  uint32
	rows chunk
}

// hashSeed makes the tries' hashes differ from process to process, so that
// nobody can choose topic names that collide.
var hashSeed = maphash.MakeSeed()

func hashID(id kafka.TopicID) uint32 { return uint32(maphash.Bytes(hashSeed, id[:])) }

func hashName(name string) uint32 { return uint32(maphash.String(hashSeed, name)) }

var emptyTopics = &TopicsImage{dirs: &directoryTable{}}

// NumTopics is the number of topics.
func (t *TopicsImage) NumTopics() int { return t.topics }

// NumPartitions is the number of partitions of all topics.
func (t *TopicsImage) NumPartitions() int { return t.partitions }

// ByID finds a topic by its id.
func (t *TopicsImage) ByID(id kafka.TopicID) (Topic, bool) {
	o, ok := t.findID(id)
	if !ok {
		return Topic{}, false
	}
	return t.topic(o), true
}

// ByName finds the topic that has the name now.
func (t *TopicsImage) ByName(name string) (Topic, bool) {
	o, ok := t.findName(name)
	if !ok {
		return Topic{}, false
	}
	return t.topic(o), true
}

// At returns the topic that a builder knew by ref, in the image that it
// built; false if the topic was removed.
func (t *TopicsImage) At(ref TopicRef) (Topic, bool) {
	topic := t.topic(ordinal(ref))
	return topic, topic.row.data != ""
}

func (t *TopicsImage) findID(id kafka.TopicID) (ordinal, bool) {
	h := hashID(id)
	for _, e := range t.byID.bucket(h) {
		if e.hash != h {
			continue
		}
		if row := t.rows.at(e.ord); row.data != "" && row.id() == id {
			return e.ord, true
		}
	}
	return 0, false
}

func (t *TopicsImage) findName(name string) (ordinal, bool) {
	h := hashName(name)
	for _, e := range t.byName.bucket(h) {
		if e.hash != h {
			continue
		}
		if row := t.rows.at(e.ord); row.data != "" && row.name() == name {
			return e.ord, true
		}
	}
	return 0, false
}

func (t *TopicsImage) topic(o ordinal) Topic { return Topic{row: *t.rows.at(o), dirs: t.dirs} }

// All yields the topics in an order that is the same for the same history of
// changes: roughly, the order in which they were created.
func (t *TopicsImage) All() iter.Seq[Topic] {
	return func(yield func(Topic) bool) {
		for o := range t.rows.len {
			topic := t.topic(ordinal(o))
			if topic.row.data != "" && !yield(topic) {
				return
			}
		}
	}
}

// Sorted returns the topics in the order of their names (bytes).
func (t *TopicsImage) Sorted() []Topic {
	all := slices.AppendSeq(make([]Topic, 0, t.topics), t.All())
	slices.SortFunc(all, func(a, b Topic) int { return strings.Compare(a.Name(), b.Name()) })
	return all
}

// Equal says whether both hold the same topics with the same partitions.
func (t *TopicsImage) Equal(u *TopicsImage) bool {
	if t.topics != u.topics || t.partitions != u.partitions {
		return false
	}
	for topic := range t.All() {
		other, ok := u.ByID(topic.ID())
		if !ok || !topic.Equal(other) {
			return false
		}
	}
	return true
}

func (r *topicRow) id() (id kafka.TopicID) {
	copy(id[:], r.data)
	return id
}

func (r *topicRow) name() string {
	n, start := r.nameLen()
	return r.data[start : start+n]
}

// nameLen returns the length of the name and where it starts.
func (r *topicRow) nameLen() (n, start int) {
	return int(r.data[16]) | int(r.data[17])<<8, topicHead
}

// topicHead is the size of the id and of the length of the name.
const topicHead = 18

func (r *topicRow) first() chunk {
	n, start := r.nameLen()
	return chunk(r.data[start+n:])
}

// chunk returns the chunk with the key, or "".
func (r *topicRow) chunk(key uint32) chunk {
	if key == 0 {
		return r.first()
	}
	if i, ok := r.far(key); ok {
		return (*r.more)[i].rows
	}
	return ""
}

// farChunks are the chunks past the first.
func (r *topicRow) farChunks() []farChunk {
	if r.more == nil {
		return nil
	}
	return *r.more
}

func (r *topicRow) far(key uint32) (int, bool) {
	return slices.BinarySearchFunc(r.farChunks(), key, func(c farChunk, k uint32) int { return cmp.Compare(c.key, k) })
}

func appendTopicHead(b []byte, id kafka.TopicID, name string) []byte {
	b = append(b, id[:]...)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(name)))
	return append(b, name...)
}

// Topic is one topic of an image. It is a small value that may be copied; its
// strings stay valid as long as anybody holds them.
type Topic struct {
	row  topicRow
	dirs *directoryTable
}

// ID is the topic's id.
func (t Topic) ID() kafka.TopicID { return t.row.id() }

// Name is the topic's name. It shares memory with the topic: clone it to keep
// it for longer than the image.
func (t Topic) Name() string { return t.row.name() }

// NumPartitions is the number of partitions.
func (t Topic) NumPartitions() int {
	n := 0
	if first := t.row.first(); first != "" {
		n = first.count()
	}
	for _, c := range t.row.farChunks() {
		n += c.rows.count()
	}
	return n
}

// Partition reads a partition into p; false, with p undefined, if there is
// none of that number.
func (t Topic) Partition(number int32, p *Partition) bool {
	c := t.row.chunk(uint32(number) / chunkRows)
	return c != "" && c.read(int(number)%chunkRows, t.dirs, p)
}

// AppendReplicas adds a partition's replicas to list, in order; false if
// there is no such partition. It allocates only to grow list.
func (t Topic) AppendReplicas(list []kafka.NodeID, number int32) ([]kafka.NodeID, bool) {
	c := t.row.chunk(uint32(number) / chunkRows)
	if c == "" {
		return list, false
	}
	return c.replicas(int(number)%chunkRows, list)
}

// Replicas walks over the replicas of the partitions 0, 1, 2 and so on, and
// ends at the first number that is missing.
type Replicas struct {
	topic  Topic
	chunk  chunk
	layout layout
	size   int
	next   int32
}

// Replicas returns a walk over the replicas of the partitions.
func (t Topic) Replicas() Replicas {
	r := Replicas{topic: t}
	r.open(t.row.first())
	return r
}

func (r *Replicas) open(c chunk) {
	if r.chunk = c; c != "" {
		r.layout = c.layout()
		r.size = r.layout.size()
	}
}

// Next adds the replicas of the next partition to list; false if there is no
// partition of the next number. It allocates only to grow list.
func (r *Replicas) Next(list []kafka.NodeID) ([]kafka.NodeID, bool) {
	i := int(r.next) % chunkRows
	if i == 0 && r.next > 0 {
		r.open(r.topic.row.chunk(uint32(r.next) / chunkRows))
	}
	if r.chunk == "" || i >= r.chunk.rows() {
		return list, false
	}
	r.next++
	row := r.chunk.row(i, r.size)
	switch row[0] {
	case rowAbsent:
		return list, false
	case rowWide:
		return readWideReplicas(r.chunk.wide(row, r.size), list), true
	}
	return r.layout.readReplicas(row, list), true
}

// Partitions yields the number of each partition, ascending, and the
// partition, which is overwritten by the next one.
func (t Topic) Partitions() iter.Seq2[int32, *Partition] {
	return func(yield func(int32, *Partition) bool) {
		var p Partition
		if c := t.row.first(); c != "" && !yieldChunk(c, 0, t.dirs, &p, yield) {
			return
		}
		for _, c := range t.row.farChunks() {
			if !yieldChunk(c.rows, c.key, t.dirs, &p, yield) {
				return
			}
		}
	}
}

func yieldChunk(c chunk, key uint32, dirs *directoryTable, p *Partition, yield func(int32, *Partition) bool) bool {
	for i := range c.rows() {
		if c.read(i, dirs, p) && !yield(int32(key*chunkRows)+int32(i), p) {
			return false
		}
	}
	return true
}

// Equal says whether both have the same id, name and partitions.
func (t Topic) Equal(u Topic) bool {
	if t.ID() != u.ID() || t.Name() != u.Name() || t.NumPartitions() != u.NumPartitions() {
		return false
	}
	var other Partition
	for number, p := range t.Partitions() {
		if !u.Partition(number, &other) || !p.Equal(&other) {
			return false
		}
	}
	return true
}

// SameRows says whether both are packed in the same memory, so that nothing
// can differ. It is false for equal topics that were packed at different times.
func (t Topic) SameRows(u Topic) bool {
	return t.dirs == u.dirs && sameMemory(t.row.data, u.row.data) && t.row.more == u.row.more
}
