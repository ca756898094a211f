package telemetry

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// span is a span that is over: it tells of records that were written long
// before, so that no tracer with a clock of its own can make it.
type span struct {
	sdktrace.ReadOnlySpan // nil, for the method that nobody else may implement

	name       string
	context    trace.SpanContext
	parent     trace.SpanContext
	from, to   int64 // milliseconds since 1970
	attributes []attribute.KeyValue
	events     []sdktrace.Event
	links      []sdktrace.Link
	status     sdktrace.Status
	children   int
	resource   *resource.Resource
}

// scope is the instrumentation that all spans and log records are of. It has no
// version: sidecars of two versions would not send the same.
var scope = instrumentation.Scope{Name: "kraftside"}

// Name implements sdktrace.ReadOnlySpan, as do the methods that follow.
func (s *span) Name() string { return s.name }

func (s *span) SpanContext() trace.SpanContext { return s.context }

func (s *span) Parent() trace.SpanContext { return s.parent }

func (s *span) SpanKind() trace.SpanKind { return trace.SpanKindInternal }

func (s *span) StartTime() time.Time { return at(s.from) }

func (s *span) EndTime() time.Time { return at(s.to) }

func (s *span) Attributes() []attribute.KeyValue { return s.attributes }

func (s *span) Links() []sdktrace.Link { return s.links }

func (s *span) Events() []sdktrace.Event { return s.events }

func (s *span) Status() sdktrace.Status { return s.status }

func (s *span) InstrumentationScope() instrumentation.Scope { return scope }

func (s *span) Resource() *resource.Resource { return s.resource }

func (s *span) DroppedAttributes() int { return 0 }

func (s *span) DroppedLinks() int { return 0 }

func (s *span) DroppedEvents() int { return 0 }

func (s *span) ChildSpanCount() int { return s.children }

// latest is the last millisecond that OTLP can hold, which counts nanoseconds
// in 64 bits, by the clock of Go.
const latest = 9_223_372_036_854

// limited is a record's timestamp as far as OTLP can hold it: a log may hold
// any number.
func limited(ms int64) int64 { return max(0, min(ms, latest)) }

func at(ms int64) time.Time { return time.UnixMilli(limited(ms)).UTC() }

// event is something that happened while a span lasted.
func (s *span) event(name string, ms int64, attributes ...attribute.KeyValue) {
	s.events = append(s.events, sdktrace.Event{Name: name, Time: at(ms), Attributes: attributes})
}
