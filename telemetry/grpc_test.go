package telemetry

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// grpcReceiver takes OTLP over gRPC.
type grpcReceiver struct {
	coltrace.UnimplementedTraceServiceServer
	traces []*coltrace.ExportTraceServiceRequest
	header []string // x-token of each
	answer error
	reject int64 // spans
}

func (r *grpcReceiver) Export(ctx context.Context, q *coltrace.ExportTraceServiceRequest) (*coltrace.ExportTraceServiceResponse, error) {
	header, _ := metadata.FromIncomingContext(ctx)
	r.header = append(r.header, header.Get("x-token")...)
	if r.answer != nil {
		return nil, r.answer
	}
	r.traces = append(r.traces, q)
	if r.reject == 0 {
		return &coltrace.ExportTraceServiceResponse{}, nil
	}
	return &coltrace.ExportTraceServiceResponse{
		PartialSuccess: &coltrace.ExportTracePartialSuccess{RejectedSpans: r.reject, ErrorMessage: "too old"},
	}, nil
}

// grpcLogs takes log records.
type grpcLogs struct {
	collogs.UnimplementedLogsServiceServer
	logs []*collogs.ExportLogsServiceRequest
}

func (l *grpcLogs) Export(_ context.Context, q *collogs.ExportLogsServiceRequest) (*collogs.ExportLogsServiceResponse, error) {
	l.logs = append(l.logs, q)
	return &collogs.ExportLogsServiceResponse{}, nil
}

// serveGRPC serves traces and, unless it is nil, logs.
func serveGRPC(t *testing.T, r *grpcReceiver, l *grpcLogs) (endpoint string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	coltrace.RegisterTraceServiceServer(server, r)
	if l != nil {
		collogs.RegisterLogsServiceServer(server, l)
	}
	go func() { _ = server.Serve(listener) }() // ends with Stop
	t.Cleanup(server.Stop)
	return "http://" + listener.Addr().String()
}

// gRPC carries the same as HTTP does, and the headers of the environment.
func TestGRPC(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-token=hush")
	r, l := new(grpcReceiver), new(grpcLogs)
	b := newBench(t, OTLP{Endpoint: serveGRPC(t, r, l)}, item(1))
	require.Equal(t, b.poll, b.round(t.Context()))
	require.Empty(t, b.outbox.items)
	require.Equal(t, []string{"hush"}, r.header)

	h := newReceiver(t)
	newBench(t, OTLP{Endpoint: h.URL, Protocol: "http"}, item(1)).round(t.Context())
	traces, logs := new(coltrace.ExportTraceServiceRequest), new(collogs.ExportLogsServiceRequest)
	require.NoError(t, proto.Unmarshal(h.traces[0], traces))
	require.NoError(t, proto.Unmarshal(h.logs[0], logs))
	require.True(t, proto.Equal(traces, r.traces[0]))
	require.True(t, proto.Equal(logs, l.logs[0]))
}

// Jaeger has no service for log records.
func TestGRPCTracesAlone(t *testing.T) {
	r := new(grpcReceiver)
	b := newBench(t, OTLP{Endpoint: serveGRPC(t, r, nil)}, itemsOf(2)...)
	b.round(t.Context())
	require.Len(t, b.outbox.items, 2)
	require.Contains(t, b.log.String(), "logs unsupported")
	require.Contains(t, b.log.String(), "OTEL_LOGS_EXPORTER=none")
}

// What the codes of gRPC mean for what is sent.
func TestGRPCCodes(t *testing.T) {
	t.Setenv("OTEL_LOGS_EXPORTER", "none")
	for code, want := range map[codes.Code]string{
		codes.Unavailable: unavailable, codes.ResourceExhausted: unavailable, codes.DeadlineExceeded: timedOut,
		codes.Unauthenticated: unauthorized, codes.Unimplemented: unsupported, codes.Internal: failed,
	} {
		b := newBench(t, OTLP{Endpoint: serveGRPC(t, &grpcReceiver{answer: status.Error(code, "no")}, nil)}, item(1))
		b.round(t.Context())
		require.Len(t, b.outbox.items, 1, code)
		require.Contains(t, b.log.String(), `kind="traces `+want+`"`)
	}
	for _, r := range []*grpcReceiver{{answer: status.Error(codes.InvalidArgument, "no")}, {reject: 3}} {
		b := newBench(t, OTLP{Endpoint: serveGRPC(t, r, nil)}, item(1))
		b.round(t.Context())
		require.Empty(t, b.outbox.items)
		require.Equal(t, 1, b.lines("will not take"))
	}
}
