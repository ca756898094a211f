package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// Signals of OTLP, as metrics call them.
const (
	signalTraces = "traces"
	signalLogs   = "logs"
)

// OTLP says where traces and log records go. The variables of OpenTelemetry
// fill in what is empty here, and add headers, TLS, compression and timeouts;
// those of one signal win over both.
type OTLP struct {
	Endpoint string // http[s]://HOST:PORT[/PATH], both signals
	Protocol string // grpc or http
}

// Enabled says whether anything is to be exported.
func (o OTLP) Enabled() bool { return o.on(signalTraces) || o.on(signalLogs) }

// on says whether a signal is exported: if somebody said where to. (The default
// of OpenTelemetry is this host, where as a rule nobody listens.)
func (o OTLP) on(signal string) bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_"+strings.ToUpper(signal)+"_EXPORTER") == "none" {
		return false
	}
	return o.Endpoint != "" || variableOf(signal, "ENDPOINT") != ""
}

// variableOf is a variable of the exporters: that of the signal, else the one
// for all.
func variableOf(signal, name string) string {
	return cmp.Or(os.Getenv(ownVariable(signal, name)), os.Getenv("OTEL_EXPORTER_OTLP_"+name))
}

func ownVariable(signal, name string) string {
	return "OTEL_EXPORTER_OTLP_" + strings.ToUpper(signal) + "_" + name
}

// isHTTP says which protocol a signal has; the error is about the variable.
func (o OTLP) isHTTP(signal string) (bool, error) {
	protocol := cmp.Or(os.Getenv(ownVariable(signal, "PROTOCOL")), o.Protocol, os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), "grpc")
	switch {
	case protocol == "grpc":
		return false, nil
	case protocol == "http", protocol == "http/protobuf":
		return true, nil
	}
	return false, fmt.Errorf("OTLP protocol of %s is %q; want grpc or http/protobuf", signal, protocol)
}

// url is the endpoint that a signal's exporter has to be told, "" if it finds
// it in the environment.
func (o OTLP) url(signal string, http bool) string {
	if o.Endpoint == "" || os.Getenv(ownVariable(signal, "ENDPOINT")) != "" {
		return ""
	}
	if http {
		return strings.TrimSuffix(o.Endpoint, "/") + "/v1/" + signal
	}
	return o.Endpoint
}

// clients are the exporters of OpenTelemetry, each nil if its signal is off.
// They send what they are given, once.
type clients struct {
	traces sdktrace.SpanExporter
	logs   sdklog.Exporter
}

func (o OTLP) newClients(ctx context.Context) (c clients, err error) {
	if o.on(signalTraces) {
		if c.traces, err = o.newTraces(ctx); err != nil {
			return c, fmt.Errorf("export of traces: %w", err)
		}
	}
	if o.on(signalLogs) {
		if c.logs, err = o.newLogs(ctx); err != nil {
			return c, errors.Join(fmt.Errorf("export of log records: %w", err), c.close(ctx))
		}
	}
	return c, nil
}

func (o OTLP) newTraces(ctx context.Context) (sdktrace.SpanExporter, error) {
	http, err := o.isHTTP(signalTraces)
	if err != nil {
		return nil, err
	}
	url := o.url(signalTraces, http)
	if http {
		options := []otlptracehttp.Option{otlptracehttp.WithRetry(otlptracehttp.RetryConfig{})}
		if url != "" {
			options = append(options, otlptracehttp.WithEndpointURL(url))
		}
		return otlptrace.New(ctx, otlptracehttp.NewClient(options...))
	}
	options := []otlptracegrpc.Option{otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{})}
	if url != "" {
		options = append(options, otlptracegrpc.WithEndpointURL(url))
	}
	return otlptrace.New(ctx, otlptracegrpc.NewClient(options...))
}

func (o OTLP) newLogs(ctx context.Context) (sdklog.Exporter, error) {
	http, err := o.isHTTP(signalLogs)
	if err != nil {
		return nil, err
	}
	url := o.url(signalLogs, http)
	if http {
		options := []otlploghttp.Option{otlploghttp.WithRetry(otlploghttp.RetryConfig{})}
		if url != "" {
			options = append(options, otlploghttp.WithEndpointURL(url))
		}
		return otlploghttp.New(ctx, options...)
	}
	options := []otlploggrpc.Option{otlploggrpc.WithRetry(otlploggrpc.RetryConfig{})}
	if url != "" {
		options = append(options, otlploggrpc.WithEndpointURL(url))
	}
	return otlploggrpc.New(ctx, options...)
}

func (c *clients) close(ctx context.Context) (err error) {
	if c.traces != nil {
		err = c.traces.Shutdown(ctx)
	}
	if c.logs != nil {
		err = errors.Join(err, c.logs.Shutdown(ctx))
	}
	return err
}

// newResource says what sends: a name, and what the variables of OpenTelemetry
// add. It says nothing of this process or host, so that all sidecars of a
// cluster send the same.
func newResource(ctx context.Context) (*resource.Resource, error) {
	r, err := resource.New(ctx, resource.WithSchemaURL(semconv.SchemaURL),
		resource.WithAttributes(semconv.ServiceName("kraftside")), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return r, nil
}

// requestSpans is how many spans a request has at most: receivers take 4 MiB.
const requestSpans = 64

// request is one request of an export.
type request struct {
	signal string
	send   func(context.Context) error
}

// requests are those that export an item, the trace first.
func (e *Exporter) requests(item Item) (out []request) {
	spans := e.converter.spans(item)
	if e.clients.traces != nil {
		for chunk := range slices.Chunk(spans, requestSpans) {
			out = append(out, request{signalTraces, func(ctx context.Context) error {
				return e.clients.traces.ExportSpans(ctx, readOnly(chunk))
			}})
		}
	}
	if e.clients.logs != nil {
		out = append(out, request{signalLogs, func(ctx context.Context) error {
			return e.clients.logs.Export(ctx, []sdklog.Record{e.recorder.record(item, spans[0])})
		}})
	}
	return out
}

func readOnly(spans []*span) []sdktrace.ReadOnlySpan {
	out := make([]sdktrace.ReadOnlySpan, len(spans))
	for i, s := range spans {
		out[i] = s
	}
	return out
}

// exportAttributes are the labels of what is counted of a request.
func exportAttributes(signal, result string) []attribute.KeyValue {
	return []attribute.KeyValue{attribute.String("signal", signal), attribute.String("result", result)}
}
