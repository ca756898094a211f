package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/kraftside/kraftside/internal/kafka"
)

// ErrTooLong means that a string has more than MaxString bytes.
var ErrTooLong = errors.New("string of more than 32767 bytes")

// Writer appends values to a byte slice. The first failure sticks, so that a
// caller may write a whole structure and look at Result once.
//
// A Writer belongs to one goroutine.
type Writer struct {
	buf []byte
	err error
}

// NewWriter returns a Writer that appends to b.
func NewWriter(b []byte) *Writer { return &Writer{buf: b} }

// Result is the slice with what was appended, and the first failure or nil.
func (w *Writer) Result() ([]byte, error) { return w.buf, w.err }

// Raw appends b as it is.
func (w *Writer) Raw(b []byte) { w.buf = append(w.buf, b...) }

// Int8 appends a signed byte.
func (w *Writer) Int8(v int8) { w.buf = AppendInt8(w.buf, v) }

// Bool appends 1 or 0.
func (w *Writer) Bool(v bool) { w.buf = AppendBool(w.buf, v) }

// Int16 appends a big-endian int16.
func (w *Writer) Int16(v int16) { w.buf = AppendInt16(w.buf, v) }

// Uint16 appends a big-endian uint16.
func (w *Writer) Uint16(v uint16) { w.buf = AppendUint16(w.buf, v) }

// Int32 appends a big-endian int32.
func (w *Writer) Int32(v int32) { w.buf = AppendInt32(w.buf, v) }

// Int64 appends a big-endian int64.
func (w *Writer) Int64(v int64) { w.buf = AppendInt64(w.buf, v) }

// Float64 appends a big-endian IEEE 754 double.
func (w *Writer) Float64(v float64) { w.buf = AppendFloat64(w.buf, v) }

// UUID appends 16 bytes.
func (w *Writer) UUID(v kafka.UUID) { w.buf = AppendUUID(w.buf, v) }

// Uvarint appends an unsigned varint.
func (w *Writer) Uvarint(v uint32) { w.buf = AppendUvarint(w.buf, v) }

// ArrayLen appends the length of a classic array or of classic bytes; -1 is
// null.
func (w *Writer) ArrayLen(n int) { w.Int32(int32(n)) }

// CompactLen appends the length of a compact array, string or bytes; -1 is
// null.
func (w *Writer) CompactLen(n int) { w.buf = AppendCompactLen(w.buf, n) }

// String appends a classic string.
func (w *Writer) String(s string) {
	w.checkString(s)
	w.Int16(int16(len(s)))
	w.buf = append(w.buf, s...)
}

// CompactString appends a compact string.
func (w *Writer) CompactString(s string) {
	w.checkString(s)
	w.CompactLen(len(s))
	w.buf = append(w.buf, s...)
}

func (w *Writer) checkString(s string) {
	if len(s) > MaxString && w.err == nil {
		w.err = fmt.Errorf("%w: %d", ErrTooLong, len(s))
	}
}

// NullableString appends a classic string, null for nil.
func (w *Writer) NullableString(s *string) {
	if s == nil {
		w.Int16(-1)
		return
	}
	w.String(*s)
}

// CompactNullableString appends a compact string, null for nil.
func (w *Writer) CompactNullableString(s *string) {
	if s == nil {
		w.CompactLen(-1)
		return
	}
	w.CompactString(*s)
}

// Bytes appends classic bytes, empty for nil.
func (w *Writer) Bytes(b []byte) {
	w.ArrayLen(len(b))
	w.Raw(b)
}

// CompactBytes appends compact bytes, empty for nil.
func (w *Writer) CompactBytes(b []byte) {
	w.CompactLen(len(b))
	w.Raw(b)
}

// NullableBytes appends classic bytes, null for nil.
func (w *Writer) NullableBytes(b []byte) {
	w.ArrayLen(Len(b))
	w.Raw(b)
}

// Int16s appends the elements of an array.
func (w *Writer) Int16s(s []int16) {
	for _, v := range s {
		w.Int16(v)
	}
}

// Int32s appends the elements of an array.
func (w *Writer) Int32s(s []int32) {
	for _, v := range s {
		w.Int32(v)
	}
}

// UUIDs appends the elements of an array.
func (w *Writer) UUIDs(s []kafka.UUID) {
	for i := range s {
		w.Raw(s[i][:])
	}
}

// Strings appends the elements of an array of classic strings.
func (w *Writer) Strings(s []string) {
	for _, v := range s {
		w.String(v)
	}
}

// CompactStrings appends the elements of an array of compact strings.
func (w *Writer) CompactStrings(s []string) {
	for _, v := range s {
		w.CompactString(v)
	}
}

// backfill writes v as a varint in front of at, where one byte was left free
// for it. A size or count of 128 or more is rare: it moves what follows.
func (w *Writer) backfill(at int, v uint32) {
	if v < 0x80 {
		w.buf[at-1] = byte(v)
		return
	}
	var enc [binary.MaxVarintLen32]byte
	n := binary.PutUvarint(enc[:], uint64(v))
	w.buf = append(w.buf, enc[1:n]...)
	copy(w.buf[at+n-1:], w.buf[at:])
	copy(w.buf[at-1:], enc[:n])
}
