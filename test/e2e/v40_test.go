//go:build e2e && unix

package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/test/realkafka"
	"github.com/kraftside/kraftside/topichash"
)

// TestWithoutHashes is about Kafka 4.0, which stores none: a group shows that
// there is nothing to compare, and a rack is no reason to rebalance. The image
// is as good as with any other release.
func TestWithoutHashes(t *testing.T) {
	for _, version := range versions(t) {
		if strings.HasPrefix(version, "4.0.") {
			t.Run(version, func(t *testing.T) { withoutHashes(t, version) })
		}
	}
}

func withoutHashes(t *testing.T, version string) {
	c := &cast{world: newWorld(t, realkafka.Config{Version: version})}
	play(t, []scenario{
		{"groups join", c.joinWithout},
		{"partitions added", c.partitionsAddedWithout},
		{"broker back in another rack", c.rackChangedWithout},
		{"the same image from every source", c.sameImages},
		{"every record in Kafka's own dump", c.sameDump},
	})
}

func (c *cast) joinWithout(t *testing.T) {
	c.create(t, "orders", []int32{1, 2}, []int32{2, 3}, []int32{3, 1})
	c.consumer = c.consumers(idIn(0, "consumer"), []string{"orders"})
	c.static = c.consumers(idIn(1, "static"), []string{"orders"}, kgo.InstanceID("instance"))
	c.requireNone(t, 1)
}

// requireNone waits until both groups have an epoch, and shows that they have
// no hash.
func (c *cast) requireNone(t *testing.T, epoch int32) {
	t.Helper()
	for _, g := range []*group{c.consumer, c.static} {
		eventually(t, fmt.Sprintf("group %s has epoch %d and no hash", g.id, epoch), func() error {
			stored, ok := c.log.newest(g.id)
			if !ok || stored.Epoch != epoch || stored.Hash != 0 {
				return fmt.Errorf("the broker stored %s", stored)
			}
			shown, ok := c.all.newest(g.id)
			if !ok || shown.epoch != epoch || shown.answer.Verdict != topichash.None {
				return fmt.Errorf("the sidecar shows %s", shown)
			}
			return g.rests(t)
		})
		for _, v := range verdicts(c.all.since(g.id, 0)) {
			require.Equal(t, topichash.None, v, "group %s:\n%s", g.id, c.all.text(g.id, 0))
		}
	}
}

func (c *cast) partitionsAddedWithout(t *testing.T) {
	c.addPartition(t, "orders", 2, 1)
	c.requireNone(t, 2)
}

func (c *cast) rackChangedWithout(t *testing.T) {
	before := []storedHash{c.log.mustNewest(t, c.consumer.id), c.log.mustNewest(t, c.static.id)}
	require.NoError(t, c.StopBroker(2))
	require.NoError(t, c.StartBroker(2, realkafka.WithRack("rack-9")))
	eventually(t, "the image has the rack, and the broker in the ISR", func() error {
		image := c.all.View().Image
		if rack, ok := image.Cluster().Rack(kafka.NodeID(2)); !ok || rack != "rack-9" {
			return fmt.Errorf("the rack is %q", rack)
		}
		orders, ok := image.Topics().ByName("orders")
		if !ok {
			return errors.New("the topic is not there")
		}
		for number, p := range orders.Partitions() {
			if len(p.Isr) != 2 {
				return fmt.Errorf("in sync for partition %d are %v", number, p.Isr)
			}
		}
		return nil
	})
	throughout(t, 3*heartbeat, "no group bumps", func() error { return unmoved([]*group{c.consumer, c.static}, before) })
	c.requireNone(t, 2)
}
