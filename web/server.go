// Package web answers over HTTP what the sidecar knows: whether it lives and
// is ready, its metrics, and the JSON of /v1, for one sidecar or, by asking
// the others, for the whole cluster.
//
// A request takes one pipeline.View and is answered from it alone, so that the
// offsets in the answer hold for all of it. What a sidecar answers of its own
// are the groups that it speaks for (View.Answers); the rest comes from its
// peers, which are asked one hop far, all at once and for a limited time. A
// sidecar that does not answer is listed as missing, never passed over.
//
// Who may ask for what: see Access. Names that come from Kafka are untrusted;
// they leave only as JSON strings, and every answer says that it is JSON and
// not to be guessed at.
package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/store"
	"github.com/kraftside/kraftside/web/api"
)

// Options are what a Server answers from. Functions are called on many
// goroutines, once a request.
type Options struct {
	// View is the newest state.
	View func() *pipeline.View
	// Version is that of the program.
	Version string
	// ClusterName is the configured name, empty for none.
	ClusterName string
	// ClusterID is empty while it is not known. It may be nil.
	ClusterID func() string
	// MetadataSource is "quorum" or "dir", empty while it is not decided. It
	// may be nil.
	MetadataSource func() string
	// GroupsSource is "kafka" or "dir".
	GroupsSource string
	// BrokerApplied is the metadata offset that the neighbour broker has
	// applied; false if it is not known. It may be nil.
	BrokerApplied func() (kafka.Offset, bool)
	// Store is how the store stands. Nil: there is none.
	Store func() store.Status
	// Reasons are further reasons not to be ready: a port in use, say. It may
	// be nil.
	Reasons func() []api.Reason
	// Events are what /v1/events streams. Nil: nothing.
	Events *Events
	// Metrics serves /metrics. Nil: there are none.
	Metrics http.Handler

	Access Access
	Peers  Peers
	// Log takes what goes wrong on a connection, a failed TLS handshake say.
	// Nil: nobody wants to know.
	Log *slog.Logger
	// Now is time.Now if nil.
	Now func() time.Time
}

// Server is an http.Handler. Its methods may be called from any goroutine.
type Server struct {
	o      Options
	guard  *guard
	peers  *client
	routes *http.ServeMux
}

// maxRequests bounds the requests of /v1 that are answered at a time, each of
// which may hold an answer of maxPageBytes. Another maxRequests from peers are
// answered beside them, so that sidecars which ask each other do not wait for
// each other.
const maxRequests = 16

// New returns a server. The error says which file of Access cannot be used, or
// what is wrong with Peers.
func New(o Options) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	g, err := newGuard(o.Access)
	if err != nil {
		return nil, err
	}
	c, err := newClient(o.Peers, g)
	if err != nil {
		return nil, err
	}
	if o.Events == nil {
		o.Events = NewEvents()
	}
	s := &Server{o: o, guard: g, peers: c}
	s.routes = s.newRoutes()
	return s, nil
}

func (s *Server) newRoutes() *http.ServeMux {
	mux, places := http.NewServeMux(), newPlaces()
	open := func(path string, h handler) { mux.Handle(path, h) }
	v1 := func(path string, h handler) { mux.Handle(path, s.guard.protect(places.limit(h))) }

	open("/healthz", s.healthz)
	open("/readyz", s.readyz)
	if s.o.Metrics != nil {
		open("/metrics", s.metrics)
	}
	v1("/v1/status", s.status)
	v1("/v1/groups", s.groups)
	v1("/v1/groups/{group}", s.group)
	v1("/v1/groups/{group}/rebalances", s.rebalances)
	v1("/v1/rebalances", s.allRebalances)
	v1("/v1/changes", s.changes)
	v1("/v1/topics", s.topics)
	v1("/v1/topics/{topic}", s.topic)
	v1("/v1/subscriptions", s.subscriptions)
	v1("/v1/verify", s.verify)
	mux.Handle("/v1/events", s.guard.protect(s.events)) // which hold no place for as long as they last
	mux.Handle("/v1/whatif", poster(s.guard.protect(places.limit(s.whatif))))
	open("/", notFound)
	return mux
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.routes.ServeHTTP(w, r) }

// Limits on a connection. A group id may have 32 KiB, three times that when it
// is percent-encoded, and an after token a third more.
const (
	maxHeaderBytes    = 160 << 10
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 15 * time.Second
	writeTimeout      = 60 * time.Second
	idleTimeout       = 2 * time.Minute
	stopTimeout       = 5 * time.Second
)

// Serve answers on the listener, with TLS if Access has it, until ctx ends;
// then it lets requests under way end for a few seconds. The error is nil then,
// else that of the listener, which Serve closes.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{
		Handler:           s,
		TLSConfig:         s.guard.serverTLS(),
		MaxHeaderBytes:    maxHeaderBytes,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          slog.NewLogLogger(s.o.Log.Handler(), slog.LevelWarn),
	}
	h.RegisterOnShutdown(s.o.Events.close)
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		if h.Shutdown(grace) != nil {
			_ = h.Close() // the error is that of connections we drop anyway
		}
	})
	var err error
	if h.TLSConfig != nil {
		err = h.ServeTLS(l, "", "")
	} else {
		err = h.Serve(l)
	}
	if !stop() {
		<-stopped
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
