package image

import "github.com/kraftside/kraftside/internal/kafka"

// An ISR, an ELR or a last known ELR is nearly always an ordered selection of
// the partition's replicas. For up to four replicas there are 65 of them, so
// that one byte holds the list, its order included.
const (
	maxPackedReplicas = 4
	subsetCodes       = 65
)

type subset struct {
	len int
	pos [maxPackedReplicas]uint8
}

var (
	// subsets is the list of replica positions behind each code, shortest first.
	subsets = allSubsets()
	// subsetCode is the code of a list of positions, each plus one in three bits.
	subsetCode = indexSubsets()
)

func allSubsets() (all [subsetCodes]subset) {
	n := 1 // code 0 is the empty list
	for from := 0; from < n; from++ {
		s := all[from]
		for p := uint8(0); p < maxPackedReplicas && s.len < maxPackedReplicas; p++ {
			if s.has(p) {
				continue
			}
			longer := s
			longer.pos[longer.len] = p
			longer.len++
			all[n] = longer
			n++
		}
	}
	return all
}

func (s *subset) has(p uint8) bool {
	for _, q := range s.pos[:s.len] {
		if p == q {
			return true
		}
	}
	return false
}

func indexSubsets() (index [1 << (3 * maxPackedReplicas)]uint8) {
	for code, s := range subsets {
		key := 0
		for i, p := range s.pos[:s.len] {
			key |= int(p+1) << (3 * i)
		}
		index[key] = uint8(code)
	}
	return index
}

// packSubset returns the code of list as an ordered selection of replicas; ok
// is false if it is none.
func packSubset(replicas, list []kafka.NodeID) (code uint8, ok bool) {
	if len(list) > len(replicas) {
		return 0, false
	}
	key, used := 0, 0
	for i, id := range list {
		p := position(replicas, id)
		if p < 0 || used>>p&1 == 1 {
			return 0, false
		}
		used |= 1 << p
		key |= (p + 1) << (3 * i)
	}
	return subsetCode[key], true
}

// position returns where id stands in at most four replicas, or -1.
func position(replicas []kafka.NodeID, id kafka.NodeID) int {
	for p, r := range replicas {
		if r == id {
			return p
		}
	}
	return -1
}

// appendSubset adds the replicas that code selects to list.
func appendSubset(list, replicas []kafka.NodeID, code uint8) []kafka.NodeID {
	s := &subsets[code]
	for _, p := range s.pos[:s.len] {
		list = append(list, replicas[p])
	}
	return list
}
