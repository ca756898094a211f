//go:build e2e && unix

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/test/jvm"
	"github.com/kraftside/kraftside/test/realkafka"
	"github.com/kraftside/kraftside/topichash"
)

// racksChange is a true story, with a sidecar beside each broker: a broker
// comes back in another rack, which its groups notice; another one is
// unregistered, which nobody notices, until a third one restarts that has
// nothing to do with it.
func racksChange(s *scene) {
	s.create("orders", 3) // 0: brokers 1 2, 1: 2 3, 2: 3 1
	s.create("bills", 1)  // 0: brokers 1 2
	s.create("out", 1)
	locals := s.locals(s.t)
	consumer := s.world.consumers(idIn(0, s.name+"-consumer"), []string{s.topic("bills")})
	share := s.world.shares(idIn(1, s.name+"-share"), []string{s.topic("orders")})
	streams := s.world.streams(idIn(2, s.name+"-streams"), s.topic("out"), s.topic("orders"))
	all := []*group{consumer, share, streams}
	settleAll(s.t, all)
	ids := []string{consumer.id, share.id, streams.id}

	s.begin("broker-away", ids...)
	keepHash(s.t, all, func() { require.NoError(s.t, s.StopBroker(2)) })
	s.begin("broker-in-another-rack", ids...)
	require.NoError(s.t, s.StartBroker(2, realkafka.WithRack("rack-9")))
	s.await(1)
	settleAll(s.t, all)
	s.end()

	// The coordinator of the consumer group is to move later on, and that of
	// the others is not.
	keepHash(s.t, all, func() {
		for partition := range int32(3) {
			s.awaitReplicas(s.t, partition)
		}
		s.coordinateAt(s.t, 0, 3, s.BrokerIDs())
		s.coordinateAt(s.t, 1, 2, s.BrokerIDs())
		s.coordinateAt(s.t, 2, 2, s.BrokerIDs())
	})
	s.begin("broker-unregistered", ids...)
	keepHash(s.t, all, func() { require.NoError(s.t, s.StopBroker(1)) })
	require.NoError(s.t, s.UnregisterBroker(within(s.t), 1))
	for _, id := range []int32{2, 3} {
		s.awaitVerified(locals[id], topichash.Stale, all...)
	}
	s.begin("stale-set-off", ids...)
	require.NoError(s.t, s.StopBroker(3))
	require.NoError(s.t, s.StartBroker(3))
	s.await(1)
	require.Equal(s.t, int32(2), s.leader(s.t, kafka.OffsetsTopic, 0), "the coordinator of the consumer group has moved")
	s.end()
	for _, id := range []int32{2, 3} {
		s.awaitVerified(locals[id], topichash.Match)
		for _, g := range all {
			s.sameExplanation(locals[id], g.id)
		}
	}
	for _, g := range all {
		g.end()
	}
	for _, b := range locals {
		b.end(s.t)
	}
}

// awaitVerified waits until verify, asked of one sidecar, lists just these
// groups of the scene, with a verdict.
func (s *scene) awaitVerified(b *beside, verdict topichash.Verdict, all ...*group) {
	s.t.Helper()
	eventually(s.t, fmt.Sprintf("verify by the sidecar %s lists groups as %s", b.name, verdict), func() error {
		said := ""
		for line := range strings.Lines(getGroups(s.t, b.Address(), "/v1/verify")) {
			if strings.Contains(line, s.name) || strings.HasPrefix(line, "missing") {
				said += line // the other scenes' groups are empty
			}
		}
		want := "missing []\n"
		for _, g := range all {
			stored := s.log.mustNewest(s.t, g.id)
			computed, err := s.expected(within(s.t), g.topics)
			if err != nil {
				return err
			}
			want += fmt.Sprintf("%s %s epoch %d stored %d computed %d %s\n", g.kind, g.id, stored.Epoch, stored.Hash, computed, verdict)
		}
		if said != want {
			return fmt.Errorf("%s\nwanted:\n%s", said, want)
		}
		return nil
	})
}

// sameExplanation asks a sidecar of scope local, which holds some of the
// group's rebalances or none: with its peers it gives what the one of scope
// all gives.
func (s *scene) sameExplanation(b *beside, id string) {
	s.t.Helper()
	eventually(s.t, fmt.Sprintf("the sidecar %s explains group %s", b.name, id), func() error {
		if one, all := encode(s.t, rebalances(s.t, b.Address(), id)), encode(s.t, s.rebalances(id)); one != all {
			return fmt.Errorf("%s\nthe one that follows everything:\n%s", one, all)
		}
		return nil
	})
}

// TestUpgraded: the first coordinator of a release with hashes finds none.
func TestUpgraded(t *testing.T) {
	for _, version := range versions(t) {
		if version == "4.0.2" {
			t.Run(version, func(t *testing.T) { upgraded(t, version) })
		}
	}
}

func upgraded(t *testing.T, version string) {
	s := newStage(newWorld(t, realkafka.Config{Version: version, Controllers: 1, Brokers: 1, Properties: logsStay()}))
	a := s.scene(t, "upgraded", groups.Consumer)
	a.create("orders", 2)
	a.begin("consumer-first-member")
	member := a.client("a", []string{"orders"})
	a.await(1)
	a.begin("consumer-partitions-added")
	a.grow("orders")
	a.await(1)
	a.begin("upgraded")
	require.NoError(t, s.Upgrade(jvm.Newest))
	a.await(1)
	a.end()
	member.end()
	s.requireEvidence(t)
	s.requireSameFromFiles(t)
	s.requireExpected(t, version)
	s.requireTold(t, version)
}
