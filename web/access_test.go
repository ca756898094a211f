package web

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
)

// one is a scenario of one sidecar with the given access.
func one(t *testing.T, a Access) *sidecar {
	return newScenario(t).add(kafka.NoNode, pipeline.Options{Scope: pipeline.All}, func(o *Options) { o.Access = a })
}

func writeFile(t *testing.T, name, content string) string {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestAccess(t *testing.T) {
	withToken := Access{TokenFile: writeFile(t, "token", "\n  first-token \nsecond-token\n")}
	for _, c := range []struct {
		name   string
		access Access
		path   string // /v1/groups if empty
		remote string // 10.1.2.3:5000 if empty
		host   string // localhost:9464 if empty
		header [2]string
		want   int
	}{
		{name: "health is for anyone", path: "/healthz", host: "evil.example", want: 200},
		{name: "readiness is for anyone", path: "/readyz", want: 503},
		{name: "metrics are for anyone", path: "/metrics", want: 200},

		{name: "this host", remote: "127.0.0.1:5000", want: 200},
		{name: "this host, another loopback address", remote: "127.9.8.7:5000", host: "127.9.8.7", want: 200},
		{name: "this host by IPv6", remote: "[::1]:5000", host: "[::1]:9464", want: 200},
		{name: "this host by IPv6 without a port", remote: "[::1]:5000", host: "[::1]", want: 200},
		{name: "this host, IPv4 in IPv6", remote: "[::ffff:127.0.0.1]:5000", want: 200},
		{name: "localhost in capitals", remote: "127.0.0.1:5000", host: "LOCALHOST", want: 200},

		{name: "another host", want: 403},
		{name: "an address that is none", remote: "@", want: 403},
		{name: "a private address", remote: "192.168.0.1:80", want: 403},
		{name: "a name that leads here (DNS rebinding)", remote: "127.0.0.1:5000", host: "evil.example:9464", want: 403},
		{name: "a name that begins like this host", remote: "127.0.0.1:5000", host: "localhost.evil.example", want: 403},
		{name: "a name that begins like an address", remote: "127.0.0.1:5000", host: "127.0.0.1.evil.example", want: 403},
		{name: "an address of this host in a name", remote: "127.0.0.1:5000", host: "10.0.0.1:9464", want: 403},
		{name: "a page of another site", remote: "127.0.0.1:5000", header: [2]string{"Origin", "https://evil.example"}, want: 403},
		{name: "a page without a site", remote: "127.0.0.1:5000", header: [2]string{"Origin", "null"}, want: 403},
		{name: "a page of this host", remote: "127.0.0.1:5000", header: [2]string{"Origin", "http://localhost:9464"}, want: 200},
		{name: "through a proxy (X-Forwarded-For)", remote: "127.0.0.1:5000", header: [2]string{"X-Forwarded-For", "10.0.0.1"}, want: 403},
		{name: "through a proxy (Forwarded)", remote: "127.0.0.1:5000", header: [2]string{"Forwarded", "for=10.0.0.1"}, want: 403},
		{name: "through a proxy that claims this host", remote: "127.0.0.1:5000", header: [2]string{"X-Real-IP", "127.0.0.1"}, want: 403},
		{name: "through a proxy (Via)", remote: "127.0.0.1:5000", header: [2]string{"Via", "1.1 proxy"}, want: 403},
		{name: "another host that claims to be this one", header: [2]string{"X-Forwarded-For", "127.0.0.1"}, want: 403},
		{name: "a peer is a client like others", header: [2]string{"Kraftside-Peer", "2"}, want: 403},

		{name: "no token", access: withToken, want: 401},
		{name: "the token", access: withToken, header: [2]string{"Authorization", "Bearer first-token"}, want: 200},
		{name: "the second token", access: withToken, header: [2]string{"Authorization", "bearer  second-token"}, want: 200},
		{name: "the token through a proxy by a name", access: withToken, host: "sidecar.example", header: [2]string{"Authorization", "Bearer first-token"}, want: 200},
		{name: "a token that begins right", access: withToken, header: [2]string{"Authorization", "Bearer first-toke"}, want: 401},
		{name: "a token that goes on", access: withToken, header: [2]string{"Authorization", "Bearer first-token1"}, want: 401},
		{name: "both tokens", access: withToken, header: [2]string{"Authorization", "Bearer first-token second-token"}, want: 401},
		{name: "an empty token", access: withToken, header: [2]string{"Authorization", "Bearer "}, want: 401},
		{name: "another scheme", access: withToken, header: [2]string{"Authorization", "Basic first-token"}, want: 401},
		{name: "a token where there is none", header: [2]string{"Authorization", "Bearer first-token"}, want: 403},
		{name: "this host needs no token", access: withToken, remote: "127.0.0.1:5000", want: 200},

		{name: "anyone", access: Access{AllowAnonymous: true}, host: "evil.example", want: 200},
		{name: "every path of v1", path: "/v1/status", want: 403},
		{name: "a path that does not exist", path: "/v1/secret", want: 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := one(t, c.access)
			r := httptest.NewRequest(http.MethodGet, orDefault(c.path, "/v1/groups"), nil)
			r.RemoteAddr, r.Host = orDefault(c.remote, "10.1.2.3:5000"), orDefault(c.host, "localhost:9464")
			if c.header[0] != "" {
				r.Header.Set(c.header[0], c.header[1])
			}
			w := httptest.NewRecorder()
			s.server.ServeHTTP(w, r)
			require.Equal(t, c.want, w.Code, w.Body)
			require.Equal(t, c.want == 401, w.Header().Get("WWW-Authenticate") != "")
			if c.want == 401 || c.want == 403 {
				require.NotContains(t, w.Body.String(), "first-token", "an error must not show a token")
			}
		})
	}
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func TestMethods(t *testing.T) {
	s := one(t, Access{})
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, "BREW"} {
		r := httptest.NewRequest(method, "/v1/groups", nil)
		r.RemoteAddr, r.Host = "127.0.0.1:1", "localhost"
		w := httptest.NewRecorder()
		s.server.ServeHTTP(w, r)
		require.Equal(t, http.StatusMethodNotAllowed, w.Code)
		require.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
		require.JSONEq(t, `{"error":{"code":"methodNotAllowed","message":"`+method+` is not allowed here, GET is"}}`, w.Body.String())
	}
}

func TestHeaders(t *testing.T) {
	h := one(t, Access{}).get("/v1/groups").Header
	require.Equal(t, "application/json", h.Get("Content-Type"))
	require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
	require.Equal(t, "no-store", h.Get("Cache-Control"))
	require.Empty(t, h.Get("Access-Control-Allow-Origin"))
}

// A token file is read again when it changes; what cannot be read leaves the
// tokens as they are.
func TestTokensAreRotated(t *testing.T) {
	path := writeFile(t, "token", "old")
	s := one(t, Access{TokenFile: path})
	ask := func(token string) int {
		r := httptest.NewRequest(http.MethodGet, "/v1/status", nil)
		r.RemoteAddr = "10.0.0.1:1"
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		s.server.ServeHTTP(w, r)
		return w.Code
	}
	write := func(content string, at time.Time) {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		require.NoError(t, os.Chtimes(path, at, at))
	}
	now := time.Now()
	require.Equal(t, 200, ask("old"))
	write("new", now.Add(time.Minute))
	require.Equal(t, 401, ask("old"))
	require.Equal(t, 200, ask("new"))
	write("\n", now.Add(2*time.Minute))
	require.Equal(t, 200, ask("new"), "an empty file")
	require.NoError(t, os.Remove(path))
	require.Equal(t, 200, ask("new"), "no file")
	write("newer", now.Add(3*time.Minute))
	require.Equal(t, 200, ask("newer"))
}

func TestBadConfigurations(t *testing.T) {
	for name, o := range map[string]Options{
		"no token file":           {Access: Access{TokenFile: "/does/not/exist"}},
		"no token in it":          {Access: Access{TokenFile: writeFile(t, "empty", " \n\n")}},
		"a file that is too long": {Access: Access{TokenFile: writeFile(t, "long", string(make([]byte, 1<<20+1)))}},
		"a certificate alone":     {Access: Access{TLS: TLSFiles{Cert: "x"}}},
		"a client CA alone":       {Access: Access{TLS: TLSFiles{ClientCA: "x"}}},
		"no certificate in it":    {Access: Access{TLS: TLSFiles{Cert: writeFile(t, "cert", "x"), Key: writeFile(t, "key", "x")}}},
		"an address with a path":  {Peers: Peers{Address: "{host}:9464/path"}},
		"an address with a user":  {Peers: Peers{Address: "user@{host}"}},
		"a port that is none":     {Peers: Peers{Address: "{host}:http"}},
		"an empty host":           {Peers: Peers{Address: ":9464"}},
	} {
		_, err := New(o)
		require.Error(t, err, name)
	}
}
