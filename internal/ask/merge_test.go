package ask

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/web/api"
	"github.com/kraftside/kraftside/whatif"
)

// writePair writes a test server's certificate and key.
func writePair(t *testing.T, s *httptest.Server) (ca, cert, key string) {
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	der, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	require.NoError(t, err)
	cert = write("cert.pem", "CERTIFICATE", s.Certificate().Raw)
	return cert, cert, write("key.pem", "PRIVATE KEY", der)
}

const cluster = "/v1/status?local=true"

// TestSeveralServers: two sidecars that reach neither each other nor the one of
// broker 3.
func TestSeveralServers(t *testing.T) {
	const offsets = "/v1/topics/__consumer_offsets?local=true"
	one := serve(t, map[string]string{
		cluster: `{"clusterId":"c"}`,
		"/v1/groups?limit=1000": `{"groups":[{"group":"a","epoch":1,"readAt":{"metadataOffset":9,"offset":5}},{"group":"b"}],"offsetsPartitions":[0],
			"missing":[{"broker":2,"error":"x"},{"broker":3,"error":"x"}],"loading":[{"broker":1,"partition":0,"percent":5}]}`,
		"/v1/groups/a": `{"group":"a","epoch":1,"readAt":{"metadataOffset":9,"offset":5}}`,
		"/v1/topics?limit=1000": `{"topics":[{"name":"t","groups":["a"],"changedAt":{"offset":3}}],"offsetsPartitions":[0],
			"missing":[{"broker":2,"error":"x"},{"broker":3,"error":"x"}]}`,
		"/v1/topics/t": `{"name":"t","groups":["a"],"missing":[{"broker":3,"error":"x"}]}`,
		"/v1/whatif?limit=1000": `{"groups":[{"group":"a","bump":"no","readAt":{"metadataOffset":9}}],"examined":[{"offsetsPartition":0,"groups":4}],
			"offsetsPartitions":[0],"missing":[{"broker":3,"error":"x"}],"next":"n"}`,
		"/v1/whatif?after=n&limit=1000": `{"groups":[{"group":"b"}],"examined":[{"offsetsPartition":0,"groups":4}],"offsetsPartitions":[0]}`,
		"/v1/status":                    `{"clusterId":"c","nodeId":1,"peers":[{"broker":4,"host":"p"}],"missing":[{"broker":2,"error":"x"},{"broker":3,"error":"x"}]}`,
		offsets:                         `{"name":"o","partitions":[{"partition":0,"leader":1},{"partition":1,"leader":2},{"partition":2,"leader":3},{"partition":3,"leader":4},{"partition":4,"leader":null}]}`,
	})
	two := serve(t, map[string]string{
		cluster: `{"clusterId":"c"}`,
		"/v1/groups?limit=1000": `{"groups":[{"group":"a","epoch":2,"readAt":{"metadataOffset":9,"offset":6}},{"group":"c"}],"offsetsPartitions":[1],
			"missing":[{"broker":1,"error":"y"},{"broker":3,"error":"y"}],"loading":[{"broker":2,"partition":0,"percent":9}]}`,
		"/v1/whatif?limit=1000": `{"groups":[{"group":"a","bump":"certain","readAt":{"metadataOffset":12}}],
			"examined":[{"offsetsPartition":0,"groups":3},{"offsetsPartition":1,"groups":2}],"offsetsPartitions":[1],"missing":[{"broker":3,"error":"y"}]}`,
		"/v1/groups/a": `{"group":"a","epoch":2,"readAt":{"metadataOffset":9,"offset":6}}`,
		"/v1/topics?limit=1000": `{"topics":[{"name":"t","groups":["c","a"],"changedAt":{"offset":4}},{"name":"u"}],"offsetsPartitions":[1],
			"missing":[{"broker":1,"error":"y"},{"broker":3,"error":"y"}]}`,
		"/v1/status": `{"clusterId":"c","nodeId":2,"version":"v","peers":[{"broker":1,"host":"p"},{"broker":4,"host":"p"}],"missing":[{"broker":3,"error":"y"}]}`,
		offsets:      `{"name":"o","partitions":[]}`,
	})
	c := newClient(t, Config{}, one, two)

	groups, err := c.Groups(t.Context(), Query{})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c"}, ids(groups.Groups))
	require.EqualValues(t, 2, groups.Groups[0].Epoch, "what was read further")
	nobody := "nobody who was asked answers for partitions "
	require.Equal(t, []api.Missing{
		{Broker: 3, Error: "x"},
		{Broker: kafka.NoNode, Error: nobody + "[4] of __consumer_offsets"},
		{Broker: 4, Error: nobody + "[3] of __consumer_offsets"},
	}, groups.Missing, "1 and 2 were reached, and 4 does not answer for what it leads")
	require.Equal(t, []api.Loading{{Partition: 0, Percent: 5, Broker: new(kafka.NodeID(1))}}, groups.Loading)

	g, err := c.Group(t.Context(), "a")
	require.NoError(t, err)
	require.EqualValues(t, 2, g.Epoch)

	topics, err := c.Topics(t.Context())
	require.NoError(t, err)
	require.Len(t, topics.Topics, 2)
	require.Equal(t, []string{"a", "c"}, topics.Topics[0].Groups)
	require.EqualValues(t, 4, *topics.Topics[0].ChangedAt.Offset)

	predicted, err := c.Whatif(t.Context(), []whatif.Change{{Kind: whatif.DeleteTopic, Topic: "t"}})
	require.NoError(t, err)
	require.Len(t, predicted.Groups, 2)
	require.Equal(t, whatif.Certain, predicted.Groups[0].Bump, "what was read further")
	require.Equal(t, []api.Examined{{OffsetsPartition: 0, Groups: 4}, {OffsetsPartition: 1, Groups: 2}}, predicted.Examined)

	status, err := c.Status(t.Context())
	require.NoError(t, err)
	require.Len(t, status.Peers, 2)
	require.Equal(t, "v", status.Peers[0].Version)
	require.EqualValues(t, 4, status.Peers[1].Broker)
	require.Equal(t, []api.Missing{{Broker: 3, Error: "x"}}, status.Missing)
}

// TestAllRebalances: the pages of two servers are one list, in which each
// rebalance is once, in the state that knows more.
func TestAllRebalances(t *testing.T) {
	const known = `"settled":true,"causes":[{"kind":"metadata","confidence":"certain"}]`
	one := serve(t, map[string]string{
		cluster: `{"clusterId":"c"}`,
		"/v1/rebalances?limit=1000": `{"rebalances":[{"id":"i4","group":"a","epoch":4,"startedAt":"2026-01-31T10:00:04Z"},{"id":"i3","group":"b","epoch":3,"startedAt":"2026-01-31T10:00:03Z"}],
			"missing":[{"broker":2,"error":"x"}],"offsetsPartitions":[0],"next":"n"}`,
		"/v1/rebalances?after=n&limit=1000":                          `{"rebalances":[{"id":"i1","group":"a","epoch":1,"startedAt":"2026-01-31T10:00:01Z"}],"offsetsPartitions":[0]}`,
		"/v1/rebalances?limit=1000&since=2026-01-31T10%3A00%3A03.5Z": `{"rebalances":[{"id":"i4","group":"a","epoch":4,"startedAt":"2026-01-31T10:00:04Z"}],"offsetsPartitions":[0]}`,
	})
	two := serve(t, map[string]string{
		cluster: `{"clusterId":"c"}`,
		"/v1/rebalances?limit=1000": `{"rebalances":[{"id":"i3","group":"b","epoch":3,"startedAt":"2026-01-31T10:00:03Z",` + known + `},
			{"id":"i2","group":"c","epoch":3,"startedAt":"2026-01-31T10:00:03Z"}],"missing":[{"broker":1,"error":"y"}],"offsetsPartitions":[1]}`,
		"/v1/topics/__consumer_offsets?local=true": `{"name":"o","partitions":[{"partition":0,"leader":1},{"partition":1,"leader":2}]}`,
	})
	l, err := newClient(t, Config{}, one, two).AllRebalances(t.Context(), time.Time{})
	require.NoError(t, err)
	var got []string
	for _, r := range l.Rebalances {
		got = append(got, r.ID)
	}
	require.Equal(t, []string{"i4", "i3", "i2", "i1"}, got)
	require.True(t, l.Rebalances[1].Settled)
	require.Empty(t, l.Missing, "each was reached by one of them")

	l, err = newClient(t, Config{}, one).AllRebalances(t.Context(), time.Date(2026, 1, 31, 11, 0, 3, 5e8, time.FixedZone("CET", 3600)))
	require.NoError(t, err)
	require.Len(t, l.Rebalances, 1)

	for _, list := range []string{
		`[{"id":"i1","startedAt":"2026-01-31T10:00:01Z"},{"id":"i4","startedAt":"2026-01-31T10:00:04Z"}]`,
		`[{"id":"i1","startedAt":"2026-01-31T10:00:01Z"},{"id":"i1","startedAt":"2026-01-31T10:00:01Z"}]`,
	} {
		_, err = newClient(t, Config{}, serve(t, map[string]string{"/v1/rebalances?limit=1000": `{"rebalances":` + list + `}`})).AllRebalances(t.Context(), time.Time{})
		require.ErrorIs(t, err, errOrder)
	}
}

func TestSomeServersFail(t *testing.T) {
	answers := map[string]string{
		"/v1/groups?limit=1000": `{"groups":[{"group":"a"}]}`, "/v1/groups/a": `{"group":"a"}`, "/v1/topics/t": `{"name":"t"}`, "/v1/status": `{}`,
	}
	good := serve(t, answers)
	bad := withStatus(t, 500, "")
	without := withStatus(t, 404, `{"error":{"code":"notFound","message":"it is not there"}}`)
	c := newClient(t, Config{}, bad, good)

	groups, err := c.Groups(t.Context(), Query{})
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, ids(groups.Groups))
	require.Len(t, groups.Missing, 1)
	require.Equal(t, kafka.NoNode, groups.Missing[0].Broker)
	require.Equal(t, bad.Listener.Addr().String(), groups.Missing[0].Host)

	_, err = c.Group(t.Context(), "a")
	require.NoError(t, err, "it was found")
	topic, err := newClient(t, Config{}, without, good).Topic(t.Context(), "t")
	require.NoError(t, err)
	require.Empty(t, topic.Missing, "who does not have it yet is not missing")
	status, err := c.Status(t.Context())
	require.NoError(t, err)
	require.Len(t, status.Missing, 1)

	for want, servers := range map[cli.Code][]*httptest.Server{cli.Failed: {bad, without}, cli.NotFound: {without, without}} {
		_, err = newClient(t, Config{}, servers...).Group(t.Context(), "x")
		require.Equal(t, want, cli.ExitCode(err))
		_, err = newClient(t, Config{}, servers...).Topic(t.Context(), "x")
		require.Equal(t, want, cli.ExitCode(err))
	}
	_, err = newClient(t, Config{}, bad, bad).Groups(t.Context(), Query{})
	require.Equal(t, cli.Failed, cli.ExitCode(err))
	_, err = newClient(t, Config{}, serve(t, map[string]string{"/v1/topics/t": `{}`})).Topic(t.Context(), "t")
	require.ErrorContains(t, err, "there is no topic in it")
}

func TestServersOfTwoClusters(t *testing.T) {
	c := newClient(t, Config{}, serve(t, map[string]string{cluster: `{"clusterId":"c"}`}), serve(t, map[string]string{cluster: `{"clusterId":"d"}`}))
	for _, ask := range []func() error{
		func() error { _, err := c.Groups(t.Context(), Query{}); return err },
		func() error { _, err := c.Verify(t.Context()); return err },
		func() error { _, err := c.Whatif(t.Context(), nil); return err },
		func() error { _, err := c.Group(t.Context(), "g"); return err },
		func() error { _, err := c.Topics(t.Context()); return err },
		func() error { _, err := c.AllRebalances(t.Context(), time.Time{}); return err },
		func() error { _, err := c.Topic(t.Context(), "t"); return err },
		func() error { _, err := c.Status(t.Context()); return err },
	} {
		err := ask()
		require.ErrorContains(t, err, "ask one cluster at a time")
		require.Equal(t, cli.BadUsage, cli.ExitCode(err))
	}
}

// roundTrips answers without a network.
type roundTrips func(*http.Request) *http.Response

func (f roundTrips) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

func TestBusySidecarsAreAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		busy := 2
		c, err := New(Config{Servers: []string{"http://x"}, Transport: roundTrips(func(*http.Request) *http.Response {
			w := httptest.NewRecorder()
			if asked++; asked <= busy {
				w.WriteHeader(http.StatusServiceUnavailable)
				_, _ = w.WriteString(`{"error":{"code":"busy","message":"16 requests are being answered"}}`)
				return w.Result()
			}
			_, _ = w.WriteString(`{"groups":[]}`)
			return w.Result()
		})})
		require.NoError(t, err)
		start := time.Now()
		_, err = c.Groups(t.Context(), Query{})
		require.NoError(t, err)
		require.Equal(t, 2*busyPause, time.Since(start))

		asked, busy = 0, 100
		_, err = c.Groups(t.Context(), Query{})
		require.Equal(t, cli.Failed, cli.ExitCode(err))
		require.Equal(t, busyTries, asked)
	})
}
