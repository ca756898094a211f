package image

import (
	"encoding/binary"

	"github.com/kraftside/kraftside/internal/kafka"
)

// chunkRows is how many partitions, by number, one chunk covers: 0–255,
// 256–511 and so on. A change of a partition copies its chunk.
const chunkRows = 256

// chunk is the packed form of up to chunkRows consecutive partitions:
//
//	layout 2 bytes, number of rows 2 bytes, rows, unpacked partitions
//
// It is a string because strings cannot change and hold no pointers.
type chunk string

const chunkHeader = 4

func (c chunk) layout() layout { return layoutOf(uint16(c[0]) | uint16(c[1])<<8) }

// rows is one more than the highest partition of the chunk, counted from the
// chunk's first; absent ones in between count.
func (c chunk) rows() int { return int(c[2]) | int(c[3])<<8 }

func (c chunk) row(i int, size int) string {
	at := chunkHeader + i*size
	return string(c[at : at+size])
}

// wide returns the unpacked form that a wide row points to.
func (c chunk) wide(row string, size int) string {
	return string(c[chunkHeader+c.rows()*size+widePlace(row):])
}

// read fills p with row i; false if there is no such partition.
func (c chunk) read(i int, dirs *directoryTable, p *Partition) bool {
	if i >= c.rows() {
		return false
	}
	l := c.layout()
	size := l.size()
	row := c.row(i, size)
	p.Reset()
	switch row[0] {
	case rowAbsent:
		return false
	case rowWide:
		readWide(c.wide(row, size), p)
	default:
		l.readRow(row, dirs, p)
	}
	return true
}

// replicas adds the replicas of row i to list; false if there is no such
// partition.
func (c chunk) replicas(i int, list []kafka.NodeID) ([]kafka.NodeID, bool) {
	if i >= c.rows() {
		return list, false
	}
	l := c.layout()
	size := l.size()
	row := c.row(i, size)
	switch row[0] {
	case rowAbsent:
		return list, false
	case rowWide:
		return readWideReplicas(c.wide(row, size), list), true
	}
	return l.readReplicas(row, list), true
}

// count is the number of partitions in the chunk.
func (c chunk) count() int {
	n, size := 0, c.layout().size()
	for i := range c.rows() {
		if c[chunkHeader+i*size] != rowAbsent {
			n++
		}
	}
	return n
}

// openChunk is a chunk that is being built or changed.
type openChunk struct {
	head   []byte // the topic's id and name, if this is its first chunk
	layout layout
	n      int
	rows   []byte
	wide   map[int][]byte // unpacked partitions by row
	size   int            // of a row

	spare   []byte    // memory for repack
	scratch Partition // of repack
	callers Partition // of TopicsBuilder.Scratch
}

// reset makes an empty chunk, and keeps the memory.
func (o *openChunk) reset() {
	clear(o.wide)
	o.layout, o.size, o.n, o.rows = smallest, smallest.size(), 0, o.rows[:0]
}

// load unpacks c.
func (o *openChunk) load(c chunk) {
	o.reset()
	o.layout, o.n = c.layout(), c.rows()
	o.size = o.layout.size()
	end := chunkHeader + o.n*o.size
	o.rows = append(o.rows, c[chunkHeader:end]...)
	for i := range o.n {
		if o.rows[i*o.size] == rowWide {
			var p Partition
			row := c.row(i, o.size)
			readWide(c.wide(row, o.size), &p)
			o.setWide(i, &p)
		}
	}
}

func (o *openChunk) setWide(i int, p *Partition) {
	if o.wide == nil {
		o.wide = make(map[int][]byte)
	}
	o.wide[i] = appendWide(nil, p)
}

// read is chunk.read.
func (o *openChunk) read(i int, dirs *directoryTable, p *Partition) bool {
	if i >= o.n {
		return false
	}
	p.Reset()
	row := o.rows[i*o.size : (i+1)*o.size]
	switch row[0] {
	case rowAbsent:
		return false
	case rowWide:
		readWide(string(o.wide[i]), p)
	default:
		o.layout.readRow(string(row), dirs, p)
	}
	return true
}

// set stores p as row i.
func (o *openChunk) set(i int, p *Partition, r *packed, fits bool, dirs *directoryTable) {
	for o.n < i {
		o.rows = o.layout.appendMarker(o.rows, rowAbsent, 0)
		o.n++
	}
	fits = fits && o.makeRoom(r.need, dirs)
	at := o.rows[:i*o.size]
	if fits {
		delete(o.wide, i)
		at = o.layout.appendRow(at, p, r)
	} else {
		o.setWide(i, p)
		at = o.layout.appendMarker(at, rowWide, 0)
	}
	if i == o.n {
		o.n++
		o.rows = at
	}
}

// makeRoom widens the layout until a row that needs need fits; false where
// the number of replicas is not that of the other rows.
func (o *openChunk) makeRoom(need layout, dirs *directoryTable) bool {
	if o.layout.contains(need) {
		return true
	}
	if o.layout.replicas != need.replicas && !o.onlyMarkers() {
		return false
	}
	o.repack(o.layout.union(need), dirs)
	return true
}

func (o *openChunk) onlyMarkers() bool {
	for i := range o.n {
		if o.rows[i*o.size] < rowAbsent {
			return false
		}
	}
	return true
}

// repack writes every row anew in another layout, which must contain the old
// one wherever a row is packed.
func (o *openChunk) repack(to layout, dirs *directoryTable) {
	from, size := o.layout, o.size
	o.spare = append(o.spare[:0], o.rows...)
	old := o.spare
	o.layout, o.size, o.rows = to, to.size(), o.rows[:0]
	for ; len(old) > 0; old = old[size:] {
		if old[0] >= rowAbsent {
			o.rows = to.appendMarker(o.rows, old[0], 0)
			continue
		}
		p := &o.scratch
		p.Reset()
		from.readRow(string(old[:size]), dirs, p)
		r, _ := p.pack(dirs)
		o.rows = to.appendRow(o.rows, p, &r)
	}
}

// settle packs wide rows again where most rows are wide only because their
// number of replicas is not that of the chunk's layout, as after every
// partition of a topic went from two replicas to three.
func (o *openChunk) settle(dirs *directoryTable) {
	if len(o.wide) <= o.n/2 {
		return
	}
	var p Partition
	for i := range o.n {
		if !o.read(i, dirs, &p) || o.rows[i*o.size] != rowWide {
			continue
		}
		if r, ok := p.pack(dirs); ok {
			o.rebuild(r.need, dirs)
			return
		}
	}
}

// rebuild starts over with a layout for need's number of replicas.
func (o *openChunk) rebuild(need layout, dirs *directoryTable) {
	var fresh openChunk
	fresh.reset()
	fresh.makeRoom(need, dirs)
	var p Partition
	for i := range o.n {
		if o.read(i, dirs, &p) {
			r, ok := p.pack(dirs)
			fresh.set(i, &p, &r, ok, dirs)
		}
	}
	o.layout, o.size, o.n, o.rows, o.wide = fresh.layout, fresh.size, fresh.n, fresh.rows, fresh.wide
}

// packedSize is the number of bytes that appendTo adds.
func (o *openChunk) packedSize() int {
	n := chunkHeader + len(o.rows)
	for _, w := range o.wide {
		n += len(w)
	}
	return n
}

// appendTo adds the chunk to b.
func (o *openChunk) appendTo(b []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, o.layout.bits())
	b = binary.LittleEndian.AppendUint16(b, uint16(o.n))
	rows := len(b)
	b = append(b, o.rows...)
	if len(o.wide) == 0 {
		return b
	}
	end := len(b)
	for i := range o.n {
		if w, ok := o.wide[i]; ok {
			at := rows + i*o.size
			o.layout.appendMarker(b[:at], rowWide, len(b)-end)
			b = append(b, w...)
		}
	}
	return b
}
