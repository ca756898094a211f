//go:build e2e && unix

package realkafka_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/kraftside/kraftside/test/jvm"
	"github.com/kraftside/kraftside/test/realkafka"
)

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// A cluster of the newest and of the oldest release starts, takes a topic, lets a broker come back in another rack, loses its
// active controller, forgets an unregistered broker, and its log can be dumped. The streams test starts the releases between.
func TestCluster(t *testing.T) {
	versions := jvm.Versions()
	for _, version := range []string{versions[0], versions[len(versions)-1]} {
		t.Run(version, func(t *testing.T) { clusterStory(t, version) })
	}
}

func clusterStory(t *testing.T, version string) {
	ctx := testContext(t)
	_, err := jvm.ClassPath(ctx, version) // so that the time below holds no download
	require.NoError(t, err)
	begin := time.Now()
	c := realkafka.Start(t, realkafka.Config{Version: version})
	t.Logf("started in %.1f s", time.Since(begin).Seconds())
	admin := c.Admin()
	_, err = admin.CreateTopic(ctx, 4, 3, nil, "orders")
	require.NoError(t, err)

	require.NoError(t, c.StopBroker(2))
	begin = time.Now()
	require.NoError(t, c.StartBroker(2, realkafka.WithRack("rack-9")))
	t.Logf("broker restarted in %.1f s", time.Since(begin).Seconds())
	brokers, err := admin.ListBrokers(ctx)
	require.NoError(t, err)
	require.Len(t, brokers, 3)
	require.Equal(t, "rack-9", *brokers[1].Rack)

	old, err := c.ActiveController(ctx)
	require.NoError(t, err)
	require.Contains(t, c.ControllerIDs(), old)
	require.NoError(t, c.KillController(old))
	require.Eventually(t, func() bool {
		id, err := c.ActiveController(ctx)
		return err == nil && id != old
	}, time.Minute, 100*time.Millisecond)
	require.NoError(t, c.StartController(old))

	require.NoError(t, c.KillBroker(3))
	require.NoError(t, c.UnregisterBroker(ctx, 3))
	require.Eventually(t, func() bool {
		brokers, err := admin.ListBrokers(ctx)
		return err == nil && len(brokers) == 2
	}, time.Minute, 100*time.Millisecond)

	segments, err := filepath.Glob(filepath.Join(c.MetadataDir(old), "*.log"))
	require.NoError(t, err)
	lines, err := c.Dump(ctx, segments...)
	require.NoError(t, err)
	dump := strings.Join(lines, "\n")
	require.Contains(t, dump, `"type":"UNREGISTER_BROKER_RECORD"`)
	if !strings.HasPrefix(version, "4.0.") {
		require.Contains(t, dump, `"name":"share.version"`)
		require.Contains(t, dump, `"name":"streams.version"`)
	}
}

// The secured listeners of brokers and controllers know the principals of every mechanism and ask the authorizer.
func TestSecurity(t *testing.T) {
	for _, protocol := range []string{"SASL_SSL", "SASL_PLAINTEXT", "SSL"} {
		t.Run(protocol, func(t *testing.T) { securityStory(t, protocol) })
	}
}

func securityStory(t *testing.T, protocol string) {
	ctx := testContext(t)
	c := realkafka.Start(t, realkafka.Config{
		Controllers: 1, Brokers: 1,
		Security: &realkafka.Security{Protocol: protocol, Users: map[string]string{"alice": "wonder land"}},
	})
	upserts := []kadm.UpsertSCRAM{
		{User: "alice", Mechanism: kadm.ScramSha256, Iterations: 4096, Password: "a256"},
		{User: "alice", Mechanism: kadm.ScramSha512, Iterations: 4096, Password: "a512"},
	}
	for _, u := range upserts { // Kafka takes a user once in a request
		altered, err := c.Admin().AlterUserSCRAMs(ctx, nil, []kadm.UpsertSCRAM{u})
		require.NoError(t, err)
		require.NoError(t, altered.Error())
	}
	token, err := realkafka.UnsecuredToken("alice")
	require.NoError(t, err)

	principal, mechanisms := "User:alice", []sasl.Mechanism{
		plain.Auth{User: "alice", Pass: "wonder land"}.AsMechanism(),
		scram.Auth{User: "alice", Pass: "a256"}.AsSha256Mechanism(),
		scram.Auth{User: "alice", Pass: "a512"}.AsSha512Mechanism(),
		oauth.Auth{Token: token}.AsMechanism(),
	}
	if protocol == "SSL" {
		principal, mechanisms = "User:CN=alice", []sasl.Mechanism{nil}
	}
	opts := []kgo.Opt{}
	if strings.HasSuffix(protocol, "SSL") {
		config, err := c.TLS("alice")
		require.NoError(t, err)
		opts = append(opts, kgo.DialTLSConfig(config))
	}

	describe := func(seeds []string, m sasl.Mechanism) error {
		opts := append(opts[:len(opts):len(opts)], kgo.SeedBrokers(seeds...), kgo.RequestRetries(0))
		if m != nil {
			opts = append(opts, kgo.SASL(m))
		}
		cl, err := kgo.NewClient(opts...)
		require.NoError(t, err)
		defer cl.Close()
		return describeQuorum(ctx, cl)
	}
	endpoints := [][]string{c.SecuredBootstrap(), c.SecuredControllerBootstrap()}
	for _, seeds := range endpoints {
		require.ErrorIs(t, describe(seeds, mechanisms[0]), kerr.ClusterAuthorizationFailed)
	}
	acl := kadm.NewACLs().Allow(principal).AllowHosts().Clusters().Operations(kadm.OpDescribe).ResourcePatternType(kadm.ACLPatternLiteral)
	_, err = c.Admin().CreateACLs(ctx, acl)
	require.NoError(t, err)
	for _, seeds := range endpoints {
		for _, m := range mechanisms {
			require.Eventually(t, func() bool { err = describe(seeds, m); return err == nil }, 20*time.Second, 100*time.Millisecond)
			require.NoError(t, err)
		}
	}
	if protocol != "SSL" {
		require.Error(t, describe(endpoints[0], plain.Auth{User: "alice", Pass: "wrong"}.AsMechanism()))
	}
}

func describeQuorum(ctx context.Context, cl *kgo.Client) error {
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic = "__cluster_metadata"
	topic.Partitions = []kmsg.DescribeQuorumRequestTopicPartition{kmsg.NewDescribeQuorumRequestTopicPartition()}
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Topics = append(req.Topics, topic)
	resp, err := cl.SeedBrokers()[0].Request(ctx, req)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.(*kmsg.DescribeQuorumResponse).ErrorCode)
}
