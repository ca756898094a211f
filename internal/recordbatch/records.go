package recordbatch

import (
	"encoding/binary"
	"fmt"

	"github.com/kraftside/kraftside/internal/kafka"
)

// minRecordSize is the size of a record with a null key and a null value:
// seven fields of one byte.
const minRecordSize = 7

// Record is one record. Key and Value alias the batch, or the Decoder's
// buffer if the batch is compressed: they are valid until the Decoder is
// given another batch. A nil Key or Value is null; an empty one is not nil.
// Record headers are checked and left out: neither log that is read here
// uses any.
type Record struct {
	Offset kafka.Offset
	// Timestamp is in milliseconds since 1970.
	Timestamp  int64
	Key, Value []byte
}

// Decoder walks the records of one batch after the other. Its zero value is
// ready. It keeps the buffers of its decompressors, so one Decoder per
// goroutine is what to have; it is not safe for concurrent use.
type Decoder struct {
	header  Header
	data    []byte
	pos     int
	index   int32 // of the record that Next reads
	last    int32 // offset delta of the record before, or -1
	err     error
	inflate inflater
}

// Start makes the Decoder walk b, and decompresses its records if they are
// compressed. The batch must stay unchanged until the walk is over.
func (d *Decoder) Start(b *Batch) error {
	d.header, d.pos, d.index, d.last, d.err = b.Header, 0, 0, -1, nil
	d.data, d.err = d.inflate.payload(b)
	if d.err != nil {
		d.err = fmt.Errorf("batch at offset %d: %s: %w", b.BaseOffset, b.Compression(), d.err)
	} else if int64(b.Count)*minRecordSize > int64(len(d.data)) {
		d.err = fmt.Errorf("batch at offset %d: %w: %d records in %d bytes", b.BaseOffset, ErrCorrupt, b.Count, len(d.data))
	}
	if d.err != nil {
		d.data = nil
	}
	return d.err
}

// Next reads the next record into r. It returns false at the end of the batch
// and at the first record that cannot be read: Err tells which.
func (d *Decoder) Next(r *Record) bool {
	if d.err != nil || d.index >= d.header.Count {
		if d.err == nil && d.pos != len(d.data) {
			d.fail("%d bytes follow the last of %d records", len(d.data)-d.pos, d.header.Count)
		}
		return false
	}
	end, pos := d.frame()
	if end < 0 {
		return false
	}
	b := d.data[:end]
	pos++ // the record's attributes: no bit of them is in use
	timestamp, pos := varint(b, pos)
	delta, pos := varint(b, pos)
	if pos < 0 || delta <= int64(d.last) || delta > int64(d.header.LastOffsetDelta) {
		return d.fail("bad offset delta or timestamp delta")
	}
	if r.Key, pos = field(b, pos); pos < 0 {
		return d.fail("bad key length")
	}
	if r.Value, pos = field(b, pos); pos < 0 {
		return d.fail("bad value length")
	}
	if pos = skipHeaders(b, pos); pos != end {
		return d.fail("its fields do not add up to its length")
	}
	r.Offset = d.header.BaseOffset + kafka.Offset(delta)
	r.Timestamp = d.header.BaseTimestamp + timestamp
	if d.header.Attributes&LogAppendTime != 0 {
		r.Timestamp = d.header.MaxTimestamp
	}
	d.pos, d.last = end, int32(delta)
	d.index++
	return true
}

// frame reads the length of the next record and returns where it ends and
// where its first field starts, or -1.
func (d *Decoder) frame() (end, pos int) {
	length, pos := varint(d.data, d.pos)
	if pos < 0 || length < minRecordSize-1 || length > int64(len(d.data)-pos) {
		d.fail("bad length")
		return -1, -1
	}
	return pos + int(length), pos
}

// Err is what stopped Next, or nil at the end of the batch. It wraps
// ErrCorrupt and names the batch and the record.
func (d *Decoder) Err() error { return d.err }

func (d *Decoder) fail(format string, args ...any) bool {
	d.err = fmt.Errorf("record %d of the batch at offset %d, byte %d of its records: %w: %s",
		d.index, d.header.BaseOffset, d.pos, ErrCorrupt, fmt.Sprintf(format, args...))
	return false
}

// varint reads a zigzag varint at pos and returns where it ends, or -1 if
// there is none. A negative pos gives -1 again, so reads can be chained and
// checked once.
func varint(b []byte, pos int) (int64, int) {
	if uint(pos) < uint(len(b)) && b[pos] < 0x80 { // one byte: nearly always
		return int64(b[pos]>>1) ^ -int64(b[pos]&1), pos + 1
	}
	return longVarint(b, pos)
}

func longVarint(b []byte, pos int) (int64, int) {
	if uint(pos) >= uint(len(b)) {
		return 0, -1
	}
	if len(b)-pos > 1 && b[pos+1] < 0x80 { // two bytes: the length of most records
		u := uint64(b[pos]&0x7f) | uint64(b[pos+1])<<7
		return int64(u>>1) ^ -int64(u&1), pos + 2
	}
	if len(b)-pos > 2 && b[pos+2] < 0x80 { // three: the offset deltas of a large batch
		u := uint64(b[pos]&0x7f) | uint64(b[pos+1]&0x7f)<<7 | uint64(b[pos+2])<<14
		return int64(u>>1) ^ -int64(u&1), pos + 3
	}
	v, n := binary.Varint(b[pos:])
	if n <= 0 {
		return 0, -1
	}
	return v, pos + n
}

// field reads a length and that many bytes; -1 is null.
func field(b []byte, pos int) ([]byte, int) {
	n, pos := varint(b, pos)
	switch {
	case pos < 0 || n < -1 || n > int64(len(b)-pos):
		return nil, -1
	case n == -1:
		return nil, pos
	}
	end := pos + int(n)
	return b[pos:end:end], end
}

// skipHeaders passes over the record headers at pos and returns where they
// end, or -1. A header key may not be null.
func skipHeaders(b []byte, pos int) int {
	n, pos := varint(b, pos)
	if pos < 0 || n < 0 || n > int64(len(b)) {
		return -1
	}
	for ; n > 0; n-- {
		var key []byte
		if key, pos = field(b, pos); key == nil {
			return -1
		}
		if _, pos = field(b, pos); pos < 0 {
			return -1
		}
	}
	return pos
}
