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
	"slices"

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

	minBuffer = 32 // holds what Begin and the put functions write in one go

	magic = 0 // the first byte of both forms, to tell later forms apart
)

// Hasher computes hashes. After NewHasher it allocates only when a partition
// has more replicas than any before, beyond a few. A Hasher belongs to one
// goroutine.
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
	coded  []codedRack // by rank, in the form of scheme
	count  int32       // partitions announced
	seen   int32       // partitions added
	gap    bool        // one of them was not the next

	buf    []byte // the bytes to hash: buf[:pos]
	pos    int
	passed bool // earlier bytes went to the stream
	xxh3   xxh3.Hasher
	murmur murmur3.Hash128
	ranks  []int
}

// NewHasher returns a Hasher, about 20 KiB in size.
func NewHasher() *Hasher { return newHasher(bufferSize) }

func newHasher(size int) *Hasher {
	return &Hasher{buf: make([]byte, size), murmur: murmur3.New128(), ranks: make([]int, 0, 8)}
}

// Begin starts the hash of a topic and drops one that was begun before.
// racks are those of the cluster as it is to be seen, and not changed until
// Sum; partitions is how often Partition will be called.
func (h *Hasher) Begin(s Scheme, racks *Racks, id kafka.TopicID, name string, partitions int32) {
	h.reset(s)
	h.racks, h.count, h.seen, h.gap = racks, partitions, 0, false
	msb, lsb := id.Halves()
	h.buf[0], h.pos = magic, 1
	if s == KIP {
		h.coded = racks.kip
		h.putInt64(int64(javaHashCode(msb, lsb)))
		h.putString(name)
		h.putInt64(int64(partitions))
		return
	}
	h.coded = racks.kafka
	binary.LittleEndian.PutUint64(h.buf[1:], msb)
	binary.LittleEndian.PutUint64(h.buf[9:], lsb)
	h.pos += 16
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
	racks, coded, to := h.racks, h.coded, h.buf[h.pos:]
	if len(replicas) != 3 || len(to) < 4+3*shortRack || racks.unusual {
		h.unusualPartition(p, replicas)
		return
	}
	// No loop, and no branch that depends on the order of the racks.
	x, y, z := racks.near(replicas[0]), racks.near(replicas[1]), racks.near(replicas[2])
	low, high := min(x, y, z), max(x, y, z)
	binary.LittleEndian.PutUint32(to, uint32(p))
	at := 4
	at += coded[low].copyShort(to[at:])
	at += coded[x^y^z^low^high].copyShort(to[at:])
	at += coded[high].copyShort(to[at:])
	h.pos += at
}

// unusualPartition is Partition for any number of replicas and any racks.
func (h *Hasher) unusualPartition(p int32, replicas []kafka.NodeID) {
	ranks := h.ranks[:0]
	for _, id := range replicas {
		ranks = append(ranks, h.racks.rank(id))
	}
	slices.Sort(ranks)
	h.putInt32(p)
	for _, rank := range ranks {
		h.putBytes(h.coded[rank].bytes())
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
	units := h.putASCII(s)
	for _, r := range s[units:] {
		h.room(4)
		n := putRune(h.buf[h.pos:], r)
		h.pos += n
		units += n / 2
	}
	h.putInt32(int32(units))
}

// putASCII adds the code units of as much of s as it can do fast, all but a
// few of an ASCII string, and returns their number.
func (h *Hasher) putASCII(s string) int {
	to := h.buf[h.pos:]
	n := 0
	for ; len(s)-n >= 4 && len(to) >= 8; n += 4 { // four at a time
		x := uint64(s[n]) | uint64(s[n+1])<<16 | uint64(s[n+2])<<32 | uint64(s[n+3])<<48
		if x&0x0080008000800080 != 0 {
			break
		}
		binary.LittleEndian.PutUint64(to, x)
		to = to[8:]
	}
	h.pos += 2 * n
	return n
}

// reset starts a stream in the given scheme.
func (h *Hasher) reset(s Scheme) { h.scheme, h.pos, h.passed = s, 0, false }

// room makes space for n bytes, n <= minBuffer, in the buffer.
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
