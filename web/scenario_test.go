package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/store"
	"github.com/kraftside/kraftside/web/api"
	"github.com/kraftside/kraftside/web/webtest"
)

// scenario is the sidecars of one cluster. They read the same logs.
type scenario struct {
	tb       testing.TB
	sidecars map[kafka.NodeID]*sidecar
	order    []kafka.NodeID
}

// sidecar is one of them, with its server. Peers reach it as
// b<node id>.example:9464.
type sidecar struct {
	*webtest.Cluster
	options  Options
	server   *Server
	listener *memoryServer
	store    store.Status
	reasons  []api.Reason
	faulty   http.Handler // answers peers instead, if not nil
	dead     bool
}

func newScenario(tb testing.TB) *scenario {
	return &scenario{tb: tb, sidecars: make(map[kafka.NodeID]*sidecar)}
}

// add starts a sidecar, which is asked without a token or a certificate.
func (s *scenario) add(node kafka.NodeID, o pipeline.Options, change func(*Options)) *sidecar {
	o.NodeID = node
	c := &sidecar{Cluster: webtest.New(s.tb, o), store: store.Status{Persisting: true, Bytes: 4096}}
	c.options = Options{
		View:           c.View,
		Version:        "1.2.3",
		ClusterName:    "test",
		ClusterID:      func() string { return "aaaaaaaaaaaaaaaaaaaaaa" },
		MetadataSource: func() string { return "quorum" },
		GroupsSource:   "kafka",
		BrokerApplied:  func() (kafka.Offset, bool) { return c.View().Image.Provenance().Offset - 1, true },
		Store:          func() store.Status { return c.store },
		Reasons:        func() []api.Reason { return c.reasons },
		Metrics:        http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a_metric 1\n") }),
		Access:         Access{AllowAnonymous: true},
		Peers:          Peers{Port: 9464},
		Now:            c.Now,
	}
	if change != nil {
		change(&c.options)
	}
	var err error
	c.server, err = New(c.options)
	require.NoError(s.tb, err)
	c.server.peers.dial = s.dial
	c.listener = newMemoryServer(s.tb, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.faulty != nil {
			c.faulty.ServeHTTP(w, r)
			return
		}
		c.server.ServeHTTP(w, r)
	}))
	s.tb.Cleanup(c.server.peers.http.CloseIdleConnections)
	s.sidecars[node] = c
	s.order = append(s.order, node)
	return c
}

// dial leads the addresses that peers are found at to their listeners.
func (s *scenario) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var node kafka.NodeID
	if _, err := fmt.Sscanf(address, "b%d.example:9464", &node); err != nil {
		return nil, fmt.Errorf("dial %s: no such host", address)
	}
	c := s.sidecars[node]
	if c == nil || c.dead {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	return c.listener.dial(ctx)
}

func (s *scenario) each(do func(*sidecar)) {
	for _, node := range s.order {
		do(s.sidecars[node])
	}
}

func (s *scenario) metadata(lines ...string) { s.each(func(c *sidecar) { c.Metadata(lines...) }) }

// groups appends to a partition, for those who follow it.
func (s *scenario) groups(partition int32, lines ...string) {
	s.each(func(c *sidecar) {
		for _, p := range c.View().Assignment.Partitions {
			if p == partition {
				c.Groups(partition, lines...)
			}
		}
	})
}

// get asks a sidecar as a client on its host does.
func (c *sidecar) get(path string) *http.Response {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.RemoteAddr, r.Host = "127.0.0.1:5000", "localhost:9464"
	c.server.ServeHTTP(w, r)
	return w.Result()
}

// post is get with a body.
func (c *sidecar) post(path, body string) *http.Response {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.RemoteAddr, r.Host = "127.0.0.1:5000", "localhost:9464"
	c.server.ServeHTTP(w, r)
	return w.Result()
}

// show is the answer for a golden file.
func show(tb testing.TB, r *http.Response) string {
	body, err := io.ReadAll(r.Body)
	require.NoError(tb, err)
	require.NoError(tb, r.Body.Close())
	var b bytes.Buffer
	if r.StatusCode != http.StatusOK {
		fmt.Fprintf(&b, "%s\n", r.Status)
	}
	if r.Header.Get("Content-Type") != "application/json" {
		b.Write(body)
		return b.String()
	}
	require.NoError(tb, json.Indent(&b, bytes.TrimSpace(body), "", "  "), "%s", body)
	b.WriteByte('\n')
	return b.String()
}

func (s *scenario) ask(t *testing.T, d *datadriven.TestData, paths []string, show func(testing.TB, *http.Response) string) string {
	c := s.asked(t, d)
	var b strings.Builder
	for _, path := range paths {
		b.WriteString(show(t, c.get(path)))
	}
	return b.String()
}

// showIDs shows of a list only what is in it, and what it lacks.
func showIDs(tb testing.TB, r *http.Response) string {
	var parsed struct {
		Groups []struct{ Group string }
		Topics []struct {
			Name   string
			Groups []string
		}
		api.Completeness
		Next string
	}
	body, err := io.ReadAll(r.Body)
	require.NoError(tb, err)
	require.NoError(tb, json.Unmarshal(body, &parsed), "%s", body)
	var b strings.Builder
	for _, g := range parsed.Groups {
		fmt.Fprintf(&b, "%s ", g.Group)
	}
	for _, t := range parsed.Topics {
		fmt.Fprintf(&b, "%s%v ", t.Name, t.Groups)
	}
	if parsed.Next != "" {
		fmt.Fprintf(&b, "next=%s", parsed.Next)
	}
	b.WriteByte('\n')
	for _, m := range parsed.Missing {
		fmt.Fprintf(&b, "  missing %d at %s: %s\n", m.Broker, m.Host, m.Error)
	}
	for _, l := range parsed.Loading {
		fmt.Fprintf(&b, "  loading %d: %d %%\n", l.Partition, l.Percent)
	}
	return b.String()
}

// The commands of the golden files: "sidecar" starts one, "metadata" and
// "offsets" append to the logs, "stand" says how a tail stands, "wait" lets
// time pass. "get" shows the answers to paths, "ids" only who is in a list,
// "post" the answer to a path, in the first line, and a body, in the others.
// With node=N a command is for that sidecar, else for the first.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := newScenario(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.tb = t
			lines := strings.Split(strings.TrimSpace(d.Input), "\n")
			switch d.Cmd {
			case "sidecar":
				s.start(t, d)
			case "metadata":
				if d.HasArg("node") {
					s.asked(t, d).Metadata(lines...)
				} else {
					s.metadata(lines...)
				}
			case "offsets":
				s.groups(int32(number(t, d, "partition", 0)), lines...)
			case "stand":
				s.stand(t, d)
			case "wait":
				s.each(func(c *sidecar) { c.Wait(time.Duration(number(t, d, "seconds", 0)) * time.Second) })
			case "get":
				return s.ask(t, d, lines, show)
			case "post":
				path, body, _ := strings.Cut(d.Input, "\n")
				return show(t, s.asked(t, d).post(path, body))
			case "ids":
				return s.ask(t, d, lines, showIDs)
			default:
				t.Fatalf("%s: no such command %q", d.Pos, d.Cmd)
			}
			return ""
		})
	})
}

// asked is the sidecar that a command is for.
func (s *scenario) asked(t *testing.T, d *datadriven.TestData) *sidecar {
	return s.sidecars[kafka.NodeID(number(t, d, "node", int(s.order[0])))]
}

func number(t *testing.T, d *datadriven.TestData, name string, otherwise int) (n int) {
	n = otherwise
	if d.HasArg(name) {
		d.ScanArgs(t, name, &n)
	}
	return n
}

func (s *scenario) start(t *testing.T, d *datadriven.TestData) {
	o := pipeline.Options{Scope: pipeline.All}
	node := kafka.NoNode
	if d.HasArg("node") {
		node = kafka.NodeID(number(t, d, "node", 0))
		o.Scope = pipeline.Local
	}
	s.add(node, o, func(o *Options) { o.Peers.Listener = "INTERNAL" })
}

var errProblem = errors.New("connection reset by peer")

// stand brings about states of the tails that need a word from their sources.
func (s *scenario) stand(t *testing.T, d *datadriven.TestData) {
	c := s.asked(t, d)
	switch what := d.CmdArgs[0].Key; what {
	case "behind":
		c.MetadataProgress(metadatalog.Progress{HighWatermark: 5000, Leader: 3000})
	case "unreachable":
		c.MetadataProgress(metadatalog.Progress{HighWatermark: 5000, Leader: kafka.NoNode, Problem: &metadatalog.Problem{
			Kind: metadatalog.Unreachable, Node: 3000, Address: "c0.example:9093", Err: errProblem, Advice: "make it reachable",
			Since: c.Now(), Attempts: 3,
		}})
	case "snapshot":
		c.MetadataProgress(metadatalog.Progress{HighWatermark: 5000, Leader: 3000, Snapshot: &metadatalog.SnapshotProgress{
			ID: metadatalog.SnapshotID{EndOffset: 4000, Epoch: 2}, Position: 1000, Size: 8000,
		}})
	case "caught-up":
		c.MetadataProgress(metadatalog.Progress{})
	case "loading":
		c.Load(int32(number(t, d, "partition", 0)), 4*time.Second, 4, strings.TrimSpace(d.Input))
	case "broken":
		c.GroupsProgress(offsetslog.Progress{Partition: int32(number(t, d, "partition", 0)), End: kafka.UnknownOffset, Problem: &offsetslog.Problem{
			Kind: offsetslog.NotAuthorized, Node: 2, Err: errProblem, Advice: "allow READ on the topic", Since: c.Now(), Attempts: 1,
		}})
	case "full":
		c.store = store.Status{Reason: "the disk is full: free 1 GiB", Bytes: 4096}
	case "dead":
		c.dead = true
		s.each(func(c *sidecar) { c.server.peers.http.CloseIdleConnections() })
	case "port":
		c.reasons = []api.Reason{{What: "port 9192 is in use", Do: "set admin.listen"}}
	default:
		t.Fatalf("%s: no such state %q", d.Pos, what)
	}
}
