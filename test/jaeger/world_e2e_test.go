//go:build e2e && unix

package jaeger_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kraftside/kraftside/demo"
	"github.com/kraftside/kraftside/rebalance"
	"github.com/kraftside/kraftside/telemetry"
)

const (
	clusterName = "prod-1"
	slowAfter   = time.Minute
	patience    = 2 * time.Minute
)

// recorded are the rebalances of the demo's recording: what Kafka wrote, explained.
func recorded(t *testing.T) (all []*rebalance.Rebalance) {
	recording, err := demo.Open()
	require.NoError(t, err)
	p, err := demo.New(recording, demo.Options{})
	require.NoError(t, err)
	_, err = p.Play(t.Context())
	require.NoError(t, err)
	for g := range p.View().GroupsFrom("") {
		all = append(all, p.View().Rebalances(g.ID)...)
	}
	require.NoError(t, p.Close())
	require.Greater(t, len(all), 10)
	return all
}

// around is a range of time that has all rebalances.
func around(all []*rebalance.Rebalance) (from, to time.Time) {
	for _, r := range all {
		if at := time.UnixMilli(r.StartedAt); from.IsZero() || at.Before(from) {
			from = at
		}
		if at := time.UnixMilli(max(r.StartedAt, r.CompletedAt)); at.After(to) {
			to = at
		}
	}
	return from.Add(-time.Hour), to.Add(time.Hour)
}

// outbox is one in memory.
type outbox struct {
	mu    sync.Mutex
	items []telemetry.Item
}

func (o *outbox) Pending(most int) []telemetry.Item {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.items[:min(most, len(o.items))])
}

func (o *outbox) Sent(done []telemetry.Item) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.items = slices.DeleteFunc(o.items, func(i telemetry.Item) bool { return slices.Contains(done, i) })
	return nil
}

func (o *outbox) len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.items)
}

func (o *outbox) empty() bool { return o.len() == 0 }

// export exports what is in an outbox, until the returned function is called or the test ends.
func export(t *testing.T, to telemetry.OTLP, box *outbox, log io.Writer) (stop func()) {
	meter, err := telemetry.NewMeter(telemetry.Options{})
	require.NoError(t, err)
	e, err := telemetry.NewExporter(telemetry.ExporterOptions{
		OTLP: to, ClusterName: clusterName, SlowAfter: slowAfter, Outbox: box, Meter: meter, Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { e.Run(ctx) })
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	t.Cleanup(stop)
	return stop
}

// itemsOf are rebalances as an outbox holds them once they are over.
func itemsOf(all []*rebalance.Rebalance) (items []telemetry.Item) {
	for _, r := range all {
		items = append(items, telemetry.Item{Rebalance: r})
	}
	return items
}

// logReceiver takes log records, which Jaeger does not.
type logReceiver struct {
	mu      sync.Mutex
	records map[string][]*logspb.LogRecord // by trace
}

// newLogReceiver has all exporters of the test send log records to it.
func newLogReceiver(t *testing.T) *logReceiver {
	l := &logReceiver{records: make(map[string][]*logspb.LogRecord)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		var request collogs.ExportLogsServiceRequest
		if err != nil || proto.Unmarshal(body, &request) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, record := range request.ResourceLogs[0].ScopeLogs[0].LogRecords {
			id := fmt.Sprintf("%x", record.TraceId)
			l.records[id] = append(l.records[id], record)
		}
	}))
	t.Cleanup(server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", server.URL+"/v1/logs")
	t.Setenv("OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", "http/protobuf")
	return l
}

// of are the records of a trace.
func (l *logReceiver) of(trace string) []*logspb.LogRecord {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.records[trace]
}
