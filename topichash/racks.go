package topichash

import (
	"iter"
	"maps"
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

	// shortRack is how many bytes are copied for a rack whose encoding is not
	// longer: a copy of constant size costs a few moves, where one of the
	// true size costs a call. The surplus is overwritten by what follows.
	shortRack = 64
)

// Racks holds the rack of each registered broker, prepared for hashing: which
// one comes first, and the bytes it adds to a hash. Build it again when a
// registration changed. It never changes, and any number of goroutines may
// read it.
type Racks struct {
	base   kafka.NodeID // node id of dense[0]
	dense  []int32
	sparse map[kafka.NodeID]int32 // instead of dense

	// unusual: there is a sparse table, or a rack with a long encoding.
	unusual bool

	kafka, kip []codedRack // by rank; the first, that of noRank, is empty
}

// codedRack is what a rack adds to a hash: short[:size], or long if that is
// too small.
type codedRack struct {
	size  int
	short [shortRack]byte
	long  []byte
}

// copyShort copies the rack, which is not long, and some more to the start of b
// and returns its size.
func (c *codedRack) copyShort(b []byte) int {
	*(*[shortRack]byte)(b) = c.short
	return c.size
}

func (c codedRack) isLong() bool { return c.size > shortRack }

func (c *codedRack) bytes() []byte {
	if c.isLong() {
		return c.long
	}
	return c.short[:c.size]
}

// NewRacks prepares the racks of the brokers that are registered and have a
// rack, fenced ones included. The empty string is a rack like any other. Of a
// node id that occurs twice the later rack holds.
func NewRacks(brokers iter.Seq2[kafka.NodeID, string]) *Racks {
	byBroker := make(map[kafka.NodeID]string)
	for id, rack := range brokers {
		byBroker[id] = rack
	}
	names := slices.Compact(slices.SortedFunc(maps.Values(byBroker), compareUTF16))
	r := &Racks{kafka: encodeRacks(names, appendKafkaRack), kip: encodeRacks(names, appendKIPRack)}
	r.index(byBroker, names)
	r.unusual = r.sparse != nil || slices.ContainsFunc(r.kafka, codedRack.isLong) || slices.ContainsFunc(r.kip, codedRack.isLong)
	return r
}

func encodeRacks(names []string, encode func([]byte, string) []byte) []codedRack {
	coded := make([]codedRack, 1+len(names))
	for i, name := range names {
		c, b := &coded[1+i], encode(nil, name)
		if c.size = len(b); c.isLong() {
			c.long = b
			continue
		}
		copy(c.short[:], b)
	}
	return coded
}

// index makes the ranks accessible by node id. names are the racks in order.
func (r *Racks) index(byBroker map[kafka.NodeID]string, names []string) {
	if len(byBroker) == 0 {
		return
	}
	ranks := make(map[string]int32, len(names))
	for i, name := range names {
		ranks[name] = int32(i + 1)
	}
	ids := slices.Sorted(maps.Keys(byBroker))
	first, last := ids[0], ids[len(ids)-1]
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

// rank returns the position of the broker's rack among all racks, from 1, or
// noRank.
func (r *Racks) rank(id kafka.NodeID) int {
	if r.sparse != nil {
		return int(r.sparse[id])
	}
	return r.near(id)
}

// near is rank where there is no sparse table.
func (r *Racks) near(id kafka.NodeID) int {
	if i := uint64(int64(id) - int64(r.base)); i < uint64(len(r.dense)) {
		return int(r.dense[i])
	}
	return noRank
}
