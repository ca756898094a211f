package pipeline

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
)

// outboxed is a cluster with one rebalance that stays open, on a store.
func outboxed(t *testing.T, e Exports, fs vfs.FS) *cluster {
	st, _ := openStore(t, fs)
	c := newCluster(t, Options{Scope: All, NodeID: kafka.NoNode, ClusterID: "cluster-a", Store: st, Exports: &e})
	return c
}

// A rebalance that takes long is exported twice: as it is, which does not change
// until it was sent, and when it is over. What was not sent is pending after a
// restart.
func TestOutbox(t *testing.T) {
	fs := vfs.NewMem()
	c := outboxed(t, Exports{SlowAfter: time.Minute}, fs)
	c.start()
	require.NoError(t, c.p.Flush())
	c.write(0, member("g"), epoch("g", 2, c.fresh("orders")))
	require.Empty(t, c.p.Pending(10), "it is not durable")
	require.NoError(t, c.p.Flush())
	require.Empty(t, c.p.Pending(10), "it may end soon")
	c.wait(61)
	list := c.p.Pending(10)
	require.Len(t, list, 1)
	require.True(t, list[0].Incomplete && !list[0].Completion && list[0].Rebalance.Settled)

	c.write(0, epoch("g", 3, c.fresh("orders"))) // before the other one is over
	require.NoError(t, c.p.Flush())
	require.Equal(t, list, c.p.Pending(10), "nothing else until it was sent")
	require.NoError(t, c.p.Sent(list))
	list = c.p.Pending(10)
	require.Len(t, list, 1)
	require.True(t, list[0].Completion && !list[0].Incomplete)
	require.Equal(t, int32(3), list[0].Rebalance.SupersededBy)
	require.NoError(t, c.p.Flush())
	require.NoError(t, c.p.state.Store.Close())

	again := outboxed(t, Exports{SlowAfter: time.Minute}, fs)
	require.Equal(t, list, again.p.Pending(10), "it was not sent")
	require.NoError(t, again.p.Sent(list))
	require.NoError(t, again.p.Flush())
	require.Empty(t, again.p.Pending(10), "the second one has just begun")
	again.wait(200)
	second := again.p.Pending(10)
	require.Len(t, second, 1)
	require.Equal(t, int32(3), second[0].Rebalance.Epoch)
	require.NoError(t, again.p.state.Store.Close())
}

// What is old when it is first seen, and what others answer for, is not ours to
// export.
func TestOutboxIsForOurOwn(t *testing.T) {
	for name, o := range map[string]Options{
		"old":    {Scope: All, NodeID: kafka.NoNode, Exports: &Exports{MaxAge: time.Second}},
		"others": {Scope: Local, NodeID: 7, Exports: &Exports{}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, o)
			c.start()
			c.p.Tick(time.UnixMilli(c.now).Add(time.Hour))
			c.write(0, member("g"), epoch("g", 2, c.fresh("orders")))
			c.wait(60)
			require.Len(t, c.p.View().Rebalances("g"), 1)
			require.Empty(t, c.p.Pending(10))
		})
	}
}
