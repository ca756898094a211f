package telemetry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.opentelemetry.io/otel/metric"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/rebalance"
)

// count does what clients and the exporter do, and what a rebalance does.
func count(m *Meter) {
	brokers := m.Requests(Brokers).(*requests)
	brokers.OnBrokerConnect(kgo.BrokerMetadata{}, 0, nil, nil)
	brokers.OnBrokerE2E(kgo.BrokerMetadata{}, 1, kgo.BrokerE2E{})
	brokers.OnBrokerE2E(kgo.BrokerMetadata{}, 1, kgo.BrokerE2E{ReadErr: io.EOF})
	controllers := m.Requests(Controllers).(*requests)
	controllers.OnBrokerConnect(kgo.BrokerMetadata{}, 0, nil, syscall.ECONNREFUSED)
	controllers.OnBrokerE2E(kgo.BrokerMetadata{}, 55, kgo.BrokerE2E{})
	m.OnAdminRequest("Metadata", "answered")
	m.OnAdminRequest("Metadata", "ended")
	m.exports.Add(context.Background(), 1, metric.WithAttributes(exportAttributes(signalTraces, accepted)...))
	told := NewRebalances(RebalanceOptions{Meter: m, Log: slog.New(slog.DiscardHandler), Answers: func(int32) bool { return true }})
	told.OnRebalance(&rebalance.Rebalance{Type: groups.Consumer, StartedAt: 1000})
	told.OnRebalance(&rebalance.Rebalance{
		Type: groups.Consumer, Settled: true, StartedAt: 1000, CompletedAt: 1200, Causes: []rebalance.Cause{{Kind: rebalance.MemberJoined}},
	})
}

func TestErrorKinds(t *testing.T) {
	for kind, errs := range map[string][]error{
		"none":     {nil},
		"canceled": {context.Canceled},
		"timeout":  {context.DeadlineExceeded, os.ErrDeadlineExceeded, &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}},
		"dns":      {&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "secret.example"}}},
		"tls":      {&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, x509.UnknownAuthorityError{}, tls.RecordHeaderError{}, tls.AlertError(42)},
		"kafka":    {kerr.SaslAuthenticationFailed},
		"refused":  {&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}},
		"closed":   {io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE},
		"other":    {errors.New("secret.example: whatever")},
	} {
		for _, err := range errs {
			require.Equal(t, kind, errorKind(err), "%v", err)
			if err != nil {
				require.Equal(t, kind, errorKind(fmt.Errorf("wrapped: %w", err)), "%v", err)
			}
		}
	}
}

// A real client calls the hook.
func TestRequestsOfClient(t *testing.T) {
	m, _ := newMeter(t, nil)
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	defer cluster.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.WithHooks(m.Requests(Brokers)))
	require.NoError(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err = kmsg.NewPtrMetadataRequest().RequestWith(ctx, client)
	require.NoError(t, err)
	text, _ := scrape(t, m, "")
	require.Contains(t, text, `kraftside_kafka_requests_total{api="Metadata",error="none",server="broker"} 1`)
	require.Contains(t, text, `kraftside_kafka_connects_total{error="none",server="broker"} `)
}
