package telemetry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Servers that requests go to.
const (
	Brokers     = "broker"
	Controllers = "controller"
)

// Requests returns a hook for the clients that talk to servers of a kind.
func (m *Meter) Requests(server string) kgo.Hook {
	return &requests{m, attribute.String("server", server)}
}

// requests counts what a client does.
type requests struct {
	meter  *Meter
	server attribute.KeyValue
}

var (
	_ kgo.HookBrokerE2E     = (*requests)(nil)
	_ kgo.HookBrokerConnect = (*requests)(nil)
)

// OnBrokerE2E implements kgo.HookBrokerE2E.
func (r *requests) OnBrokerE2E(_ kgo.BrokerMetadata, key int16, e2e kgo.BrokerE2E) {
	r.meter.requests.Add(context.Background(), 1, metric.WithAttributes(
		r.server, attribute.String("api", kmsg.NameForKey(key)), errorOf(e2e.Err())))
}

// OnBrokerConnect implements kgo.HookBrokerConnect.
func (r *requests) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	r.meter.connects.Add(context.Background(), 1, metric.WithAttributes(r.server, errorOf(err)))
}

func errorOf(err error) attribute.KeyValue { return attribute.String("error", errorKind(err)) }

// errorKind is one of a few words for an error: its text would make a series
// of every address.
func errorKind(err error) string {
	var (
		timeout     net.Error
		dns         *net.DNSError
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		header      tls.RecordHeaderError
		alert       tls.AlertError
		code        *kerr.Error
	)
	switch {
	case err == nil:
		return "none"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	case errors.As(err, &dns):
		return "dns"
	case errors.As(err, &certificate), errors.As(err, &authority), errors.As(err, &header), errors.As(err, &alert):
		return "tls"
	case errors.As(err, &code):
		return "kafka"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "closed"
	}
	return "other"
}
