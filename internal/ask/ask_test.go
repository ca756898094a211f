package ask

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/web"
	"github.com/kraftside/kraftside/web/api"
	"github.com/kraftside/kraftside/web/webtest"
)

// serve answers every path with what is given for it, queries included.
func serve(t *testing.T, answers map[string]string) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := answers[r.URL.RequestURI()]
		if !ok {
			w.WriteHeader(http.StatusTeapot)
		}
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s
}

func newClient(t *testing.T, c Config, servers ...*httptest.Server) *Client {
	for _, s := range servers {
		c.Servers = append(c.Servers, s.URL)
	}
	client, err := New(c)
	require.NoError(t, err)
	t.Cleanup(client.http.CloseIdleConnections)
	return client
}

func ids(groups []api.Group) (all []string) {
	for i := range groups {
		all = append(all, groups[i].Group)
	}
	return all
}

func TestPages(t *testing.T) {
	c := newClient(t, Config{}, serve(t, map[string]string{
		"/v1/groups?limit=1000":         `{"groups":[{"group":"a"},{"group":"b"}],"missing":[{"broker":2,"host":"h","error":"e"}],"next":"x"}`,
		"/v1/groups?after=x&limit=1000": `{"groups":[{"group":"c"}],"missing":[{"broker":2,"host":"h","error":"f"},{"broker":3,"host":"i","error":"g"}],"loading":[{"broker":1,"partition":4}]}`,
	}))
	list, err := c.Groups(t.Context(), Query{})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c"}, ids(list.Groups))
	require.Equal(t, []api.Missing{{Broker: 2, Host: "h", Error: "e"}, {Broker: 3, Host: "i", Error: "g"}}, list.Missing)
	require.Len(t, list.Loading, 1)
}

func TestBadListsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		answers map[string]string
		want    string
	}{
		"not JSON":      {map[string]string{"/v1/groups?limit=1000": `<html>`}, "bad answer: invalid character"},
		"another thing": {map[string]string{"/v1/groups?limit=1000": `{"groups":7}`}, "bad answer: json: cannot unmarshal number"},
		"a bad hash":    {map[string]string{"/v1/groups?limit=1000": `{"groups":[{"metadataHash":{"stored":1}}]}`}, "parse hash"},
		"out of order":  {map[string]string{"/v1/groups?limit=1000": `{"groups":[{"group":"b"},{"group":"a"}]}`}, "the list is not in order"},
		"twice":         {map[string]string{"/v1/groups?limit=1000": `{"groups":[{"group":"b"},{"group":"b"}]}`}, "the list is not in order"},
		"empty page":    {map[string]string{"/v1/groups?limit=1000": `{"groups":[],"next":"x"}`}, "a page is empty and not the last one"},
		"in a circle": {map[string]string{
			"/v1/groups?limit=1000": `{"groups":[{"group":"b"}],"next":"x"}`, "/v1/groups?after=x&limit=1000": `{"groups":[{"group":"b"}],"next":"x"}`,
		}, "the list is not in order"},
	} {
		_, err := newClient(t, Config{}, serve(t, c.answers)).Groups(t.Context(), Query{})
		require.ErrorContains(t, err, c.want, name)
		require.Equal(t, cli.Failed, cli.ExitCode(err), name)
	}
}

// TestEndlessLists: neither an answer nor a list is taken beyond its bound.
func TestEndlessLists(t *testing.T) {
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		fmt.Fprintf(w, `{"groups":[{"group":"%09d"}],"next":"x","pad":"%s"}`, n, strings.Repeat("x", 1<<10))
	}))
	defer s.Close()
	c := newClient(t, Config{}, s)
	c.maxList = 100 << 10
	_, err := c.Groups(t.Context(), Query{})
	require.ErrorContains(t, err, "the list is too long")
	require.Less(t, n, 110)
	c.maxAnswer = 1 << 10
	_, err = c.Groups(t.Context(), Query{})
	require.ErrorContains(t, err, "the answer is larger than 1024 bytes")
}

// withStatus answers every request so.
func withStatus(t *testing.T, status int, body string) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "http://example.invalid/")
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   string
		code   cli.Code
	}{
		"not found":   {404, `{"error":{"code":"notFound","message":"no group \"g\""}}`, `^no group "g"$`, cli.NotFound},
		"no sidecar":  {404, `<html>`, `it answered with status 404, as no sidecar does; see whether --server is one$`, cli.Failed},
		"TLS":         {400, "Client sent an HTTP request to an HTTPS server.\n", `status 400, .* its URL begins with https://$`, cli.Failed},
		"redirect":    {301, "", `status 301, .*; redirects are not followed$`, cli.Failed},
		"loading":     {503, `{"error":{"code":"loading","message":"partition 7 is loading: 43 %"}}`, `^partition 7 is loading: 43 %$`, cli.Incomplete},
		"incomplete":  {503, `{"error":{"code":"incomplete","message":"m","missing":[{"broker":2,"error":"e"}]}}`, `^m; broker 2: e$`, cli.Incomplete},
		"busy":        {500, `{"error":{"code":"internal","message":"m"}}`, `ask http://127.0.0.1:\d+: m$`, cli.Failed},
		"without end": {500, `{"error":{"code":"x","message":"` + strings.Repeat("m", 1<<16) + `"}}`, `m{1000}$`, cli.Failed},
	} {
		_, err := newClient(t, Config{}, withStatus(t, c.status, c.body)).Group(t.Context(), "g")
		require.Regexp(t, c.want, err.Error(), name)
		require.Equal(t, c.code, cli.ExitCode(err), name)
		require.Less(t, len(err.Error()), 1200)
	}
}

// elsewhere is a sidecar's server as clients on other hosts meet it.
func elsewhere(t *testing.T, access web.Access) *httptest.Server {
	c := webtest.New(t, pipeline.Options{NodeID: kafka.NoNode, Scope: pipeline.All})
	handler, err := web.New(web.Options{View: c.View, Access: access, Now: c.Now})
	require.NoError(t, err)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("X-Forwarded-For", "10.0.0.1")
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestAccess(t *testing.T) {
	dir := t.TempDir()
	token := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	right, wrong := token("right", "\n  s3cret \nother\n"), token("wrong", "none of theirs\n")
	guarded := elsewhere(t, web.Access{TokenFile: right})

	_, err := newClient(t, Config{TokenFile: right}, guarded).Groups(t.Context(), Query{})
	require.NoError(t, err)

	for name, c := range map[string]struct {
		config Config
		server *httptest.Server
		want   string
	}{
		"no token":    {Config{}, guarded, "refused: it wants a token; give --token-file"},
		"wrong token": {Config{TokenFile: wrong}, guarded, "the token in " + wrong + " is none of the sidecar's"},
		"other host":  {Config{}, elsewhere(t, web.Access{}), "refused: it answers only clients on its own host; run this there"},
	} {
		_, err := newClient(t, c.config, c.server).Groups(t.Context(), Query{})
		require.ErrorContains(t, err, c.want, name)
		require.Equal(t, cli.Failed, cli.ExitCode(err), name)
		require.NotContains(t, err.Error(), "theirs\n")
	}
}

func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, `{"groups":[]}`) }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	content := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	require.NoError(t, os.WriteFile(ca, content, 0o600))

	_, err := newClient(t, Config{CAFile: ca}, s).Groups(t.Context(), Query{})
	require.NoError(t, err)
	_, err = newClient(t, Config{CAFile: ca, ServerName: "example.com"}, s).Groups(t.Context(), Query{})
	require.NoError(t, err, "httptest's certificate is for that name, too")

	_, err = newClient(t, Config{}, s).Groups(t.Context(), Query{})
	require.ErrorContains(t, err, "give the authority that signed it with --ca-file")
	_, err = newClient(t, Config{CAFile: ca, ServerName: "other.example"}, s).Groups(t.Context(), Query{})
	require.ErrorContains(t, err, "or the name it is for with --server-name")

	plain := serve(t, nil)
	c, err := New(Config{Servers: []string{strings.Replace(plain.URL, "http://", "https://", 1)}})
	require.NoError(t, err)
	_, err = c.Groups(t.Context(), Query{})
	require.ErrorContains(t, err, "it does not speak TLS; its URL begins with http://")
}

func TestClientCertificate(t *testing.T) {
	seen := 0
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = len(r.TLS.PeerCertificates)
		fmt.Fprint(w, `{"groups":[]}`)
	}))
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)
	ca, cert, key := writePair(t, s)
	_, err := newClient(t, Config{CAFile: ca, CertFile: cert, KeyFile: key}, s).Groups(t.Context(), Query{})
	require.NoError(t, err)
	require.Equal(t, 1, seen)
	_, err = New(Config{Servers: []string{s.URL}, CertFile: key, KeyFile: key})
	require.ErrorContains(t, err, "--cert-file: read")
	_, err = New(Config{Servers: []string{s.URL}, CAFile: filepath.Join(t.TempDir(), "none")})
	require.ErrorContains(t, err, "--ca-file: open")
}

func TestNoAnswerInTime(t *testing.T) {
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer s.Close()
	defer close(release)
	_, err := newClient(t, Config{Timeout: 20 * time.Millisecond}, s).Groups(t.Context(), Query{})
	require.ErrorContains(t, err, "no answer within 20ms; see whether a sidecar runs there")
	require.Equal(t, cli.Failed, cli.ExitCode(err))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = newClient(t, Config{}, s).Groups(ctx, Query{})
	require.ErrorIs(t, err, context.Canceled)
}

func TestServers(t *testing.T) {
	for text, want := range map[string]string{
		"localhost:9464":           "http://localhost:9464/v1/x",
		"broker-1":                 "http://broker-1/v1/x",
		"https://[::1]:1/a%2Fb/":   "https://[::1]:1/a%2Fb/v1/x",
		"http://proxy/sidecars/1/": "http://proxy/sidecars/1/v1/x",
	} {
		s, err := parseServer(text)
		require.NoError(t, err, text)
		require.Equal(t, want, s.url("/x", nil))
	}
	for _, text := range []string{"", "http://", "http://:1", "ftp://x", "http://x?y", "http://x#y", "http://u:p@x", "http://a b", "\x1b", "http://x:y"} {
		_, err := parseServer(text)
		require.Equal(t, cli.BadUsage, cli.ExitCode(err), text)
		require.NotContains(t, err.Error(), "u:p")
	}
	for name, want := range map[string]string{"a": "a", ".": "%2E", "..": "%2E%2E", "a/b?c": "a%2Fb%3Fc", "\x1b": "%1B", "...x": "...x"} {
		require.Equal(t, want, escape(name))
	}
}
