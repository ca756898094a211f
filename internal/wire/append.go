package wire

import (
	"encoding/binary"
	"math"

	"github.com/kraftside/kraftside/internal/kafka"
)

// The Append functions add one value in Kafka's encoding to b, as append does.

// AppendInt8 adds a signed byte.
func AppendInt8(b []byte, v int8) []byte { return append(b, byte(v)) }

// AppendBool adds 1 or 0.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// AppendInt16 adds a big-endian int16.
func AppendInt16(b []byte, v int16) []byte { return binary.BigEndian.AppendUint16(b, uint16(v)) }

// AppendUint16 adds a big-endian uint16.
func AppendUint16(b []byte, v uint16) []byte { return binary.BigEndian.AppendUint16(b, v) }

// AppendInt32 adds a big-endian int32.
func AppendInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }

// AppendUint32 adds a big-endian uint32.
func AppendUint32(b []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(b, v) }

// AppendInt64 adds a big-endian int64.
func AppendInt64(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

// AppendFloat64 adds a big-endian IEEE 754 double.
func AppendFloat64(b []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(b, math.Float64bits(v))
}

// AppendUUID adds 16 bytes.
func AppendUUID(b []byte, u kafka.UUID) []byte { return append(b, u[:]...) }

// AppendUvarint adds an unsigned varint.
func AppendUvarint(b []byte, v uint32) []byte { return binary.AppendUvarint(b, uint64(v)) }

// AppendVarint adds a zigzag varint.
func AppendVarint(b []byte, v int32) []byte { return binary.AppendVarint(b, int64(v)) }

// AppendVarlong adds a zigzag varint of up to 64 bits.
func AppendVarlong(b []byte, v int64) []byte { return binary.AppendVarint(b, v) }

// AppendCompactLen adds the length of a compact string, bytes or array; -1 is
// null.
func AppendCompactLen(b []byte, n int) []byte { return AppendUvarint(b, uint32(n+1)) }

// UvarintSize is the number of bytes that AppendUvarint adds.
func UvarintSize(v uint32) int {
	n := 1
	for v >= 0x80 {
		v >>= 7
		n++
	}
	return n
}
