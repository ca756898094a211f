package api

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/rebalance"
)

// Of what several sidecars hold of a rebalance, the state that knows most is
// taken: one that has just started may have seen no cause.
func TestJoinRebalances(t *testing.T) {
	unknown := Rebalance{ID: "b", Type: "consumer", Epoch: 6, PreviousEpoch: 5, StartedAt: 20, Settled: true, CompletedAt: new(Time(30)), Causes: []Cause{{Kind: "unknown"}}}
	known := Rebalance{ID: "b", Type: "consumer", Epoch: 6, PreviousEpoch: 5, StartedAt: 20, Settled: true, Causes: []Cause{{Kind: "metadata", Confidence: "certain"}}}
	open := known
	open.Settled, open.Causes = false, nil
	first := Rebalance{ID: "a", Type: "consumer", Epoch: 2, PreviousEpoch: 1, StartedAt: 10}
	classic := Rebalance{ID: "c", Type: "classic", Epoch: 9, PreviousEpoch: 8, StartedAt: 40}

	joined := JoinRebalances([]Rebalance{unknown, first}, []Rebalance{open}, []Rebalance{known, classic})
	require.Equal(t, []Rebalance{classic, known, first}, joined)
	require.Equal(t, []Gap{{Type: "consumer", FromEpoch: 3, ToEpoch: 5}}, FindGaps(joined))
	require.NotNil(t, JoinRebalances())
	require.NotNil(t, FindGaps(nil))
}

// The id of a trace derives from those of the cluster and of its topic. If one
// of them is not known there is none that others would say, too.
func TestTraceID(t *testing.T) {
	id := rebalance.ID{TopicID: kafka.TopicID{9}, Offset: 20}
	require.Nil(t, traceID(id))
	id.ClusterID = "c"
	require.Regexp(t, "^[0-9a-f]{32}$", *traceID(id))
	id.TopicID = kafka.TopicID{}
	require.Nil(t, traceID(id), "copied files need not tell which topic they are of")
}
