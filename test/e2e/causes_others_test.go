//go:build e2e && unix

package e2e

import (
	"errors"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/test/realkafka"
)

// shareGroup: its partitions can be given out once their state is there, which
// is a second rebalance each time. The assignor of Kafka 4.1 chooses by a hash
// of the member's id: with these, each has one partition that nobody else has.
func shareGroup(s *scene) {
	s.create("orders", 2)
	s.create("returns", 1)
	a, b := s.heart("a", "orders"), s.heart("b", "orders")
	s.begin("share-first-member")
	s.beatFor(2, a)
	s.begin("share-member-joined")
	s.beatFor(1, a, b)
	s.begin("share-member-left")
	b.leave()
	s.beatFor(1, a)
	s.begin("share-subscription-changed")
	a.subscribe("orders", "returns")
	s.beatFor(2, a)
	s.begin("share-partitions-added")
	s.grow("orders")
	s.beatFor(2, a)
	s.end()
	a.leave()
}

// classicGroup: what can be told of generations.
func classicGroup(s *scene) {
	s.create("orders", 4)
	s.begin("classic-first-member")
	a := s.client("a", []string{"orders"})
	s.await(1)
	s.begin("classic-member-joined")
	b := s.client("b", []string{"orders"})
	s.await(1)
	s.begin("classic-partitions-added")
	s.grow("orders")
	s.await(1)
	s.begin("classic-member-left")
	b.end()
	s.await(1)
	s.begin("classic-member-asked")
	a.client.ForceRebalance()
	s.await(1)
	s.end()
	a.end()
}

// conversion: a member of the new protocol makes a classic group one of it, and
// takes that with it when it leaves.
func conversion(s *scene) {
	s.create("orders", 2)
	s.kind = groups.Classic
	a := s.client("a", []string{"orders"})
	s.kind = groups.Consumer
	s.after(1)
	s.begin("conversion-to-consumer")
	b := s.heart("b", "orders")
	b.beat()
	s.beatFor(1, b)
	s.begin("conversion-to-classic")
	b.leave()
	s.await(1)
	s.end()
	a.end()
}

// streamsGroup: a topology with internal topics.
func streamsGroup(s *scene) {
	s.create("in", 2)
	s.create("out", 2)
	a := s.program("a")
	s.begin("streams-first-member")
	require.NoError(s.t, a.Start(realkafka.Count, s.topic("out"), s.topic("in")))
	s.await(2)
	s.running(a)
	if !s.is("4.1") { // which has no configurations of groups
		s.begin("streams-configuration-changed")
		s.configure(map[string]string{"num.standby.replicas": "1"})
		s.await(1)
	}
	s.begin("streams-topology-invalid")
	s.grow("in")
	s.showFirst = true
	if s.is("4.1") {
		s.await(1)
	} else {
		s.await(2) // the program ends itself
	}
	s.end()
	require.NoError(s.t, a.Kill())
}

// streamsMembers: a topology without a state.
func streamsMembers(s *scene) {
	s.create("in", 2)
	s.create("out", 2)
	a, b := s.program("a"), s.program("b")
	static := s.is("4.4") // before, there are no static members of streams groups
	if static {
		require.NoError(s.t, a.Set("group.instance.id", "instance"))
	}
	require.NoError(s.t, a.Start(realkafka.Pass, s.topic("out"), s.topic("in")))
	s.after(1)
	s.running(a)
	s.begin("streams-member-joined")
	require.NoError(s.t, b.Start(realkafka.Pass, s.topic("out"), s.topic("in")))
	s.await(1)
	s.running(a, b)
	s.begin("streams-partitions-added")
	s.grow("in")
	s.await(1)
	if static {
		s.begin("streams-member-changed")
		require.NoError(s.t, a.Stop())
		require.NoError(s.t, a.Start(realkafka.Pass, s.topic("out"), s.topic("in")))
		s.await(1)
		s.running(a, b)
	}
	s.begin("streams-member-left")
	require.NoError(s.t, b.Stop())
	s.await(1)
	s.end()
	require.NoError(s.t, b.Kill())
	require.NoError(s.t, a.Kill())
}

// running waits until streams members say that they run.
func (s *scene) running(members ...*realkafka.StreamsMember) {
	s.t.Helper()
	for _, m := range members {
		eventually(s.t, "the streams member runs", func() error {
			state, err := m.State()
			if err == nil && state != "RUNNING" {
				err = errors.New(state)
			}
			return err
		})
	}
}
