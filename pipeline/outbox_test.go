package pipeline

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	grouprecord "github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/rebalance"
	"github.com/kraftside/kraftside/store"
)

// outboxed is a cluster with one rebalance that stays open, on a store.
func outboxed(t *testing.T, e Exports, fs vfs.FS) *cluster {
	st, _ := openStore(t, fs)
	c := newCluster(t, Options{Scope: All, NodeID: kafka.NoNode, ClusterID: "cluster-a", Store: st, Exports: &e})
	return c
}

func memberNamed(group, id string) keyed {
	m := member(group)
	m.key.(*grouprecord.ConsumerGroupMemberMetadataKey).MemberID = id
	return m
}

func target(group string, epoch int32) keyed {
	return keyed{&grouprecord.ConsumerGroupTargetAssignmentMetadataKey{GroupID: group},
		&grouprecord.ConsumerGroupTargetAssignmentMetadataValue{AssignmentEpoch: epoch}}
}

// reached says that a member has what it was to get.
func reached(group, id string, epoch int32) keyed {
	return keyed{&grouprecord.ConsumerGroupCurrentMemberAssignmentKey{GroupID: group, MemberID: id},
		&grouprecord.ConsumerGroupCurrentMemberAssignmentValue{MemberEpoch: epoch}}
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
	require.Empty(t, c.p.Pending(10), "that it is exported as it is, and how that is, is not durable")
	require.NoError(t, c.p.Flush())
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
	again.offsets = c.offsets
	again.reach(0, c.offsets[0])
	again.wait(200)
	second := pending(t, again.p)
	require.Len(t, second, 1)
	require.Equal(t, int32(3), second[0].Rebalance.Epoch)
	require.NoError(t, again.p.state.Store.Close())
}

// crash goes on with a sidecar on what was durable.
func (c *cluster) crash(fs *vfs.MemFS) (*cluster, *vfs.MemFS) {
	clone := fs.CrashClone(vfs.CrashCloneCfg{})
	require.NoError(c.t, c.p.state.Store.Close())
	again := outboxed(c.t, *c.p.state.Exports, clone)
	again.offsets, again.metadata, again.now = c.offsets, c.metadata, c.now
	return again, clone
}

// After a crash a rebalance is exported as it was before, however far it has
// come, and is not complete all at once: a backend may have it already.
func TestOutboxAfterCrash(t *testing.T) {
	fs := vfs.NewCrashableMem()
	c := outboxed(t, Exports{SlowAfter: time.Minute}, fs)
	c.start()
	c.write(0, member("g"), memberNamed("g", "n"), epoch("g", 2, c.fresh("orders")), target("g", 2))
	require.NoError(t, c.p.Flush())
	c.wait(61)
	exported := pending(t, c.p)
	require.Len(t, exported, 1)
	require.True(t, exported[0].Incomplete)

	c.write(0, reached("g", "m", 2))
	require.NoError(t, c.p.Flush())
	require.NotZero(t, c.p.View().Rebalances("g")[0].Members[0].ReconciledAt)
	require.Equal(t, exported, c.p.Pending(10))
	c, fs = c.crash(fs)
	require.NotZero(t, c.p.View().Rebalances("g")[0].Members[0].ReconciledAt)
	require.Equal(t, exported, c.p.Pending(10))

	c.write(0, reached("g", "n", 2))
	require.NoError(t, c.p.Flush())
	require.False(t, c.p.View().Rebalances("g")[0].Open())
	c, fs = c.crash(fs)
	require.Equal(t, exported, c.p.Pending(10), "it is over")
	require.NoError(t, c.p.Sent(exported))
	completion := c.p.Pending(10)
	require.Len(t, completion, 1)
	require.True(t, completion[0].Completion)

	c, fs = c.crash(fs)
	require.Equal(t, exported, c.p.Pending(10), "that it was sent was not durable")
	require.NoError(t, c.p.Sent(exported))
	require.NoError(t, c.p.Flush())
	c, _ = c.crash(fs)
	require.Equal(t, completion, c.p.Pending(10))
	require.NoError(t, c.p.state.Store.Close())
}

// A sidecar that was away does not take for slow what was over long before: it
// reads on first.
func TestOutboxReadsOnFirst(t *testing.T) {
	fs := vfs.NewCrashableMem()
	c := outboxed(t, Exports{SlowAfter: time.Minute}, fs)
	c.start()
	c.write(0, member("g"), epoch("g", 2, c.fresh("orders")), target("g", 2))
	require.NoError(t, c.p.Flush())
	c, _ = c.crash(fs)
	c.wait(600)
	require.Empty(t, pending(t, c.p), "nothing was read")
	end := c.offsets[0] + 1
	c.reach(0, end)
	c.wait(1)
	require.Empty(t, pending(t, c.p), "there is more")
	c.append(0, reached("g", "m", 2))
	c.reach(0, end)
	list := pending(t, c.p)
	require.Len(t, list, 1)
	require.False(t, list[0].Incomplete || list[0].Completion)
	require.NoError(t, c.p.state.Store.Close())
}

// A damaged row costs the store and not the sidecar.
func TestOutboxDamaged(t *testing.T) {
	fs := vfs.NewMem()
	c := outboxed(t, Exports{SlowAfter: time.Minute}, fs)
	c.start()
	c.write(0, member("g"), epoch("g", 2, c.fresh("orders")))
	r := c.p.state.outbox[0]
	c.p.state.Store.Export(r.ExportKey, store.ExportRow{State: store.ExportOpen, Open: []byte("no")})
	require.NoError(t, c.p.Flush())
	require.NoError(t, c.p.state.Store.Close())
	st, _ := openStore(t, fs)
	_, err := New(Options{Scope: All, NodeID: kafka.NoNode, ClusterID: "cluster-a", Store: st, Exports: &Exports{}})
	require.ErrorAs(t, err, new(*store.Warning))
	require.NoError(t, st.Close())
}

// While nobody takes them, rebalances that are not kept any more leave the
// outbox, and its rows the store.
func TestOutboxIsBounded(t *testing.T) {
	c := outboxed(t, Exports{}, vfs.NewMem())
	c.start()
	c.write(0, member("quiet"), epoch("quiet", 2, c.fresh("orders")), target("quiet", 2), reached("quiet", "m", 2))
	most := 0
	for i := range int32(400) {
		c.write(0, member("g"), epoch("g", 2+i, c.fresh("orders")))
		if i%10 == 9 {
			require.NoError(t, c.p.Flush())
			require.Equal(t, "quiet", c.p.Pending(1)[0].Rebalance.Group)
		}
		most = max(most, len(c.p.state.outbox))
	}
	kept := 1 + rebalance.DefaultLimits.PerGroup
	require.Less(t, most, 2*kept+sweepEach+10)
	require.NoError(t, c.p.Flush())
	rows, err := c.p.state.Store.LoadExports(0)
	require.NoError(t, err)
	require.LessOrEqual(t, len(rows), most)
	require.NoError(t, c.p.state.Store.Close())
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
