package telemetry

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr/funcr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/kraftside/kraftside/internal/pause"
	"github.com/kraftside/kraftside/rebalance"
)

// ExporterOptions configure an Exporter.
type ExporterOptions struct {
	OTLP OTLP
	// ClusterName, if not empty, is on every span.
	ClusterName string
	// SlowAfter is how long a rebalance was open at least that the outbox calls
	// incomplete.
	SlowAfter time.Duration
	Outbox    Outbox
	// Meter counts what is exported.
	Meter *Meter
	Log   *slog.Logger
}

// Exporter sends each rebalance of an outbox as a trace and a log record, at
// least once: it says Sent when every signal that is on has accepted its part.
// It takes a few at a time, so that a receiver that is away, or hangs, costs no
// memory; what it sends of a rebalance is the same with every attempt.
type Exporter struct {
	o         ExporterOptions
	clients   clients
	converter converter
	recorder  *recorder

	// How often the outbox is asked, and how long a receiver that fails is left
	// alone, doubling from first to most.
	poll, first, most time.Duration

	accepted map[itemKey]int // requests of pending items that were accepted
	problem  string          // of the last request, "" if it was accepted
	failures int             // in a row
	unkept   bool            // the outbox could not note what was sent

	pending atomic.Int64
	head    atomic.Pointer[waiting]
}

// waiting is the oldest item that is pending.
type waiting struct {
	item  itemKey
	since time.Time
}

// itemKey tells the items of an outbox apart.
type itemKey struct {
	id                     rebalance.ID
	incomplete, completion bool
}

func keyOf(i Item) itemKey { return itemKey{i.Rebalance.ID, i.Incomplete, i.Completion} }

// pageItems is how many items are taken at a time.
const pageItems = 64

// maxRequest bounds a request where OTEL_EXPORTER_OTLP_TIMEOUT does not.
const maxRequest = time.Minute

// NewExporter returns an exporter that has not connected yet. The error is about
// a variable of OpenTelemetry that cannot be as it is.
func NewExporter(o ExporterOptions) (*Exporter, error) {
	ctx := context.Background()
	// The exporters tell a wrong header with its value, and tell nobody else of
	// a certificate that cannot be read.
	otel.SetLogger(funcr.New(func(_, args string) { o.Log.Warn("OpenTelemetry", "detail", clean(args)) }, funcr.Options{}))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { o.Log.Warn("OpenTelemetry", "error", clean(err.Error())) }))
	r, err := newResource(ctx)
	if err != nil {
		return nil, err
	}
	c, err := o.OTLP.newClients(ctx)
	if err != nil {
		return nil, err
	}
	return &Exporter{
		o: o, clients: c, recorder: newRecorder(r),
		converter: converter{clusterName: o.ClusterName, slowAfter: o.SlowAfter, resource: r},
		poll:      time.Second, first: time.Second, most: time.Minute,
		accepted: make(map[itemKey]int),
	}, nil
}

// Run exports until ctx ends. It is called once.
func (e *Exporter) Run(ctx context.Context) {
	for ctx.Err() == nil {
		_ = pause.For(ctx, e.round(ctx)) // the loop looks whether ctx ended
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := e.clients.close(closing); err != nil {
		e.o.Log.Debug("close the OTLP exporters", "error", clean(err.Error()))
	}
}

// round exports what is pending now, and returns how long to wait.
func (e *Exporter) round(ctx context.Context) (wait time.Duration) {
	items := e.o.Outbox.Pending(pageItems)
	e.note(items)
	var done []Item
	for _, item := range items {
		if !e.export(ctx, item) {
			break
		}
		done = append(done, item)
	}
	switch {
	case len(done) > 0 && !e.keep(done), len(done) < len(items):
		return e.backoff()
	case len(items) == pageItems:
		return 0
	}
	return e.poll
}

// keep tells the outbox what was exported.
func (e *Exporter) keep(done []Item) bool {
	err := e.o.Outbox.Sent(done)
	if err != nil && !e.unkept {
		e.o.Log.Warn("what was exported cannot be noted, and will be exported again after a restart", "error", err)
	}
	e.unkept = err != nil
	return err == nil
}

// note remembers what is pending, and forgets what is not.
func (e *Exporter) note(items []Item) {
	e.pending.Store(int64(len(items)))
	kept := make(map[itemKey]int)
	for _, item := range items {
		if n := e.accepted[keyOf(item)]; n > 0 {
			kept[keyOf(item)] = n
		}
	}
	e.accepted = kept
	if len(items) == 0 {
		e.head.Store(nil)
		return
	}
	if h := e.head.Load(); h == nil || h.item != keyOf(items[0]) {
		e.head.Store(&waiting{keyOf(items[0]), time.Now()})
	}
}

// export sends what was not accepted yet of an item, and says whether all is
// done with.
func (e *Exporter) export(ctx context.Context, item Item) bool {
	key := keyOf(item)
	all := e.requests(item)
	for _, r := range all[min(e.accepted[key], len(all)):] {
		err := send(ctx, r)
		if ctx.Err() != nil {
			return false // it is over, which is nobody's fault
		}
		result := resultOf(err)
		e.o.Meter.exports.Add(ctx, 1, metric.WithAttributes(exportAttributes(r.signal, result)...))
		switch result {
		case accepted:
			e.recovered()
		case refused: // OTLP forbids to send it again, and the next would wait for it
			e.o.Log.Error("the OTLP receiver will not take a rebalance, it is left out", "signal", r.signal,
				"rebalance", shown(item.Rebalance.ID.String()), "error", clean(err.Error()))
		default:
			e.report(r.signal+" "+result, "rebalances cannot be exported", err)
			return false
		}
		e.accepted[key]++
	}
	return true
}

func send(ctx context.Context, r request) error {
	ctx, cancel := context.WithTimeout(ctx, maxRequest)
	defer cancel()
	return r.send(ctx)
}

// report logs a problem, once as long as it is the same.
func (e *Exporter) report(problem, message string, err error) {
	if e.problem == problem {
		return
	}
	e.problem = problem
	args := []any{"error", clean(err.Error()), "kind", problem}
	if what := advice[resultOf(err)]; what != "" {
		args = append(args, "advice", what)
	}
	e.o.Log.Warn(message, args...)
}

// recovered logs that a problem is over.
func (e *Exporter) recovered() {
	e.failures = 0
	if e.problem != "" {
		e.o.Log.Info("rebalances are exported again", "was", e.problem)
		e.problem = ""
	}
}

// backoff is how long the receiver is left alone. Half of it is chance, so that
// sidecars do not come back all at once.
func (e *Exporter) backoff() time.Duration {
	d := min(e.first<<min(e.failures, 16), e.most)
	e.failures++
	return d/2 + rand.N(d/2+1)
}

// backlogNow says how many rebalances wait to be exported, as far as they were
// looked at, and for how long the oldest has been tried. It may be called from
// any goroutine.
func (e *Exporter) backlogNow() (pending int, oldest time.Duration) {
	if h := e.head.Load(); h != nil {
		oldest = time.Since(h.since)
	}
	return int(e.pending.Load()), oldest
}
