package image

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/kraftside/kraftside/internal/kafka"
)

// MaxPartitions bounds the number of a partition, so that a corrupt record
// cannot make an image huge. Kafka clusters are limited to about two million
// partitions in all.
const MaxPartitions = 1 << 24

// TopicsBuilder makes the next TopicsImage from one that stays as it is. What
// it does not touch, both share. It belongs to one goroutine, and to package
// delta alone.
//
// The chunk that was changed last is kept open, unpacked for change in place,
// until another chunk is changed: records of one topic come together.
type TopicsBuilder struct {
	img       TopicsImage
	owner     owner
	rootOwned bool
	fresh     *freshIndex // in place of the tries, if there was no topic

	open    *openChunk // from openChunks, until Build
	isOpen  bool
	openOrd ordinal
	openKey uint32
}

// inUse says whether b was made by NewTopicsBuilder.
func (b *TopicsBuilder) inUse() bool { return b.open != nil }

var lastOwner atomic.Uint64

var openChunks = sync.Pool{New: func() any { return new(openChunk) }}

// NewTopicsBuilder starts from base.
func NewTopicsBuilder(base *TopicsImage) TopicsBuilder {
	open := openChunks.Get().(*openChunk)
	b := TopicsBuilder{img: *base, owner: owner(lastOwner.Add(1)), open: open}
	if b.img.topics == 0 {
		b.fresh = new(freshIndex)
	}
	return b
}

// TopicRef is a topic of a builder. It is valid until the topic is removed.
type TopicRef ordinal

// FindID finds a topic by its id.
func (b *TopicsBuilder) FindID(id kafka.TopicID) (TopicRef, bool) {
	if b.isOpen && b.openKey == 0 && kafka.TopicID(b.open.head[:16]) == id {
		return TopicRef(b.openOrd), true
	}
	o, ok := b.findID(id)
	return TopicRef(o), ok
}

// FindName finds a topic by its name.
func (b *TopicsBuilder) FindName(name string) (TopicRef, bool) {
	if b.isOpen && b.openKey == 0 && string(b.open.head[topicHead:]) == name {
		return TopicRef(b.openOrd), true
	}
	o, ok := b.findName(name)
	return TopicRef(o), ok
}

// Refs yields every topic. Topics may be changed meanwhile, not added or
// removed.
func (b *TopicsBuilder) Refs() iter.Seq[TopicRef] {
	return func(yield func(TopicRef) bool) {
		b.flush()
		for o := range b.img.rows.len {
			if b.img.rows.at(ordinal(o)).data != "" && !yield(TopicRef(o)) {
				return
			}
		}
	}
}

// Topic returns the topic as it is now.
func (b *TopicsBuilder) Topic(ref TopicRef) Topic {
	b.flush()
	return b.img.topic(ordinal(ref))
}

// Add adds a topic without partitions. Neither its id nor its name may be in
// use.
func (b *TopicsBuilder) Add(id kafka.TopicID, name string) (TopicRef, error) {
	if len(name) > math.MaxUint16 {
		return 0, fmt.Errorf("topic name of %d bytes: at most %d are possible", len(name), math.MaxUint16)
	}
	b.flush()
	o := b.newOrdinal()
	b.img.rows.edit(o, b.owner, &b.rootOwned)
	b.isOpen, b.openOrd, b.openKey = true, o, 0
	b.open.reset()
	b.open.head = appendTopicHead(b.open.head[:0], id, name)
	b.insert(id, name, o)
	b.img.topics++
	return TopicRef(o), nil
}

func (b *TopicsBuilder) newOrdinal() ordinal {
	if f := b.img.free; f != nil {
		b.img.free = f.next
		return f.ord
	}
	o := ordinal(b.img.rows.len)
	b.img.rows.len++
	return o
}

// Remove removes a topic and its partitions.
func (b *TopicsBuilder) Remove(ref TopicRef) {
	topic := b.Topic(ref)
	o := ordinal(ref)
	b.index()
	b.img.topics--
	b.img.partitions -= topic.NumPartitions()
	b.img.byID.remove(trieEntry{hashID(topic.ID()), o}, b.owner)
	b.img.byName.remove(trieEntry{hashName(topic.Name()), o}, b.owner)
	*b.img.rows.edit(o, b.owner, &b.rootOwned) = topicRow{}
	b.img.free = &freeOrdinal{ord: o, next: b.img.free}
}

// Clear removes the partitions of a topic.
func (b *TopicsBuilder) Clear(ref TopicRef) {
	topic := b.Topic(ref)
	b.img.partitions -= topic.NumPartitions()
	row := b.img.rows.edit(ordinal(ref), b.owner, &b.rootOwned)
	n, start := row.nameLen()
	row.data, row.more = row.data[:start+n], nil
}

// Scratch is a partition for the caller to use until Build, with the memory
// that earlier builders left.
func (b *TopicsBuilder) Scratch() *Partition { return &b.open.callers }

// Partition reads a partition into p; false, with p undefined, if there is
// none of that number.
func (b *TopicsBuilder) Partition(ref TopicRef, number int32, p *Partition) bool {
	key := uint32(number) / chunkRows
	if b.isOpen && b.openOrd == ordinal(ref) && b.openKey == key {
		return b.open.read(int(number)%chunkRows, b.img.dirs, p)
	}
	c := b.img.rows.at(ordinal(ref)).chunk(key)
	return c != "" && c.read(int(number)%chunkRows, b.img.dirs, p)
}

// SetPartition stores a copy of p.
func (b *TopicsBuilder) SetPartition(ref TopicRef, number int32, p *Partition) error {
	if number < 0 || number >= MaxPartitions {
		return fmt.Errorf("partition %d: numbers from 0 to %d are possible", number, MaxPartitions-1)
	}
	b.openFor(ordinal(ref), uint32(number)/chunkRows)
	r, fits := p.pack(b.img.dirs)
	if r.newDirectory && b.learnDirectories(p) {
		r, fits = p.pack(b.img.dirs)
	}
	i := int(number) % chunkRows
	if i >= b.open.n || b.open.rows[i*b.open.size] == rowAbsent {
		b.img.partitions++
	}
	b.open.set(i, p, &r, fits, b.img.dirs)
	return nil
}

// learnDirectories gives the directories of p slots; false if some broker has
// no slot left.
func (b *TopicsBuilder) learnDirectories(p *Partition) bool {
	for i, id := range p.Replicas {
		if b.img.dirs.slot(id, p.Directories[i]) != noSlot {
			continue
		}
		grown, slot := b.img.dirs.with(id, p.Directories[i])
		if slot == noSlot {
			return false
		}
		b.img.dirs = grown
	}
	return true
}

// openFor opens a chunk for change.
func (b *TopicsBuilder) openFor(o ordinal, key uint32) {
	if b.isOpen && b.openOrd == o && b.openKey == key {
		return
	}
	b.flush()
	b.isOpen, b.openOrd, b.openKey = true, o, key
	row := b.img.rows.at(o)
	if key == 0 {
		n, start := row.nameLen()
		b.open.head = append(b.open.head[:0], row.data[:start+n]...)
	}
	if c := row.chunk(key); c != "" {
		b.open.load(c)
	} else {
		b.open.reset()
	}
}

// flush packs the open chunk into its topic.
func (b *TopicsBuilder) flush() {
	if !b.isOpen {
		return
	}
	b.isOpen = false
	b.open.settle(b.img.dirs)
	row := b.img.rows.edit(b.openOrd, b.owner, &b.rootOwned)
	size := b.open.packedSize()
	if b.openKey == 0 {
		buf := append(make([]byte, 0, len(b.open.head)+size), b.open.head...)
		row.data = frozen(b.open.appendTo(buf))
		return
	}
	rows := chunk(frozen(b.open.appendTo(make([]byte, 0, size))))
	row.more = withFar(row, farChunk{b.openKey, rows})
}

// withFar returns the row's far chunks with c in place of that of its key.
func withFar(row *topicRow, c farChunk) *[]farChunk {
	old := row.farChunks()
	i, replace := row.far(c.key)
	if replace {
		more := slices.Clone(old)
		more[i] = c
		return &more
	}
	more := slices.Insert(slices.Clip(old), i, c)
	return &more
}

// frozen makes a string of bytes that nobody will change any more.
func frozen(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Build returns the new image. The builder must not be used after it.
func (b *TopicsBuilder) Build() *TopicsImage {
	b.flush()
	b.index()
	openChunks.Put(b.open)
	img := b.img
	return &img
}
