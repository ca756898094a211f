package image

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A trie that is made of a table at once finds what the table found, and can be
// changed like one that grew, whatever hashes there are.
func TestTrieOfTable(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		hash := []func() uint32{
			r.Uint32,
			func() uint32 { return uint32(r.IntN(3)) << 30 },    // collisions
			func() uint32 { return uint32(r.IntN(1000)) },       // alike in their high bits
			func() uint32 { return uint32(r.IntN(1000)) << 20 }, // in their low bits
			func() uint32 { return []uint32{0, ^uint32(0)}[r.IntN(2)] },
		}[seed%5]
		var table flatTable
		want := make([]trieEntry, r.IntN(1500))
		for i := range want {
			want[i] = trieEntry{hash(), ordinal(i)}
			table.insert(want[i])
		}
		made := table.trie(1)
		for _, e := range want {
			require.True(t, slices.Contains(made.bucket(e.hash), e), "seed %d", seed)
		}
		r.Shuffle(len(want), func(i, j int) { want[i], want[j] = want[j], want[i] })
		kept, gone := want[:len(want)/2], want[len(want)/2:]
		changed := made
		for _, e := range gone {
			changed.remove(e, 2)
		}
		for _, e := range kept {
			require.True(t, slices.Contains(changed.bucket(e.hash), e), "seed %d", seed)
			require.True(t, slices.Contains(made.bucket(e.hash), e), "the trie that was changed, seed %d", seed)
		}
		for _, e := range gone {
			require.False(t, slices.Contains(changed.bucket(e.hash), e), "seed %d", seed)
			changed.insert(e, 2)
			require.True(t, slices.Contains(changed.bucket(e.hash), e), "seed %d", seed)
		}
	}
}
