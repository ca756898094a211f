package store

import (
	"encoding/binary"
	"fmt"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/topichash"
)

// PartitionOffset is how far a partition of __consumer_offsets was read.
type PartitionOffset struct {
	// TopicID is the id of __consumer_offsets; it changes if the topic is
	// deleted and created again.
	TopicID kafka.TopicID
	// Next is the offset of the next record to read; LeaderEpoch is that of
	// the batch before it.
	Next        kafka.Offset
	LeaderEpoch kafka.Epoch
	// SeenAt is when the partition was last read, in milliseconds since 1970.
	SeenAt int64
}

// Offsets says how much of each log is in the store.
type Offsets struct {
	// Metadata is that of the image; its offset is kafka.UnknownOffset if
	// there is none.
	Metadata image.Provenance
	// Partitions of __consumer_offsets. The map must not be changed.
	Partitions map[int32]PartitionOffset
}

// HashRecord is what is known of a group's MetadataHash.
type HashRecord struct {
	Type groups.Type
	// Epoch is the group epoch in the record that holds Stored.
	Epoch            int32
	Scheme           topichash.Scheme
	Stored, Computed int64
	// MetadataOffset is that of the image that Computed is of.
	MetadataOffset kafka.Offset
	Verdict        topichash.Verdict
	// Since is what topichash.Answer says, in milliseconds since 1970.
	Since int64
}

// metadataRow is the row of the metadata log: the image is that of a
// generation. Generation 0 stands for none.
type metadataRow struct {
	generation uint32
	at         image.Provenance
}

// provenance is that of the image, or of the empty one.
func (m *metadataRow) provenance() image.Provenance {
	if m.generation == 0 {
		return image.Empty().Provenance()
	}
	return m.at
}

func (m *metadataRow) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(m.generation))
	b = binary.AppendVarint(b, int64(m.at.Offset))
	b = binary.AppendVarint(b, int64(m.at.Epoch))
	return binary.AppendVarint(b, m.at.AppendTime)
}

func readMetadataRow(value []byte) (m metadataRow, err error) {
	r := rowReader{rest: value}
	m.generation = r.uint32()
	m.at = image.Provenance{Offset: kafka.Offset(r.int64()), Epoch: kafka.Epoch(r.int32()), AppendTime: r.int64()}
	return m, r.end("metadata offset")
}

func (p *PartitionOffset) append(b []byte) []byte {
	b = append(b, p.TopicID[:]...)
	b = binary.AppendVarint(b, int64(p.Next))
	b = binary.AppendVarint(b, int64(p.LeaderEpoch))
	return binary.AppendVarint(b, p.SeenAt)
}

func readPartitionOffset(value []byte) (p PartitionOffset, err error) {
	r := rowReader{rest: value}
	copy(p.TopicID[:], r.bytes(len(p.TopicID)))
	p.Next, p.LeaderEpoch, p.SeenAt = kafka.Offset(r.int64()), kafka.Epoch(r.int32()), r.int64()
	return p, r.end("partition offset")
}

func appendGroupRow(b []byte, row *groups.Row) []byte {
	b = binary.AppendVarint(b, int64(row.Offset))
	b = binary.AppendVarint(b, row.Timestamp)
	return append(b, row.Value...)
}

// readGroupRow reads a row; key is what follows the partition. The result
// aliases both.
func readGroupRow(key, value []byte) (row groups.Row, err error) {
	k, v := rowReader{rest: key}, rowReader{rest: value}
	row.Kind, row.ProducerID = groups.RowKind(k.byte()), -1
	if row.Kind == groups.RowPending {
		row.ProducerID = int64(k.fixed64())
	}
	row.Key = k.rest
	row.Offset, row.Timestamp = kafka.Offset(v.int64()), v.int64()
	row.Value = v.rest
	if k.bad || v.bad {
		return row, damaged("row of a group, %d and %d bytes", len(key), len(value))
	}
	return row, nil
}

func (h *HashRecord) append(b []byte) []byte {
	b = append(b, byte(h.Type), byte(h.Scheme))
	b = binary.AppendVarint(b, int64(h.Epoch))
	b = binary.BigEndian.AppendUint64(b, uint64(h.Stored))
	b = binary.BigEndian.AppendUint64(b, uint64(h.Computed))
	b = binary.AppendVarint(b, int64(h.MetadataOffset))
	b = binary.AppendVarint(b, h.Since)
	return append(b, h.Verdict...)
}

func readHashRecord(value []byte) (h HashRecord, err error) {
	r := rowReader{rest: value}
	h.Type, h.Scheme, h.Epoch = groups.Type(r.byte()), topichash.Scheme(r.byte()), r.int32()
	h.Stored, h.Computed = int64(r.fixed64()), int64(r.fixed64())
	h.MetadataOffset, h.Since = kafka.Offset(r.int64()), r.int64()
	h.Verdict, r.rest = topichash.Verdict(r.rest), nil
	return h, r.end("hash of a group")
}

func appendDirectories(b []byte, directories []kafka.UUID) []byte {
	for i := range directories {
		b = append(b, directories[i][:]...)
	}
	return b
}

func readDirectories(value []byte) (list []kafka.UUID, err error) {
	r := rowReader{rest: value}
	for len(r.rest) > 0 && !r.bad {
		var id kafka.UUID
		copy(id[:], r.bytes(len(id)))
		list = append(list, id)
	}
	return list, r.end("directories of a broker")
}

// appendTopicHead adds what comes before the first chunk in a topic's row.
func appendTopicHead(b []byte, name string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(name))), name...)
}

// readTopicHead returns the name and the first chunk, which alias the value.
func readTopicHead(value []byte) (name, rows []byte, err error) {
	r := rowReader{rest: value}
	name = r.bytes(int(r.uint32()))
	if r.bad {
		return nil, nil, damaged("row of a topic, %d bytes", len(value))
	}
	return name, r.rest, nil
}

// rowReader reads a key or a value; bad is set by the first failure.
type rowReader struct {
	rest []byte
	bad  bool
}

func (r *rowReader) bytes(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.rest, r.bad = nil, true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *rowReader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *rowReader) fixed32() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *rowReader) fixed64() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (r *rowReader) int64() int64 {
	v, n := binary.Varint(r.rest)
	r.skip(n)
	return v
}

func (r *rowReader) int32() int32 {
	v := r.int64()
	r.bad = r.bad || v != int64(int32(v))
	return int32(v)
}

func (r *rowReader) uint64() uint64 {
	v, n := binary.Uvarint(r.rest)
	r.skip(n)
	return v
}

func (r *rowReader) uint32() uint32 {
	v := r.uint64()
	r.bad = r.bad || v > 1<<32-1
	return uint32(v)
}

// skip passes over a varint of n bytes; n <= 0 is none.
func (r *rowReader) skip(n int) {
	if n <= 0 {
		n = -1
	}
	r.bytes(n)
}

// end is an error unless all was read and nothing else.
func (r *rowReader) end(what string) error {
	if r.bad || len(r.rest) > 0 {
		return fmt.Errorf("%w: row of the %s", ErrDamaged, what)
	}
	return nil
}
