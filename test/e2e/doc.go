// Package e2e runs sidecars beside released Kafka, with real members in real
// groups, and holds every hash that they show against the broker's own log and
// against Kafka's own classes.
//
// A release has one cluster of three controllers and three brokers, which its
// scenarios share: each begins with the cluster as the one before left it. What
// a sidecar says is sampled all the time, so that a scenario can tell which
// verdicts a group had before, during and after an event.
//
// TestCauses has another one, on which many groups go through a scene each at
// once, and holds what a sidecar explains of their rebalances against
// testdata/causes, against the logs, and against what copies of the logs
// explain. With -rewrite it writes testdata/causes and docs/causes.md anew.
//
// TestTraces has sidecars of their own process export to a Jaeger. It reads both
// logs by itself, works out which spans there have to be, and compares: of a
// changed rack, of sidecars that are killed, of a Jaeger that is away.
//
// The tests need the build tag e2e, Java and Maven; -kafka and
// $KRAFTSIDE_KAFKA_VERSIONS choose releases.
package e2e
