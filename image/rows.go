package image

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/kraftside/kraftside/internal/kafka"
)

// The packed rows of topics can leave the image and come back, so that a
// store need not write and read them record by record. Their layout is that
// of chunk and layout, with the slots of Directories.

// ErrBadRows means that bytes are no packed rows, or name a directory slot
// that the image does not have.
var ErrBadRows = errors.New("not the packed rows of a topic")

// Rows yields the packed rows of a topic: the number of the chunk (the
// partition number divided by 256), ascending, and its bytes. The first chunk
// is always there; it may have no bytes.
func (t Topic) Rows() func(yield func(key uint32, rows string) bool) {
	return func(yield func(uint32, string) bool) {
		if !yield(0, string(t.row.first())) {
			return
		}
		for _, c := range t.row.farChunks() {
			if !yield(c.key, string(c.rows)) {
				return
			}
		}
	}
}

// ChangedRows yields the chunks of t that are not packed in the memory of
// before's, as Rows does; a chunk that t no longer has comes with no bytes.
// Its cost follows the number of chunks.
func (t Topic) ChangedRows(before Topic) func(yield func(key uint32, rows string) bool) {
	return func(yield func(uint32, string) bool) {
		for key, rows := range t.Rows() {
			if !sameMemory(rows, string(before.row.chunk(key))) && !yield(key, rows) {
				return
			}
		}
		for _, c := range before.row.farChunks() {
			if _, kept := t.row.far(c.key); !kept && !yield(c.key, "") {
				return
			}
		}
	}
}

func sameMemory(a, b string) bool {
	return len(a) == len(b) && (len(a) == 0 || unsafe.StringData(a) == unsafe.StringData(b))
}

// BrokerDirectories is the log directories of a broker in the order of their
// slots.
type BrokerDirectories struct {
	Broker      kafka.NodeID
	Directories []kafka.UUID // at most 13
}

// Directories lists the directory slots that packed rows refer to, by broker.
func (t *TopicsImage) Directories() (all []BrokerDirectories) {
	for id, dirs := range t.dirs.dense {
		if len(dirs) > 0 {
			all = append(all, BrokerDirectories{kafka.NodeID(id), dirs})
		}
	}
	sparse := make([]kafka.NodeID, 0, len(t.dirs.sparse))
	for id := range t.dirs.sparse {
		sparse = append(sparse, id)
	}
	slices.Sort(sparse)
	for _, id := range sparse {
		all = append(all, BrokerDirectories{id, t.dirs.sparse[id]})
	}
	return all
}

// SameDirectories says whether both images have the same slots. It is cheap.
func (t *TopicsImage) SameDirectories(u *TopicsImage) bool { return t.dirs == u.dirs }

// LoadDirectories sets the directory slots. It must come before LoadRows.
func (b *TopicsBuilder) LoadDirectories(all []BrokerDirectories) error {
	for _, d := range all {
		if d.Broker < 0 || len(d.Directories) > dirSlots {
			return fmt.Errorf("%w: broker %d with %d directories", ErrBadRows, d.Broker, len(d.Directories))
		}
		b.img.dirs = b.img.dirs.withBroker(d.Broker, slices.Clone(d.Directories))
	}
	return nil
}

// LoadRows gives a topic the chunk with the key, as Rows yielded it. The bytes
// are checked, so that damaged ones give ErrBadRows and never a panic later.
// The builder keeps a copy.
func (b *TopicsBuilder) LoadRows(ref TopicRef, key uint32, rows string) error {
	if key >= MaxPartitions/chunkRows {
		return fmt.Errorf("%w: chunk %d", ErrBadRows, key)
	}
	if rows == "" && key == 0 { // a topic whose partitions were taken away
		b.Clear(ref)
		return nil
	}
	if err := chunk(rows).check(b.img.dirs); err != nil {
		return err
	}
	b.flush()
	row := b.img.rows.edit(ordinal(ref), b.owner, &b.rootOwned)
	b.img.partitions += chunk(rows).count()
	if old := row.chunk(key); old != "" {
		b.img.partitions -= old.count()
	}
	if key == 0 {
		n, start := row.nameLen()
		row.data = row.data[:start+n] + rows
		return nil
	}
	row.more = withFar(row, farChunk{key, chunk(strings.Clone(rows))})
	return nil
}

// check makes sure that every row of c can be read.
func (c chunk) check(dirs *directoryTable) error {
	if len(c) < chunkHeader {
		return fmt.Errorf("%w: %d bytes", ErrBadRows, len(c))
	}
	l := c.layout()
	if !l.valid() || c.rows() > chunkRows || len(c) < chunkHeader+c.rows()*l.size() {
		return fmt.Errorf("%w: %d rows of the layout %+v in %d bytes", ErrBadRows, c.rows(), l, len(c))
	}
	size := l.size()
	for i := range c.rows() {
		if err := c.checkRow(i, l, size, dirs); err != nil {
			return fmt.Errorf("%w: row %d: %w", ErrBadRows, i, err)
		}
	}
	return nil
}

func (l layout) valid() bool {
	number := func(n uint8) bool { return n == 1 || n == 2 || n == 4 }
	return l.replicas <= maxPackedReplicas && (l.idBytes == 2 || l.idBytes == 4) && l.dirBytes <= 2 &&
		number(l.leaderEpochBytes) && number(l.partitionEpochBytes)
}

func (c chunk) checkRow(i int, l layout, size int, dirs *directoryTable) error {
	row := c.row(i, size)
	switch {
	case row[0] == rowAbsent:
		return nil
	case row[0] == rowWide:
		return checkWide(c, row, size)
	case !validSubset(row[0], l.replicas):
		return fmt.Errorf("ISR code %d", row[0])
	case row[1]&7 != noLeader && row[1]&7 >= l.replicas || row[1]>>4 > 1:
		return fmt.Errorf("leader code %d", row[1])
	}
	if l.elr && (!validSubset(row[size-2], l.replicas) || !validSubset(row[size-1], l.replicas)) {
		return errors.New("ELR code")
	}
	return l.checkDirectories(row, dirs)
}

func validSubset(code, replicas uint8) bool {
	if code >= subsetCodes {
		return false
	}
	s := &subsets[code]
	for _, p := range s.pos[:s.len] {
		if p >= replicas {
			return false
		}
	}
	return true
}

func (l layout) checkDirectories(row string, dirs *directoryTable) error {
	at := 2 + int(l.leaderEpochBytes) + int(l.partitionEpochBytes) + int(l.replicas)*int(l.idBytes)
	var replicas [maxPackedReplicas]kafka.NodeID
	for i, id := range l.readReplicas(row, replicas[:0]) {
		s := l.directorySlot(row[at:], i)
		if s < slotMigrating && int(s) >= len(dirs.of(id)) {
			return fmt.Errorf("directory slot %d of broker %d", s, id)
		}
	}
	return nil
}

// checkWide reads an unpacked partition and turns a read past the end, the
// one thing that can go wrong, into an error.
func checkWide(c chunk, row string, size int) (err error) {
	at := chunkHeader + c.rows()*size + widePlace(row)
	if at > len(c) {
		return errors.New("unpacked form outside the chunk")
	}
	defer func() {
		if recover() != nil {
			err = errors.New("damaged unpacked form")
		}
	}()
	var p Partition
	readWide(string(c[at:]), &p)
	return nil
}
