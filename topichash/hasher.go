// Package topichash computes the hashes by which a group coordinator notices
// that the metadata of its topics changed (KIP-1101): one 64-bit hash a topic,
// and over those one hash a group, the MetadataHash of the group's records.
//
// Two schemes exist. Kafka is what released brokers compute (4.1 and newer);
// KIP is what the text of KIP-1101 says. A topic's hash covers its id, its
// name, the number of its partitions and, for each partition, the sorted racks
// of its replicas. Leaders, ISRs, ELRs, epochs, directories, configurations
// and the order of replicas are not part of it. docs/hashes.md gives the bytes.
package topichash

import (
	"encoding/binary"
	"errors"

	"github.com/twmb/murmur3"
	"github.com/zeebo/xxh3"

	"github.com/kraftside/kraftside/internal/kafka"
)

// ErrPartitionGap means that the partitions of a topic are not numbered from 0
// to one below their count, or that fewer or more came than were announced. No
// controller writes such a topic, and a coordinator that meets one fails with
// an exception instead of a hash, so there is nothing to compare with.
var ErrPartitionGap = errors.New("partition ids have a gap, so the topic has no hash")

// Scheme says how a hash is computed.
type Scheme uint8

const (
	// Kafka is XXH3-64 as in org.apache.kafka.coordinator.group.Utils since
	// 4.1.0.
	Kafka Scheme = iota
	// KIP is the Murmur3 form that the text of KIP-1101 describes and no
	// release computes.
	KIP
)

// String is the scheme's name in JSON.
func (s Scheme) String() string {
	if s == KIP {
		return "kip-murmur3"
	}
	return "kafka-xxh3"
}

const (
	// bufferSize bounds what a Hasher keeps of the bytes to be hashed. The
	// usual topic fits, and one call over the buffer is the fastest way; of a
	// longer one the buffer is passed on each time it is full.
	bufferSize = 16 << 10

	// copySize is how many bytes are copied for a rack whose encoding is not
	// longer: a copy of constant size costs a few moves, where one of the
	// true size costs a call. The surplus is overwritten by what follows.
	copySize = 64

	magic = 0 // the first byte of both forms, to tell later forms apart
)

// Hasher computes hashes. It allocates nothing after NewHasher, whatever it is
// given. A Hasher belongs to one goroutine.
//
// A topic is hashed by Begin, one Partition for each of its partitions in
// order, and Sum:
//
//	h.Begin(topichash.Kafka, racks, topicID, name, numPartitions)
//	for p := range numPartitions {
//		h.Partition(p, replicas(p))
//	}
//	hash, err := h.Sum()
type Hasher struct {
	scheme Scheme
	racks  *Racks
	coded  *rackBytes // of racks, in the form of scheme
	count  int32      // partitions announced
	seen   int32      // partitions added
	gap    bool       // one of them was not the next

	buf    []byte // the bytes to hash: buf[:pos]
	pos    int
	passed bool // earlier bytes went to the stream
	xxh3   xxh3.Hasher
	murmur murmur3.Hash128
	ranks  []int32
}

// NewHasher returns a Hasher, about 20 KiB in size.
func NewHasher() *Hasher { return newHasher(bufferSize) }

func newHasher(size int) *Hasher {
	return &Hasher{buf: make([]byte, size), murmur: murmur3.New128(), ranks: make([]int32, 0, sortedByHand)}
}

// Begin starts the hash of a topic and drops one that was begun before.
// racks are those of the cluster as it is to be seen, and not changed until
// Sum; partitions is how often Partition will be called.
func (h *Hasher) Begin(s Scheme, racks *Racks, id kafka.TopicID, name string, partitions int32) {
	h.reset(s)
	h.racks, h.count, h.seen, h.gap = racks, partitions, 0, false
	msb, lsb := id.Halves()
	h.putByte(magic)
	if s == KIP {
		h.coded = &racks.kip
		h.putInt64(int64(javaHashCode(msb, lsb)))
		h.putString(name)
		h.putInt64(int64(partitions))
		return
	}
	h.coded = &racks.kafka
	h.putInt64(int64(msb))
	h.putInt64(int64(lsb))
	h.putUTF16(name)
	h.putInt32(partitions)
}

// javaHashCode is org.apache.kafka.common.Uuid.hashCode.
func javaHashCode(msb, lsb uint64) int32 {
	x := msb ^ lsb
	return int32(x>>32) ^ int32(x)
}

// Partition adds partition p with its replicas, in any order. Replicas whose
// broker has no registration or no rack add nothing; a fenced broker counts
// like any other. Partitions are added in ascending order.
func (h *Hasher) Partition(p int32, replicas []kafka.NodeID) {
	if p != h.seen {
		h.gap = true
	}
	h.seen++
	ranks := h.ranks[:0]
	for _, id := range replicas {
		if rank := h.racks.rank(id); rank != noRank {
			ranks = append(ranks, rank)
		}
	}
	sortRanks(ranks)
	h.putInt32(p)
	for _, rank := range ranks {
		h.putRack(rank)
	}
	h.ranks = ranks
}

// Sum returns the hash of the topic, or ErrPartitionGap. The KIP scheme walks
// the partitions that are there and so can hash a topic with a gap.
func (h *Hasher) Sum() (int64, error) {
	if h.seen != h.count || h.gap && h.scheme == Kafka {
		return 0, ErrPartitionGap
	}
	return h.sum(), nil
}

// putRack adds the encoded rack of a rank.
func (h *Hasher) putRack(rank int32) {
	from, to := h.coded.ends[rank-1], h.coded.ends[rank]
	if to-from > copySize {
		h.putBytes(h.coded.bytes[from:to])
		return
	}
	h.room(copySize)
	*(*[copySize]byte)(h.buf[h.pos:]) = *(*[copySize]byte)(h.coded.bytes[from:])
	h.pos += to - from
}

func (h *Hasher) putByte(v byte) {
	h.room(1)
	h.buf[h.pos] = v
	h.pos++
}

func (h *Hasher) putInt32(v int32) {
	h.room(4)
	binary.LittleEndian.PutUint32(h.buf[h.pos:], uint32(v))
	h.pos += 4
}

func (h *Hasher) putInt64(v int64) {
	h.room(8)
	binary.LittleEndian.PutUint64(h.buf[h.pos:], uint64(v))
	h.pos += 8
}

// putString adds the UTF-8 bytes of s and no length.
func (h *Hasher) putString(s string) {
	for len(s) > 0 {
		h.room(1)
		n := copy(h.buf[h.pos:], s)
		h.pos += n
		s = s[n:]
	}
}

// putBytes adds b.
func (h *Hasher) putBytes(b []byte) {
	for len(b) > 0 {
		h.room(1)
		n := copy(h.buf[h.pos:], b)
		h.pos += n
		b = b[n:]
	}
}

// putUTF16 adds the UTF-16 code units of s and then their number.
func (h *Hasher) putUTF16(s string) {
	units := int32(0)
	for _, r := range s {
		h.room(4)
		n := putRune(h.buf[h.pos:], r)
		h.pos += n
		units += int32(n / 2)
	}
	h.putInt32(units)
}

// reset starts a stream in the given scheme.
func (h *Hasher) reset(s Scheme) { h.scheme, h.pos, h.passed = s, 0, false }

// room makes space for n bytes, n <= copySize, in the buffer.
func (h *Hasher) room(n int) {
	if n > len(h.buf)-h.pos {
		h.pass()
	}
}

// pass hands what the buffer holds to the streaming form of the hash.
func (h *Hasher) pass() {
	if h.scheme == KIP {
		if !h.passed {
			h.murmur.Reset()
		}
		h.murmur.Write(h.buf[:h.pos]) // never fails, as hash.Hash promises
	} else {
		if !h.passed {
			h.xxh3.Reset()
		}
		h.xxh3.Write(h.buf[:h.pos]) // likewise
	}
	h.passed, h.pos = true, 0
}

// sum returns the hash of everything since reset.
func (h *Hasher) sum() int64 {
	if h.passed {
		h.pass()
	}
	switch {
	case h.scheme == KIP && h.passed:
		h1, _ := h.murmur.Sum128()
		return int64(h1)
	case h.scheme == KIP:
		h1, _ := murmur3.Sum128(h.buf[:h.pos])
		return int64(h1)
	case h.passed:
		return int64(h.xxh3.Sum64())
	}
	return int64(xxh3.Hash(h.buf[:h.pos]))
}
