package web

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/web/api"
)

// hostileIDs are group ids that mean something to a URL, a terminal, a page or
// a path.
var hostileIDs = []string{
	"a/b", "../../etc/passwd", "..", ".", "//", "a?b=c&d", "a%2Fb", "a b+c", "\x00\x01\x1b[31m\r\n", "<script>alert(1)</script>",
	`"quotes"\`, "Ünïcödé 𝄞", "\u202eltr", strings.Repeat("long", 8000), "#fragment", ";semi", "*",
}

// Any group id can be asked for, percent-encoded, and comes back as it is, from
// this sidecar or from another.
func TestHostileGroupIDs(t *testing.T) {
	s := many(t, 3, nil)
	for _, id := range hostileIDs {
		line, err := json.Marshal(map[string]string{"groupId": id})
		require.NoError(t, err)
		s.groups(groups.PartitionFor(id, 3), fmt.Sprintf(`3 %s {"epoch":1}`, line))
	}
	for _, id := range hostileIDs {
		r := s.sidecars[1].get("/v1/groups/" + strings.ReplaceAll(url.PathEscape(id), ".", "%2E"))
		require.Equal(t, http.StatusOK, r.StatusCode, "%.40q", id)
		require.Equal(t, id, decode[api.Group](t, r).Group)
	}
	require.ElementsMatch(t, hostileIDs, walk(t, s.sidecars[2], "/v1/groups", "limit=2"))
	body, err := io.ReadAll(s.sidecars[1].get("/v1/groups").Body)
	require.NoError(t, err)
	require.NotContains(t, string(body), "<script>")
	require.NotContains(t, string(body), "\x1b")
}

// Whatever is asked, the answer is JSON with a fitting status.
func TestHostileRequests(t *testing.T) {
	c := one(t, Access{AllowAnonymous: true})
	c.Metadata(brokers(1)...)
	c.Groups(0, `3 {"groupId":"g"} {"epoch":1}`)
	for _, target := range []string{
		"/v1/groups/%00", "/v1/groups/%ff%fe", "/v1/groups/" + strings.Repeat("%41", 40000), "/v1/topics/%2e%2e%2f",
		"/v1/groups?limit=18446744073709551616", "/v1/groups?limit=-1", "/v1/groups?limit=1e3", "/v1/groups?limit=٣",
		"/v1/groups?bytes=0", "/v1/groups?after=" + strings.Repeat("A", 100000), "/v1/groups?after=%00",
		"/v1/groups?match=" + strings.Repeat("(a*)*", 200), "/v1/groups?match=" + strings.Repeat("x", 2000), "/v1/groups?match=(((((((((",
		"/v1/groups?match=" + url.QueryEscape(`(x{1000}){1000}`), "/v1/groups?verdict=" + strings.Repeat("match,", 5000), "/v1/groups?type=%3Cscript%3E",
		"/v1/groups?local=false&local=true", "/v1/groups?;=;", "/v1/groups?=&&&", "/v1/topics?after=AXo&limit=1",
		"/v1/subscriptions?first=z&last=a", "/v1", "/v1/", "/v1/groups/", "/%2e%2e/v1/status", "/v1/groups/a/b",
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		u, err := url.ParseRequestURI(target)
		require.NoError(t, err, "%.60q", target)
		r.URL, r.RequestURI = u, target
		w := httptest.NewRecorder()
		c.server.ServeHTTP(w, r)
		require.Contains(t, []int{200, 301, 307, 400, 404}, w.Code, "%.60q: %.200s", target, w.Body)
		if w.Code == 200 || w.Code >= 400 {
			require.True(t, json.Valid(w.Body.Bytes()), "%.60q", target)
			require.Less(t, w.Body.Len(), 8000, "%.60q: an answer that echoes", target)
		}
	}
}

// What is asked at a time is bounded; peers have places of their own.
func TestRequestsAreBounded(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	h := newPlaces().limit(func(http.ResponseWriter, *http.Request) error {
		entered <- struct{}{}
		<-leave
		return nil
	})
	ask := func(target string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
		return w
	}
	for range maxRequests {
		go ask("/v1/groups")
		<-entered
	}
	w := ask("/v1/groups")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	go ask("/v1/groups?local=true")
	<-entered
	close(leave)
}

// A page does not grow with the groups in it.
func TestPagesAreBounded(t *testing.T) {
	s := newScenario(t)
	c := s.add(kafka.NoNode, pipeline.Options{Scope: pipeline.All}, nil)
	s.metadata(brokers(1)...)
	host := strings.Repeat("h", 3000)
	for i := range 50 {
		c.Groups(0, fmt.Sprintf(`5 {"groupId":"g%d","memberId":"m"} {"clientHost":%q}`, i, host))
	}
	body, err := io.ReadAll(c.get("/v1/groups?limit=1000&bytes=70000").Body)
	require.NoError(t, err)
	require.Less(t, len(body), 70000+2*len(host))
	require.Len(t, walk(t, c, "/v1/groups", "limit=1000&bytes=70000"), 50)
	p, err := parsePage(url.Values{"bytes": {"999999999999"}})
	require.NoError(t, err)
	require.Equal(t, maxPageBytes, p.bytes)
}

// Whatever is sent as a plan, it is answered or refused, and costs no more than
// what was sent.
func TestHostilePlans(t *testing.T) {
	c := one(t, Access{AllowAnonymous: true})
	c.Metadata(brokers(1)...)
	for name, plan := range map[string]struct {
		body   string
		status int
	}{
		"too long":      {"[" + strings.Repeat(" ", maxPlanBytes) + "]", http.StatusRequestEntityTooLarge},
		"too many":      {"[" + strings.Repeat(`{"kind":"restartBroker","broker":1},`, 200) + `{"kind":"restartBroker","broker":1}]`, http.StatusRequestEntityTooLarge},
		"deep":          {strings.Repeat("[", 100_000), http.StatusBadRequest},
		"huge topic":    {`[{"kind":"createTopic","topic":"t","partitions":2147483647}]`, http.StatusBadRequest},
		"huge number":   {`[{"kind":"createTopic","topic":"t","partitions":1e400}]`, http.StatusBadRequest},
		"bad name":      {`[{"kind":"createTopic","topic":"\u001b[2J","partitions":1}]`, http.StatusBadRequest},
		"unknown name":  {`[{"kind":"deleteTopic","topic":"` + strings.Repeat("x", 100_000) + `"}]`, http.StatusNotFound},
		"negative":      {`[{"kind":"restartBroker","broker":-1}]`, http.StatusNotFound},
		"null":          {`[null]`, http.StatusBadRequest},
		"an object":     {`{"kind":"restartBroker"}`, http.StatusBadRequest},
		"plan of plans": {`[{"kind":"reassign","plan":[[]]}]`, http.StatusBadRequest},
	} {
		r := c.post("/v1/whatif", plan.body)
		require.Equal(t, plan.status, r.StatusCode, name)
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err, name)
		require.Less(t, len(body), 2000, name)
		require.True(t, json.Valid(body), name)
	}
}
