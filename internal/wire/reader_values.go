package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/kraftside/kraftside/internal/kafka"
)

// MaxString is the largest size of a string in bytes. Kafka's generated
// classes refuse a longer one in both directions, whatever the width of its
// length field.
const MaxString = math.MaxInt16

// The methods of this file read values of variable length into memory that
// the caller already has: a string that did not change is returned as it was,
// a slice is filled within its capacity. So a struct that is decoded into
// again and again stops allocating, except for strings that are new.

// array returns the number of elements that a length field announced, if that
// many elements of at least size bytes can still follow. null is -1.
func (r *Reader) array(n, size int) int {
	if n < -1 || n > 0 && n*size > r.Len() { // n has 32 bits: no overflow
		r.badLen("array", n)
		return -1
	}
	return n
}

// ArrayLen reads the int32 length of a classic array whose elements take at
// least size bytes each, size >= 1; -1 is null.
func (r *Reader) ArrayLen(size int) int { return r.array(int(r.Int32()), size) }

// CompactArrayLen is ArrayLen for the compact form.
func (r *Reader) CompactArrayLen(size int) int { return r.array(int(r.Uvarint())-1, size) }

// Count is ArrayLen for an array that must not be null.
func (r *Reader) Count(size int) int { return r.notNull(r.ArrayLen(size)) }

// CompactCount is CompactArrayLen for an array that must not be null.
func (r *Reader) CompactCount(size int) int { return r.notNull(r.CompactArrayLen(size)) }

// notNull turns a null length into a failure.
func (r *Reader) notNull(n int) int {
	if n < 0 {
		r.Fail(errNull)
		return 0
	}
	return n
}

var (
	errNull       = fmt.Errorf("%w: null where a value is required", ErrMalformed)
	errLongString = fmt.Errorf("%w: string of more than %d bytes", ErrMalformed, MaxString)
)

// stringLen checks the length of a string that is not null.
func (r *Reader) stringLen(n int) int {
	if n > MaxString {
		r.Fail(errLongString)
		return -1
	}
	return n
}

// text returns the next n bytes as a string: prev itself, if it is the same.
// Under BorrowStrings prev may point to memory that changes meanwhile: it is
// not looked at.
func (r *Reader) text(n int, prev string) string {
	b := r.next(n)
	if r.borrow {
		return unsafe.String(unsafe.SliceData(b), len(b))
	}
	if string(b) == prev {
		return prev
	}
	return string(b)
}

// String reads a classic string that must not be null.
func (r *Reader) String(prev string) string {
	return r.text(r.notNull(r.ShortLen()), prev)
}

// CompactString reads a compact string that must not be null.
func (r *Reader) CompactString(prev string) string {
	return r.text(r.notNull(r.stringLen(r.CompactLen())), prev)
}

// NullableString reads a classic string, nil for null.
func (r *Reader) NullableString(prev *string) *string {
	return r.nullableText(r.ShortLen(), prev)
}

// CompactNullableString reads a compact string, nil for null.
func (r *Reader) CompactNullableString(prev *string) *string {
	return r.nullableText(r.stringLen(r.CompactLen()), prev)
}

func (r *Reader) nullableText(n int, prev *string) *string {
	if n < 0 {
		return nil
	}
	b := r.next(n)
	if r.borrow {
		s := unsafe.String(unsafe.SliceData(b), len(b))
		return &s
	}
	if prev != nil && string(b) == *prev {
		return prev
	}
	s := string(b)
	return &s
}

// Bytes reads classic bytes that must not be null into dst.
func (r *Reader) Bytes(dst []byte) []byte { return r.blob(r.notNull(r.IntLen()), dst) }

// CompactBytes reads compact bytes that must not be null into dst.
func (r *Reader) CompactBytes(dst []byte) []byte { return r.blob(r.notNull(r.CompactLen()), dst) }

// NullableBytes reads classic bytes into dst; the result is nil for null only.
func (r *Reader) NullableBytes(dst []byte) []byte { return r.blob(r.IntLen(), dst) }

func (r *Reader) blob(n int, dst []byte) []byte {
	if n < 0 {
		return nil
	}
	return append(Sized(dst, 0), r.next(n)...)
}

// Int16s reads n big-endian int16 into dst; the result is nil if n < 0.
func (r *Reader) Int16s(dst []int16, n int) []int16 {
	b := r.elements(n, 2)
	if b == nil {
		return nil
	}
	dst = Sized(dst, n)
	for i := range dst {
		dst[i] = int16(binary.BigEndian.Uint16(b[2*i:]))
	}
	return dst
}

// Int32s reads n big-endian int32 into dst; the result is nil if n < 0.
func (r *Reader) Int32s(dst []int32, n int) []int32 {
	b := r.elements(n, 4)
	if b == nil {
		return nil
	}
	dst = Sized(dst, n)
	for i := range dst {
		dst[i] = int32(binary.BigEndian.Uint32(b[4*i:]))
	}
	return dst
}

// CompactInt32s reads a compact array of int32 that must not be null.
func (r *Reader) CompactInt32s(dst []int32) []int32 {
	n, b := r.shortArray(4)
	if b == nil || dst == nil || n > cap(dst) {
		return r.Int32s(dst, r.CompactCount(4))
	}
	r.pos += 1 + len(b)
	dst = dst[:n]
	for i := range dst {
		dst[i] = int32(binary.BigEndian.Uint32(b[4*i:]))
	}
	return dst
}

// CompactUUIDs reads a compact array of ids that must not be null.
func (r *Reader) CompactUUIDs(dst []kafka.UUID) []kafka.UUID {
	n, b := r.shortArray(16)
	if b == nil || dst == nil || n > cap(dst) {
		return r.UUIDs(dst, r.CompactCount(16))
	}
	r.pos += 1 + len(b)
	dst = dst[:n]
	for i := range dst {
		dst[i] = kafka.UUID(b[16*i:])
	}
	return dst
}

// shortArray looks at a compact array whose length takes one byte, which is
// nearly every array of the metadata log, and returns its elements without
// reading them; nil where it is another one or cannot be.
func (r *Reader) shortArray(size int) (n int, elements []byte) {
	p := r.pos
	if p >= len(r.buf) || r.buf[p] == 0 || r.buf[p] >= 0x80 {
		return 0, nil
	}
	n = int(r.buf[p]) - 1
	if p+1+n*size > len(r.buf) {
		return 0, nil
	}
	return n, r.buf[p+1 : p+1+n*size]
}

// UUIDs reads n ids into dst; the result is nil if n < 0.
func (r *Reader) UUIDs(dst []kafka.UUID, n int) []kafka.UUID {
	b := r.elements(n, 16)
	if b == nil {
		return nil
	}
	dst = Sized(dst, n)
	for i := range dst {
		copy(dst[i][:], b[16*i:])
	}
	return dst
}

// Strings reads n classic strings into dst; the result is nil if n < 0.
func (r *Reader) Strings(dst []string, n int) []string {
	if n < 0 {
		return nil
	}
	dst = Sized(dst, 0)
	for ; n > 0 && r.OK(); n-- {
		dst = Extend(dst)
		last := &dst[len(dst)-1]
		*last = r.String(*last)
	}
	return dst
}

// CompactStrings is Strings for the compact form.
func (r *Reader) CompactStrings(dst []string, n int) []string {
	if n < 0 {
		return nil
	}
	dst = Sized(dst, 0)
	for ; n > 0 && r.OK(); n-- {
		dst = Extend(dst)
		last := &dst[len(dst)-1]
		*last = r.CompactString(*last)
	}
	return dst
}

// elements takes the bytes of n elements, before anything is allocated for
// them. It returns nil for null and for a failure only.
func (r *Reader) elements(n, size int) []byte {
	if n < 0 {
		return nil
	}
	return r.next(n * size)
}

// Sized returns a slice of n elements, never nil, in the memory of s if that
// is large enough. The elements are not cleared.
func Sized[T any](s []T, n int) []T {
	if s == nil || n > cap(s) {
		return make([]T, n)
	}
	return s[:n]
}

// Extend adds one element to s. Within the capacity of s the element keeps
// what it held before, so that its own slices and strings can be used again.
func Extend[T any](s []T) []T {
	if len(s) < cap(s) {
		return s[:len(s)+1]
	}
	var zero T
	return append(s, zero)
}

// Park sets *s to nil and keeps its memory in *spare, for a nullable array
// that may come back.
func Park[T any](s, spare *[]T) {
	if *s != nil {
		*spare, *s = (*s)[:0], nil
	}
}

// Len is the length of a nullable array or of nullable bytes; -1 for null.
func Len[T any](s []T) int {
	if s == nil {
		return -1
	}
	return len(s)
}

// ParkPointer is Park for a nullable struct.
func ParkPointer[T any](p, spare **T) {
	if *p != nil {
		*spare, *p = *p, nil
	}
}

// Revive makes sure that *p points to a struct, if possible to that of *spare.
// What it holds is left over and must be set.
func Revive[T any](p, spare **T) {
	if *p != nil {
		return
	}
	if *spare == nil {
		*spare = new(T)
	}
	*p = *spare
}
