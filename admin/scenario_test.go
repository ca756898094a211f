package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/web/webtest"
)

// endpoint is a server on loopback over a cluster that is fed with lines.
type endpoint struct {
	*webtest.Cluster
	options Options
	server  *Server
	address string
}

// newEndpoint makes a server, which does not listen yet.
func newEndpoint(tb testing.TB, change func(*Options)) *endpoint {
	e := &endpoint{Cluster: webtest.New(tb, pipeline.Options{NodeID: kafka.NoNode, Scope: pipeline.All})}
	e.options = Options{
		View: e.View, Offsets: e.Offsets, ClusterID: func() string { return "aaaaaaaaaaaaaaaaaaaaaa" },
		MaxStaleness: 5 * time.Second, Now: e.Now,
	}
	if change != nil {
		change(&e.options)
	}
	var err error
	e.server, err = New(e.options)
	require.NoError(tb, err)
	return e
}

// serve listens until the test ends. The cluster must not be fed any more: its
// clock belongs to one goroutine.
func (e *endpoint) serve(tb testing.TB) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	e.address = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- e.server.Serve(ctx, l) }()
	tb.Cleanup(func() {
		cancel()
		require.NoError(tb, <-served)
	})
}

// Each scenario tells its story in its first lines. The commands:
//
//	metadata             the lines are records of the metadata log
//	offsets partition=N  the lines are records of a partition of __consumer_offsets
//	loading partition=N  a partition is being read
//	wait seconds=N       time passes, in which the tails hear nothing
//	heard                the tails hear that they are at the end
//	ask API [version=N] [broker=N]
//	                     a request, whose fields are the lines as JSON, and its
//	                     answer
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		var e *endpoint
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "start" {
				e = newEndpoint(t, func(o *Options) {
					o.SyntheticConfigs = d.HasArg("synthetic")
					if d.HasArg("peers") {
						o.Peer = func(b *image.Broker) (string, int32) { return b.EndPoints[0].Host, 9192 }
					}
				})
				return ""
			}
			return e.run(t, d)
		})
	})
}

func (e *endpoint) run(t *testing.T, d *datadriven.TestData) string {
	partition := func() (n int32) {
		d.ScanArgs(t, "partition", &n)
		return n
	}
	switch d.Cmd {
	case "metadata":
		e.Metadata(strings.Split(strings.TrimSpace(d.Input), "\n")...)
	case "offsets":
		e.Groups(partition(), strings.Split(strings.TrimSpace(d.Input), "\n")...)
	case "loading":
		e.GroupsProgress(offsetslog.Progress{Partition: partition(), End: 1000, Loading: true, LoadEnd: 1000})
	case "wait":
		var seconds int
		d.ScanArgs(t, "seconds", &seconds)
		e.MetadataProgress(metadatalog.Progress{Leader: 3000, HighWatermark: 1 << 40})
		e.Wait(time.Duration(seconds) * time.Second)
	case "heard":
		e.MetadataProgress(metadatalog.Progress{})
	case "ask":
		return e.ask(t, d)
	default:
		t.Fatalf("unknown command %s", d.Cmd)
	}
	return ""
}

// ask answers a request as a connection would, without one.
func (e *endpoint) ask(t *testing.T, d *datadriven.TestData) string {
	q := requestNamed(t, d.CmdArgs[0].Key)
	version, broker := int(q.MaxVersion()), int(kafka.NoNode)
	if d.HasArg("version") {
		d.ScanArgs(t, "version", &version)
	}
	if d.HasArg("broker") {
		d.ScanArgs(t, "broker", &broker)
	}
	if d.Input != "" {
		require.NoError(t, json.Unmarshal([]byte(d.Input), q))
	}
	q.SetVersion(int16(version))
	c := e.server.newCall(q.GetVersion(), kafka.NodeID(broker), &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9192}, nil, &session{principal: anonymous})
	r := q.ResponseKind()
	require.NoError(t, r.ReadFrom(e.server.served[q.Key()].answer(c, q).AppendTo(nil)))
	return text(t, r)
}

func requestNamed(t testing.TB, name string) kmsg.Request {
	for key := range newAPIs() {
		if kmsg.NameForKey(key) == name {
			return kmsg.RequestForKey(key)
		}
	}
	t.Fatalf("no API %s is served", name)
	return nil
}

// text is a response as indented JSON without what is empty.
func text(t testing.TB, r kmsg.Response) string {
	raw, err := json.Marshal(r)
	require.NoError(t, err)
	var v map[string]any
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	require.NoError(t, d.Decode(&v))
	var b strings.Builder
	write(&b, "", kmsg.NameForKey(r.Key()), v)
	return b.String()
}

// write writes an object on a line of its own, with those in it below.
func write(b *strings.Builder, indent, name string, object map[string]any) {
	var inner []string
	line := []string{name}
	for _, field := range sortedKeys(object) {
		switch value := object[field].(type) {
		case nil:
		case map[string]any:
			inner = append(inner, field)
		case []any:
			if len(value) > 0 && isObject(value[0]) {
				inner = append(inner, field)
			} else if len(value) > 0 {
				line = append(line, field+"="+flat(value))
			}
		default:
			if s := flat(value); s != "0" && s != `""` && s != "false" && field != "Version" && s != unasked {
				line = append(line, field+"="+s)
			}
		}
	}
	fmt.Fprintf(b, "%s%s\n", indent, strings.Join(line, " "))
	for _, field := range inner {
		list, ok := object[field].([]any)
		if !ok {
			list = []any{object[field]}
		}
		for _, one := range list {
			if field != "UnknownTags" {
				write(b, indent+"  ", field, one.(map[string]any))
			}
		}
	}
}

var unasked = strconv.Itoa(int(notRequested))

func isObject(v any) bool {
	_, ok := v.(map[string]any)
	return ok
}

func flat(v any) string {
	if list, ok := v.([]any); ok && len(list) == 16 {
		var id kafka.UUID
		for i, n := range list {
			number, err := n.(json.Number).Int64()
			if err != nil || number < 0 || number > 255 {
				return fmt.Sprint(v)
			}
			id[i] = byte(number)
		}
		return id.String()
	}
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	return fmt.Sprint(v)
}
