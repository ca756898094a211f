package recordbatch

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/kraftside/kraftside/internal/wire"
)

// Append adds a batch of uncompressed records to dst. Of h it takes all but
// Size, CRC and Count, which follow from the records; records lie between h's
// BaseOffset and LastOffset. No batch of kraftside's goes to Kafka: this is
// for recordings and for the simulated quorum.
func Append(dst []byte, h Header, records []Record) ([]byte, error) {
	if h.Compression() != None {
		return dst, fmt.Errorf("append batch at offset %d: compression %s is not written", h.BaseOffset, h.Compression())
	}
	start := len(dst)
	dst = appendHeader(dst, h, len(records))
	var scratch []byte
	last := int64(-1)
	for i := range records {
		delta := int64(records[i].Offset - h.BaseOffset)
		if delta <= last || delta > int64(h.LastOffsetDelta) {
			return dst[:start], fmt.Errorf("append batch at offset %d: record %d has offset %d, the batch ends at %d",
				h.BaseOffset, i, records[i].Offset, h.LastOffset())
		}
		last = delta
		scratch = appendRecord(scratch[:0], &records[i], records[i].Timestamp-h.BaseTimestamp, delta)
		dst = wire.AppendVarint(dst, int32(len(scratch)))
		dst = append(dst, scratch...)
	}
	seal(dst[start:])
	return dst, nil
}

func appendHeader(dst []byte, h Header, count int) []byte {
	dst = wire.AppendInt64(dst, int64(h.BaseOffset))
	dst = wire.AppendInt32(dst, 0) // length: seal
	dst = wire.AppendInt32(dst, int32(h.LeaderEpoch))
	dst = wire.AppendInt8(dst, magic)
	dst = wire.AppendUint32(dst, 0) // CRC: seal
	dst = wire.AppendInt16(dst, int16(h.Attributes))
	dst = wire.AppendInt32(dst, h.LastOffsetDelta)
	dst = wire.AppendInt64(dst, h.BaseTimestamp)
	dst = wire.AppendInt64(dst, h.MaxTimestamp)
	dst = wire.AppendInt64(dst, h.ProducerID)
	dst = wire.AppendInt16(dst, h.ProducerEpoch)
	dst = wire.AppendInt32(dst, h.BaseSequence)
	return wire.AppendInt32(dst, int32(count))
}

func appendRecord(dst []byte, r *Record, timestampDelta, offsetDelta int64) []byte {
	dst = wire.AppendInt8(dst, 0) // attributes
	dst = wire.AppendVarlong(dst, timestampDelta)
	dst = wire.AppendVarint(dst, int32(offsetDelta))
	dst = appendField(dst, r.Key)
	dst = appendField(dst, r.Value)
	return wire.AppendVarint(dst, 0) // record headers
}

func appendField(dst, field []byte) []byte {
	if field == nil {
		return wire.AppendVarint(dst, -1)
	}
	dst = wire.AppendVarint(dst, int32(len(field)))
	return append(dst, field...)
}

// seal writes the length and the CRC of the batch that b is.
func seal(b []byte) {
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-logOverhead))
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[crcStart:], castagnoli))
}
