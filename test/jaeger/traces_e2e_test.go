//go:build e2e && unix

package jaeger_test

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/rebalance"
	"github.com/kraftside/kraftside/telemetry"
	"github.com/kraftside/kraftside/test/jaeger"
)

// Jaeger shows every rebalance of a recorded cluster as a trace, by either protocol, with the times of the records.
func TestJaegerShowsRebalances(t *testing.T) {
	logs, s := newLogReceiver(t), jaeger.New(t)
	s.Start()
	all := recorded(t)
	half := len(all) / 2
	for _, way := range []struct {
		to   telemetry.OTLP
		some []*rebalance.Rebalance
	}{{telemetry.OTLP{Endpoint: s.GRPC}, all[:half]}, {telemetry.OTLP{Endpoint: s.HTTP, Protocol: "http"}, all[half:]}} {
		box := &outbox{items: itemsOf(way.some)}
		export(t, way.to, box, io.Discard)
		require.Eventually(t, box.empty, patience, 50*time.Millisecond)
	}
	from, to := around(all)
	found := byRebalance(t, s.Traces("rebalance", nil, from, to))
	require.Len(t, found, len(all))
	kinds := make(map[rebalance.Kind]bool)
	for _, r := range all {
		tr := found[r.ID.String()]
		require.Len(t, tr, 1, r.ID)
		requireTrace(t, r, tr[0])
		require.Len(t, logs.of(tr[0].TraceID), 1)
		require.Equal(t, r.Causes[0].Summary, logs.of(tr[0].TraceID)[0].Body.GetStringValue())
		kinds[r.Causes[0].Kind] = true
	}
	require.Contains(t, kinds, rebalance.Metadata)
	require.Contains(t, kinds, rebalance.MemberJoined)

	one := all[slices.IndexFunc(all, func(r *rebalance.Rebalance) bool { return r.Causes[0].Kind == rebalance.Metadata })]
	tags := map[string]string{"messaging.consumer.group.name": one.Group, "kraftside.cause.kind": "metadata"}
	require.Contains(t, byRebalance(t, s.Traces("rebalance", tags, from, to)), one.ID.String(), "the search form finds it")
}

// byRebalance sorts traces by what they are of.
func byRebalance(t *testing.T, traces []jaeger.Trace) map[string][]jaeger.Trace {
	out := make(map[string][]jaeger.Trace)
	for _, tr := range traces {
		id, ok := root(t, &tr).Tag("kraftside.rebalance.id").(string)
		require.True(t, ok)
		out[id] = append(out[id], tr)
	}
	return out
}

// root is the span without a parent, of which there is one.
func root(t *testing.T, tr *jaeger.Trace) (found *jaeger.Span) {
	for i := range tr.Spans {
		s := &tr.Spans[i]
		if !slices.ContainsFunc(s.References, func(r jaeger.Reference) bool { return r.RefType == "CHILD_OF" }) {
			require.Nil(t, found, "two roots")
			found = s
		}
	}
	require.NotNil(t, found)
	return found
}

// named are the spans of a name, by when they start.
func named(tr *jaeger.Trace, name string) (out []*jaeger.Span) {
	for i := range tr.Spans {
		if tr.Spans[i].OperationName == name {
			out = append(out, &tr.Spans[i])
		}
	}
	slices.SortFunc(out, func(a, b *jaeger.Span) int { return int(a.StartTime - b.StartTime) })
	return out
}

// requireTrace compares what Jaeger shows with the records.
func requireTrace(t *testing.T, r *rebalance.Rebalance, tr jaeger.Trace) {
	whole, ids := root(t, &tr), make(map[string]bool)
	requireTimes(t, whole, begin(r), r.CompletedAt)
	require.Equal(t, r.Causes[0].Summary, whole.Tag("kraftside.summary"))
	for i := range tr.Spans {
		s := &tr.Spans[i]
		require.False(t, ids[s.SpanID])
		ids[s.SpanID] = true
		require.Equal(t, clusterName, s.Tag("kraftside.cluster.name"))
		require.Equal(t, r.ID.ClusterID, s.Tag("kraftside.cluster.id"))
		require.Equal(t, r.Group, s.Tag("messaging.consumer.group.name"))
		if s == whole {
			continue
		}
		require.Equal(t, []jaeger.Reference{{RefType: "CHILD_OF", TraceID: tr.TraceID, SpanID: whole.SpanID}}, s.References)
		require.GreaterOrEqual(t, s.StartTime, whole.StartTime)
		require.LessOrEqual(t, s.StartTime+s.Duration, whole.StartTime+whole.Duration)
	}
	bump := named(&tr, "epoch bump")
	require.Len(t, bump, 1)
	requireTimes(t, bump[0], r.StartedAt, r.StartedAt)
	target := named(&tr, "target assignment")
	if r.TargetAt > 0 {
		require.Len(t, target, 1)
		requireTimes(t, target[0], r.StartedAt, r.TargetAt)
	}
	changes := named(&tr, "metadata change")
	require.Len(t, changes, len(nearChanges(r)))
	for i, at := range nearChanges(r) {
		requireTimes(t, changes[i], at, r.StartedAt)
	}
	requireMembers(t, r, named(&tr, "member"))
}

func requireMembers(t *testing.T, r *rebalance.Rebalance, spans []*jaeger.Span) {
	require.Len(t, spans, len(r.Members))
	for i := range r.Members {
		m := &r.Members[i]
		at := slices.IndexFunc(spans, func(s *jaeger.Span) bool { return s.Tag("kraftside.member.id") == m.MemberID })
		require.GreaterOrEqual(t, at, 0, m.MemberID)
		if m.ReconciledAt > 0 {
			requireTimes(t, spans[at], max(r.StartedAt, r.TargetAt), m.ReconciledAt)
			require.Equal(t, "reconciled", spans[at].Tag("kraftside.member.state"))
		}
	}
}

// requireTimes compares a span with times of records, in milliseconds.
func requireTimes(t *testing.T, s *jaeger.Span, from, to int64) {
	t.Helper()
	require.Equal(t, from*1000, s.StartTime, s.OperationName)
	require.Equal(t, (to-from)*1000, s.Duration, s.OperationName)
}

// nearChanges are the times of the records of the metadata log that causes rest on, at most a minute before the bump.
func nearChanges(r *rebalance.Rebalance) (at []int64) {
	seen := make(map[kafka.Offset]bool)
	for _, c := range r.Causes {
		for _, e := range c.Evidence {
			if e.Log == rebalance.MetadataLog && !seen[e.Offset] && r.StartedAt-e.Timestamp <= 60_000 {
				seen[e.Offset] = true
				at = append(at, min(e.Timestamp, r.StartedAt))
			}
		}
	}
	slices.Sort(at)
	return at
}

// begin is when a trace begins.
func begin(r *rebalance.Rebalance) int64 {
	from := r.StartedAt
	for _, at := range nearChanges(r) {
		from = min(from, at)
	}
	for _, c := range r.Causes {
		if c.Trigger == nil {
			continue
		}
		for _, e := range c.Trigger.Evidence {
			if r.StartedAt-e.Timestamp <= 60_000 {
				from = min(from, e.Timestamp)
			}
		}
	}
	return from
}

// A rebalance that is open for long is shown at once as an error, and as a whole, with a link, when it is over.
func TestJaegerShowsIncomplete(t *testing.T) {
	logs, s := newLogReceiver(t), jaeger.New(t)
	s.Start()
	all := recorded(t)
	over := all[slices.IndexFunc(all, func(r *rebalance.Rebalance) bool { return len(r.Members) > 1 && r.Members[0].ReconciledAt > 0 })]
	open := *over
	open.CompletedAt, open.Members = 0, slices.Clone(over.Members)
	open.Members[0].ReconciledAt = 0
	box := &outbox{items: []telemetry.Item{{Rebalance: &open, Incomplete: true}, {Rebalance: over, Completion: true}}}
	export(t, telemetry.OTLP{Endpoint: s.GRPC}, box, io.Discard)
	require.Eventually(t, box.empty, patience, 50*time.Millisecond)
	from, to := around(all)
	find := func(state string) (*jaeger.Trace, *jaeger.Span) {
		found := s.Traces("rebalance", map[string]string{"kraftside.rebalance.state": state}, from, to)
		require.Len(t, found, 1)
		return &found[0], root(t, &found[0])
	}
	first, firstRoot := find("incomplete")
	require.Equal(t, true, firstRoot.Tag("error"))
	require.GreaterOrEqual(t, firstRoot.StartTime+firstRoot.Duration, (open.StartedAt+slowAfter.Milliseconds())*1000)
	waiting := slices.IndexFunc(named(first, "member"), func(s *jaeger.Span) bool { return s.Tag("kraftside.member.id") == open.Members[0].MemberID })
	require.Equal(t, true, named(first, "member")[waiting].Tag("kraftside.open"))
	second, secondRoot := find("completed")
	require.NotEqual(t, first.TraceID, second.TraceID)
	require.Equal(t, []jaeger.Reference{{RefType: "FOLLOWS_FROM", TraceID: first.TraceID, SpanID: firstRoot.SpanID}}, secondRoot.References)
	requireTrace(t, over, *second)
	require.Equal(t, logspb.SeverityNumber_SEVERITY_NUMBER_WARN, logs.of(first.TraceID)[0].SeverityNumber)
	require.Equal(t, logspb.SeverityNumber_SEVERITY_NUMBER_INFO, logs.of(second.TraceID)[0].SeverityNumber)
}

// Jaeger is stopped while rebalances are exported, and answers are lost on the way: all of them arrive, what arrives twice
// has the same bytes, and what waits meanwhile costs no memory.
func TestJaegerIsAway(t *testing.T) {
	newLogReceiver(t)
	s := jaeger.New(t)
	s.Start()
	all := recorded(t)
	var many []*rebalance.Rebalance
	for i := range 400 {
		r := *all[i%len(all)]
		r.ID.Offset = kafka.Offset(1_000_000 + i) // one that no other has
		many = append(many, &r)
	}
	f := jaeger.NewRecorder(t, s)
	f.Answer(func(context.Context, jaeger.Request) bool { return len(f.Accepted())%50 != 0 })
	way := telemetry.OTLP{Endpoint: f.URL, Protocol: "http"}

	box := &outbox{items: itemsOf(many[:100])}
	var log bytes.Buffer
	stop := export(t, way, box, &log)
	require.Eventually(t, box.empty, patience, 50*time.Millisecond)
	s.Stop()
	before := heap()
	box.add(itemsOf(many[100:]))
	require.Never(t, func() bool { return box.len() < 300 }, 10*time.Second, 100*time.Millisecond, "sent without a receiver")
	require.Less(t, heap(), before+4<<20, "what waits is in memory")
	stop() // the sidecar is restarted meanwhile
	export(t, way, box, io.Discard)
	s.Start()
	require.Eventually(t, box.empty, 2*patience, 50*time.Millisecond)

	from, to := around(all)
	found := byRebalance(t, s.Traces("rebalance", nil, from, to))
	require.Len(t, found, len(many))
	for _, r := range many {
		require.Len(t, found[r.ID.String()], 1)
		requireTrace(t, r, found[r.ID.String()][0])
	}
	require.Positive(t, duplicates(t, f), "no answer was lost")
	afterAnswers := log.Bytes()[bytes.LastIndex(log.Bytes(), []byte("exported again"))+1:]
	require.Equal(t, 1, bytes.Count(afterAnswers, []byte("cannot be exported")), "Jaeger is away: %s", log.String())
}

func (o *outbox) add(items []telemetry.Item) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.items = append(o.items, items...)
}

// heap is how much memory is in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// duplicates counts the requests that were accepted more than once, which have the same bytes each time.
func duplicates(t *testing.T, f *jaeger.Recorder) (n int) {
	byFirstSpan := make(map[string][]byte)
	for _, accepted := range f.Accepted() {
		var request coltrace.ExportTraceServiceRequest
		require.NoError(t, proto.Unmarshal(accepted.Body, &request))
		first := string(request.ResourceSpans[0].ScopeSpans[0].Spans[0].SpanId)
		if earlier, again := byFirstSpan[first]; again {
			require.Equal(t, earlier, accepted.Body)
			n++
		}
		byFirstSpan[first] = accepted.Body
	}
	return n
}
