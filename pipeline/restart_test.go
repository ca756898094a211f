package pipeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
)

// Stopped in order after any event, and started again two times, a sidecar
// knows all that one knows which was never stopped, and reads nothing again.
func TestRestart(t *testing.T) {
	s := tellStory(t)
	views, last := s.views(t), startRun(t, s, nil)
	last.catchUp(len(s.events))
	for n := 1; n <= len(s.events); n++ {
		fs, where := vfs.NewMem(), fmt.Sprintf("after %d events", n)
		st, _ := openStore(t, fs)
		r := startRun(t, s, st)
		r.catchUp(n)
		requireShown(t, views[n-1], r.p.View(), where)
		read := r.p.Stats()
		require.NotZero(t, read.MetadataRecords)
		require.NoError(t, st.Close())
		for range 2 {
			st, warning := openStore(t, fs)
			require.Nil(t, warning, where)
			again := startRun(t, s, st)
			again.catchUp(n)
			require.Empty(t, again.told, where)
			requireView(t, views[n-1], again.p.View(), where)
			require.Zero(t, again.p.Stats().GroupRecords, where)
			if n == len(s.events) {
				requireRebalances(t, last, again, where)
			}
			require.NoError(t, st.Close(), where)
		}
	}
}

// A partition to which nothing is written for a day was still read to its end until
// the sidecar stopped: of an older position a source would start over.
func TestIdlePartitionIsNotOld(t *testing.T) {
	fs := vfs.NewMem()
	st, _ := openStore(t, fs)
	c := newCluster(t, Options{Scope: All, NodeID: kafka.NoNode, Store: st})
	c.start()
	c.write(0, member("g"))
	for range 24 * 60 {
		c.wait(60)
	}
	require.NoError(t, st.Close())
	st, _ = openStore(t, fs)
	again := newCluster(t, Options{Scope: All, NodeID: kafka.NoNode, Store: st})
	again.p.Tick(time.UnixMilli(c.now))
	require.LessOrEqual(t, again.p.GroupsSink().Resume(0).Age, seenInterval)
	require.NoError(t, st.Close())
}
