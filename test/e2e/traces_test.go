//go:build e2e && unix

package e2e

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/test/jaeger"
	"github.com/kraftside/kraftside/test/jvm"
	"github.com/kraftside/kraftside/test/realkafka"
)

// TestTraces has sidecars of their own process export to a Jaeger, and compares
// what it shows with the records of both logs.
func TestTraces(t *testing.T) {
	if !hasNewest(t) {
		return // of releases, what is explained differs, and not how it is exported
	}
	s := &tracing{
		stage:     newStage(newWorld(t, realkafka.Config{Version: jvm.Newest, Controllers: 1, Brokers: 2, Properties: logsStay()})),
		kraftside: build(t), began: time.Now(),
	}
	t.Run("rack changed", s.rackChanged)
	t.Run("at once", func(t *testing.T) {
		t.Run("killed", func(t *testing.T) {
			t.Parallel()
			s.killed(t)
		})
		t.Run("away", func(t *testing.T) {
			t.Parallel()
			s.away(t)
		})
	})
}

// tracing is a stage with sidecars that export.
type tracing struct {
	*stage
	kraftside program
	began     time.Time
}

const clusterName = "prod-1"

// export starts a sidecar that exports to an address.
func (s *tracing) export(t *testing.T, p program, dir, protocol, to string, args ...string) *child {
	return p.start(t, s.ControllerBootstrap(), s.Bootstrap(), dir, append([]string{
		"--cluster-name", clusterName, "--telemetry.otlp.protocol", protocol, "--telemetry.otlp.endpoint", to,
	}, args...)...)
}

// rackChanged: a broker comes back in another rack. The trace begins with the
// record that says so, and ends with the last member.
func (s *tracing) rackChanged(t *testing.T) {
	j := jaeger.New(t)
	j.Start()
	child := s.export(t, s.kraftside.with("OTEL_LOGS_EXPORTER=none"), t.TempDir(), "grpc", j.GRPC)
	c := s.scene(t, "traced", groups.Consumer)
	for c.group = idIn(0, "traced"); s.leader(t, kafka.OffsetsTopic, partitionOf(c.group)) != 1; {
		c.group = idIn((partitionOf(c.group)+1)%offsetsPartitions, "traced")
	}
	c.configure(map[string]string{"session.timeout.ms": fmt.Sprint(patient.Milliseconds())})
	c.create("orders", 3)
	one := c.client("one", []string{"orders"})
	c.client("two", []string{"orders"})
	one.settled(t)
	before := s.over(t, c.group, 2)
	require.NoError(t, s.StopBroker(2))
	require.NoError(t, s.StartBroker(2, realkafka.WithRack("rack-9")))
	all := s.over(t, c.group, len(before)+1)
	require.Len(t, all, len(before)+1)
	b := all[len(before)]
	b.change, b.trigger = s.ledBy(t, c.topic("orders"), `"brokerId":2,`, `"rack":"rack-9"`)
	require.LessOrEqual(t, b.change.at, b.trigger.at)
	require.LessOrEqual(t, b.trigger.at, b.at)
	require.LessOrEqual(t, b.at, b.target)
	require.Len(t, b.members, 2)

	want := b.trace("")
	s.awaitTraces(t, j, c.group, len(all))
	shown := s.traces(t, j, c.group)
	requireTrace(t, want, shown[want.id])
	root := spanOf(shown[want.id], want.root)
	for key, value := range map[string]any{
		"kraftside.cause.kind": "metadata", "kraftside.cause.confidence": "certain", "kraftside.trigger.kind": "topicTouched",
		"kraftside.rebalance.epoch": float64(b.epoch), "kraftside.rebalance.members": 2.0,
		"kraftside.cause.records": fmt.Sprintf(`["metadata offset %d: RegisterBrokerRecord"]`, b.change.offset),
	} {
		require.Equal(t, value, root.Tag(key), key)
	}
	for _, one := range shown[want.id].Spans {
		switch one.OperationName {
		case "metadata change":
			require.Equal(t, float64(b.change.offset), one.Tag("messaging.kafka.offset"))
			require.Equal(t, "RegisterBrokerRecord", one.Tag("kraftside.record.type"))
			require.Contains(t, one.Tag("kraftside.changes"), "rack-9")
			require.Equal(t, c.topic("orders"), one.Tag("messaging.destination.name"))
		case "trigger":
			require.Equal(t, float64(b.trigger.offset), one.Tag("messaging.kafka.offset"))
		case "hash changed":
			require.Equal(t, strconv.FormatInt(b.before, 10), one.Tag("kraftside.hash.before"))
			require.Equal(t, strconv.FormatInt(b.hash, 10), one.Tag("kraftside.hash.after"))
			require.Equal(t, "match", one.Tag("kraftside.hash.verdict"))
		case "epoch bump":
			require.Equal(t, float64(b.offset), one.Tag("messaging.kafka.offset"))
			require.Equal(t, kafka.OffsetsTopic, one.Tag("messaging.destination.name"))
			require.Equal(t, strconv.Itoa(int(b.partition)), one.Tag("messaging.destination.partition.id"))
		}
	}
	for _, earlier := range before {
		w := earlier.trace("")
		requireTrace(t, w, shown[w.id])
	}
	t.Logf("%d traces; that of the rack: %d spans, %d ms from the change to the bump, %d ms from there to the last member",
		len(shown), len(want.spans), b.at-b.change.at, b.completed()-b.at)
	child.stop(t)
}

// over are the rebalances of a group by the log, once there are so many and all
// are over.
func (s *tracing) over(t *testing.T, group string, n int) (all []*epochBump) {
	t.Helper()
	topic, ok := s.all.View().Image.Topics().ByName(kafka.OffsetsTopic)
	require.True(t, ok)
	eventually(t, "the rebalances of group "+group+" are over", func() (err error) {
		if all, err = s.log.bumps(group); err != nil {
			return err
		}
		if len(all) < n || all[len(all)-1].completed() == 0 {
			return fmt.Errorf("there are %d of %d, or the last is open", len(all), n)
		}
		return nil
	})
	for _, b := range all {
		b.cluster, b.topic = s.ID, topic.ID()
	}
	return all
}

// ledBy finds the record of the metadata log that has texts in it, and the first
// one after it that names a topic.
func (s *tracing) ledBy(t *testing.T, topic string, texts ...string) (change, trigger *ledBy) {
	t.Helper()
	image, ok := s.all.View().Image.Topics().ByName(topic)
	require.True(t, ok)
	log := s.readMetadata(t).metadata
	for _, offset := range slices.Sorted(maps.Keys(log)) {
		row := log[offset]
		switch {
		case change == nil && !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(row.json, text) }):
			change = &ledBy{int64(offset), row.at}
		case change != nil && strings.Contains(row.json, `"topicId":"`+image.ID().String()+`"`):
			return change, &ledBy{int64(offset), row.at}
		}
	}
	require.Fail(t, "no such records")
	return nil, nil
}

// traces are those of a group that a Jaeger shows, by id.
func (s *tracing) traces(t *testing.T, j *jaeger.Server, group string) map[string]jaeger.Trace {
	t.Helper()
	all := map[string]jaeger.Trace{}
	tags := map[string]string{"messaging.consumer.group.name": group}
	for _, one := range j.Traces("rebalance", tags, s.began.Add(-time.Hour), time.Now().Add(time.Hour)) {
		all[one.TraceID] = one
	}
	return all
}

// awaitTraces waits for as many traces of a group, while members stay alive.
func (s *tracing) awaitTraces(t *testing.T, j *jaeger.Server, group string, n int, alive ...*heart) {
	t.Helper()
	eventually(t, "Jaeger has the traces of group "+group, func() error {
		for _, h := range alive {
			h.beat()
		}
		if got := len(s.traces(t, j, group)); got != n {
			return fmt.Errorf("%d of %d", got, n)
		}
		return nil
	})
}

// requireTrace compares a trace with what the logs say: which spans there are,
// how they hang together, their times, and what all of them have.
func requireTrace(t *testing.T, want *wantTrace, got jaeger.Trace) {
	t.Helper()
	var ids []string
	for i := range got.Spans {
		ids = append(ids, got.Spans[i].SpanID)
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(want.spans)), ids, "%s: %+v\n%+v", want.identity(), want.spans, got.Spans)
	root := spanOf(got, want.root)
	for i := range got.Spans {
		one := &got.Spans[i]
		w := want.spans[one.SpanID]
		require.Equal(t, w.name, one.OperationName)
		require.Equal(t, w.from*1000, one.StartTime, "start of %s", w.name)
		require.Equal(t, (w.to-w.from)*1000, one.Duration, "duration of %s", w.name)
		for key, value := range map[string]string{
			"messaging.system": "kafka", "messaging.consumer.group.name": want.group,
			"kraftside.cluster.id": want.cluster, "kraftside.cluster.name": clusterName,
		} {
			require.Equal(t, value, one.Tag(key), "%s of %s", key, w.name)
		}
		if w.member != "" {
			require.Equal(t, w.member, one.Tag("kraftside.member.id"))
			require.Contains(t, w.state, one.Tag("kraftside.member.state"))
		}
		if one == root {
			continue
		}
		require.Equal(t, []jaeger.Reference{{RefType: "CHILD_OF", TraceID: want.id, SpanID: want.root}}, one.References)
		require.GreaterOrEqual(t, one.StartTime, root.StartTime)
		require.LessOrEqual(t, one.StartTime+one.Duration, root.StartTime+root.Duration)
	}
	requireRoot(t, want, root)
}

func requireRoot(t *testing.T, want *wantTrace, root *jaeger.Span) {
	t.Helper()
	require.Equal(t, want.identity(), root.Tag("kraftside.rebalance.id"))
	require.Equal(t, want.state, root.Tag("kraftside.rebalance.state"))
	var open, failed, took any
	switch want.state {
	case incomplete:
		open, failed = true, true
	case "completed":
		took = float64(want.completed() - want.at)
	}
	require.Equal(t, open, root.Tag("kraftside.open"))
	require.Equal(t, failed, root.Tag("error"))
	require.Equal(t, took, root.Tag("kraftside.rebalance.duration_ms"))
	if !want.linked {
		require.Empty(t, root.References)
		return
	}
	first := want.newTrace(incomplete)
	link := jaeger.Reference{RefType: "FOLLOWS_FROM", TraceID: first.id, SpanID: want.derived("span", incomplete+"/rebalance", 8)}
	require.Equal(t, []jaeger.Reference{link}, root.References)
}

// spanOf is a span by its id, nil if it is not there.
func spanOf(tr jaeger.Trace, id string) *jaeger.Span {
	for i := range tr.Spans {
		if tr.Spans[i].SpanID == id {
			return &tr.Spans[i]
		}
	}
	return nil
}

// metric is the value of a metric whose only label is the cluster.
func metric(t *testing.T, c *child, name string) (value float64, err error) {
	t.Helper()
	address, err := c.address()
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(get(t, address, "/metrics"))) {
		if text, ok := strings.CutPrefix(line, name+`{kafka_cluster="`+clusterName+`"} `); ok {
			return strconv.ParseFloat(strings.TrimSpace(text), 64)
		}
	}
	return 0, errors.New("there is no metric " + name)
}
