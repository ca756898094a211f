//go:build e2e && unix

package e2e

import (
	"bytes"
	"context"
	"encoding/hex"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kraftside/kraftside/test/jaeger"
)

// sent is what was accepted of a group's rebalances.
type sent struct {
	spans  map[string]map[string]bool // of each trace
	logs   map[string]bool            // the traces that have a log record
	bodies map[string][]byte          // of each request, by what it is of
	again  int                        // requests that came once more
}

// sentOf reads what a recorder has of a group. What came more than once has the
// same bytes each time.
func sentOf(t *testing.T, r *jaeger.Recorder, group string) *sent {
	t.Helper()
	s := &sent{spans: map[string]map[string]bool{}, logs: map[string]bool{}, bodies: map[string][]byte{}}
	for _, one := range r.Accepted() {
		if of, ok := s.take(t, &one, group); ok {
			if earlier, known := s.bodies[of]; known {
				require.True(t, bytes.Equal(earlier, one.Body), "%s comes again, with other bytes:\n%q\n%q", of, earlier, one.Body)
				s.again++
			}
			s.bodies[of] = one.Body
		}
	}
	return s
}

// take reads a request, if it is of the group, and returns what it is of.
func (s *sent) take(t *testing.T, r *jaeger.Request, group string) (of string, ok bool) {
	if r.Path == "/v1/logs" {
		var q collogs.ExportLogsServiceRequest
		require.NoError(t, proto.Unmarshal(r.Body, &q))
		record := q.ResourceLogs[0].ScopeLogs[0].LogRecords[0]
		if attribute(record.Attributes, "messaging.consumer.group.name") != group {
			return "", false
		}
		s.logs[hex.EncodeToString(record.TraceId)] = true
		return "log " + hex.EncodeToString(record.SpanId), true
	}
	spans := spansIn(r)
	require.NotEmpty(t, spans, "%q", r.Body)
	if attribute(spans[0].Attributes, "messaging.consumer.group.name") != group {
		return "", false
	}
	for _, one := range spans {
		trace := hex.EncodeToString(one.TraceId)
		if s.spans[trace] == nil {
			s.spans[trace] = map[string]bool{}
		}
		s.spans[trace][hex.EncodeToString(one.SpanId)] = true
	}
	return "trace " + hex.EncodeToString(spans[0].SpanId), true
}

// spansIn are the spans of a request, none if it has log records.
func spansIn(r *jaeger.Request) []*tracepb.Span {
	var q coltrace.ExportTraceServiceRequest
	if r.Path != "/v1/traces" || proto.Unmarshal(r.Body, &q) != nil {
		return nil
	}
	return q.ResourceSpans[0].ScopeSpans[0].Spans
}

func attribute(all []*commonpb.KeyValue, key string) string {
	for _, a := range all {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// kindOf is incomplete, completion, or empty for any other request.
func kindOf(r *jaeger.Request, group string) string {
	spans := spansIn(r)
	switch {
	case len(spans) == 0 || attribute(spans[0].Attributes, "messaging.consumer.group.name") != group:
	case attribute(spans[0].Attributes, "kraftside.rebalance.state") == incomplete:
		return incomplete
	case len(spans[0].Links) > 0:
		return completion
	}
	return ""
}

// await returns a channel that is closed once a request of a kind was accepted.
// If it is held, whoever sent that hears nothing.
func await(r *jaeger.Recorder, group, kind string, held bool) <-chan struct{} {
	came := make(chan struct{})
	once := sync.OnceFunc(func() { close(came) })
	r.Answer(func(ctx context.Context, q jaeger.Request) bool {
		if kindOf(&q, group) != kind {
			return true
		}
		once()
		if held {
			<-ctx.Done()
		}
		return !held
	})
	return came
}

// has says whether all spans of a trace were sent.
func (s *sent) has(w *wantTrace) bool {
	for id := range w.spans {
		if !s.spans[w.id][id] {
			return false
		}
	}
	return true
}
