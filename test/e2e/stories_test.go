//go:build e2e && unix

package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kraftside/kraftside/test/realkafka"
)

// TestHashes plays the changes that KIP-1101 names, and those that it does not,
// with consumer, share and streams groups.
func TestHashes(t *testing.T) {
	for _, version := range versions(t) {
		if !strings.HasPrefix(version, "4.0.") { // which has no hashes
			t.Run(version, func(t *testing.T) { hashes(t, version) })
		}
	}
}

// cast is the cluster and the groups that stay through all scenarios. Each has
// a partition of __consumer_offsets of its own.
type cast struct {
	*world
	consumer, static, share, streams *group
	absent                           *absence
}

func (c *cast) groups() []*group { return []*group{c.consumer, c.static, c.share, c.streams} }

// scenario is an event and what must come of it.
type scenario struct {
	name string
	run  func(*testing.T)
}

func hashes(t *testing.T, version string) {
	c := &cast{world: newWorld(t, realkafka.Config{
		Version:  version,
		Security: &realkafka.Security{Protocol: "SASL_PLAINTEXT", Users: map[string]string{tokenOwner: plainPassword}},
		Properties: map[string]string{
			"metadata.max.retention.bytes": "50000", // soon there is a snapshot without the log before it
			"delegation.token.secret.key":  tokenSecretKey,
		},
	})}
	play(t, c.story())
}

// story is what happens on a release. 4.3 has the rules of 4.4 but for the
// records of members and assignments, and is left alone with what happens to
// brokers and to sidecars.
func (c *cast) story() []scenario {
	changes := []scenario{
		{"groups join", c.join},
		{"a sidecar goes away", c.goesAway},
		{"topic created", c.topicCreated},
		{"partitions added", c.partitionsAdded},
		{"topic deleted and created again", c.topicRecreated},
		{"expression matches a new topic", c.regexMatches},
		{"group deleted", c.groupDeleted},
		{"static member returns", c.staticReturns},
		{"streams member with internal topics leaves", c.countingLeaves},
		{"broker back in another rack", c.rackChanged},
	}
	more := []scenario{
		{"partition reassigned", c.reassigned},
		{"broker away and back", c.brokerAway},
		{"preferred leaders elected", c.leadersElected},
		{"broker unregistered, coordinator moved", c.unregistered},
		// A controller that restarts has the records again that it had cleaned away.
		{"the sidecar comes back after a snapshot", c.comesBack},
		{"active controller killed", c.controllerKilled},
		{"quorum leader moved twice", c.quorumMoved},
		{"three local sidecars, coordinator moved", c.localSidecars},
	}
	ends := []scenario{
		{"the same image from every source", c.sameImages},
		{"every hash in Kafka's own dump", c.sameDump},
		{"secrets", c.secretsStay},
	}
	if c.is("4.3") {
		return slices.Concat(changes, ends)
	}
	return slices.Concat(changes, more, ends, []scenario{{"sidecar killed at 20 moments", c.killed}})
}

// play runs scenarios until one fails: the next begins where it ended.
func play(t *testing.T, all []scenario) {
	for _, s := range all {
		begin := time.Now()
		if !t.Run(s.name, s.run) {
			return
		}
		t.Logf("%-45s %6.1f s", s.name, time.Since(begin).Seconds())
	}
}

func (c *cast) join(t *testing.T) {
	c.create(t, "orders", []int32{1, 2}, []int32{2, 3}, []int32{3, 1})
	c.create(t, "in", []int32{1, 2}, []int32{2, 3})
	c.create(t, "out", []int32{1, 2})
	c.streams = c.world.streams(idIn(3, "streams"), "out", "in")
	c.consumer = c.consumers(idIn(0, "consumer"), []string{"orders", "late"})
	c.static = c.consumers(idIn(1, "static"), []string{"orders"}, kgo.InstanceID("instance"))
	c.share = c.shares(idIn(2, "share"), []string{"orders", "late"})
	for _, g := range c.groups() {
		g.settled(t)
	}
}
