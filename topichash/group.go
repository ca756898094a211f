package topichash

import "slices"

// NamedHash is the hash of a topic under the name that a group subscribes to.
type NamedHash struct {
	Name string
	Hash int64
}

// Group returns the hash of a group that subscribes to the given topics. Only
// topics that exist belong into the list: the coordinator leaves a missing one
// out, which is something else than a hash of 0. Names must be unique. The
// list is sorted in place, in Java's order of strings. A group without topics
// has the hash 0.
//
// In the Kafka scheme it is XXH3-64 over the hashes in the order of the names,
// which themselves are not hashed. In the KIP scheme it is the sum of each
// hash times its position, from 1, modulo 2^64.
func (h *Hasher) Group(s Scheme, topics []NamedHash) int64 {
	if len(topics) == 0 {
		return 0
	}
	slices.SortFunc(topics, func(a, b NamedHash) int { return compareUTF16(a.Name, b.Name) })
	if s == KIP {
		return weightedSum(topics)
	}
	h.reset(s)
	for _, t := range topics {
		h.putInt64(t.Hash)
	}
	return h.sum()
}

func weightedSum(topics []NamedHash) (sum int64) {
	for i, t := range topics {
		sum += t.Hash * int64(i+1)
	}
	return sum
}
