package telemetry

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/kraftside/kraftside/rebalance"
)

// States of a rebalance, as its trace has them.
const (
	stateCompleted  = "completed"
	stateIncomplete = "incomplete" // open when it was exported
	stateSuperseded = "superseded" // the next bump came before it was completed
)

// roleRebalance is the role of the root span. In the second trace of a
// rebalance, which was exported before it was over, completionPrefix is in
// front of every role.
const (
	roleRebalance    = "rebalance"
	completionPrefix = "completion/"
)

// near is how much earlier than the bump a record may be that the trace begins
// with, in milliseconds. An older one is an event, so that no trace is a week
// long.
const near = 60_000

// converter makes traces of rebalances. What it makes depends on nothing but
// the item and these settings, which are the same for all sidecars of a
// cluster.
type converter struct {
	clusterName string
	// slowAfter is how long a rebalance was open at least that is incomplete.
	slowAfter time.Duration
	resource  *resource.Resource
}

// builder makes one trace.
type builder struct {
	*converter
	r     *rebalance.Rebalance
	state string
	names topicNames
	// common are the attributes of every span.
	common []attribute.KeyValue
	// prefix keeps the ids of the traces of one rebalance apart, also where one
	// sidecar does not know what another one exported.
	prefix string
	trace  trace.TraceID
	spans  []*span // the root first
}

// spans is the trace of an item, its root first and a parent before its
// children.
func (c *converter) spans(item Item) []*span {
	r := item.Rebalance
	b := &builder{converter: c, r: r, names: namesOf(r), state: stateCompleted, trace: r.ID.TraceID()}
	switch {
	case r.SupersededBy > 0:
		b.state = stateSuperseded
	case item.Incomplete:
		b.state, b.prefix = stateIncomplete, stateIncomplete+"/"
	}
	if item.Completion {
		b.trace, b.prefix = r.ID.CompletionTraceID(), completionPrefix
	}
	b.common = []attribute.KeyValue{
		semconv.MessagingSystemKafka, str(semconv.MessagingConsumerGroupNameKey, r.Group), str(clusterIDKey, r.ID.ClusterID),
	}
	if c.clusterName != "" {
		b.common = append(b.common, str(clusterNameKey, c.clusterName))
	}
	b.root(item)
	b.records()
	b.bump()
	b.target()
	b.members()
	return b.spans
}

// root is the whole rebalance.
func (b *builder) root(item Item) {
	r := b.r
	s := b.newSpan(roleRebalance, "rebalance")
	s.from, s.to = b.begin(), b.end()
	if s.to < limited(r.StartedAt) { // the coordinator moved to a host whose clock is behind
		s.attributes = append(s.attributes, clampedKey.Bool(true), clampedEndKey.String(timestamp(s.to)))
		s.to = limited(r.StartedAt)
	}
	s.attributes = append(s.attributes, b.facts()...)
	if b.state == stateIncomplete {
		s.attributes = append(s.attributes, openKey.Bool(true))
		s.status = sdktrace.Status{Code: codes.Error, Description: "open for " + seconds(b.slowAfter) + " at least"}
	}
	if item.Completion {
		s.links = append(s.links, sdktrace.Link{SpanContext: spanContext(
			r.ID.TraceID(), r.ID.SpanID(stateIncomplete+"/"+roleRebalance))})
	}
}

// begin is the bump, or the earliest record before it that led to it.
func (b *builder) begin() int64 {
	from := limited(b.r.StartedAt)
	for _, one := range b.leading() {
		if at := limited(one.Timestamp); b.isNear(one.Evidence) && at < from {
			from = at
		}
	}
	return from
}

func (b *builder) isNear(e *rebalance.Evidence) bool {
	return e.Timestamp > 0 && limited(b.r.StartedAt)-limited(e.Timestamp) <= near
}

// end is when it was completed, or the last that is known of it.
func (b *builder) end() int64 {
	r := b.r
	if r.CompletedAt > 0 {
		return limited(r.CompletedAt)
	}
	last := max(r.StartedAt, r.TargetAt)
	for i := range r.Members {
		last = max(last, r.Members[i].ReconciledAt)
	}
	if b.state == stateIncomplete {
		last = max(last, limited(r.StartedAt)+b.slowAfter.Milliseconds())
	}
	return limited(last)
}

// facts are what the root and the log record say of the rebalance as a whole.
func (b *builder) facts() []attribute.KeyValue {
	r := b.r
	out := []attribute.KeyValue{
		str(rebalanceIDKey, r.ID.String()),
		groupTypeKey.String(r.Type.String()),
		epochKey.Int(int(r.Epoch)),
		previousEpochKey.Int(int(r.PreviousEpoch)),
		stateKey.String(b.state),
		str(summaryKey, sentence(r)),
		startedAtKey.String(timestamp(r.StartedAt)),
		membersKey.Int(len(r.Members)),
		movedKey.Int(r.Moved),
	}
	if r.CompletedAt > 0 {
		out = append(out, completedAtKey.String(timestamp(r.CompletedAt)),
			durationKey.Int64(max(0, limited(r.CompletedAt)-limited(r.StartedAt))))
	}
	if r.SupersededBy > 0 {
		out = append(out, supersededByKey.Int(int(r.SupersededBy)))
	}
	return append(out, b.causeFacts()...)
}

// sentence is why a group rebalanced, as explain says it.
func sentence(r *rebalance.Rebalance) string {
	if len(r.Causes) == 0 {
		return "not known yet"
	}
	return r.Causes[0].Summary
}

// sentences are those of all causes, once each: partitions of one topic have
// the same.
func sentences(r *rebalance.Rebalance) (out []string) {
	for i := range r.Causes {
		if s := r.Causes[i].Summary; !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func (b *builder) causeFacts() (out []attribute.KeyValue) {
	if len(b.r.Causes) == 0 {
		return nil
	}
	first := &b.r.Causes[0]
	out = append(out, str(causeKindKey, string(first.Kind)), str(causeConfidenceKey, string(first.Confidence)))
	if first.Reason != "" {
		out = append(out, str(causeReasonKey, first.Reason))
	}
	if t := first.Trigger; t != nil {
		out = append(out, str(triggerKindKey, string(t.Kind)))
	}
	if all := sentences(b.r); len(all) > 1 {
		out = append(out, strs(causesKey, all))
	}
	if b.r.MoreCauses > 0 {
		out = append(out, causesOmittedKey.Int(b.r.MoreCauses))
	}
	var records []string
	for i := range first.Evidence {
		records = append(records, recordText(&first.Evidence[i]))
	}
	return append(out, strs(causeRecordsKey, records))
}

// newSpan adds a span with the common attributes. Its role is unique in the
// trace.
func (b *builder) newSpan(role, name string) *span {
	s := &span{
		name: name, resource: b.resource,
		context:    spanContext(b.trace, b.r.ID.SpanID(b.prefix+role)),
		attributes: slices.Clone(b.common),
	}
	b.spans = append(b.spans, s)
	return s
}

func spanContext(t trace.TraceID, s trace.SpanID) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: t, SpanID: s, TraceFlags: trace.FlagsSampled})
}

// child adds a child of the root. Clocks of hosts differ: what would reach out
// of the parent is cut off, and says so.
func (b *builder) child(role, name string, from, to int64, attributes ...attribute.KeyValue) *span {
	root := b.spans[0]
	root.children++
	s := b.newSpan(role, name)
	s.parent = root.context
	s.attributes = append(s.attributes, attributes...)
	from, to = limited(from), limited(to)
	s.from = max(root.from, min(from, root.to))
	s.to = max(s.from, min(to, root.to))
	if s.from != from || s.to != to {
		s.attributes = append(s.attributes, clampedKey.Bool(true),
			clampedStartKey.String(timestamp(from)), clampedEndKey.String(timestamp(to)))
	}
	return s
}
