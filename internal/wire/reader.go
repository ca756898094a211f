// Package wire reads and writes the primitive types of Kafka's encoding:
// fixed-width big-endian integers, varints, and the classic and the compact
// (flexible) forms of strings, bytes and arrays.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/kraftside/kraftside/internal/kafka"
)

// ErrTruncated means that the input ends inside a value.
var ErrTruncated = errors.New("input ends inside a value")

// ErrMalformed means that a value cannot be what it claims to be: a length
// below -1, a varint of more than its maximum number of bytes, a null where
// null is not allowed.
var ErrMalformed = errors.New("malformed value")

// Reader reads values off a byte slice, which it never modifies. The first
// failure sticks: every later read returns a zero value, so that a caller may
// read a whole structure and check Err once. A length is checked against what
// is left of the input before anything is allocated for it.
//
// A Reader belongs to one goroutine.
type Reader struct {
	buf []byte
	pos int
	err error
	cut int // 1 + where the input ended inside a value, if that failed first

	unknownTags int
	borrow      bool
}

// NewReader returns a Reader over b, which must not change while it is read.
func NewReader(b []byte) Reader { return Reader{buf: b} }

// Reset makes the Reader start anew on b.
func (r *Reader) Reset(b []byte) { r.buf, r.pos, r.err, r.cut = b, 0, nil, 0 }

// OK says whether nothing has failed.
func (r *Reader) OK() bool { return r.err == nil && r.cut == 0 }

// Err is the first failure, with its position, or nil.
func (r *Reader) Err() error {
	if r.cut > 0 && r.err == nil {
		r.err = fmt.Errorf("byte %d: %w", r.cut-1, ErrTruncated)
	}
	return r.err
}

// Pos is the number of bytes read so far.
func (r *Reader) Pos() int { return r.pos }

// Len is the number of bytes left.
func (r *Reader) Len() int { return len(r.buf) - r.pos }

// Rest returns the bytes that are left, without reading them. The slice
// aliases the input.
func (r *Reader) Rest() []byte { return r.buf[r.pos:] }

// BorrowStrings makes strings alias the input instead of copying it: they are
// valid as long as the input does not change, and whoever keeps one has to
// clone it. Reset leaves it as it is.
func (r *Reader) BorrowStrings() { r.borrow = true }

// UnknownTagsSeen is how many tagged fields were read that the schema does not
// name, since the Reader was made: Reset does not start it anew.
func (r *Reader) UnknownTagsSeen() int { return r.unknownTags }

// Fail records a failure at the current position, unless one is recorded.
func (r *Reader) Fail(cause error) {
	if r.OK() {
		r.err = fmt.Errorf("byte %d: %w", r.pos, cause)
	}
	r.pos = len(r.buf)
}

// short records ErrTruncated, without making the error: so cheap that the
// functions that call it can be inlined.
func (r *Reader) short() {
	if r.cut == 0 {
		r.cut = r.pos + 1
	}
	r.pos = len(r.buf)
}

// End records a failure if bytes are left.
func (r *Reader) End() {
	if n := r.Len(); n > 0 {
		r.Fail(fmt.Errorf("%w: %d bytes after the end", ErrMalformed, n))
	}
}

// next returns the next n bytes, or nil after recording ErrTruncated. It is
// nil only then: for no bytes it is empty.
func (r *Reader) next(n int) []byte {
	if n > len(r.buf)-r.pos {
		r.short()
		return nil
	}
	p := r.pos
	r.pos = p + n
	return r.buf[p : p+n : p+n]
}

// Raw reads n bytes, n >= 0. The slice aliases the input.
func (r *Reader) Raw(n int) []byte { return r.next(n) }

// Int8 reads a signed byte.
func (r *Reader) Int8() int8 {
	p := r.pos
	if p >= len(r.buf) {
		r.short()
		return 0
	}
	r.pos = p + 1
	return int8(r.buf[p])
}

// Bool reads a byte; any value but 0 is true, as Kafka reads it.
func (r *Reader) Bool() bool { return r.Int8() != 0 }

// Int16 reads a big-endian int16.
func (r *Reader) Int16() int16 {
	p := r.pos
	if len(r.buf)-p < 2 {
		r.short()
		return 0
	}
	r.pos = p + 2
	return int16(binary.BigEndian.Uint16(r.buf[p:]))
}

// Uint16 reads a big-endian uint16.
func (r *Reader) Uint16() uint16 { return uint16(r.Int16()) }

// Int32 reads a big-endian int32.
func (r *Reader) Int32() int32 {
	p := r.pos
	if len(r.buf)-p < 4 {
		r.short()
		return 0
	}
	r.pos = p + 4
	return int32(binary.BigEndian.Uint32(r.buf[p:]))
}

// Uint32 reads a big-endian uint32.
func (r *Reader) Uint32() uint32 { return uint32(r.Int32()) }

// Int64 reads a big-endian int64.
func (r *Reader) Int64() int64 {
	p := r.pos
	if len(r.buf)-p < 8 {
		r.short()
		return 0
	}
	r.pos = p + 8
	return int64(binary.BigEndian.Uint64(r.buf[p:]))
}

// Float64 reads a big-endian IEEE 754 double.
func (r *Reader) Float64() float64 { return math.Float64frombits(uint64(r.Int64())) }

// UUID reads 16 bytes.
func (r *Reader) UUID() (u kafka.UUID) {
	copy(u[:], r.next(16))
	return u
}

// Uvarint reads an unsigned varint of at most five bytes (Kafka's
// ByteUtils.readUnsignedVarint).
func (r *Reader) Uvarint() uint32 {
	p := r.pos
	if p >= len(r.buf) || r.buf[p] >= 0x80 {
		return r.longUvarint()
	}
	r.pos = p + 1 // one byte: by far the usual case
	return uint32(r.buf[p])
}

func (r *Reader) longUvarint() uint32 {
	v, n := binary.Uvarint(r.buf[r.pos:])
	switch {
	case n == 0:
		r.Fail(ErrTruncated)
		return 0
	case n < 0 || n > 5 || v > math.MaxUint32:
		r.Fail(fmt.Errorf("%w: varint of more than 32 bits", ErrMalformed))
		return 0
	}
	r.pos += n
	return uint32(v)
}

// Varint reads a zigzag varint of at most five bytes.
func (r *Reader) Varint() int32 {
	v := r.Uvarint()
	return int32(v>>1) ^ -int32(v&1)
}

// Varlong reads a zigzag varint of at most ten bytes.
func (r *Reader) Varlong() int64 {
	v, n := binary.Varint(r.buf[r.pos:])
	switch {
	case n == 0:
		r.Fail(ErrTruncated)
		return 0
	case n < 0:
		r.Fail(fmt.Errorf("%w: varlong of more than 64 bits", ErrMalformed))
		return 0
	}
	r.pos += n
	return v
}

// checked returns n if a value of n bytes can still follow. null is -1.
func (r *Reader) checked(n int) int {
	if n < -1 || n > r.Len() {
		r.badLen("value", n)
		return -1
	}
	return n
}

// badLen records a length that cannot be.
//
//go:noinline
func (r *Reader) badLen(what string, n int) {
	cause := ErrTruncated
	if n < -1 {
		cause = ErrMalformed
	}
	r.Fail(fmt.Errorf("%w: %s of length %d, %d bytes left", cause, what, n, r.Len()))
}

// ShortLen reads the int16 length of a classic string; -1 is null.
func (r *Reader) ShortLen() int { return r.checked(int(r.Int16())) }

// IntLen reads the int32 length of classic bytes; -1 is null.
func (r *Reader) IntLen() int { return r.checked(int(r.Int32())) }

// CompactLen reads the length of a compact string or compact bytes, written
// as a varint of the length plus one; -1 is null.
func (r *Reader) CompactLen() int { return r.checked(int(r.Uvarint()) - 1) }
