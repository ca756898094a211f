//go:build e2e && unix

package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/topichash"
)

// A topic that a group waits for comes into being.
func (c *cast) topicCreated(t *testing.T) {
	bump(t, []*group{c.consumer, c.share}, onlyPending, func() { c.create(t, "late", []int32{1}, []int32{2}) })
}

func (c *cast) partitionsAdded(t *testing.T) {
	bump(t, []*group{c.consumer, c.static, c.share}, onlyPending, func() { c.addPartition(t, "orders", 2, 1) })
	bump(t, []*group{c.streams}, onlyPending, func() { c.addPartition(t, "in", 3, 1) })
}

// A topic is not the same when it has the same name.
func (c *cast) topicRecreated(t *testing.T) {
	groups := []*group{c.consumer, c.share}
	first, _ := settleAll(t, groups)
	bump(t, groups, onlyPending, func() { c.delete(t, "late") })
	bump(t, groups, onlyPending, func() { c.create(t, "late", []int32{1}, []int32{2}) })
	second, marks := settleAll(t, groups)
	// Again, without a pause between.
	c.delete(t, "late")
	c.create(t, "late", []int32{1}, []int32{2})
	for i, g := range groups {
		g.bumped(t, second[i], marks[i], onlyPending)
		if now := g.settled(t); now.Hash == first[i].Hash {
			t.Errorf("the hash of a topic does not depend on its id: %s", now)
		}
	}
}

// A reassignment has two steps: first the partition has its old and its new
// replicas, then the new ones. The data is held back between them.
func (c *cast) reassigned(t *testing.T) {
	c.create(t, "moving", []int32{1, 2})
	c.fill(t, "moving")
	groups := []*group{
		c.consumers(idIn(0, "moving-consumer"), []string{"moving", "late"}),
		c.shares(idIn(1, "moving-share"), []string{"moving"}),
		c.world.streams(idIn(2, "moving-streams"), "out", "moving"),
	}
	before, _ := settleAll(t, groups)
	c.throttle(t, "moving", "1")
	bump(t, groups, onlyPending, func() { c.reassign(t, "moving", 0, 1, 3) })
	require.Equal(t, []int32{3}, c.adding(t, "moving"), "the reassignment stands between its steps")
	between, _ := settleAll(t, groups)
	bump(t, groups, onlyPending, func() { c.throttle(t, "moving", "") })
	require.Empty(t, c.adding(t, "moving"))
	after, _ := settleAll(t, groups)
	for i, g := range groups {
		require.NotEqual(t, before[i].Hash, between[i].Hash)
		require.NotEqual(t, before[i].Hash, after[i].Hash)
		g.end()
	}
	c.delete(t, "moving")
}

// fill writes more than a few fetches of a replica can hold.
func (c *cast) fill(t *testing.T, topic string) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 6 {
		value := make([]byte, 900_000)
		for i := range value {
			value[i] = byte('a' + random.IntN(26))
		}
		require.NoError(t, c.client.ProduceSync(within(t), &kgo.Record{Topic: topic, Value: value}).FirstErr())
	}
}

// throttle bounds how fast the replicas of a topic are filled, in bytes a
// second; "" lifts the bound.
func (c *cast) throttle(t *testing.T, topic, rate string) {
	replicas := "*"
	if rate == "" {
		replicas = ""
	}
	c.alterConfig(t, kmsg.ConfigResourceTypeTopic, topic, map[string]string{
		"leader.replication.throttled.replicas": replicas, "follower.replication.throttled.replicas": replicas,
	})
	for _, id := range c.BrokerIDs() {
		c.alterConfig(t, kmsg.ConfigResourceTypeBroker, fmt.Sprint(id), map[string]string{
			"leader.replication.throttled.rate": rate, "follower.replication.throttled.rate": rate,
		})
	}
}

// adding lists the replicas that partition 0 of a topic is to get.
func (c *cast) adding(t *testing.T, topic string) []int32 {
	var set kadm.TopicsSet
	set.Add(topic, 0)
	r, err := c.admin.ListPartitionReassignments(within(t), set)
	require.NoError(t, err)
	return r[topic][0].AddingReplicas
}

// The coordinator looks for topics that match an expression when one is
// created, ten seconds after it last looked at the earliest.
func (c *cast) regexMatches(t *testing.T) {
	g := c.regexConsumers(idIn(3, "regex"), "order.*", []string{"orders", "orders-eu"})
	eventually(t, "the expression is resolved", func() error {
		shown, ok := c.all.View().Group(g.id)
		if !ok || len(shown.Regexes) != 1 || !slices.Equal(shown.Regexes[0].Topics, []string{"orders"}) {
			return errors.New("it is not")
		}
		return nil
	})
	m := c.all.now(g.id)
	before, stored := c.log.newest(g.id)
	if !stored { // from 4.3 on the first join of such a group stores no hash
		shown, _ := c.all.newest(g.id)
		require.Equal(t, topichash.Unknown, shown.answer.Verdict, shown.String())
		require.Equal(t, topichash.NotStoredYet, shown.answer.Reason, shown.String())
	}
	c.create(t, "orders-eu", []int32{3, 2})
	eventually(t, "the group bumps", func() error {
		now, err := g.agrees(t, topichash.Match)
		if err == nil && stored && now.Hash == before.Hash {
			err = errors.New("the hash is the same")
		}
		return g.explain(err, m)
	})
	shown, _ := c.all.View().Group(g.id)
	require.Equal(t, []string{"orders", "orders-eu"}, shown.SubscribedTopics)
	g.end()
}

// A group that its last member leaves keeps a hash of no topics; one that is
// deleted is no more.
func (c *cast) groupDeleted(t *testing.T) {
	groups := []*group{c.consumers(idIn(1, "gone"), []string{"orders"}), c.shares(idIn(3, "gone-share"), []string{"orders"})}
	for _, g := range groups {
		g.settled(t)
		g.end()
		g.topics = nil
		last := g.settled(t)
		require.Zero(t, last.Hash)
		shown, _ := c.all.View().Group(g.id)
		require.Empty(t, shown.Members)
		eventually(t, "the group is deleted", func() error {
			r, err := c.admin.DeleteGroup(within(t), g.id)
			return errors.Join(err, r.Err)
		})
		eventually(t, "the sidecar forgets the group", func() error {
			if shown, ok := c.all.newest(g.id); ok {
				return errors.New(shown.String())
			}
			return nil
		})
		all := c.log.of(g.id)
		require.True(t, all[len(all)-1].Tombstone)
	}
}

// A static member that goes and comes back is the same member: the group
// stores nothing.
func (c *cast) staticReturns(t *testing.T) {
	before := c.static.settled(t)
	records := len(c.log.typesOf(c.static.id))
	shown, _ := c.all.View().Group(c.static.id)
	c.static.end()
	// What the client sends when it closes lacks the instance, and is refused.
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch, req.InstanceID = c.static.id, shown.Members[0].ID, -2, kmsg.StringPtr("instance")
	resp, err := req.RequestWith(within(t), c.client)
	require.NoError(t, err)
	require.NoError(t, kerr.ErrorForCode(resp.ErrorCode))
	eventually(t, "the member is away", func() error {
		shown, _ := c.all.View().Group(c.static.id)
		if len(shown.Members) != 1 || shown.Members[0].Epoch != -2 {
			return fmt.Errorf("%v", shown)
		}
		return nil
	})
	c.static = c.consumers(c.static.id, c.static.topics, kgo.InstanceID("instance"))
	require.Equal(t, before, c.static.settled(t))
	since := c.log.typesOf(c.static.id)[records:]
	require.Contains(t, since, record.TypeConsumerGroupCurrentMemberAssignment)
	require.NotContains(t, since, record.TypeConsumerGroupMetadata)
}

// The internal topics of a topology are in the hash, too. Kafka 4.1 forgets it
// when a member leaves.
func (c *cast) countingLeaves(t *testing.T) {
	c.create(t, "counted", []int32{2, 3})
	g := c.counting(idIn(0, "counting"), "out", "counted")
	before := g.settled(t)
	g.end()
	verdict := topichash.Match
	if c.is("4.1") {
		verdict = topichash.None
	}
	eventually(t, "the member has left", func() error {
		now := c.log.mustNewest(t, g.id)
		shown, ok := c.all.newest(g.id)
		switch {
		case now.Epoch <= before.Epoch:
			return fmt.Errorf("stored %s", now)
		case !ok || shown.stored != now.Hash || shown.epoch != now.Epoch || shown.answer.Verdict != verdict:
			return fmt.Errorf("stored %s, shown %s", now, shown)
		}
		return nil
	})
	now := c.log.mustNewest(t, g.id)
	if c.is("4.1") {
		require.Zero(t, now.Hash)
	} else {
		require.Equal(t, before.Hash, now.Hash)
	}
}
