package topichash

import (
	"iter"
	"slices"

	"github.com/kraftside/kraftside/internal/kafka"
)

const (
	// noRank is the rank of a broker that has no rack or is not registered.
	noRank = 0

	// denseSpan bounds the table that maps node ids to ranks by position.
	// Beyond it, and only then, a map does: node ids come from the log, and a
	// cluster may well number its brokers with nine digits.
	denseSpan = 1 << 16

	// sortedByHand is how many ranks a plain insertion sort is best at.
	// Replication factors are far below it.
	sortedByHand = 16
)

// Racks holds the rack of each registered broker, prepared for hashing: which
// one comes first, and the bytes it adds to a hash. Build it again when a
// registration changed. It never changes, and any number of goroutines may
// read it.
type Racks struct {
	base   kafka.NodeID // node id of dense[0]
	dense  []int32
	sparse map[kafka.NodeID]int32 // instead of dense

	kafka, kip rackBytes
}

// rackBytes is the encoding of all racks in the order of their ranks. The rack
// of rank r > 0 is bytes[ends[r-1]:ends[r]]; after the last one there is
// padding, so that copySize bytes can be read from any start.
type rackBytes struct {
	bytes []byte
	ends  []int
}

// NewRacks prepares the racks of the brokers that are registered and have a
// rack, fenced ones included. The empty string is a rack like any other. Of a
// node id that occurs twice the later rack holds.
func NewRacks(brokers iter.Seq2[kafka.NodeID, string]) *Racks {
	byBroker := make(map[kafka.NodeID]string)
	for id, rack := range brokers {
		byBroker[id] = rack
	}
	names, ranks := rankNames(byBroker)
	r := &Racks{kafka: encodeRacks(names, appendKafkaRack), kip: encodeRacks(names, appendKIPRack)}
	r.index(byBroker, ranks)
	return r
}

// rankNames returns the distinct racks in the order of java.lang.String, and
// the rank of each, from 1.
func rankNames(byBroker map[kafka.NodeID]string) ([]string, map[string]int32) {
	ranks := make(map[string]int32)
	for _, name := range byBroker {
		ranks[name] = noRank
	}
	names := make([]string, 0, len(ranks))
	for name := range ranks {
		names = append(names, name)
	}
	slices.SortFunc(names, compareUTF16)
	for i, name := range names {
		ranks[name] = int32(i + 1)
	}
	return names, ranks
}

func encodeRacks(names []string, encode func([]byte, string) []byte) rackBytes {
	coded := rackBytes{ends: make([]int, 1, len(names)+1)}
	for _, name := range names {
		coded.bytes = encode(coded.bytes, name)
		coded.ends = append(coded.ends, len(coded.bytes))
	}
	coded.bytes = append(coded.bytes, make([]byte, copySize)...)
	return coded
}

// index makes the ranks accessible by node id.
func (r *Racks) index(byBroker map[kafka.NodeID]string, ranks map[string]int32) {
	if len(byBroker) == 0 {
		return
	}
	first, last := nodeRange(byBroker)
	if span := int64(last) - int64(first) + 1; span <= denseSpan {
		r.base, r.dense = first, make([]int32, span)
		for id, name := range byBroker {
			r.dense[id-first] = ranks[name]
		}
		return
	}
	r.sparse = make(map[kafka.NodeID]int32, len(byBroker))
	for id, name := range byBroker {
		r.sparse[id] = ranks[name]
	}
}

func nodeRange(byBroker map[kafka.NodeID]string) (first, last kafka.NodeID) {
	start := true
	for id := range byBroker {
		if start {
			first, last, start = id, id, false
		}
		first, last = min(first, id), max(last, id)
	}
	return first, last
}

// rank returns the position of the broker's rack among all racks, from 1, or
// noRank.
func (r *Racks) rank(id kafka.NodeID) int32 {
	if i := uint64(int64(id) - int64(r.base)); i < uint64(len(r.dense)) {
		return r.dense[i]
	}
	return r.rankOfFar(id)
}

// rankOfFar is apart from rank to let that one be inlined.
func (r *Racks) rankOfFar(id kafka.NodeID) int32 {
	if r.sparse == nil {
		return noRank
	}
	return r.sparse[id]
}

// sortRanks sorts in place.
func sortRanks(ranks []int32) {
	if len(ranks) > sortedByHand {
		slices.Sort(ranks)
		return
	}
	for i := 1; i < len(ranks); i++ {
		for j := i; j > 0 && ranks[j] < ranks[j-1]; j-- {
			ranks[j], ranks[j-1] = ranks[j-1], ranks[j]
		}
	}
}
