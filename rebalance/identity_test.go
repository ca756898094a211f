package rebalance

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
)

// TestTraceIDs: other sidecars, other versions of them and what was pasted from
// a terminal last week have the same ids. The expected ones are SHA-256 sums
// that another program computed.
func TestTraceIDs(t *testing.T) {
	topic := kafka.TopicID{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	id := ID{ClusterID: "UKuOxnYsTdq8vPmNqJxjlQ", TopicID: topic, Partition: 7, Offset: 1234567890123}
	text := func(b []byte) string { return hex.EncodeToString(b) }
	whole, completion, span := id.TraceID(), id.CompletionTraceID(), id.SpanID("member/m1")
	require.Equal(t, "85cc9c01eb44038da3471411c1047efb", text(whole[:]))
	require.Equal(t, "c56c50821e4dfa33c49b785f4beb0485", text(completion[:]))
	require.Equal(t, "3e176aeb01233fd7", text(span[:]))

	seen := map[[16]byte]bool{whole: true, completion: true}
	for _, other := range []ID{
		{"", topic, 7, id.Offset}, {id.ClusterID, kafka.TopicID{}, 7, id.Offset}, {id.ClusterID, topic, 8, id.Offset}, {id.ClusterID, topic, 7, 0},
	} {
		require.False(t, seen[other.TraceID()], "%v", other)
		seen[other.TraceID()] = true
	}
}
