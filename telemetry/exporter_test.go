package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/rebalance"
)

// outbox is one in memory.
type outbox struct {
	items  []Item
	asked  int   // the most that it was asked for
	broken error // of Sent
}

func (o *outbox) Pending(most int) []Item {
	o.asked = max(o.asked, most)
	return slices.Clone(o.items[:min(most, len(o.items))])
}

func (o *outbox) Sent(done []Item) error {
	if o.broken == nil {
		o.items = slices.DeleteFunc(o.items, func(i Item) bool { return slices.Contains(done, i) })
	}
	return o.broken
}

// receiver takes OTLP over HTTP, as long as answer, if there is one, lets it.
type receiver struct {
	*httptest.Server
	traces, logs [][]byte // bodies that were accepted
	requests     int
	answer       func(path string) int // 0 accepts
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return // the client is gone
		}
		r.requests++
		if r.answer != nil {
			if code := r.answer(q.URL.Path); code != 0 {
				w.WriteHeader(code)
				fmt.Fprintf(w, "no: %s", q.Header.Get("X-Token"))
				return
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
		switch q.URL.Path {
		case "/v1/traces":
			r.traces = append(r.traces, body)
		case "/v1/logs":
			r.logs = append(r.logs, body)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// bench is an exporter with what is around it.
type bench struct {
	*Exporter
	outbox *outbox
	log    *bytes.Buffer
	meter  *Meter
}

func newBench(t *testing.T, o OTLP, items ...Item) *bench {
	b := &bench{outbox: &outbox{items: items}, log: new(bytes.Buffer)}
	b.meter, _ = newMeter(t, func(o *Options) { o.Exporter = func() *Exporter { return b.Exporter } })
	var err error
	b.Exporter, err = NewExporter(ExporterOptions{
		OTLP: o, ClusterName: "prod-1", SlowAfter: time.Minute, Outbox: b.outbox, Meter: b.meter, Log: slog.New(slog.NewTextHandler(b.log, nil)),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.clients.close(context.Background())) })
	return b
}

// lines are those of the log that have a word.
func (b *bench) lines(word string) int { return strings.Count(b.log.String(), word) }

func item(n int) Item {
	return Item{Rebalance: &rebalance.Rebalance{
		ID:    rebalance.ID{ClusterID: "c", TopicID: kafka.TopicID{9}, Offset: kafka.Offset(n)},
		Group: fmt.Sprintf("g%d", n), Type: groups.Consumer, Epoch: 2, StartedAt: second, TargetAt: second + 1, CompletedAt: second + 5, Settled: true,
		Causes:  []rebalance.Cause{{Kind: rebalance.MemberLeft, Summary: "member a left", Confidence: rebalance.Likely, Partition: -1}},
		Members: []rebalance.Member{{MemberID: "b", ReconciledAt: second + 5}},
	}}
}

func itemsOf(n int) (out []Item) {
	for i := range n {
		out = append(out, item(i))
	}
	return out
}

func TestExport(t *testing.T) {
	r := newReceiver(t)
	b := newBench(t, OTLP{Endpoint: r.URL, Protocol: "http"}, itemsOf(pageItems+10)...)
	require.Zero(t, b.round(t.Context()), "there is more")
	require.Equal(t, b.poll, b.round(t.Context()))
	require.Equal(t, b.poll, b.round(t.Context()))
	require.Empty(t, b.outbox.items)
	require.Equal(t, pageItems, b.outbox.asked)
	require.Len(t, r.traces, pageItems+10)
	require.Len(t, r.logs, pageItems+10)
	require.Empty(t, b.log)

	var request coltrace.ExportTraceServiceRequest
	require.NoError(t, proto.Unmarshal(r.traces[0], &request))
	spans := request.ResourceSpans[0].ScopeSpans[0].Spans
	require.Equal(t, "kraftside", request.ResourceSpans[0].Resource.Attributes[0].Value.GetStringValue())
	require.Equal(t, []string{"rebalance", "epoch bump", "target assignment", "member"}, []string{spans[0].Name, spans[1].Name, spans[2].Name, spans[3].Name})
	var records collogs.ExportLogsServiceRequest
	require.NoError(t, proto.Unmarshal(r.logs[0], &records))
	record := records.ResourceLogs[0].ScopeLogs[0].LogRecords[0]
	require.Equal(t, "member a left", record.Body.GetStringValue())
	require.Equal(t, spans[0].TraceId, record.TraceId)
	require.Equal(t, spans[0].SpanId, record.SpanId)
	require.Equal(t, record.TimeUnixNano, record.ObservedTimeUnixNano)
}

// Two sidecars send the same bytes, and so does one that tries again.
func TestRetriesAreTheSame(t *testing.T) {
	r := newReceiver(t)
	for range 2 {
		b := newBench(t, OTLP{Endpoint: r.URL, Protocol: "http"}, itemsOf(3)...)
		b.round(t.Context())
		b.outbox.items, b.accepted = itemsOf(3), map[itemKey]int{}
		b.round(t.Context())
	}
	require.Len(t, r.traces, 12)
	for i := range r.traces {
		require.Equal(t, r.traces[i%3], r.traces[i])
		require.Equal(t, r.logs[i%3], r.logs[i])
	}
}

// While the receiver is away nothing is lost, and that is said once, and once
// when it is back. What it had accepted before is not sent again.
func TestReceiverIsAway(t *testing.T) {
	r := newReceiver(t)
	b := newBench(t, OTLP{Endpoint: r.URL, Protocol: "http"}, itemsOf(3)...)
	r.answer = func(path string) int { return map[string]int{"/v1/logs": http.StatusServiceUnavailable}[path] }
	for i := range 20 {
		wait := b.round(t.Context())
		require.GreaterOrEqual(t, wait, min(b.first<<i, b.most)/2)
		require.LessOrEqual(t, wait, b.most)
	}
	require.Len(t, b.outbox.items, 3)
	require.Len(t, r.traces, 1)
	require.Equal(t, 1, b.lines("cannot be exported"), b.log)
	pending, oldest := b.backlogNow()
	require.Equal(t, 3, pending)
	require.Positive(t, oldest)
	text, _ := scrape(t, b.meter, "")
	require.Contains(t, text, `kraftside_otlp_requests_total{result="accepted",signal="traces"} 1`)
	require.Contains(t, text, `kraftside_otlp_requests_total{result="unavailable",signal="logs"} 20`)
	require.Contains(t, text, "kraftside_otlp_pending 3\n")

	r.answer = nil
	require.Equal(t, b.poll, b.round(t.Context()))
	require.Len(t, r.traces, 3)
	require.Len(t, r.logs, 3)
	require.Empty(t, b.outbox.items)
	require.Equal(t, 1, b.lines("exported again"), b.log)
	b.round(t.Context())
	pending, oldest = b.backlogNow()
	require.Zero(t, pending)
	require.Zero(t, oldest)
}

func TestReceiverIsGone(t *testing.T) {
	for _, protocol := range []string{"grpc", "http"} {
		r := newReceiver(t)
		b := newBench(t, OTLP{Endpoint: r.URL, Protocol: protocol}, item(1))
		r.Close()
		b.round(t.Context())
		require.Contains(t, b.log.String(), "traces unavailable", protocol)
		require.Len(t, b.outbox.items, 1)
	}
}

func TestReceiverHangs(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "50")
	r, released := newReceiver(t), make(chan struct{})
	r.answer = func(string) int { <-released; return 0 }
	b := newBench(t, OTLP{Endpoint: r.URL, Protocol: "http"}, item(1))
	b.round(t.Context())
	close(released)
	require.Contains(t, b.log.String(), "traces timeout")
	require.Len(t, b.outbox.items, 1)
}

// What a receiver will never take is left out and said, and does not keep the
// others waiting.
func TestRefused(t *testing.T) {
	r := newReceiver(t)
	b := newBench(t, OTLP{Endpoint: r.URL, Protocol: "http"}, itemsOf(3)...)
	r.answer = func(path string) int {
		if path == "/v1/traces" && r.requests == 3 {
			return http.StatusRequestEntityTooLarge
		}
		return 0
	}
	require.Equal(t, b.poll, b.round(t.Context()))
	require.Empty(t, b.outbox.items)
	require.Len(t, r.traces, 2)
	require.Len(t, r.logs, 3)
	require.Equal(t, 1, b.lines("will not take"), b.log)
}

// A receiver of traces alone is told apart from one that is away, with what to
// do; then only traces are sent.
func TestTracesAlone(t *testing.T) {
	r := newReceiver(t)
	r.answer = func(path string) int { return map[string]int{"/v1/logs": http.StatusNotFound}[path] }
	b := newBench(t, OTLP{Endpoint: r.URL, Protocol: "http"}, item(1))
	b.round(t.Context())
	require.Len(t, b.outbox.items, 1)
	require.Contains(t, b.log.String(), "OTEL_LOGS_EXPORTER=none")

	t.Setenv("OTEL_LOGS_EXPORTER", "none")
	b = newBench(t, OTLP{Endpoint: r.URL, Protocol: "http"}, item(1))
	b.round(t.Context())
	require.Empty(t, b.outbox.items)
}

// If the outbox cannot keep what was sent, it is not sent again by this process.
func TestOutboxFails(t *testing.T) {
	r := newReceiver(t)
	b := newBench(t, OTLP{Endpoint: r.URL, Protocol: "http"}, itemsOf(2)...)
	b.outbox.broken = errors.New("the disk is full")
	for range 3 {
		require.Less(t, b.round(t.Context()), b.most)
	}
	require.Len(t, r.traces, 2)
	require.Equal(t, 1, b.lines("the disk is full"))
	b.outbox.broken = nil
	b.round(t.Context())
	require.Empty(t, b.outbox.items)
	require.Len(t, r.traces, 2)
}

// Headers are secrets, and so is what a receiver echoes, what stands where a
// header should, and a password in an endpoint.
func TestSecrets(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-token=hush%20one,x-other")
	t.Setenv("OTEL_EXPORTER_OTLP_LOGS_HEADERS", "hush-two")
	r := newReceiver(t)
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", strings.Replace(r.URL, "http://", "http://user:hush@", 1)+"/v1/traces")
	r.answer = func(string) int { return http.StatusUnauthorized }
	b := newBench(t, OTLP{Endpoint: r.URL, Protocol: "http"}, item(1))
	b.round(t.Context())
	require.Contains(t, b.log.String(), "traces unauthorized")
	require.Contains(t, b.log.String(), "OTEL_EXPORTER_OTLP_LOGS_HEADERS")
	require.Contains(t, b.log.String(), "[redacted]")
	require.NotContains(t, b.log.String(), "hush")
}

func TestEnvironment(t *testing.T) {
	require.False(t, OTLP{}.Enabled(), "nobody said where to")
	require.True(t, OTLP{Endpoint: "http://h:1"}.Enabled())
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://h:1")
	require.True(t, OTLP{}.Enabled())
	require.False(t, OTLP{}.on(signalLogs))
	require.Empty(t, OTLP{Endpoint: "http://o:1"}.url(signalTraces, true), "that of the signal wins")
	require.Equal(t, "http://o:1/v1/logs", OTLP{Endpoint: "http://o:1/"}.url(signalLogs, true))
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
	_, err := NewExporter(ExporterOptions{OTLP: OTLP{}, Log: slog.New(slog.DiscardHandler)})
	require.ErrorContains(t, err, `OTLP protocol of traces is "http/json"; want grpc or http/protobuf`)
	t.Setenv("OTEL_SDK_DISABLED", "true")
	require.False(t, OTLP{Endpoint: "http://h:1"}.Enabled())
}

// No request comes near the 4 MiB that receivers of gRPC take, whatever names a
// cluster has.
func TestRequestsAreBounded(t *testing.T) {
	r := newReceiver(t)
	one := item(1)
	one.Rebalance.Group = strings.Repeat("g", 32_000)
	one.Rebalance.Members = nil
	var all []groups.TopicPartitions
	for j := range 20 {
		all = append(all, groups.TopicPartitions{Topic: fmt.Sprint(j, strings.Repeat("t", 249)), Partitions: make([]int32, 300)})
	}
	for i := range maxMembers {
		m := rebalance.Member{MemberID: fmt.Sprint(i, strings.Repeat("m", 32_000)), ClientHost: strings.Repeat("h", 32_000), After: all, ReconciledAt: second + 2}
		m.WaitedFor = slices.Repeat([]rebalance.Wait{{MemberID: m.MemberID, Partitions: m.After}}, 2)
		one.Rebalance.Members = append(one.Rebalance.Members, m)
	}
	b := newBench(t, OTLP{Endpoint: r.URL, Protocol: "http"}, one)
	b.round(t.Context())
	require.Empty(t, b.outbox.items, b.log)
	for _, body := range slices.Concat(r.traces, r.logs) {
		require.Less(t, len(body), 4<<20)
	}
}
