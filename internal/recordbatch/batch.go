// Package recordbatch reads Kafka's record batches (magic 2), the unit in
// which every log and every metadata snapshot is written, fetched and
// replicated.
//
// Split and Reader find batches in memory and in files. A batch they return
// has passed its CRC-32C. Decoder then walks the records of one batch,
// decompressing them first if need be, and allocates nothing per record. Bad
// input gives an *Error that holds its position; it never panics, and never
// allocates by a length that the input merely claims.
//
// The layout is that of Kafka's DefaultRecordBatch and DefaultRecord.
package recordbatch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/kraftside/kraftside/internal/kafka"
)

// HeaderSize is the number of bytes before the first record.
const HeaderSize = 61

// MaxSize is the size in bytes of the largest batch that is read. A batch is
// never larger than a segment, and the segments of __consumer_offsets have
// 100 MiB; a batch of the metadata log has at most 8 MiB.
const MaxSize = 100 << 20

// logOverhead is the size of the base offset and of the length field, which
// the length field does not count.
const logOverhead = 12

// crcStart is where the bytes begin that the CRC covers: the attributes.
const crcStart = 21

const magic = 2

var (
	// ErrCorrupt means that the bytes cannot be a batch, or not one as it was
	// written: the CRC differs, a length is impossible, records do not add up.
	ErrCorrupt = errors.New("corrupt record batch")
	// ErrPartial means that the input ends inside a batch whose header is
	// sound as far as it goes. It is how a fetch response ends that was cut at
	// its size limit, and how a segment ends while its writer appends.
	ErrPartial = errors.New("input ends inside a record batch")
	// ErrTooLarge means that a batch is over MaxSize, or its records over
	// MaxDecompressedSize once decompressed.
	ErrTooLarge = errors.New("record batch too large")
)

// Error says where in the input a batch could not be read.
type Error struct {
	// Position is the byte at which the batch starts, counted from the start
	// of the input of Split or of the file of a Reader.
	Position int64
	// Offset is the batch's base offset as it stands in the header, or
	// kafka.UnknownOffset when not even that much is there.
	Offset kafka.Offset
	// Err wraps ErrCorrupt, ErrPartial, ErrTooLarge, or is a read error.
	Err error
}

func (e *Error) Error() string {
	return fmt.Sprintf("batch at byte %d (base offset %d): %v", e.Position, e.Offset, e.Err)
}

// Unwrap gives errors.Is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Compression is the codec of a batch's records (Kafka's CompressionType).
type Compression int8

// The codecs that magic 2 knows.
const (
	None   Compression = 0
	Gzip   Compression = 1
	Snappy Compression = 2
	LZ4    Compression = 3
	Zstd   Compression = 4
)

// String is Kafka's name of the codec.
func (c Compression) String() string {
	switch c {
	case None:
		return "none"
	case Gzip:
		return "gzip"
	case Snappy:
		return "snappy"
	case LZ4:
		return "lz4"
	case Zstd:
		return "zstd"
	}
	return fmt.Sprintf("unknown(%d)", int8(c))
}

// Attributes are the flags of a batch.
type Attributes int16

// The bits of Attributes above the three that hold the codec.
const (
	LogAppendTime    Attributes = 1 << 3
	Transactional    Attributes = 1 << 4
	Control          Attributes = 1 << 5
	HasDeleteHorizon Attributes = 1 << 6
)

const codecMask Attributes = 7

// Header is what stands before the records of a batch.
type Header struct {
	// BaseOffset is the offset of the first record the batch was written
	// with; compaction may have removed that record since.
	BaseOffset kafka.Offset
	// Size is the number of bytes of the whole batch, header included.
	Size int
	// LeaderEpoch is the epoch of the leader that appended the batch. The CRC
	// does not cover it, nor the base offset.
	LeaderEpoch kafka.Epoch
	// CRC is the CRC-32C of everything from the attributes on.
	CRC        uint32
	Attributes Attributes
	// LastOffsetDelta is LastOffset - BaseOffset. It survives compaction, so
	// it may be larger than Count - 1.
	LastOffsetDelta int32
	// BaseTimestamp is what the records' timestamps are relative to, in
	// milliseconds since 1970; under HasDeleteHorizon it is instead the time
	// from which tombstones and markers may be removed.
	BaseTimestamp int64
	// MaxTimestamp is the largest timestamp of the records the batch was
	// written with; under LogAppendTime it is the timestamp of all of them.
	MaxTimestamp int64
	// ProducerID is -1 unless the producer was idempotent or transactional.
	ProducerID    int64
	ProducerEpoch int16
	BaseSequence  int32
	// Count is the number of records; 0 is a batch that compaction emptied
	// and kept for its producer state.
	Count int32
}

// LastOffset is the offset of the last record the batch was written with.
// Reading goes on at LastOffset + 1.
func (h *Header) LastOffset() kafka.Offset { return h.BaseOffset + kafka.Offset(h.LastOffsetDelta) }

// NextOffset is the offset that follows the batch.
func (h *Header) NextOffset() kafka.Offset { return h.LastOffset() + 1 }

// Compression is the codec of the records.
func (h *Header) Compression() Compression { return Compression(h.Attributes & codecMask) }

// IsControl says whether the records are control records: raft's in the
// metadata log and in snapshots, transaction markers elsewhere.
func (h *Header) IsControl() bool { return h.Attributes&Control != 0 }

// IsTransactional says whether the records belong to a producer's
// transaction. (KIP-866 transactions of the metadata log are records of their
// own and do not show here.)
func (h *Header) IsTransactional() bool { return h.Attributes&Transactional != 0 }

// Batch is one batch as it lies in a log. It aliases the input it was read
// from and is valid as long as that is.
type Batch struct {
	Header
	bytes []byte
}

// Bytes is the whole batch, header included.
func (b *Batch) Bytes() []byte { return b.bytes }

// payload is the records, compressed or not.
func (b *Batch) payload() []byte { return b.bytes[HeaderSize:] }

// Split takes the first batch off b and returns it with what follows. An
// error is an *Error whose position is 0: a caller that walks b adds where it
// is. An empty b is ErrPartial: check its length before.
func Split(b []byte) (batch Batch, rest []byte, err error) {
	size, err := frameSize(b)
	if err == nil && len(b) < size {
		err = fmt.Errorf("%w: %d of its %d bytes are there", ErrPartial, len(b), size)
	}
	if err == nil {
		batch, err = parse(b[:size:size])
	}
	if err != nil {
		return Batch{}, b, &Error{Offset: baseOffset(b), Err: err}
	}
	return batch, b[size:], nil
}

// baseOffset reads the offset of a batch that may be cut short.
func baseOffset(b []byte) kafka.Offset {
	if len(b) < 8 {
		return kafka.UnknownOffset
	}
	return kafka.Offset(binary.BigEndian.Uint64(b))
}

// frameSize reads the size of the batch at the start of b, and checks what
// can be checked of a header that may be cut short.
func frameSize(b []byte) (int, error) {
	if len(b) < logOverhead {
		return 0, fmt.Errorf("%w: %d bytes of its header are there", ErrPartial, len(b))
	}
	if offset := baseOffset(b); offset < 0 {
		return 0, fmt.Errorf("%w: base offset %d", ErrCorrupt, offset)
	}
	length := int32(binary.BigEndian.Uint32(b[8:]))
	if length < HeaderSize-logOverhead {
		return 0, fmt.Errorf("%w: length %d", ErrCorrupt, length)
	}
	if length > MaxSize-logOverhead {
		return 0, fmt.Errorf("%w: length %d, at most %d bytes are read", ErrTooLarge, length, MaxSize)
	}
	if len(b) > 16 && b[16] != magic {
		return 0, fmt.Errorf("%w: magic %d, only %d is read", ErrCorrupt, int8(b[16]), magic)
	}
	return logOverhead + int(length), nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// parse reads and checks the batch that b is exactly.
func parse(b []byte) (Batch, error) {
	h := readHeader(b)
	if sum := crc32.Checksum(b[crcStart:], castagnoli); sum != h.CRC {
		return Batch{}, fmt.Errorf("%w: its CRC is %08x, its bytes give %08x", ErrCorrupt, h.CRC, sum)
	}
	switch {
	case h.LastOffsetDelta < 0 || h.NextOffset() < h.BaseOffset:
		return Batch{}, fmt.Errorf("%w: last offset delta %d", ErrCorrupt, h.LastOffsetDelta)
	case h.Count < 0 || int64(h.Count) > int64(h.LastOffsetDelta)+1:
		return Batch{}, fmt.Errorf("%w: %d records in %d offsets", ErrCorrupt, h.Count, int64(h.LastOffsetDelta)+1)
	case h.Compression() > Zstd:
		return Batch{}, fmt.Errorf("%w: compression %v", ErrCorrupt, h.Compression())
	case h.LeaderEpoch < kafka.UnknownEpoch:
		return Batch{}, fmt.Errorf("%w: leader epoch %d", ErrCorrupt, h.LeaderEpoch)
	}
	return Batch{Header: h, bytes: b}, nil
}

func readHeader(b []byte) Header {
	be := binary.BigEndian
	_ = b[HeaderSize-1]
	return Header{
		BaseOffset:      kafka.Offset(be.Uint64(b)),
		Size:            len(b),
		LeaderEpoch:     kafka.Epoch(be.Uint32(b[12:])),
		CRC:             be.Uint32(b[17:]),
		Attributes:      Attributes(be.Uint16(b[21:])),
		LastOffsetDelta: int32(be.Uint32(b[23:])),
		BaseTimestamp:   int64(be.Uint64(b[27:])),
		MaxTimestamp:    int64(be.Uint64(b[35:])),
		ProducerID:      int64(be.Uint64(b[43:])),
		ProducerEpoch:   int16(be.Uint16(b[51:])),
		BaseSequence:    int32(be.Uint32(b[53:])),
		Count:           int32(be.Uint32(b[57:])),
	}
}
