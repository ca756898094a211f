//go:build e2e && unix

package e2e

import (
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/internal/config"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/test/jvm"
	"github.com/kraftside/kraftside/test/realkafka"
)

// TestAdmin sends every request of every version that is served to each broker
// and, as if to that broker, to a sidecar, and compares the answers field by
// field: of a cluster with a bit of everything, and again after each kind of
// change.
func TestAdmin(t *testing.T) {
	for _, version := range versions(t) {
		if version == jvm.Newest || version == "4.1.2" {
			t.Run(version, func(t *testing.T) { adminAnswers(t, version) })
		}
	}
}

// adminStage is a cluster, and a sidecar that answers for each of its brokers.
type adminStage struct {
	*world
	*comparison
	asked  *beside
	first  int // port of the sidecar, less the broker's id
	topics map[string]kafka.TopicID
	groups []*group
	away   int32 // a broker that does not run, 0 for none
}

// newAdminStage starts a cluster that everybody may ask anything.
func newAdminStage(t *testing.T, version string) *adminStage {
	return &adminStage{
		comparison: newComparison(), topics: map[string]kafka.TopicID{},
		world: newWorld(t, realkafka.Config{Version: version, Controllers: 1, Properties: map[string]string{
			"authorizer.class.name":            "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
			"auto.create.topics.enable":        "false",
			"super.users":                      "User:ANONYMOUS",
			"group.initial.rebalance.delay.ms": "0",
		}}),
	}
}

func adminAnswers(t *testing.T, version string) {
	s := newAdminStage(t, version)
	s.answerForAll(t)
	s.populate(t)
	s.alterConfig(t, kmsg.ConfigResourceTypeBroker, "1", map[string]string{"log.flush.interval.messages": "10000"})
	s.compareAll(t, "at first")
	for _, change := range adminChanges {
		change.make(s, t)
		s.compareAll(t, change.name)
	}
	s.report(t, "answers")
}

// answerForAll starts the sidecar that is asked, with a port for each broker.
func (s *adminStage) answerForAll(t *testing.T) {
	free, err := realkafka.FreePorts(10)
	require.NoError(t, err)
	s.first = free[0]
	s.asked = s.sidecar("admin", t.TempDir(), func(c *config.Config) {
		c.Admin.Listen, c.Admin.PortPerBroker, c.Admin.MaxStaleness = "127.0.0.1:0", s.first, patience
		c.Groups.Scope = config.ScopeAll
	})
}

// populate makes a bit of everything.
func (s *adminStage) populate(t *testing.T) {
	s.create(t, "orders", []int32{1, 2}, []int32{2, 3}, []int32{3, 1})
	s.create(t, "returns", []int32{1}, []int32{2})
	s.create(t, "in", []int32{1, 2}, []int32{2, 3})
	s.create(t, "out", []int32{1}, []int32{2})
	s.alterConfig(t, kmsg.ConfigResourceTypeTopic, "orders", map[string]string{"retention.ms": "86400000", "cleanup.policy": "compact,delete"})
	s.alterConfig(t, kmsg.ConfigResourceTypeBroker, "", map[string]string{"log.flush.interval.messages": "12000", "num.io.threads": "3"})
	s.alterConfig(t, kmsg.ConfigResourceTypeClientMetrics, "subscription", map[string]string{"interval.ms": "60000", "metrics": "org.apache"})
	s.access(t)
	s.members(t)
	eventually(t, "coordinators of transactions are there", func() error { // a broker creates their log when one is looked for
		return s.admin.FindTxnCoordinators(within(t), "transactions").Error()
	})
}

// access makes who may do what, and how much.
func (s *adminStage) access(t *testing.T) {
	for _, acl := range []*kadm.ACLBuilder{
		kadm.NewACLs().Topics("orders").Allow("User:alice").AllowHosts("*").Operations(kmsg.ACLOperationRead, kmsg.ACLOperationDescribe).ResourcePatternType(kadm.ACLPatternLiteral),
		kadm.NewACLs().Topics("ord").Allow("User:bob").AllowHosts("10.0.0.1").Operations(kmsg.ACLOperationRead).ResourcePatternType(kadm.ACLPatternPrefixed),
		kadm.NewACLs().Topics("*").Deny("User:eve").DenyHosts("*").Operations(kmsg.ACLOperationAll).ResourcePatternType(kadm.ACLPatternLiteral),
		kadm.NewACLs().Groups("con").Allow("User:alice").AllowHosts("*").Operations(kmsg.ACLOperationRead).ResourcePatternType(kadm.ACLPatternPrefixed),
		kadm.NewACLs().Clusters().Allow("User:alice").AllowHosts("*").Operations(kmsg.ACLOperationDescribe),
	} {
		r, err := s.admin.CreateACLs(within(t), acl)
		require.NoError(t, err)
		for _, one := range r {
			require.NoError(t, one.Err)
		}
	}
	user := "alice"
	quota := func(limit float64, entity ...kadm.ClientQuotaEntityComponent) kadm.AlterClientQuotaEntry {
		return kadm.AlterClientQuotaEntry{Entity: entity, Ops: []kadm.AlterClientQuotaOp{
			{Key: "producer_byte_rate", Value: limit}, {Key: "request_percentage", Value: limit + 0.5},
		}}
	}
	r, err := s.admin.AlterClientQuotas(within(t), []kadm.AlterClientQuotaEntry{
		quota(1000, kadm.ClientQuotaEntityComponent{Type: "user", Name: &user}),
		quota(1e9, kadm.ClientQuotaEntityComponent{Type: "user"}),
		quota(3000, kadm.ClientQuotaEntityComponent{Type: "user", Name: &user}, kadm.ClientQuotaEntityComponent{Type: "client-id", Name: &user}),
		quota(2e9, kadm.ClientQuotaEntityComponent{Type: "client-id"}),
	})
	require.NoError(t, err)
	for _, one := range r {
		require.NoError(t, one.Err)
	}
	for _, c := range []kadm.UpsertSCRAM{ // Kafka takes one of a user at a time
		{User: "alice", Mechanism: kadm.ScramSha256, Iterations: 4096, Password: "alice-password"},
		{User: "alice", Mechanism: kadm.ScramSha512, Iterations: 8192, Password: "alice-password"},
		{User: "bob", Mechanism: kadm.ScramSha256, Iterations: 5000, Password: "bob-password"},
	} {
		created, err := s.admin.AlterUserSCRAMs(within(t), nil, []kadm.UpsertSCRAM{c})
		require.NoError(t, err)
		require.NoError(t, created.Error())
	}
}

// members makes groups of all types.
func (s *adminStage) members(t *testing.T) {
	s.groups = append(s.groups,
		s.consumers("consumer", []string{"orders", "returns"}, kgo.Rack("rack-1")),
		s.consumers("consumer", []string{"orders"}, kgo.InstanceID("instance")),
		s.regexConsumers("expression", "ret.*", []string{"returns"}),
		s.shares("share", []string{"orders"}),
		s.counting("streams", "out", "in"),
		s.classic("classic", "orders"), s.classic("classic", "orders", "returns"),
	)
	s.groups[0].commit(t, "orders", "returns")
	s.groups[5].commit(t, "orders")
	s.commit(t, "simple", "of simple", "orders", "returns")
	s.commit(t, "plain", "", "orders")
	pending := &transactions{client: s.client, id: "pending", group: "simple", topic: s.topicID("orders")}
	pending.begin(t)
	pending.open(t)
	gone := s.classic("left", "orders")
	gone.commit(t, "orders")
	gone.end()
}

// classic starts a member of a classic group.
func (w *world) classic(id string, topics ...string) *group {
	return w.connect(w.t, groups.Classic, id, topics, []kgo.Opt{
		kgo.ConsumerGroup(id), kgo.Balancers(kgo.RangeBalancer()), kgo.ConsumeTopics(topics...), kgo.DisableAutoCommit(),
	})
}

// commit commits offsets of a group that has no members.
func (s *adminStage) commit(t *testing.T, id, metadata string, topics ...string) {
	offsets := kadm.Offsets{}
	for _, topic := range topics {
		offsets.Add(kadm.Offset{Topic: topic, Partition: 0, At: 5, LeaderEpoch: 0, Metadata: metadata})
	}
	require.NoError(t, s.admin.CommitAllOffsets(within(t), id, offsets))
}

// commit commits offsets as the member.
func (g *group) commit(t *testing.T, topics ...string) {
	offsets := map[string]map[int32]kgo.EpochOffset{}
	for _, topic := range topics {
		offsets[topic] = map[int32]kgo.EpochOffset{0: {Epoch: 0, Offset: 7}, 1: {Epoch: -1, Offset: 8}}
	}
	eventually(t, "offsets of "+g.id+" are committed", func() (failed error) {
		g.client.CommitOffsetsSync(within(t), offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, r *kmsg.OffsetCommitResponse, err error) {
			failed = err
			for i := 0; failed == nil && i < len(r.Topics); i++ {
				failed = kerr.ErrorForCode(r.Topics[i].Partitions[0].ErrorCode)
			}
		})
		return failed
	})
}

func (s *adminStage) groupIDs() []string {
	return []string{"consumer", "expression", "share", "streams", "classic", "left", "simple", "plain", "absent"}
}

func (s *adminStage) topicID(name string) kafka.TopicID {
	if id, ok := s.topics[name]; ok {
		return id
	}
	topics, err := s.admin.ListTopics(within(s.t), name)
	require.NoError(s.t, err)
	s.topics[name] = kafka.TopicID(topics[name].ID)
	return s.topics[name]
}

func (s *adminStage) topicIDText(name string) string { return s.topicID(name).String() }

// adminChanges are kinds of changes, after each of which all is compared again.
var adminChanges = []struct {
	name string
	make func(*adminStage, *testing.T)
}{
	{"a partition is being moved", func(s *adminStage, t *testing.T) {
		s.create(t, "moving", []int32{1, 2}, []int32{2, 3})
		c := &cast{world: s.world}
		c.fill(t, "moving")
		c.throttle(t, "moving", "1")
		s.reassign(t, "moving", 0, 1, 3)
	}},
	{"a member has left", func(s *adminStage, _ *testing.T) { s.groups[1].end() }},
	{"a topic was deleted", func(s *adminStage, t *testing.T) { s.delete(t, "returns") }},
	{"configurations changed", func(s *adminStage, t *testing.T) {
		s.alterConfig(t, kmsg.ConfigResourceTypeTopic, "orders", map[string]string{"retention.ms": "1000000"})
	}},
	{"a broker is away", func(s *adminStage, t *testing.T) {
		require.NoError(t, s.StopBroker(3))
		s.away = 3
	}},
}

// settle waits until nothing moves, and the sidecar has all of it.
func (s *adminStage) settle(t *testing.T) {
	eventually(t, "groups are stable", func() error {
		there, err := s.admin.ListGroups(within(t))
		if err != nil {
			return err
		}
		for _, g := range s.groups {
			switch shown, ok := s.asked.View().Group(g.id); {
			case !ok:
				return fmt.Errorf("group %s is not there", g.id)
			case shown.State != groups.Stable && shown.State != groups.Empty:
				return fmt.Errorf("group %s is %s", g.id, shown.State)
			case string(shown.State) != there[g.id].State:
				s.nudge(t, g.id)
				return fmt.Errorf("group %s is %s here and %s there", g.id, shown.State, there[g.id].State)
			}
		}
		return nil
	})
	s.awaitApplied(t, s.away)
	end := s.metadataEnd(t)
	eventually(t, "the sidecar has the metadata", func() error {
		if at := s.asked.View().Metadata.Delivered.Offset; at < end {
			return fmt.Errorf("it is at %d of %d", at, end)
		}
		return s.asked.caughtUp()
	})
}

// nudge has the coordinator of a group write a record. It lists groups as of the
// last one in their partition: a streams group that it has loaded is NotReady until
// then, although a heartbeat has made it ready.
func (s *adminStage) nudge(t *testing.T, id string) {
	t.Logf("group %s: nudged", id)
	s.commit(t, idIn(partitionOf(id), "nudge"), "", "orders")
}

// compareAll compares the answers of each broker that runs with those of the
// sidecar for it.
func (s *adminStage) compareAll(t *testing.T, when string) {
	t.Helper()
	s.settle(t)
	for _, id := range s.BrokerIDs() {
		if id == s.away {
			continue
		}
		p := &pair{
			stage:   s,
			broker:  dialRaw(t, s.Address(id)),
			sidecar: dialRaw(t, net.JoinHostPort("127.0.0.1", strconv.Itoa(s.first+int(id)))),
		}
		theirs, ours := p.broker.versions(), p.sidecar.versions()
		for _, key := range slices.Sorted(maps.Keys(ours)) {
			for v := max(ours[key].MinVersion, theirs[key].MinVersion); v <= min(ours[key].MaxVersion, theirs[key].MaxVersion); v++ {
				p.compare(key, v, when, id)
			}
		}
	}
}

// pair is a broker and the sidecar that answers for it.
type pair struct {
	stage           *adminStage
	broker, sidecar *rawConn
	refused         bool // some of what is asked
}

// compare sends the cases of an API in one version to both. A request for which
// the broker ends the connection has to end that to the sidecar.
func (p *pair) compare(key, version int16, when string, id int32) {
	t, cases := p.stage.t, p.stage.adminCases()
	require.Contains(t, cases, key, "cases of %s, which the sidecar serves", kmsg.NameForKey(key))
	for _, c := range cases[key] {
		if version < c.from || p.refused && c.unanswered {
			continue
		}
		q := c.make(version)
		q.SetVersion(version)
		r := request{kmsg.NameForKey(key), version, c.name, when, id}
		want, theirs := p.broker.ask(q)
		got, ours := p.sidecar.ask(q)
		if theirs == nil && ours == nil {
			p.stage.add(r, want, got)
			continue
		}
		require.ErrorIs(t, theirs, io.EOF, "%s: the broker; the sidecar: %v", r, ours)
		require.ErrorIs(t, ours, io.EOF, "%s: the sidecar", r)
		p.stage.compared[r.api]++
		p.broker, p.sidecar = p.broker.again(), p.sidecar.again()
	}
}
