package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// instrument describes a metric. The name is that of OpenTelemetry; that of
// Prometheus has underscores for dots, then the unit (s: seconds, By: bytes;
// one in braces is not written), then total for a counter.
type instrument struct {
	name, unit  string
	counter     bool
	description string
}

// observed are the metrics that are read when somebody asks; counted and
// timed are added to as it happens. docs/metrics.md lists them, held to this by
// a test.
var observed = []instrument{
	{"kraftside.build.info", "", false, "1, with the version of kraftside and of Go."},
	{"kraftside.cluster.info", "", false, "1, with what is known of the cluster and of this sidecar's place in it."},
	{"kraftside.ready", "", false, "1 if /readyz answers 200, else 0."},
	{"kraftside.brokers", "", false, "Registered brokers, those that are fenced included."},

	{"kraftside.metadata.offset", "", false, "Offset of the last metadata record in the image; absent before the first."},
	{"kraftside.metadata.high_watermark", "", false, "Offset up to which the metadata log is committed, exclusive; absent before it was heard."},
	{"kraftside.metadata.lag.offsets", "", false, "Committed metadata offsets that are not here yet; absent while that is not known."},
	{"kraftside.metadata.lag", "s", false, "0 if nothing committed is lacking, else the age of the last metadata record that is here; absent while that is not known."},
	{"kraftside.metadata.broker_lag.offsets", "", false, "Metadata offsets by which the neighbour broker is behind this sidecar; below 0 if it is ahead, absent if not known."},
	{"kraftside.metadata.problem", "", false, "1 for the kind of problem that keeps the metadata log from being read, 0 for the others; refused is a record that stopped it."},

	{"kraftside.groups", "", false, "Groups that this sidecar answers for."},
	{"kraftside.group.verdicts", "", false, "Groups that this sidecar answers for, by what became of their stored hash."},
	{"kraftside.group.anomalies", "", false, "Records in the followed partitions of __consumer_offsets that Kafka would not replay."},

	{"kraftside.offsets.partitions", "", false, "Partitions of __consumer_offsets that this sidecar answers for, or only follows."},
	{"kraftside.offsets.partitions.loading", "", false, "Partitions of __consumer_offsets that have not been read to their end yet."},
	{"kraftside.offsets.partitions.problem", "", false, "Partitions of __consumer_offsets that cannot be read, by the kind of problem."},
	{"kraftside.offsets.lag.offsets", "", false, "Offsets of all followed partitions of __consumer_offsets that are not here yet, as far as known."},
	{"kraftside.offsets.unreadable.batches", "", false, "Batches of __consumer_offsets that were passed over, in whole or in part, since their partition was begun."},

	{"kraftside.records", "", true, "Records replayed, by the log they are of."},
	{"kraftside.metadata.records.skipped", "", true, "Metadata records left out of the image, with metadata.unknown skip."},
	{"kraftside.metadata.unknown_tags", "", true, "Tagged fields of metadata records that this version does not know."},

	{"kraftside.topic_hash.cached", "", false, "Topics whose hash is cached: those that some group subscribes to."},
	{"kraftside.topic_hash.hits", "", true, "Topic hashes found in the cache."},
	{"kraftside.topic_hash.evictions", "", true, "Topic hashes dropped because a metadata record named the topic."},
	{"kraftside.topic_hash.recomputations", "", true, "Topic hashes computed."},

	{"kraftside.rebalances.open", "", false, "Rebalances of this sidecar's groups that are not over."},
	{"kraftside.rebalances.oldest", "s", false, "Age of the oldest of them; 0 if there is none."},
	{"kraftside.rebalance.open", "s", false, "Age of a rebalance that is not over after telemetry.slow-after, by group: the 50 oldest at most."},
	{"kraftside.group.bumps", "", false, "Rebalances of a group in the last 15 minutes, by group: the 50 with most at most, none with less than 5."},
	{"kraftside.otlp.pending", "", false, "Rebalances that the exporter has before it: 64 at most, then there are more. Absent if nothing is exported."},
	{"kraftside.otlp.oldest", "s", false, "For how long the oldest of them has been tried; 0 if there is none. Absent if nothing is exported."},

	{"kraftside.admin.connections", "", false, "Connections of Kafka clients to the admin endpoint. Absent if there is none."},

	{"kraftside.store", "By", false, "Size of the store's files at the last commit."},
	{"kraftside.store.persisting", "", false, "1 while the store is written, 0 while something keeps it from that."},
}

var counted = []instrument{
	{"kraftside.kafka.requests", "", true, "Requests to Kafka, by kind of server, API and error of the connection."},
	{"kraftside.kafka.connects", "", true, "Connections to Kafka that were tried, logins included."},
	{"kraftside.rebalances", "", true, "Rebalances that were explained, by the kind of the deciding cause."},
	{"kraftside.otlp.requests", "", true, "Requests to receivers of OTLP, by what became of them."},
	{"kraftside.admin.requests", "", true, "Requests to the admin endpoint, by API and what became of them."},
}

var timed = []instrument{
	{"kraftside.rebalance.duration", "s", false, "From the bump of the group's epoch until its last member had reached it."},
}

// durationBounds are what a rebalance may take: a heartbeat, a session timeout,
// a rebalance timeout.
var durationBounds = []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800}

// observer takes the value of one observable instrument.
type observer func(o metric.Observer, value float64, labels ...attribute.KeyValue)

// register creates the instruments.
func (m *Meter) register(meter metric.Meter) (err error) {
	var all []metric.Observable
	for _, i := range observed {
		observable, observe, failed := i.observable(meter)
		err = errors.Join(err, failed)
		all = append(all, observable)
		m.gauges[i.name] = observe
	}
	var failed error
	for i, to := range []*metric.Int64Counter{&m.requests, &m.connects, &m.rebalances, &m.exports, &m.adminRequests} {
		*to, failed = meter.Int64Counter(counted[i].name, metric.WithUnit(counted[i].unit), metric.WithDescription(counted[i].description))
		err = errors.Join(err, failed)
	}
	m.durations, failed = meter.Float64Histogram(timed[0].name, metric.WithUnit(timed[0].unit), metric.WithDescription(timed[0].description),
		metric.WithExplicitBucketBoundaries(durationBounds...))
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		m.observe(&reading{meter: m, to: o})
		return nil
	}, all...)
	return err
}

func (i *instrument) observable(meter metric.Meter) (metric.Observable, observer, error) {
	unit, description := metric.WithUnit(i.unit), metric.WithDescription(i.description)
	if i.counter {
		c, err := meter.Float64ObservableCounter(i.name, unit, description)
		return c, observerOf(c), err
	}
	g, err := meter.Float64ObservableGauge(i.name, unit, description)
	return g, observerOf(g), err
}

func observerOf(to metric.Float64Observable) observer {
	return func(o metric.Observer, value float64, labels ...attribute.KeyValue) {
		o.ObserveFloat64(to, value, metric.WithAttributes(labels...))
	}
}
