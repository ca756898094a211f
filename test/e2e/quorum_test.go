//go:build e2e && unix

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog"
)

// A change that another controller writes is seen as any other.
func (c *cast) controllerKilled(t *testing.T) {
	c.leaderLost(t, c.KillController)
}

func (c *cast) quorumMoved(t *testing.T) {
	for range 2 {
		c.leaderLost(t, c.StopController)
	}
}

// leaderLost ends the active controller, has another one write a change, and
// starts the first one again.
func (c *cast) leaderLost(t *testing.T, end func(int32) error) {
	groups := []*group{c.consumer, c.share}
	settleAll(t, groups)
	old, err := c.ActiveController(within(t))
	require.NoError(t, err)
	require.NoError(t, end(old))
	bump(t, groups, onlyPending, func() {
		eventually(t, "another controller leads", func() error {
			id, err := c.ActiveController(within(t))
			if err == nil && id == old {
				err = fmt.Errorf("controller %d still does", old)
			}
			return err
		})
		c.addPartition(t, "late", 1)
	})
	require.NotEqual(t, kafka.NodeID(old), c.all.View().Metadata.Leader)
	require.NoError(t, c.StartController(old))
}

// absence is a sidecar that was ended, and how far it had come.
type absence struct {
	dir string
	at  image.Provenance
}

// goesAway runs a sidecar until it has caught up, and ends it. What follows in
// the metadata log is more than its controllers keep.
func (c *cast) goesAway(t *testing.T) {
	c.absent = &absence{dir: c.t.TempDir()}
	b := c.sidecar("absent", c.absent.dir)
	b.awaitCaughtUp(t)
	b.end(t)
	c.absent.at = b.View().Image.Provenance()
	for i := range 60 {
		c.alterConfig(t, kmsg.ConfigResourceTypeTopic, "out", map[string]string{
			"leader.replication.throttled.replicas": fmt.Sprintf("%d:1,", i) + strings.Repeat("0:1,0:2,", 250) + "0:3",
		})
	}
	c.alterConfig(t, kmsg.ConfigResourceTypeTopic, "out", map[string]string{"leader.replication.throttled.replicas": ""})
}

// comesBack starts it again: it has to load a snapshot, and ends with the state
// of the one that was there all the time.
func (c *cast) comesBack(t *testing.T) {
	next := metadatalog.Position{Offset: c.absent.at.Offset + 1, Epoch: c.absent.at.Epoch}
	eventually(t, "the log is cleaned", func() error { return c.cleaned(t, next) })
	p := c.proxy(t)
	b := c.sidecar("absent", c.absent.dir, p.between)
	b.awaitCaughtUp(t)
	require.Equal(t, next, p.metadataFetches()[0], "the first fetch")
	require.NotEmpty(t, p.requests(kmsg.NewPtrFetchSnapshotRequest().Key()), "requests for a snapshot")
	c.requireSameState(t, b)
	b.end(t)
}

func (w *world) active(t *testing.T) int32 {
	id, err := w.ActiveController(within(t))
	require.NoError(t, err)
	return id
}

// cleaned asks the active controller for what follows a position: nil if it
// refers to a snapshot.
func (w *world) cleaned(t *testing.T, from metadatalog.Position) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(w.Address(w.active(t))), kgo.RequestRetries(0))
	require.NoError(t, err)
	defer client.Close()
	req := kmsg.NewPtrFetchRequest()
	topic := kmsg.NewFetchRequestTopic()
	topic.TopicID = kafka.MetadataTopicID
	one := kmsg.NewFetchRequestTopicPartition()
	one.FetchOffset, one.LastFetchedEpoch = int64(from.Offset), int32(from.Epoch)
	one.CurrentLeaderEpoch = int32(w.all.View().Image.Provenance().Epoch)
	topic.Partitions = append(topic.Partitions, one)
	req.Topics = append(req.Topics, topic)
	resp, err := client.SeedBrokers()[0].Request(within(t), req)
	if err != nil {
		return err
	}
	p := resp.(*kmsg.FetchResponse).Topics[0].Partitions[0]
	if p.SnapshotID.EndOffset < 0 && p.ErrorCode == 0 {
		return fmt.Errorf("the log still has %s", from)
	}
	return kerr.ErrorForCode(p.ErrorCode)
}
