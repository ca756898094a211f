package topichash

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
)

// ErrBadRow means that bytes are not what Topic.Append wrote.
var ErrBadRow = errors.New("not the history of a topic's hash")

// TakeChanged returns the names of the topics whose history changed, or which
// lost their last subscriber, since the last call: what a store has to write.
func (c *Cache) TakeChanged() []string {
	names := slices.Sorted(maps.Keys(c.changed))
	clear(c.changed)
	return names
}

// Peek returns the history of a topic without computing anything; false if no
// group subscribes to it.
func (c *Cache) Peek(name string) (*Topic, bool) {
	t, ok := c.topics[name]
	return t, ok
}

// Append adds the history to b, in the form that Restore reads. The
// subscribers are no part of it.
func (t *Topic) Append(b []byte) []byte {
	b = binary.AppendVarint(b, int64(t.Since))
	b = appendProvenance(b, t.Touched)
	b = binary.AppendUvarint(b, uint64(len(t.Versions)))
	for _, v := range t.Versions {
		b = appendProvenance(b, v.From)
		if !v.Exists {
			b = append(b, 0)
			continue
		}
		b = append(b, 1)
		b = binary.LittleEndian.AppendUint64(b, uint64(v.Hash))
	}
	return b
}

func appendProvenance(b []byte, p image.Provenance) []byte {
	b = binary.AppendVarint(b, int64(p.Offset))
	b = binary.AppendVarint(b, int64(p.Epoch))
	return binary.AppendVarint(b, p.AppendTime)
}

// Restore gives a subscribed topic the history that was written for it, up to
// the image that the cache was made with. A topic that nobody subscribes to is
// passed over.
func (c *Cache) Restore(name string, row []byte) error {
	t := c.topics[name]
	if t == nil {
		return nil
	}
	r := rowReader{row: row}
	since, touched, n := kafka.Offset(r.number()), r.provenance(), r.length()
	if n > maxVersions {
		return ErrBadRow
	}
	versions := make([]Version, 0, n)
	for range n {
		v := Version{From: r.provenance()}
		if v.Exists = r.flag(); v.Exists {
			v.Hash = r.hash()
		}
		versions = append(versions, v)
	}
	if r.bad || len(r.row) > 0 {
		return ErrBadRow
	}
	t.Since, t.Touched, t.Versions, t.fresh = since, touched, versions, false
	return nil
}

// rowReader reads what Append wrote; bad is set by the first failure.
type rowReader struct {
	row []byte
	bad bool
}

func (r *rowReader) number() int64 {
	v, n := binary.Varint(r.row)
	r.skip(n)
	return v
}

func (r *rowReader) length() uint64 {
	v, n := binary.Uvarint(r.row)
	r.skip(n)
	return v
}

func (r *rowReader) skip(n int) {
	if n <= 0 || n > len(r.row) {
		r.row, r.bad = nil, true
		return
	}
	r.row = r.row[n:]
}

func (r *rowReader) provenance() image.Provenance {
	offset, epoch, time := r.number(), r.number(), r.number()
	r.bad = r.bad || epoch != int64(int32(epoch))
	return image.Provenance{Offset: kafka.Offset(offset), Epoch: kafka.Epoch(epoch), AppendTime: time}
}

func (r *rowReader) flag() bool {
	set := len(r.row) > 0 && r.row[0] == 1
	r.bad = r.bad || len(r.row) > 0 && r.row[0] > 1
	r.skip(1)
	return set
}

func (r *rowReader) hash() (h int64) {
	if len(r.row) >= 8 {
		h = int64(binary.LittleEndian.Uint64(r.row))
	}
	r.skip(8)
	return h
}
