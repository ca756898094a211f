package main

import (
	"fmt"
	"maps"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/config"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/store"
	"github.com/kraftside/kraftside/web"
	"github.com/kraftside/kraftside/web/webtest"
)

// askedCluster is a cluster whose sidecars answer on loopback, the one of
// broker N at 127.0.0.N, all at one port. The logs are also on disk, as each
// sidecar is given them.
type askedCluster struct {
	t        *testing.T
	port     string // 0 until the first sidecar listens
	sidecars map[kafka.NodeID]*askedSidecar
	order    []kafka.NodeID
}

type askedSidecar struct {
	*webtest.Cluster
	server *httptest.Server
}

// start starts the sidecar of a broker, or with kafka.NoNode one for all.
func (c *askedCluster) start(node kafka.NodeID, access web.Access) {
	o := pipeline.Options{NodeID: node, Scope: pipeline.Local}
	host := fmt.Sprintf("127.0.0.%d", node)
	if node == kafka.NoNode {
		o.Scope, host = pipeline.All, "127.0.0.1"
	}
	l, err := net.Listen("tcp", host+":"+c.port)
	require.NoError(c.t, err)
	_, c.port, err = net.SplitHostPort(l.Addr().String())
	require.NoError(c.t, err)
	s := &askedSidecar{Cluster: webtest.New(c.t, o)}
	s.Written = func(partition int32, batch []byte) { c.write(fmt.Sprintf("disk%d", node), partition, batch) }
	handler, err := web.New(web.Options{
		View: s.View, Version: "1.2.3", ClusterName: "prod", ClusterID: func() string { return "aaaaaaaaaaaaaaaaaaaaaa" },
		MetadataSource: func() string { return "quorum" }, GroupsSource: "kafka",
		Store:  func() store.Status { return store.Status{Persisting: true, Bytes: 3_500_000} },
		Access: access, Peers: web.Peers{Address: "127.0.0.{id}:" + c.port}, Now: s.Now,
	})
	require.NoError(c.t, err)
	s.server = httptest.NewUnstartedServer(handler)
	s.server.Listener.Close()
	s.server.Listener = l
	s.server.Start()
	c.t.Cleanup(s.server.Close)
	c.sidecars[node] = s
	c.order = append(c.order, node)
}

// write appends a batch to a log on disk.
func (c *askedCluster) write(disk string, partition int32, batch []byte) {
	name := logdir.PartitionName(kafka.OffsetsTopic, partition)
	if partition == offsetslog.NoPartition {
		name = logdir.PartitionName(kafka.MetadataTopic, 0)
	}
	dir := filepath.Join(disk, name)
	require.NoError(c.t, os.MkdirAll(dir, 0o755))
	f, err := os.OpenFile(filepath.Join(dir, "00000000000000000000.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(c.t, err)
	defer f.Close()
	_, err = f.Write(batch)
	require.NoError(c.t, err)
}

func (c *askedCluster) each(do func(*askedSidecar)) {
	for _, node := range c.order {
		do(c.sidecars[node])
	}
}

// run runs command lines, in which $N is the URL of broker N's sidecar, $0
// that of the one for all, and a word in double quotes may have escapes.
func (c *askedCluster) run(input string) string {
	var b strings.Builder
	for line := range strings.Lines(input) {
		var args []string
		for _, word := range strings.Fields(line) {
			word = c.expand(word)
			if unquoted, err := strconv.Unquote(word); err == nil {
				word = unquoted
			}
			args = append(args, word)
		}
		o := runArgs(args)
		b.WriteString(o.stdout)
		for l := range strings.Lines(o.stderr) {
			b.WriteString("! " + l)
		}
		if o.code != cli.OK {
			fmt.Fprintf(&b, "exit %d\n", o.code)
		}
	}
	return strings.ReplaceAll(b.String(), ":"+c.port, ":PORT")
}

// sidecarNames are $0 to $9.
var sidecarNames = regexp.MustCompile(`\$([0-9])`)

// expand replaces the names of sidecars by their URLs.
func (c *askedCluster) expand(text string) string {
	return sidecarNames.ReplaceAllStringFunc(text, func(name string) string {
		return "http://127.0.0." + max(name[1:], "1") + ":" + c.port
	})
}

// The files under testdata/asked are sessions with the sidecars of a cluster,
// in a folder of their own. Commands:
//
//	sidecar [node=N] [token]  starts the sidecar of broker N, or one for all
//	                          groups; with token it wants one
//	metadata [node=N]         appends records to the metadata log, for that
//	                          sidecar or for all
//	offsets partition=N       appends records to that partition of
//	                          __consumer_offsets, for those that follow it
//	load partition=N [node=N] a partition is being loaded
//	behind [node=N]           the metadata tail of a sidecar lags
//	wait seconds=N            lets time pass
//	stop node=N               a sidecar goes away
//	file name=F               writes a file
//	cut name=F at=N           cuts a file off there
//	flip name=F at=N          damages a byte of a file
//	env                       sets variables, one NAME=VALUE a line
//	run                       runs command lines
func TestAsked(t *testing.T) {
	sessions, err := filepath.Abs("testdata/asked")
	require.NoError(t, err)
	datadriven.Walk(t, sessions, func(t *testing.T, path string) {
		t.Chdir(t.TempDir())
		for _, name := range append(slices.Collect(maps.Values(config.ClientVariables)), "HTTP_PROXY", "http_proxy") {
			t.Setenv(name, "")
		}
		c := &askedCluster{t: t, port: "0", sidecars: make(map[kafka.NodeID]*askedSidecar)}
		datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string { return c.command(t, d) })
	})
}

func (c *askedCluster) command(t *testing.T, d *datadriven.TestData) string {
	number := func(name string, otherwise int) int {
		d.MaybeScanArgs(t, name, &otherwise)
		return otherwise
	}
	var name string
	d.MaybeScanArgs(t, "name", &name)
	node, partition := kafka.NodeID(number("node", -1)), int32(number("partition", 0))
	lines := strings.Split(d.Input, "\n")
	switch d.Cmd {
	case "sidecar":
		access := web.Access{}
		if d.HasArg("token") {
			require.NoError(t, os.WriteFile("tokens", []byte("right\n"), 0o600))
			access.TokenFile = "tokens"
		}
		c.start(node, access)
	case "metadata":
		c.each(func(s *askedSidecar) {
			if !d.HasArg("node") || s == c.sidecars[node] {
				s.Metadata(lines...)
			}
		})
	case "offsets":
		c.each(func(s *askedSidecar) {
			for _, p := range s.View().Assignment.Partitions {
				if p == partition {
					s.Groups(partition, lines...)
				}
			}
		})
	case "load":
		c.sidecars[node].Load(partition, 4*time.Second, 4, lines...)
	case "behind":
		c.sidecars[node].MetadataProgress(metadatalog.Progress{HighWatermark: 5000, Leader: 3000})
	case "wait":
		c.each(func(s *askedSidecar) { s.Wait(time.Duration(number("seconds", 0)) * time.Second) })
	case "stop":
		c.sidecars[node].server.Close()
	case "file":
		require.NoError(t, os.WriteFile(name, []byte(d.Input), 0o600))
	case "cut":
		require.NoError(t, os.Truncate(name, int64(number("at", 0))))
	case "flip":
		(&world{t: t}).damage(name, number("at", 0), false)
	case "env":
		for _, line := range lines {
			name, value, _ := strings.Cut(line, "=")
			t.Setenv(name, c.expand(value))
		}
	case "run":
		return c.run(d.Input)
	default:
		t.Fatalf("%s: no such command %q", d.Pos, d.Cmd)
	}
	return ""
}

// TestNoSecretIsAnswered asks for all that metadata full of secrets say, and
// what is wrong with them.
func TestNoSecretIsAnswered(t *testing.T) {
	t.Chdir(t.TempDir())
	writeSecrets(t)
	for _, format := range cli.Formats() {
		for _, line := range []string{"topics --metadata-dir sound", "status --metadata-dir sound", "topics --metadata-dir broken"} {
			o := runLine(line + " -o " + format)
			require.NotEmpty(t, o.stdout+o.stderr)
			for what, secret := range secrets {
				for _, form := range forms(secret) {
					require.NotContains(t, o.stdout+o.stderr, form, "%s shows the %s", line, what)
				}
			}
		}
	}
}
