package telemetry

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/rebalance"
	"github.com/kraftside/kraftside/web/api"
	"github.com/kraftside/kraftside/web/webtest"
)

// The files under testdata/traces tell what becomes of rebalances. Commands:
//
//	metadata                 metadata records, one a line, a second after what was before
//	groups                   records of partition 0 of __consumer_offsets, likewise
//	wait 3s                  nothing happens
//	trace G [back=1] [incomplete] [completion] [metadata-clock=5s] [coordinator-clock=5s]
//	                         the trace of the newest rebalance of a group, or of one before, with clocks that are ahead
//	log G [incomplete]       its log record
//
// Times are in milliseconds after the second 1,700,000,000. The attributes that
// every span has are shown at the root alone.
func TestTraces(t *testing.T) {
	datadriven.Walk(t, filepath.Join("testdata", "traces"), func(t *testing.T, path string) {
		c := webtest.New(t, pipeline.Options{Scope: pipeline.All, NodeID: kafka.NoNode})
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return command(t, c, d) })
	})
}

var testConverter = converter{clusterName: "prod-1", slowAfter: time.Minute, resource: resource.Empty()}

func command(t *testing.T, c *webtest.Cluster, d *datadriven.TestData) string {
	lines := strings.Split(d.Input, "\n")
	switch d.Cmd {
	case "metadata":
		c.Metadata(lines...)
	case "groups":
		c.Groups(0, lines...)
	case "wait":
		pause, err := time.ParseDuration(d.CmdArgs[0].Key)
		require.NoError(t, err)
		c.Wait(pause)
	case "trace":
		item := itemOf(t, c, d)
		spans := testConverter.spans(item)
		requireSound(t, spans)
		require.Equal(t, spans, testConverter.spans(item))
		if !item.Completion {
			require.Equal(t, spans[0].context.TraceID().String(), *api.NewRebalance(c.View(), item.Rebalance).TraceID, "what JSON says can be looked for")
		}
		return spansText(spans)
	case "log":
		item := itemOf(t, c, d)
		root := testConverter.spans(item)[0]
		record := newRecorder(resource.Empty()).record(item, root)
		require.Equal(t, root.context.TraceID(), record.TraceID())
		require.Equal(t, root.context.SpanID(), record.SpanID())
		return logText(&record)
	default:
		return "unknown command\n"
	}
	return ""
}

func itemOf(t *testing.T, c *webtest.Cluster, d *datadriven.TestData) Item {
	list := c.View().Rebalances(d.CmdArgs[0].Key)
	require.NotEmpty(t, list)
	newest := 0
	d.MaybeScanArgs(t, "back", &newest)
	item := Item{Rebalance: list[newest], Incomplete: d.HasArg("incomplete"), Completion: d.HasArg("completion")}
	for name, move := range map[string]func(*rebalance.Rebalance, int64){"metadata-clock": moveMetadata, "coordinator-clock": moveCoordinator} {
		if d.HasArg(name) {
			var text string
			d.ScanArgs(t, name, &text)
			ahead, err := time.ParseDuration(text)
			require.NoError(t, err)
			moved := *item.Rebalance
			move(&moved, ahead.Milliseconds())
			item.Rebalance = &moved
		}
	}
	return item
}

// moveMetadata is what would have been explained if the controllers' clock were
// ahead.
func moveMetadata(r *rebalance.Rebalance, ms int64) {
	moved := func(all []rebalance.Evidence) []rebalance.Evidence {
		all = slices.Clone(all)
		for i := range all {
			if all[i].Log == rebalance.MetadataLog {
				all[i].Timestamp += ms
			}
		}
		return all
	}
	r.Causes = slices.Clone(r.Causes)
	for i := range r.Causes {
		c := &r.Causes[i]
		c.Evidence = moved(c.Evidence)
		if c.Trigger != nil {
			trigger := *c.Trigger
			trigger.Evidence = moved(trigger.Evidence)
			c.Trigger = &trigger
		}
	}
}

// moveCoordinator moves what came after the bump, as if the coordinator had
// moved to a host whose clock is another.
func moveCoordinator(r *rebalance.Rebalance, ms int64) {
	r.Members = slices.Clone(r.Members)
	for _, at := range []*int64{&r.TargetAt, &r.CompletedAt} {
		if *at > 0 {
			*at += ms
		}
	}
	for i := range r.Members {
		if m := &r.Members[i]; m.ReconciledAt > 0 {
			m.ReconciledAt += ms
		}
	}
}

// requireSound checks what holds for every trace.
func requireSound(t *testing.T, spans []*span) {
	root, ids := spans[0], map[string]bool{}
	require.False(t, root.parent.IsValid())
	require.Equal(t, len(spans)-1, root.children)
	for _, s := range spans {
		require.True(t, s.context.IsValid())
		require.False(t, ids[s.context.SpanID().String()], "two spans have one id")
		ids[s.context.SpanID().String()] = true
		require.Equal(t, root.context.TraceID(), s.context.TraceID())
		require.LessOrEqual(t, s.from, s.to)
		require.GreaterOrEqual(t, s.from, root.from)
		require.LessOrEqual(t, s.to, root.to)
		require.Equal(t, root.attributes[:4], s.attributes[:4], "group, cluster and its name are everywhere")
		if s != root {
			require.Equal(t, root.context, s.parent)
		}
		for _, e := range s.events {
			require.False(t, e.Time.Before(at(s.from)) || e.Time.After(at(s.to)), "event %s", e.Name)
		}
		keys := map[attribute.Key]bool{}
		for _, a := range s.attributes {
			require.False(t, keys[a.Key], "%s twice in %s", a.Key, s.name)
			keys[a.Key] = true
		}
	}
}

const second = 1_700_000_000_000

func spansText(spans []*span) string {
	var b strings.Builder
	fmt.Fprintf(&b, "trace %s\n", spans[0].context.TraceID())
	for i, s := range spans {
		attributes, indent := s.attributes, ""
		if i > 0 {
			attributes, indent = attributes[4:], "  "
		}
		fmt.Fprintf(&b, "%s%s  %d .. %d  %s\n", indent, s.name, s.from-second, s.to-second, s.context.SpanID())
		for _, l := range s.links {
			fmt.Fprintf(&b, "%s  link to trace %s span %s\n", indent, l.SpanContext.TraceID(), l.SpanContext.SpanID())
		}
		if s.status.Description != "" {
			fmt.Fprintf(&b, "%s  status %s: %s\n", indent, s.status.Code, s.status.Description)
		}
		b.WriteString(attributesText(indent+"  ", attributes))
		for _, e := range s.events {
			fmt.Fprintf(&b, "%s  event %s  %d\n%s", indent, e.Name, e.Time.UnixMilli()-second, attributesText(indent+"    ", e.Attributes))
		}
	}
	return b.String()
}

func attributesText(indent string, all []attribute.KeyValue) string {
	var b strings.Builder
	for _, a := range all {
		value := a.Value.String()
		if a.Value.Type() == attribute.STRINGSLICE {
			value = strings.Join(a.Value.AsStringSlice(), "\n"+indent+"    ")
		}
		fmt.Fprintf(&b, "%s%s = %s\n", indent, a.Key, value)
	}
	return b.String()
}

func logText(r *sdklog.Record) string {
	var all []attribute.KeyValue
	r.WalkAttributes(func(a attribute.KeyValue) bool {
		all = append(all, a)
		return true
	})
	return fmt.Sprintf("%s %s at %d (observed %d): %s\ntrace %s span %s\n%s", r.SeverityText(), r.EventName(),
		r.Timestamp().UnixMilli()-second, r.ObservedTimestamp().UnixMilli()-second, r.Body().AsString(), r.TraceID(), r.SpanID(), attributesText("  ", all))
}
