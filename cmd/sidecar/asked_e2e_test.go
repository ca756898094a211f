//go:build e2e && unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kraftside/kraftside/internal/answer"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/config"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/sidecar"
	"github.com/kraftside/kraftside/test/realkafka"
	"github.com/kraftside/kraftside/topichash"
)

const (
	// patience is for what Kafka and sidecars do in the end.
	patience     = 2 * time.Minute
	pollInterval = 200 * time.Millisecond
	heartbeat    = 5 * time.Second // Kafka's default
)

// TestAskedBesideKafka: what the commands say of a live cluster, through one
// sidecar of three, is what they say of copies of the brokers' log directories:
// while all hashes agree, and after an unregistered broker made them stale.
func TestAskedBesideKafka(t *testing.T) {
	cluster := realkafka.Start(t, realkafka.Config{Controllers: 1, Properties: map[string]string{
		"offsets.topic.num.partitions": "6", "offsets.topic.replication.factor": "3",
	}})
	_, err := cluster.Admin().CreateTopics(t.Context(), 4, 3, nil, "orders", "returns", "sunk")
	require.NoError(t, err)
	for i, topics := range [][]string{{"orders"}, {"orders", "returns"}, {"returns"}} {
		join(t, cluster, kgo.ConsumerGroup(fmt.Sprintf("consumers-%d", i)), kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer()), kgo.ConsumeTopics(topics...))
	}
	join(t, cluster, kgo.ShareGroup("shares"), kgo.ConsumeTopics("orders"))
	joinStreams(t, cluster, "streams", "sunk", "orders", "returns")
	server := startLocals(t, cluster)

	for _, want := range []topichash.Verdict{topichash.Match, topichash.Stale} {
		live := awaitVerdicts(t, server, want)
		copies := awaitSame(t, cluster, live)

		o := runLine("verify --fail-on stale " + server)
		require.Equal(t, want == topichash.Stale, o.code == cli.Found, "%+v", o)
		o = runLine("topics orders -o json " + server)
		require.Equal(t, cli.OK, o.code, "%+v", o)
		require.Equal(t, firstHash(t, o), firstHash(t, runLine("topics orders -o json "+copies)))
		if want == topichash.Stale {
			continue
		}
		require.NoError(t, cluster.StopBroker(3))
		// The records that this leaves touch the topics, and coordinators move.
		// Only after members have made the coordinators compare is the broker
		// forgotten.
		for begin := time.Now(); time.Since(begin) < 3*heartbeat; {
			awaitVerdicts(t, server, topichash.Match)
			time.Sleep(pollInterval)
		}
		require.NoError(t, cluster.UnregisterBroker(t.Context(), 3))
	}
}

// join starts a member that polls until the test ends.
func join(t *testing.T, cluster *realkafka.Cluster, options ...kgo.Opt) {
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(cluster.Bootstrap()...), kgo.MetadataMinAge(100*time.Millisecond), kgo.MetadataMaxAge(2*time.Second))...)
	require.NoError(t, err)
	polled := make(chan struct{})
	go func() {
		defer close(polled)
		for !client.PollFetches(context.Background()).IsClientClosed() {
		}
	}()
	t.Cleanup(func() {
		client.Close()
		<-polled
	})
}

// joinStreams starts a member of a streams group that copies its sources.
func joinStreams(t *testing.T, cluster *realkafka.Cluster, group, sink string, sources ...string) {
	m, err := cluster.NewStreamsMember(context.WithoutCancel(t.Context()), group, group+"-client")
	require.NoError(t, err)
	require.NoError(t, m.Start(realkafka.Pass, sink, sources...))
	t.Cleanup(func() { require.NoError(t, m.Stop()) })
}

// startLocals starts a sidecar beside each broker, and returns the flag that
// asks the first.
func startLocals(t *testing.T, cluster *realkafka.Cluster) (flag string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, l.Close())
	for _, id := range cluster.BrokerIDs() {
		c := config.Default()
		c.NodeID, c.Groups.Scope = kafka.NodeID(id), config.ScopeLocal
		c.Metadata.Source, c.Metadata.Controllers = config.SourceQuorum, cluster.ControllerBootstrap()
		c.Kafka.Bootstrap = cluster.Bootstrap()
		c.Admin.Listen = ""
		c.HTTP.Listen, c.Peers.Address = fmt.Sprintf("127.0.0.%d:%s", id, port), "127.0.0.{id}"
		s, err := sidecar.Start(c, "", "e2e", slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- s.Wait(ctx) }()
		t.Cleanup(func() {
			cancel()
			require.NoError(t, <-ended)
		})
	}
	return "--server http://127.0.0.1:" + port
}

// hash is what is said of a group's hash.
type hash struct {
	Stored, Computed string
	Verdict          topichash.Verdict
}

func askGroups(t *testing.T, flags string) outcome {
	return runLine("groups -o json --type consumer,share,streams " + flags)
}

func hashesOf(t *testing.T, o outcome) map[string]hash {
	t.Helper()
	var a answer.Groups
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &a), "%+v", o)
	all := make(map[string]hash)
	for _, g := range a.Groups {
		h := g.MetadataHash
		require.NotNil(t, h.Stored, g.Group)
		all[g.Group] = hash{fmt.Sprint(*h.Stored), fmt.Sprint(*h.Computed), h.Verdict}
	}
	return all
}

// awaitVerdicts waits until all groups have a verdict, and nobody is missing.
func awaitVerdicts(t *testing.T, server string, want topichash.Verdict) map[string]hash {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		o := askGroups(t, server)
		if o.code == cli.OK && settled(o, want) {
			return hashesOf(t, o)
		}
		require.True(t, time.Now().Before(deadline), "not all groups are %s after %v: exit %d %s%s", want, patience, o.code, o.stdout, o.stderr)
		time.Sleep(pollInterval)
	}
}

// awaitSame waits until copies of the log directories give the same, and
// returns the flags that read them. In files it is as late as in the newest
// record, which is a moment ago.
func awaitSame(t *testing.T, cluster *realkafka.Cluster, live map[string]hash) (copies string) {
	deadline := time.Now().Add(patience)
	for {
		copies = copyLogs(t, cluster)
		got := hashesOf(t, askGroups(t, copies))
		if maps.Equal(live, got) {
			return copies
		}
		require.True(t, time.Now().Before(deadline), "live: %v\nfrom the files: %v", live, got)
		time.Sleep(pollInterval)
	}
}

func settled(o outcome, want topichash.Verdict) bool {
	var a answer.Groups
	if json.Unmarshal([]byte(o.stdout), &a) != nil || len(a.Groups) != 5 {
		return false
	}
	for _, g := range a.Groups {
		if g.MetadataHash.Verdict != want || g.State != "Stable" {
			return false
		}
	}
	return true
}

// copyLogs copies the log directories of the brokers, and returns the flags
// that read the copies.
func copyLogs(t *testing.T, cluster *realkafka.Cluster) (flags string) {
	dir := t.TempDir()
	for _, id := range cluster.BrokerIDs() {
		to := filepath.Join(dir, fmt.Sprint(id))
		require.NoError(t, realkafka.CopyDir(cluster.LogDir(id), to))
		flags += " --offsets-dir " + to
	}
	return "--metadata-dir " + filepath.Join(dir, "1") + flags
}

func firstHash(t *testing.T, o outcome) string {
	var a answer.Topics
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &a), "%+v", o)
	return fmt.Sprint(*a.Topics[0].Hash.Kafka)
}
