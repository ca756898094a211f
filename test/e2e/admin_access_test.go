//go:build e2e && unix

package e2e

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/aws"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/kraftside/kraftside/internal/config"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/test/jvm"
	"github.com/kraftside/kraftside/test/realkafka"
)

// TestAdminAccess has users log in to brokers with SCRAM, and with the same
// credentials to a sidecar, and send every request to both: whoever may not
// see something at a broker is told the same at the sidecar, entry by entry.
func TestAdminAccess(t *testing.T) {
	if !hasNewest(t) {
		t.Skip("the rules are those of the newest release")
	}
	s := &adminStage{comparison: newComparison(), topics: map[string]kafka.TopicID{}}
	s.world = newWorld(t, realkafka.Config{Version: jvm.Newest, Controllers: 1, Brokers: 1, Properties: map[string]string{"auto.create.topics.enable": "false"},
		Security: &realkafka.Security{Protocol: "SASL_PLAINTEXT"}})
	free, err := realkafka.FreePorts(5)
	require.NoError(t, err)
	s.first = free[0]
	users := filepath.Join(t.TempDir(), "users")
	require.NoError(t, os.WriteFile(users, []byte("alice:alice-password\n"), 0o600))
	s.asked = s.sidecar("admin", t.TempDir(), func(c *config.Config) {
		c.Admin.Listen, c.Admin.PortPerBroker, c.Admin.MaxStaleness = "127.0.0.1:0", s.first, patience
		c.Admin.SASL.Mechanisms, c.Admin.SASL.UsersFile = []string{"SCRAM-SHA-256", "PLAIN"}, users
		c.Groups.Scope = config.ScopeAll
	})
	s.create(t, "orders", []int32{1}, []int32{1})
	s.create(t, "returns", []int32{1})
	s.create(t, "moving", []int32{1})
	s.groups = append(s.groups, s.consumers("consumer", []string{"orders", "returns"}), s.shares("share", []string{"orders"}), s.classic("classic", "orders"))
	s.groups[0].commit(t, "orders", "returns")
	s.commit(t, "simple", "of simple", "orders")
	s.alterConfig(t, kmsg.ConfigResourceTypeTopic, "orders", map[string]string{"retention.ms": "86400000"})
	eventually(t, "coordinators of transactions are there", func() error {
		return s.admin.FindTxnCoordinators(within(t), "transactions").Error()
	})
	names := []string{"alice", "bob"}
	for _, user := range names {
		r, err := s.admin.AlterUserSCRAMs(within(t), nil, []kadm.UpsertSCRAM{{User: user, Mechanism: kadm.ScramSha256, Iterations: 4096, Password: user + "-password"}})
		require.NoError(t, err)
		require.NoError(t, r.Error())
	}
	for _, grant := range adminGrants() {
		grant.apply(t, s.admin)
		s.settle(t)
		for _, user := range names {
			s.compareUser(t, grant.name, user)
		}
		grant.revoke(t, s.admin)
	}
	s.compareRefused(t)
	s.report(t, "access")
}

// compareRefused compares what somebody is told who has a wrong password, another
// mechanism, no login, or who may not see a topic.
func (s *adminStage) compareRefused(t *testing.T) {
	broker, sidecar := s.SecuredBootstrap()[0], net.JoinHostPort("127.0.0.1", strconv.Itoa(s.first+int(s.BrokerIDs()[0])))
	for name, login := range map[string]kgo.Opt{
		"a wrong password":        kgo.SASL(scram.Auth{User: "alice", Pass: "wrong"}.AsSha256Mechanism()),
		"nobody":                  kgo.SASL(scram.Auth{User: "nobody", Pass: "wrong"}.AsSha256Mechanism()),
		"a wrong password, plain": kgo.SASL(plain.Auth{User: "alice", Pass: "wrong"}.AsMechanism()),
		"another mechanism":       kgo.SASL(aws.Auth{AccessKey: "key", SecretKey: "secret"}.AsManagedStreamingIAMMechanism()),
		"no login":                kgo.ClientID("nobody"),
		"a hidden topic":          kgo.SASL(scram.Auth{User: "alice", Pass: "alice-password"}.AsSha256Mechanism()),
	} {
		ask := func(address string) string {
			client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.RetryTimeout(2*time.Second), login)
			require.NoError(t, err)
			defer client.Close()
			topics, err := kadm.NewClient(client).ListTopics(within(t), "orders")
			return loopback.ReplaceAllString(fmt.Sprint(cmp.Or(err, topics["orders"].Err)), "HOST")
		}
		want := ask(broker)
		t.Logf("%s: %s", name, want)
		require.Equal(t, want, ask(sidecar), name)
	}
}

// grant is a few access control entries.
type grant struct {
	name    string
	entries []*kadm.ACLBuilder
}

func adminGrants() []grant {
	literal, prefixed := kadm.ACLPatternLiteral, kadm.ACLPatternPrefixed
	allow := func(user string, form kadm.ACLPattern, operations ...kmsg.ACLOperation) *kadm.ACLBuilder {
		return kadm.NewACLs().Allow("User:" + user).AllowHosts("*").ResourcePatternType(form).Operations(operations...)
	}
	deny := func(user string, form kadm.ACLPattern, operations ...kmsg.ACLOperation) *kadm.ACLBuilder {
		return kadm.NewACLs().Deny("User:" + user).DenyHosts("*").ResourcePatternType(form).Operations(operations...)
	}
	read, describe, all := kmsg.ACLOperationRead, kmsg.ACLOperationDescribe, kmsg.ACLOperationAll
	configs := kmsg.ACLOperationDescribeConfigs
	everything := []*kadm.ACLBuilder{
		allow("alice", literal, all).Topics("*"), allow("alice", literal, all).Groups("*"), allow("alice", literal, all).Clusters(),
		allow("alice", literal, all).TransactionalIDs("*"),
	}
	return []grant{
		{"nothing", nil},
		{"a topic", []*kadm.ACLBuilder{allow("alice", literal, describe).Topics("orders")}},
		{"reading a prefix", []*kadm.ACLBuilder{allow("alice", prefixed, read).Topics("or"), allow("alice", prefixed, read).Groups("con")}},
		{"writing implies describing", []*kadm.ACLBuilder{allow("alice", literal, kmsg.ACLOperationWrite).Topics("*")}},
		{"all topics but one", []*kadm.ACLBuilder{allow("*", literal, all).Topics("*"), deny("bob", literal, describe).Topics("returns"), allow("*", literal, describe).Groups("*")}},
		{"another host", []*kadm.ACLBuilder{kadm.NewACLs().Allow("User:alice").AllowHosts("10.1.2.3").ResourcePatternType(literal).Operations(all).Topics("*").Groups("*")}},
		{"this host", []*kadm.ACLBuilder{kadm.NewACLs().Allow("User:alice").AllowHosts("127.0.0.1").ResourcePatternType(literal).Operations(all).Topics("*").Groups("*")}},
		{"groups without topics", []*kadm.ACLBuilder{allow("alice", literal, describe).Groups("*")}},
		{"groups with a topic", []*kadm.ACLBuilder{allow("alice", literal, describe).Groups("*"), allow("alice", literal, describe).Topics("orders")}},
		{"configurations", []*kadm.ACLBuilder{allow("alice", literal, configs).Topics("orders"), allow("alice", literal, configs).Clusters(), allow("alice", literal, configs).Groups("consumer")}},
		{"altering configurations", []*kadm.ACLBuilder{allow("alice", literal, kmsg.ACLOperationAlterConfigs).Topics("orders").Clusters()}},
		{"the cluster", []*kadm.ACLBuilder{allow("alice", literal, describe).Clusters()}},
		{"acting for the cluster", []*kadm.ACLBuilder{allow("alice", literal, kmsg.ACLOperationClusterAction).Clusters()}},
		{"everything", everything},
		{"everything but", append(slices.Clone(everything), deny("alice", prefixed, all).Topics("orde"), deny("alice", literal, describe).Clusters())},
	}
}

func (g *grant) apply(t *testing.T, admin *kadm.Client) {
	for _, e := range g.entries {
		r, err := admin.CreateACLs(within(t), e)
		require.NoError(t, err)
		for _, one := range r {
			require.NoError(t, one.Err, g.name)
		}
	}
}

func (g *grant) revoke(t *testing.T, admin *kadm.Client) {
	for _, e := range g.entries {
		r, err := admin.DeleteACLs(within(t), e)
		require.NoError(t, err)
		for _, one := range r {
			require.NoError(t, one.Err, g.name)
		}
	}
}

// compareUser compares what a user is answered, in the oldest and the newest version.
func (s *adminStage) compareUser(t *testing.T, when, user string) {
	broker := dialRaw(t, s.SecuredBootstrap()[0])
	sidecar := dialRaw(t, net.JoinHostPort("127.0.0.1", strconv.Itoa(s.first+int(s.BrokerIDs()[0]))))
	for _, c := range []*rawConn{broker, sidecar} {
		c.logIn(scram.Auth{User: user, Pass: user + "-password"}.AsSha256Mechanism())
	}
	p := &pair{stage: s, broker: broker, sidecar: sidecar, refused: true}
	theirs, ours := broker.versions(), sidecar.versions()
	for _, key := range slices.Sorted(maps.Keys(ours)) {
		oldest, newest := max(ours[key].MinVersion, theirs[key].MinVersion), min(ours[key].MaxVersion, theirs[key].MaxVersion)
		for _, version := range slices.Compact([]int16{oldest, newest}) {
			p.compare(key, version, fmt.Sprintf("%s may: %s", user, when), s.BrokerIDs()[0])
		}
	}
}

// logIn proves with SASL who the client is.
func (c *rawConn) logIn(m sasl.Mechanism) {
	c.t.Helper()
	c.login = m
	hello := &kmsg.SASLHandshakeRequest{Version: 1, Mechanism: m.Name()}
	require.NoError(c.t, kerr.ErrorForCode(c.must(hello).(*kmsg.SASLHandshakeResponse).ErrorCode))
	session, message, err := m.Authenticate(context.Background(), c.conn.RemoteAddr().String())
	require.NoError(c.t, err)
	for done := false; !done; {
		q := kmsg.NewPtrSASLAuthenticateRequest()
		q.Version, q.SASLAuthBytes = 2, message
		r := c.must(q).(*kmsg.SASLAuthenticateResponse)
		require.NoError(c.t, kerr.ErrorForCode(r.ErrorCode))
		done, message, err = session.Challenge(r.SASLAuthBytes)
		require.NoError(c.t, err)
	}
}
