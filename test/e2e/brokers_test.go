//go:build e2e && unix

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/test/realkafka"
	"github.com/kraftside/kraftside/topichash"
)

// A broker that stops leaves the hashes as they are. When it comes back in
// another rack they move: some time after its registration, when it is in the
// ISR of a topic again.
func (c *cast) rackChanged(t *testing.T) {
	keepHash(t, c.groups(), func() { require.NoError(t, c.StopBroker(2)) })
	bump(t, c.groups(), pendingOrStale, func() {
		require.NoError(t, c.StartBroker(2, realkafka.WithRack("rack-9")))
	})
}

// A broker that is away for a while moves no hash, though leaders, ISRs and
// coordinators change twice.
func (c *cast) brokerAway(t *testing.T) {
	keepHash(t, c.groups(), func() {
		require.NoError(t, c.StopBroker(3))
		require.NoError(t, c.StartBroker(3))
	})
}

// Leaders are in no hash.
func (c *cast) leadersElected(t *testing.T) {
	moved := 0
	keepHash(t, c.groups(), func() {
		for _, topic := range []string{"orders", "in"} {
			details, err := c.admin.ListTopics(within(t), topic)
			require.NoError(t, err)
			for p, d := range details[topic].Partitions {
				if d.Leader == d.Replicas[0] {
					continue
				}
				moved++
				c.electPreferred(t, topic, p)
				eventually(t, "the preferred leader leads", func() error {
					if at := c.leader(t, topic, p); at != d.Replicas[0] {
						return fmt.Errorf("broker %d leads %s-%d", at, topic, p)
					}
					return nil
				})
			}
		}
	})
	require.Positive(t, moved, "leaders that moved")
}

// The true story that an operator meets as a rebalance for no reason: a broker
// is unregistered after it has left every ISR. No coordinator notices, and a
// sidecar says stale. What makes the groups bump has nothing to do with it.
func (c *cast) unregistered(t *testing.T) {
	keepHash(t, c.groups(), func() {
		c.coordinateAt(t, partitionOf(c.share.id), 2, c.BrokerIDs())
		require.NoError(t, c.StopBroker(1))
	})
	before, marks := settleAll(t, c.groups())
	require.NoError(t, c.UnregisterBroker(within(t), 1))
	at := time.Now()
	for i, g := range c.groups() {
		g.turnsStale(t, marks[i], at)
	}
	throughout(t, 4*heartbeat, "groups stay stale", func() error {
		for _, g := range c.groups() {
			if _, err := g.agrees(t, topichash.Stale); err != nil {
				return err
			}
		}
		return unmoved(c.groups(), before)
	})
	c.coordinatorMovesAlone(t, before)
	c.anotherRestarts(t, before, marks)

	bump(t, c.groups(), pendingOrStale, func() { require.NoError(t, c.StartBroker(1)) })
	keepHash(t, c.groups(), func() {
		c.awaitReplicas(t, partitionOf(c.consumer.id))
		c.awaitReplicas(t, partitionOf(c.share.id))
	})
}

// coordinatorMovesAlone moves the coordinator of one group, which bumps although
// no record touches its topics. The others stay stale.
func (c *cast) coordinatorMovesAlone(t *testing.T, before []storedHash) {
	touched, m := c.touched("orders"), c.all.now(c.consumer.id)
	c.moveCoordinator(t, partitionOf(c.consumer.id))
	c.consumer.bumped(t, before[0], m, pendingOrStale)
	require.Equal(t, touched, c.touched("orders"), "the topic since the coordinator moved")
	for i, g := range c.groups()[1:] {
		now, err := g.agrees(t, topichash.Stale)
		require.NoError(t, err)
		require.Equal(t, before[i+1], now)
	}
}

// anotherRestarts restarts a broker that shares partitions with the one that is
// gone. Groups whose topics all lose it for a while, or whose coordinator it
// is, bump. The share group's coordinator is another, and one of its topics
// has no replica there: it bumps to a mix, and stays stale until its
// coordinator moves, too.
func (c *cast) anotherRestarts(t *testing.T, before []storedHash, marks []mark) {
	settled := c.consumer.settled(t)
	require.NoError(t, c.StopBroker(3))
	require.NoError(t, c.StartBroker(3))
	for i, g := range c.groups() {
		if g == c.static || g == c.streams {
			g.bumped(t, before[i], marks[i], pendingOrStale)
		}
	}
	require.Equal(t, settled, c.consumer.settled(t), "of the group that was not stale any more")

	m := c.all.now(c.share.id)
	var mixed storedHash
	eventually(t, "the share group bumps to a mix", func() (err error) {
		mixed, err = c.share.agrees(t, topichash.Stale)
		if err == nil && mixed.Hash == before[2].Hash {
			err = fmt.Errorf("it has not bumped")
		}
		return c.share.explain(err, m)
	})
	m = c.all.now(c.share.id)
	c.moveCoordinator(t, partitionOf(c.share.id))
	c.share.bumped(t, mixed, m, pendingOrStale)
}

// turnsStale waits until the sidecar says of the group that it is stale, and
// looks at when it did: not before members had the time that they may take.
func (g *group) turnsStale(t testing.TB, m mark, unregistered time.Time) {
	t.Helper()
	eventually(t, "group "+g.id+" turns stale", func() error {
		_, err := g.agrees(t, topichash.Stale)
		return g.explain(err, m)
	})
	shown := g.w.all.since(g.id, m)
	last := shown[len(shown)-1]
	require.InDelta(t, unregistered.UnixMilli(), last.answer.Since, float64(session.Milliseconds()), "since when it is stale: %s", last)
	for _, s := range shown {
		if s.answer.Verdict != topichash.Pending {
			continue
		}
		window := last.at.Sub(time.UnixMilli(s.answer.Since))
		require.GreaterOrEqual(t, window, session, "pending, then stale after that:\n%s", g.w.all.text(g.id, m))
		require.Less(t, window, session+5*time.Second, "pending, then stale after that:\n%s", g.w.all.text(g.id, m))
	}
}

// touched says what the image has of a topic that a record of it would change.
func (c *cast) touched(name string) string {
	topic, ok := c.all.View().Image.Topics().ByName(name)
	if !ok {
		return "none"
	}
	out := topic.ID().String()
	for number, p := range topic.Partitions() {
		out += fmt.Sprintf(" %d:%d", number, p.PartitionEpoch)
	}
	return out
}
