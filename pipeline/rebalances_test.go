package pipeline

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/rebalance"
)

// The story of TestStaleRack: the cause is broker 1, and what set it off is the
// coordinator's move.
func TestRebalances(t *testing.T) {
	var told []*rebalance.Rebalance
	c := newCluster(t, Options{Scope: All, NodeID: kafka.NoNode, OnRebalance: func(r *rebalance.Rebalance) { told = append(told, r) }})
	c.start()
	c.write(0, member("g"), epoch("g", 2, c.fresh("orders")))
	require.NoError(t, c.p.SetClusterID("cluster-a")) // the brokers say it late
	require.Equal(t, "cluster-a", c.p.View().Rebalances("g")[0].ID.ClusterID)
	c.apply(change(1, 0, `"isr":[2],"leader":2`))
	c.apply(`UnregisterBrokerRecord {"brokerId":1,"brokerEpoch":1}`)
	unregistered := c.metadata - 1
	c.wait(60)
	c.apply(change(9, 0, `"isr":[2],"leader":2`))
	c.write(0, epoch("g", 3, c.fresh("orders")))

	list := c.p.View().Rebalances("g")
	require.Len(t, list, 2)
	require.Equal(t, rebalance.MemberJoined, list[1].Causes[0].Kind)
	r := list[0]
	require.Equal(t, rebalance.ID{ClusterID: "cluster-a", TopicID: topicID(9), Partition: 0, Offset: 2}, r.ID)
	require.True(t, r.Explained())
	require.Len(t, r.Causes, 1)
	require.Equal(t, rebalance.FieldRacks, r.Causes[0].Field)
	require.Equal(t, unregistered, r.Causes[0].Evidence[0].Offset)
	require.Equal(t, rebalance.CoordinatorMoved, r.Causes[0].Trigger.Kind)
	require.Same(t, r, told[len(told)-1])

	require.NoError(t, c.p.GroupsSink().Stop(0))
	require.Empty(t, c.p.View().Rebalances("g"))
}

// A view keeps the rebalances that it had.
func TestRebalancesOfViews(t *testing.T) {
	c := newCluster(t, Options{Scope: All, NodeID: kafka.NoNode})
	c.start()
	c.write(0, member("g"), epoch("g", 2, c.fresh("orders")))
	held := c.p.View()
	c.write(0, epoch("g", 3, c.fresh("orders")))
	require.Len(t, held.Rebalances("g"), 1)
	require.Len(t, c.p.View().Rebalances("g"), 2)
	require.Zero(t, held.Rebalances("g")[0].SupersededBy)
	require.Equal(t, int32(3), c.p.View().Rebalances("g")[1].SupersededBy)
}

// What is read of a partition that is loading is handed over in larger slices
// than its batches are. The store never has a part of one.
func TestRebalancesOfALoad(t *testing.T) {
	fs := vfs.NewMem()
	st, _ := openStore(t, fs)
	c := newCluster(t, Options{Scope: All, NodeID: kafka.NoNode, Store: st})
	c.start()
	c.append(0, member("g"), epoch("g", 2, c.fresh("orders")))
	require.Empty(t, c.p.View().Rebalances("g"))
	require.NoError(t, c.p.Flush())
	require.Len(t, c.p.View().Rebalances("g"), 1)

	c.append(0, epoch("g", 3, c.fresh("orders")))
	require.Len(t, c.p.View().Rebalances("g"), 1)
	c.wait(1)
	require.NoError(t, st.Close())
	st, _ = openStore(t, fs)
	again := newCluster(t, Options{Scope: All, NodeID: kafka.NoNode, Store: st})
	require.Len(t, again.p.View().Rebalances("g"), 2)
	require.Equal(t, kafka.Offset(3), st.Durable().Partitions[0].Next)
	require.NoError(t, st.Close())
}

// A load of many batches is handed over before it is too much to keep.
func TestSlicesOfALoadEnd(t *testing.T) {
	c := newCluster(t, Options{Scope: All, NodeID: kafka.NoNode})
	c.start()
	for n := range int32(statesOfLoad) {
		c.append(0, member("g"), epoch("g", 2+n, c.fresh("orders")))
	}
	require.NotEmpty(t, c.p.View().Rebalances("g"))
}

// Another partition that starts has the store commit, so as to read what it has of
// it: the rebalances of the slice that goes on are not left out.
func TestAPartitionStartsInALoad(t *testing.T) {
	fs := vfs.NewCrashableMem()
	st, _ := openStore(t, fs)
	c := newCluster(t, Options{Scope: All, NodeID: kafka.NoNode, Store: st})
	c.start()
	c.append(0, member("g"), epoch("g", 2, c.fresh("orders")))
	require.NoError(t, c.p.GroupsSink().Start(offsetslog.Start{Partition: 1, TopicID: topicID(9), Reason: offsetslog.Fresh}))
	clone := fs.CrashClone(vfs.CrashCloneCfg{})
	require.NoError(t, st.Close())

	again, _ := openStore(t, clone)
	require.Equal(t, kafka.Offset(2), again.Durable().Partitions[0].Next)
	require.Len(t, newCluster(t, Options{Scope: All, NodeID: kafka.NoNode, Store: again}).p.View().Rebalances("g"), 1)
	require.NoError(t, again.Close())
}
