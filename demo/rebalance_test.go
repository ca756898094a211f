package demo

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/rebalance"
)

// Every bump of the recording is explained, and those that records can prove
// are certain.
func TestEveryRebalance(t *testing.T) {
	settled := make(map[rebalance.ID]*rebalance.Rebalance)
	p, err := New(open(t), Options{})
	require.NoError(t, err)
	s, err := p.Play(t.Context())
	require.NoError(t, err)
	for g := range p.View().GroupsFrom("") {
		for _, r := range p.View().Rebalances(g.ID) {
			settled[r.ID] = r
			require.True(t, r.Explained(), "%+v", r)
			for _, c := range r.Causes {
				proven := r.Type != groups.Classic && c.Kind != rebalance.MemberLeft
				require.Equal(t, proven, c.Confidence == rebalance.Certain, "%s epoch %d: %+v", r.Group, r.Epoch, c)
				require.NotEmpty(t, c.Evidence)
			}
		}
	}
	require.Len(t, settled, s.RebalancesExplained)
	require.NoError(t, p.Close())
}

// What is explained of what Kafka wrote does not depend on which log is read
// first.
func TestInterleavings(t *testing.T) {
	r := open(t)
	want := explained(t, r, r.events)
	require.NotEmpty(t, want)
	var metadataLog, offsets []event
	for _, e := range r.events {
		switch e.partition {
		case none:
		case metadata:
			metadataLog = append(metadataLog, e)
		default:
			offsets = append(offsets, e)
		}
	}
	require.Equal(t, want, explained(t, r, append(append([]event(nil), offsets...), metadataLog...)), "groups first")
	require.Equal(t, want, explained(t, r, append(append([]event(nil), metadataLog...), offsets...)), "metadata first")
	random := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		var mixed []event
		m, o := metadataLog, offsets
		for len(m)+len(o) > 0 {
			from := &m
			if len(m) == 0 || len(o) > 0 && random.IntN(2) == 0 {
				from = &o
			}
			n := min(len(*from), 1+random.IntN(20))
			mixed, *from = append(mixed, (*from)[:n]...), (*from)[n:]
		}
		require.Equal(t, want, explained(t, r, mixed))
	}
}

// explained are the rebalances of all groups after batches in some order.
func explained(t *testing.T, r *Recording, events []event) (all []rebalance.Rebalance) {
	p, err := pipeline.New(pipeline.Options{NodeID: kafka.NoNode, Scope: pipeline.All})
	require.NoError(t, err)
	for _, number := range r.partitions() {
		require.NoError(t, p.GroupsSink().Start(offsetslog.Start{Partition: number, Reason: offsetslog.Fresh}))
	}
	decoder := new(recordbatch.Decoder)
	for i := range events {
		switch e := &events[i]; e.partition {
		case none:
		case metadata:
			require.NoError(t, p.MetadataSink().Append(&e.batch))
		default:
			b := offsetslog.NewBatch(e.partition, &e.batch, decoder)
			require.NoError(t, p.GroupsSink().Append(b))
			require.NoError(t, b.Err())
		}
	}
	p.Tick(time.UnixMilli(1)) // what was read of partitions that are loading is handed over
	for _, h := range r.Hashes {
		for _, one := range p.View().Rebalances(h.Group) {
			all = append(all, *one)
		}
	}
	return all
}
