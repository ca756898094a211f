// Package telemetry tells monitoring systems how the cluster and the sidecar
// stand and what happened: the metrics of docs/metrics.md, each rebalance as a
// trace and a log record as in docs/traces.md, by OpenTelemetry, and a line of
// the log.
//
// Metrics are read from the newest view at the moment when somebody asks for
// them; what happens is counted as it does. The number of series is bounded: no
// label holds a topic or a client, and groups are labels of two metrics alone,
// which have 50 of them at most.
//
// A trace is a pure function of the rebalance and of settings that are the same
// for all sidecars of a cluster. The exporter takes rebalances from an outbox
// until they were accepted, so that each is sent at least once, and every time
// as the same bytes.
package telemetry

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/otlptranslator"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/store"
)

// Options are what the metrics are read from. Functions are called on the
// goroutine of whoever asks for the metrics.
type Options struct {
	// Version is that of the program.
	Version string
	// ClusterName, if not empty, is the label kafka_cluster of every metric.
	ClusterName string
	// ClusterID is empty while it is not known.
	ClusterID func() string
	View      func() *pipeline.View
	Stats     func() pipeline.Stats
	// BrokerApplied is the metadata offset that the neighbour broker has
	// applied; false if it is not known. It may be nil.
	BrokerApplied func() (kafka.Offset, bool)
	// Ready says whether the sidecar is ready.
	Ready func() bool
	// Store is how the store stands. Nil: there is none.
	Store func() store.Status
	// SlowAfter is how long a rebalance is open before its group is named.
	SlowAfter time.Duration
	// Exporter exports rebalances; nil if nothing is exported. It may be nil.
	Exporter func() *Exporter
	// AdminConnections is how many Kafka clients are connected to the admin
	// endpoint. Nil: there is none.
	AdminConnections func() int
	// Now is time.Now if nil.
	Now func() time.Time
}

// Meter makes the metrics. Its methods may be called from any goroutine.
type Meter struct {
	o        Options
	registry *prometheus.Registry
	provider *sdk.MeterProvider
	gauges   map[string]observer
	requests metric.Int64Counter
	connects metric.Int64Counter

	adminRequests metric.Int64Counter

	rebalances metric.Int64Counter
	exports    metric.Int64Counter
	durations  metric.Float64Histogram
}

// NewMeter returns a meter of its own: nothing is shared with others of the
// process.
func NewMeter(o Options) (*Meter, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	m := &Meter{o: o, registry: prometheus.NewRegistry(), gauges: make(map[string]observer)}
	var all prometheus.Registerer = m.registry
	if o.ClusterName != "" {
		all = prometheus.WrapRegistererWith(prometheus.Labels{"kafka_cluster": o.ClusterName}, all)
	}
	all.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	reader, err := exporter.New(exporter.WithRegisterer(all), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo(),
		exporter.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes))
	if err != nil {
		return nil, err
	}
	m.provider = sdk.NewMeterProvider(sdk.WithReader(reader))
	return m, m.register(m.provider.Meter("kraftside"))
}

// maxScrapes bounds how many ask at a time; one more is told to come again.
const maxScrapes = 4

// Handler serves the metrics: in the OpenMetrics format to who accepts it,
// else in that of Prometheus.
func (m *Meter) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		EnableOpenMetrics: true, MaxRequestsInFlight: maxScrapes, Timeout: 10 * time.Second,
	})
}

// Shutdown lets go of what the meter holds. It is of no use afterwards.
func (m *Meter) Shutdown(ctx context.Context) error { return m.provider.Shutdown(ctx) }
