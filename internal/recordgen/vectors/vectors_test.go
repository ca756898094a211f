package vectors

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The tests of the codecs count the vectors of their own kinds; together they
// are all of these.
func TestEveryVectorHasAKind(t *testing.T) {
	kinds := make(map[string]int)
	all := Load(t)
	for _, v := range all {
		kinds[v.Kind]++
	}
	require.Equal(t, map[string]int{
		"metadata": 204, "control": 34, "group": 244, "consumer_protocol": 40, "transaction": 17, "share": 30,
	}, kinds)
	require.Len(t, all, 569)
}

func TestReleasesAreKnown(t *testing.T) {
	pairs := 0
	for _, v := range Load(t) {
		require.Subset(t, []string{"4.0.0", "4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0"}, append(v.Also, v.Kafka), v.String())
		pairs += 1 + len(v.Also)
	}
	require.Equal(t, 2737, pairs, "encodings, counted once per release")
}
