//go:build e2e && unix

package e2e

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// memberJoins: the first member of a group, then a second one.
func memberJoins(s *scene) {
	s.create("orders", 4)
	s.begin("consumer-first-member")
	a := s.client("a", []string{"orders"})
	s.await(1)
	s.begin("consumer-member-joined")
	b := s.client("b", []string{"orders"})
	s.await(1)
	s.begin("consumer-member-left")
	b.end()
	s.await(1)
	s.end()
	a.end()
}

func subscriptionChanges(s *scene) {
	s.create("orders", 2)
	s.create("returns", 2)
	a := s.client("a", []string{"orders"})
	s.after(1)
	s.begin("consumer-subscription-changed")
	a.client.AddConsumeTopics(s.topic("returns"))
	s.await(1)
	s.settle()
	s.end()
}

// topicsChange: what the metadata of a subscribed topic may do, one after the
// other.
func topicsChange(s *scene) {
	s.create("orders", 2)
	a := s.heart("a", "orders", "late")
	a.beat()
	s.settle(a)
	s.begin("consumer-topic-created")
	s.create("late", 1)
	s.beatFor(1, a)
	s.begin("consumer-partitions-added")
	s.grow("orders")
	s.beatFor(1, a)
	// No heartbeat falls between: the coordinator finds both at once.
	s.begin("consumer-topic-recreated")
	s.remove("late")
	s.create("late", 1)
	s.beatFor(1, a)
	s.begin("consumer-topic-deleted")
	s.remove("late")
	s.beatFor(1, a)
	if len(s.BrokerIDs()) > 1 {
		s.begin("consumer-reassigned")
		s.move("orders", 0, 1, 3)
		s.beatFor(1, a)
	}
	s.begin("consumer-several-causes")
	s.grow("orders")
	b := s.heart("b", "orders", "late")
	b.beat()
	s.beatFor(1, a, b)
	s.end()
	b.leave()
	a.leave()
}

// move gives a partition of a topic of the scene other replicas, and waits
// until it has no more of the old ones.
func (s *scene) move(name string, partition int32, replicas ...int32) {
	s.t.Helper()
	s.reassign(s.t, s.topic(name), partition, replicas...)
	eventually(s.t, "the reassignment is complete", func() error {
		topics, err := s.admin.ListTopics(within(s.t), s.topic(name))
		if err != nil {
			return err
		}
		if r := topics[s.topic(name)].Partitions[partition].Replicas; !slices.Equal(r, replicas) {
			return fmt.Errorf("its replicas are %v", r)
		}
		return nil
	})
	s.awaitApplied(s.t)
}

// beatFor has members send heartbeats until the scenario has brought so many
// rebalances, and the group is stable.
func (s *scene) beatFor(n int, members ...*heart) {
	s.t.Helper()
	s.beatUntil(fmt.Sprintf("%s: %d rebalances", s.part, n), func() error {
		for _, id := range s.cast {
			if all := s.rebalances(id); len(all)-s.before[id] < n {
				return fmt.Errorf("there are %d:\n%s", len(all)-s.before[id], s.transcript(all))
			}
		}
		return nil
	}, members...)
	s.settle(members...)
	s.await(n)
}

// expressions: what regular expressions do.
func expressions(s *scene) {
	s.create("orders", 2)
	s.create("returns", 1)
	a, b := s.heart("a"), s.heart("b")
	a.match(s.topic("ord.*"))
	b.match(s.topic("ret.*"))
	a.beat()
	b.beat()
	s.resolved(func(topics []string) error {
		if !slices.Equal(topics, []string{s.topic("orders"), s.topic("returns")}) {
			return fmt.Errorf("it subscribes to %v", topics)
		}
		return nil
	}, a, b)
	s.settle(a, b)

	s.begin("consumer-regex-resolved")
	s.create("orders-eu", 1)
	s.beatFor(1, a, b)

	// It is resolved again, to the same topics.
	s.begin("consumer-regex-unchanged")
	before := s.resolutions()
	s.create("other", 1)
	s.beatUntil("the expressions are resolved again", func() error {
		if s.resolutions() == before {
			return errors.New("not yet")
		}
		return nil
	}, a, b)

	s.begin("consumer-regex-topic-deleted")
	s.remove("orders-eu")
	s.beatFor(1, a, b)
	s.create("another", 1)
	s.beatFor(2, a, b)

	s.begin("consumer-regex-changed")
	b.match(s.topic("ord.*"))
	s.beatFor(1, a, b)
	s.end()
	a.leave()
	b.leave()
}

// resolved has members send heartbeats until the topics of the group are as
// wanted.
func (s *scene) resolved(check func(topics []string) error, members ...*heart) {
	s.t.Helper()
	s.beatUntil("the expressions are resolved", func() error {
		shown, ok := s.all.View().Group(s.group)
		if !ok {
			return errors.New("the group is not shown")
		}
		return check(shown.SubscribedTopics)
	}, members...)
}

// resolutions counts how often the group's expressions were resolved.
func (s *scene) resolutions() (n int) {
	for _, kind := range s.log.typesOf(s.group) {
		if kind == 16 {
			n++
		}
	}
	return n
}

// membersTimeOut: each way of it, one after the other.
func membersTimeOut(s *scene) {
	const short = 4 * time.Second
	s.configure(map[string]string{"session.timeout.ms": fmt.Sprint(short.Milliseconds())})
	s.create("orders", 2)
	a := s.heart("a", "orders")
	a.beat()
	s.settle(a)
	s.begin("consumer-session-timeout")
	s.await(1)
	s.end()

	// A static member says that it comes back, and does not.
	b := s.heart("b", "orders")
	b.static("instance")
	b.beat()
	s.settle(b)
	s.begin("consumer-static-timeout")
	b.leaveForAWhile()
	s.await(1)
	s.end()

	// A member is asked to give up a partition, and goes on without doing so.
	s.configure(map[string]string{"session.timeout.ms": fmt.Sprint(patient.Milliseconds())})
	c, d := s.heart("c", "orders"), s.heart("d", "orders")
	c.state.RebalanceTimeoutMillis = 3000
	c.holds = true
	c.beat()
	s.settle(c)
	d.beat()
	c.beat()
	s.settled(s.group)
	s.begin("consumer-rebalance-timeout")
	eventually(s.t, "the member is removed", func() error {
		_, _ = c.send() // an error, once it is
		_, err := d.send()
		require.NoError(s.t, err)
		if len(s.rebalances(s.group)) == s.before[s.group] {
			return errors.New("not yet")
		}
		return nil
	})
	s.beatFor(1, d)
	s.end()
	d.leave()
}

// staticMember: it leaves for a while and comes back.
func staticMember(s *scene) {
	s.create("orders", 2)
	a, b := s.heart("a", "orders"), s.heart("b", "orders")
	b.static("instance")
	a.beat()
	b.beat()
	s.settle(a, b)
	s.begin("consumer-static-away")
	b.leaveForAWhile()
	a.beat()
	again := s.heart("c", "orders")
	again.static("instance")
	again.beat()
	s.settle(a, again)
	s.end()
	a.leave()
	again.leave()
}

func assignorChanges(s *scene) {
	s.create("orders", 2)
	a := s.heart("a", "orders")
	a.state.ServerAssignor = kmsg.StringPtr("uniform")
	a.beat()
	s.settle(a)
	s.begin("consumer-assignor-changed")
	a.state.ServerAssignor = kmsg.StringPtr("range")
	a.beat()
	s.settle(a)
	s.end()
	a.leave()
}

// neverReconciles: a member that is to give up partitions does not, while the
// other waits for them.
func neverReconciles(s *scene) {
	s.create("orders", 2)
	a, b := s.heart("a", "orders"), s.heart("b", "orders")
	a.holds = true
	a.beat()
	s.settle(a)
	s.begin("consumer-never-reconciles")
	s.open = true
	b.beat()
	for range 8 {
		a.beat()
		b.beat()
		pause(s.t, heartbeat/2)
	}
	s.await(1)
	s.end()
	b.leave()
	a.leave()
}

// targetLater: two members join within the time that must pass between two
// assignments.
func targetLater(s *scene) {
	s.configure(map[string]string{"assignment.interval.ms": "15000"})
	s.create("orders", 2)
	a, b := s.heart("a", "orders"), s.heart("b", "orders")
	a.beat()
	s.after(1)
	s.begin("consumer-target-later")
	b.beat()
	s.await(1)
	r := s.rebalances(s.group)
	require.Nil(s.t, r[len(r)-1].TargetAt, "the target assignment, before its time")
	s.configure(map[string]string{"assignment.interval.ms": "1000"})
	s.settle(a, b)
	s.end()
	r = s.rebalances(s.group)
	last := r[len(r)-1]
	require.NotNil(s.t, last.TargetAt)
	require.Greater(s.t, *last.TargetAt, last.StartedAt)
	require.NotNil(s.t, last.CompletedAt)
	a.leave()
	b.leave()
}

// bothIn is the partition of twoGroups.
const bothIn = 2

// twoGroups: members of two groups of one coordinator join at once, so that
// both are in one batch.
func twoGroups(s *scene) {
	s.create("orders", 2)
	first, second := idIn(bothIn, s.name+"-one"), idIn(bothIn, s.name+"-two")
	members := map[string]*heart{}
	for _, id := range []string{first, second} {
		m := s.heart("a", "orders")
		m.state.Group = id
		m.client = s.connected(id) // a broker takes one request of a connection after the other
		members[id] = m
	}
	s.begin("consumer-shared-batch", first, second)
	s.together(members, 0)
	s.await(1)
	s.end()
	for range 5 { // a batch may have ended between the two
		s.together(members, -1)
		s.together(members, 0)
	}
	s.together(members, -1)
}

// together has members send a heartbeat with an epoch at the same time: 0 joins,
// -1 leaves.
func (s *scene) together(members map[string]*heart, epoch int32) {
	s.t.Helper()
	var wait sync.WaitGroup
	errs := make(chan error, len(members))
	for _, m := range members {
		wait.Go(func() {
			req := m.state
			req.MemberEpoch = epoch
			_, err := m.ask(&req)
			errs <- err
		})
	}
	wait.Wait()
	for range members {
		require.NoError(s.t, <-errs)
	}
}

// connected is a client that has a connection to a group's coordinator.
func (s *scene) connected(group string) *kgo.Client {
	s.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Bootstrap()...))
	require.NoError(s.t, err)
	s.t.Cleanup(client.Close)
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = []string{group}
	_, err = req.RequestWith(within(s.t), client)
	require.NoError(s.t, err)
	return client
}
