package sidecar

import (
	"context"
	"net"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/store"
	"github.com/kraftside/kraftside/telemetry"
	"github.com/kraftside/kraftside/web"
)

// server is the HTTP server.
type server struct {
	listening
	sidecar *Sidecar
	handler *web.Server
}

func (s *Sidecar) newServer() (*server, error) {
	h := &s.config.HTTP
	o := web.Options{
		View:           s.View,
		Version:        s.version,
		ClusterName:    s.config.ClusterName,
		ClusterID:      s.ClusterID,
		MetadataSource: func() string { return *s.source.Load() },
		GroupsSource:   string(s.config.Offsets.Source),
		BrokerApplied:  s.brokerApplied,
		Access: web.Access{
			TokenFile:      h.TokenFile,
			TLS:            web.TLSFiles{Cert: h.TLS.CertFile, Key: h.TLS.KeyFile, ClientCA: h.TLS.ClientCAFile},
			AllowAnonymous: h.AllowAnonymous,
		},
		Peers:  web.Peers{Listener: s.config.Peers.Listener, Port: portOf(h.Listen), Address: s.config.Peers.Address},
		Log:    s.log,
		Events: s.events,
	}
	o.Metrics, o.Reasons = s.meter.Handler(), s.reasons
	if s.config.Store.Dir != "" {
		o.Store = s.storeStatus
	}
	handler, err := web.New(o)
	if err != nil {
		return nil, err
	}
	return &server{sidecar: s, handler: handler}, nil
}

// newMeter makes the metrics, which are read when somebody asks the server for
// them, and so when everything is there.
func (s *Sidecar) newMeter() (*telemetry.Meter, error) {
	o := telemetry.Options{
		Version:       s.version,
		ClusterName:   s.config.ClusterName,
		ClusterID:     s.ClusterID,
		View:          s.View,
		Stats:         func() pipeline.Stats { return s.pipeline.Stats() },
		BrokerApplied: s.brokerApplied,
		Ready:         func() bool { return s.server.handler.Ready() },
		SlowAfter:     s.config.Telemetry.SlowAfter,
		Exporter:      func() *telemetry.Exporter { return s.exporter },
	}
	if s.config.Admin.Listen != "" {
		o.AdminConnections = func() int { return s.admin.server.Connections() }
	}
	if s.config.Store.Dir != "" {
		o.Store = s.storeStatus
	}
	return telemetry.NewMeter(o)
}

func portOf(listen string) int {
	_, port, err := net.SplitHostPort(listen)
	if err != nil {
		return 0
	}
	n, err := net.LookupPort("tcp", port)
	if err != nil {
		return 0
	}
	return n
}

// run serves until ctx ends.
func (h *server) run(ctx context.Context) {
	h.listening.run(ctx, h.sidecar.config.HTTP.Listen, h.sidecar.log, "listening", "HTTP server", h.handler.Serve)
}

// storeStatus is how the store is, of a sidecar that has one.
func (s *Sidecar) storeStatus() store.Status { return s.store.Status() }

// brokerApplied is the metadata offset that the neighbour broker has applied.
func (s *Sidecar) brokerApplied() (kafka.Offset, bool) {
	offset := kafka.Offset(s.applied.Load())
	return offset, offset >= 0
}
