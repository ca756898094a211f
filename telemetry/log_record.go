package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
)

// eventName tells log records of rebalances from others of a backend.
const eventName = "kraftside.rebalance"

// recorder makes log records. Only a logger of the SDK can make one with a
// resource, so that one hands them over here. It belongs to one goroutine.
type recorder struct {
	logger log.Logger
	made   sdklog.Record
}

func newRecorder(r *resource.Resource) *recorder {
	rec := new(recorder)
	// No limit of the environment: the sizes are bounded by attributes.go, and
	// every sidecar is to send the same.
	provider := sdklog.NewLoggerProvider(sdklog.WithResource(r), sdklog.WithProcessor(rec),
		sdklog.WithAttributeCountLimit(-1), sdklog.WithAttributeValueLengthLimit(-1))
	rec.logger = provider.Logger(scope.Name)
	return rec
}

// Enabled implements sdklog.Processor.
func (*recorder) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }

// OnEmit implements sdklog.Processor.
func (rec *recorder) OnEmit(_ context.Context, record *sdklog.Record) error {
	rec.made = record.Clone()
	return nil
}

// Shutdown implements sdklog.Processor.
func (*recorder) Shutdown(context.Context) error { return nil }

// ForceFlush implements sdklog.Processor.
func (*recorder) ForceFlush(context.Context) error { return nil }

// record is the log record of an item whose trace has a root: what the root
// says, at the time when it ends.
func (rec *recorder) record(item Item, root *span) sdklog.Record {
	var r log.Record
	r.SetEventName(eventName)
	r.SetTimestamp(root.EndTime())
	r.SetObservedTimestamp(root.EndTime()) // that of the clock would be another with each retry
	r.SetSeverity(log.SeverityInfo)
	r.SetSeverityText("INFO")
	if item.Incomplete {
		r.SetSeverity(log.SeverityWarn)
		r.SetSeverityText("WARN")
	}
	r.SetBody(attribute.StringValue(shown(sentence(item.Rebalance))))
	r.AddAttributes(root.attributes...)
	rec.logger.Emit(trace.ContextWithSpanContext(context.Background(), root.context), r)
	return rec.made
}
