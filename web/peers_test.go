package web

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/web/api"
)

// brokers registers brokers 1 to n, and spreads as many partitions of
// __consumer_offsets over them.
func brokers(n int) (lines []string) {
	lines = append(lines, `TopicRecord {"name":"__consumer_offsets","topicId":"$9"}`)
	for id := 1; id <= n; id++ {
		lines = append(lines,
			fmt.Sprintf(`RegisterBrokerRecord {"brokerId":%d,"brokerEpoch":1,"endPoints":[{"name":"PLAINTEXT","host":"b%d.example","port":9092}]}`, id, id),
			fmt.Sprintf(`PartitionRecord {"topicId":"$9","partitionId":%d,"replicas":[%d],"isr":[%d],"leader":%d,"leaderEpoch":0}`, id-1, id, id, id))
	}
	return lines
}

// many is a scenario of n local sidecars.
func many(t testing.TB, n int, change func(kafka.NodeID, *Options)) *scenario {
	s := newScenario(t)
	for id := kafka.NodeID(1); id <= kafka.NodeID(n); id++ {
		s.add(id, pipeline.Options{Scope: pipeline.Local}, func(o *Options) {
			if change != nil {
				change(id, o)
			}
		})
	}
	s.metadata(brokers(n)...)
	return s
}

func decode[T any](t testing.TB, r *http.Response) (v T) {
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	require.NoError(t, json.Unmarshal(body, &v), "%s", body)
	return v
}

func missingOf(t testing.TB, r *http.Response) (ids []kafka.NodeID) {
	for _, m := range decode[api.Completeness](t, r).Missing {
		require.NotEmpty(t, m.Error)
		ids = append(ids, m.Broker)
	}
	return ids
}

// inBubble makes time simulated, so that a timeout takes none.
func inBubble(test func(*testing.T)) func(*testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

// A peer that is slow, dead, refuses, or answers nonsense is missing, with the
// reason; the others' answers are there, and nobody waits for longer than the
// timeout.
func TestFaultyPeers(t *testing.T) {
	page := func(body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
	}
	for name, c := range map[string]struct {
		handler http.Handler
		want    string
	}{
		"hangs": {http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
			"no answer from b2.example:9464 within 2s"},
		"stops in the middle": {http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"groups":[`)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}), "no answer from b2.example:9464 within 2s"},
		"refuses": {http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, http.StatusUnauthorized, api.Error{Error: api.ErrorBody{Code: codeUnauthorized, Message: "a bearer token is needed"}})
		}), "answered with status 401: a bearer token is needed"},
		"fails":        {http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusBadGateway) }), "answered with status 502"},
		"redirects":    {http.RedirectHandler("http://b3.example:9464/v1/groups", http.StatusTemporaryRedirect), "answered with status 307"},
		"drops":        {http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), "EOF"},
		"is no JSON":   {page("<html>"), "invalid character '<' looking for beginning of value"},
		"has another":  {page(`{"groups":[7]}`), "json: cannot unmarshal number into Go value of type struct { Group string \"json:\\\"group\\\"\"; ReadAt api.ReadAt \"json:\\\"readAt\\\"\" }"},
		"lies of more": {page(`{"groups":[],"next":"x"}`), errEmpty.Error()},
		"disorder":     {page(`{"groups":[{"group":"b"},{"group":"a"}]}`), errOrder.Error()},
		"too much": {http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			filler := strings.Repeat(" ", 1<<20)
			for range maxPeerBytes>>20 + 1 {
				_, _ = io.WriteString(w, filler)
			}
		}), errTooLarge.Error()},
	} {
		t.Run(name, inBubble(func(t *testing.T) {
			s := many(t, 3, nil)
			s.groups(0, `3 {"groupId":"c"} {"epoch":1}`)
			s.groups(2, `3 {"groupId":"b"} {"epoch":1}`)
			s.sidecars[2].faulty = c.handler
			got := decode[api.Groups[*api.Group]](t, s.sidecars[1].get("/v1/groups"))
			require.Equal(t, []api.Missing{{Broker: 2, Host: "b2.example", Error: c.want}}, got.Missing)
			require.Len(t, got.Groups, 2)
			require.Equal(t, []int32{0, 2}, got.OffsetsPartitions)
		}))
	}
}

// One hop: a sidecar that is asked by another asks nobody.
func TestPeersAskNobody(t *testing.T) {
	s := many(t, 3, nil)
	asked := make(chan *http.Request, 10)
	for _, c := range s.sidecars {
		own := c.server
		c.faulty = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked <- r.Clone(r.Context())
			own.ServeHTTP(w, r)
		})
	}
	require.Empty(t, missingOf(t, s.sidecars[1].get("/v1/groups?verdict=match&limit=7")))
	require.Len(t, asked, 2)
	for range 2 {
		r := <-asked
		require.Equal(t, "1", r.Header.Get(peerHeader))
		require.Equal(t, "limit=7&verdict=match", without(r.URL.Query(), "local", "bytes"))
		require.Equal(t, "true", r.URL.Query().Get("local"))
	}
	require.Empty(t, missingOf(t, s.sidecars[1].get("/v1/groups?local=true")))
	require.Empty(t, asked)
}

// A peer that ended the connection that was kept to it, as one does that was
// started anew, is asked again on another one: by GET and by POST.
func TestEndedConnections(t *testing.T) {
	for name, ask := range map[string]func(*sidecar) *http.Response{
		http.MethodGet:  func(c *sidecar) *http.Response { return c.get("/v1/groups") },
		http.MethodPost: func(c *sidecar) *http.Response { return c.post("/v1/whatif", `[{"kind":"restartBroker","broker":1}]`) },
	} {
		t.Run(name, inBubble(func(t *testing.T) {
			s := many(t, 2, nil)
			require.Empty(t, missingOf(t, ask(s.sidecars[1])))
			own, asked := s.sidecars[2].server, 0
			s.sidecars[2].faulty = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				require.Empty(t, r.Header["Idempotency-Key"])
				if asked++; asked == 1 {
					panic(http.ErrAbortHandler) // which ends the connection
				}
				own.ServeHTTP(w, r)
			})
			require.Empty(t, missingOf(t, ask(s.sidecars[1])))
			require.Equal(t, 2, asked)
		}))
	}
}

func without(q url.Values, names ...string) string {
	for _, name := range names {
		q.Del(name)
	}
	return q.Encode()
}

// A sidecar for the whole cluster asks nobody, whoever is registered.
func TestScopeAllAsksNobody(t *testing.T) {
	s := newScenario(t)
	s.add(kafka.NoNode, pipeline.Options{Scope: pipeline.All}, nil)
	s.metadata(brokers(3)...)
	require.Empty(t, missingOf(t, s.sidecars[kafka.NoNode].get("/v1/groups")))
	require.Empty(t, missingOf(t, s.sidecars[kafka.NoNode].get("/v1/status")))
}

// Peers are asked with the first token, and accept it.
func TestPeersBringTheToken(t *testing.T) {
	path := writeFile(t, "token", "first\nsecond\n")
	s := many(t, 2, func(_ kafka.NodeID, o *Options) { o.Access = Access{TokenFile: path} })
	require.Empty(t, missingOf(t, s.sidecars[1].get("/v1/groups")))
	s = many(t, 2, func(id kafka.NodeID, o *Options) {
		if o.Access = (Access{}); id == 1 {
			o.Access.TokenFile = path
		}
	})
	got := decode[api.Completeness](t, s.sidecars[1].get("/v1/groups"))
	require.Equal(t, []api.Missing{{Broker: 2, Host: "b2.example", Error: "answered with status 403: only clients on this host may ask; " +
		"others need http.token-file, http.tls.client-ca-file or http.allow-anonymous"}}, got.Missing)
}

// The sidecar beside the coordinator answers for a group; nobody waits for the
// others then.
func TestGroupOfPeer(t *testing.T) { synctest.Test(t, testGroupOfPeer) }

func testGroupOfPeer(t *testing.T) {
	s, before := many(t, 3, nil), time.Now()
	s.groups(2, `3 {"groupId":"b"} {"epoch":1}`)
	s.sidecars[2].faulty = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	require.Equal(t, "b", decode[api.Group](t, s.sidecars[1].get("/v1/groups/b")).Group)
	r := s.sidecars[1].get("/v1/groups/e") // would be in partition 2 as well
	require.Equal(t, http.StatusNotFound, r.StatusCode)
	require.Equal(t, before, time.Now(), "waited for the peer that hangs")
}

func TestLoadingPeer(t *testing.T) {
	s := many(t, 2, nil)
	s.sidecars[2].Load(1, 0, 4, `3 {"groupId":"a"} {"epoch":1}`)
	r := s.sidecars[1].get("/v1/groups/a")
	require.Equal(t, http.StatusServiceUnavailable, r.StatusCode)
	require.Equal(t, codeLoading, decode[api.Error](t, r).Error.Code)
	got := decode[api.Groups[*api.Group]](t, s.sidecars[1].get("/v1/groups"))
	require.Len(t, got.Loading, 2) // partition 0 has not been begun
	require.Equal(t, api.Loading{Broker: new(kafka.NodeID(2)), Partition: 1, Percent: 25, RemainingMs: new(int64(0))}, got.Loading[1])
}

func TestLocate(t *testing.T) {
	for _, c := range []struct {
		address, host string
		port          int
		want          string
	}{
		{"", "b7.example", 9464, "b7.example:9464"},
		{"", "2001:db8::7", 9464, "[2001:db8::7]:9464"},
		{"{host}", "b7.example", 9464, "b7.example:9464"},
		{"{host}:8080", "b7.example", 9464, "b7.example:8080"},
		{"{host}:8080", "2001:db8::7", 9464, "[2001:db8::7]:8080"},
		{"{host}", "2001:db8::7", 9464, "[2001:db8::7]:9464"},
		{"kafka-{id}.kafka", "", 9464, "kafka-7.kafka:9464"},
		{"127.0.0.1:1946{id}", "", 9464, "127.0.0.1:19467"},
		{"", "b7.example", 0, ""},
		{"", "", 9464, ""},
		{"", "b7.example/path", 9464, ""},
		{"", "b7.example?x", 9464, ""},
		{"", "user@b7.example", 9464, ""},
		{"", "b7 example", 9464, ""},
		{"", strings.Repeat("b", 300), 9464, ""},
		{"{host}:8080", "b7.example:80", 9464, ""},
	} {
		o := Peers{Address: c.address, Port: c.port}
		got, err := o.locate(7, c.host)
		require.Equal(t, c.want, got, "%+v: %v", c, err)
		require.Equal(t, c.want == "", err != nil)
	}
}
