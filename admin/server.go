package admin

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/pause"
	"github.com/kraftside/kraftside/pipeline"
)

// Options are what a Server answers from. Functions are called on many
// goroutines, once a request or more often.
type Options struct {
	// View is the newest state.
	View func() *pipeline.View
	// Offsets are those that a group has committed, as Shard.Offsets has them.
	Offsets func(group string) []groups.CommittedOffset
	// ClusterID is empty while it is not known.
	ClusterID func() string
	// Peer is where the sidecar of a broker is to be asked, of this one's broker
	// as well: sidecars speak each for its broker, and a connection to this one
	// stands for View.NodeID. Nil: every broker is asked here.
	Peer func(*image.Broker) (host string, port int32)
	// FirstPort, if not 0, gives each broker a port of its own here, which is
	// FirstPort plus its id: a connection to it stands for that broker. It is
	// of no use with Peer.
	FirstPort int
	// MaxStaleness is how far what is answered may be behind the broker.
	MaxStaleness time.Duration
	// SyntheticConfigs adds what kraftside knows of a group to its
	// configurations.
	SyntheticConfigs bool
	// Login is how clients prove who they are. If they have to, Authorizer says
	// what they may see; else everybody may see everything.
	Login      Login
	Authorizer Authorizer
	// OnRequest is told of every request: its API by Kafka's name, Unknown for
	// one that there is not, and what became of it. It may be nil.
	OnRequest func(api, result string)
	// Log takes what goes wrong on a connection. Nil: nobody wants to know.
	Log *slog.Logger
	// Now is time.Now if nil.
	Now func() time.Time
}

// What becomes of a request.
const (
	Answered = "answered"
	Refused  = "refused" // it is not served: the answer is an error
	Ended    = "ended"   // the connection is, for it
)

// Limits on connections.
const (
	// maxConnections bounds the connections at a time; one more is closed.
	maxConnections = 2048
	// maxRequestBytes bounds a request, and all that are being answered
	// together. One that names 100,000 topics by their ids has 1.8 MB.
	maxRequestBytes = 2 << 20
	// maxPendingBytes bounds the answers that wait for slow readers, all
	// together.
	maxPendingBytes = 256 << 20
	// idleTimeout is how long a connection may be silent
	// (connections.max.idle.ms).
	idleTimeout = 10 * time.Minute
	// readTimeout is for the bytes of one request, writeTimeout for those of
	// an answer.
	readTimeout  = 30 * time.Second
	writeTimeout = 30 * time.Second
)

// Server answers Kafka's protocol. Its methods may be called from any
// goroutine.
type Server struct {
	o         Options
	served    map[int16]api
	door      *door
	main      int32 // the port of Serve's listener
	tracker   *tracker
	ports     ports
	acls      atomic.Pointer[indexedACLs]
	topics    kept[topicsState]
	listed    kept[pipeline.GroupsVersion]
	described kept[describedState]

	// places are for requests that are being answered: each may take the
	// memory of an answer twice. decoding is for their bytes, and pending for
	// those of answers.
	places, decoding, pending *semaphore.Weighted
	// buffers are for answers, which may be large: to clear new memory for each
	// takes longer than to fill it.
	buffers sync.Pool

	complaints complaints

	mu          sync.Mutex
	connections map[net.Conn]struct{}
	running     sync.WaitGroup
}

// New returns a server. The error says which file of Login cannot be used.
func New(o Options) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.OnRequest == nil {
		o.OnRequest = func(string, string) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	d, err := newDoor(&o.Login)
	if err != nil {
		return nil, err
	}
	return &Server{
		o:           o,
		door:        d,
		served:      newAPIs(),
		tracker:     newTracker(o.MaxStaleness),
		places:      semaphore.NewWeighted(int64(max(4, 2*runtime.GOMAXPROCS(0)))),
		decoding:    semaphore.NewWeighted(maxRequestBytes),
		pending:     semaphore.NewWeighted(maxPendingBytes),
		buffers:     sync.Pool{New: func() any { return new([]byte) }},
		connections: map[net.Conn]struct{}{},
	}, nil
}

// Serve answers on a listener, with TLS if Login has it, until ctx ends; then it
// closes the listener and all connections. The error is nil then, else that of the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if tcp, ok := l.Addr().(*net.TCPAddr); ok {
		s.main = int32(tcp.Port)
	}
	inner, stop := context.WithCancel(ctx)
	defer s.running.Wait()
	defer s.closeAll()
	defer stop()
	s.running.Go(func() { s.watch(inner) })
	if s.o.FirstPort != 0 && s.o.Peer == nil {
		s.running.Go(func() { s.listenForBrokers(inner, l.Addr()) })
	}
	return s.accept(inner, l, kafka.NoNode)
}

// accept takes connections that stand for a broker, or for kafka.NoNode. The
// caller waits for running.
func (s *Server) accept(ctx context.Context, l net.Listener, broker kafka.NodeID) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() }) // Accept says what there is to say
	defer stop()
	for {
		nc, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = nc.Close() // nobody has used it
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil: // too many open files, say
			s.o.Log.Warn("admin endpoint", "error", err)
			if pause.For(ctx, acceptPause) != nil {
				return nil
			}
		case !s.register(nc):
			_ = nc.Close() // nobody has used it
			s.complain("too many connections", "limit", maxConnections, "remote", nc.RemoteAddr().String())
		default:
			s.running.Go(func() {
				defer s.forget(nc)
				s.converse(ctx, nc, broker)
			})
		}
	}
}

// acceptPause is how long to wait after no connection could be accepted.
const acceptPause = 100 * time.Millisecond

// Connections is how many clients are connected.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.connections)
}

func (s *Server) register(nc net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.connections) >= maxConnections {
		return false
	}
	s.connections[nc] = struct{}{}
	return true
}

func (s *Server) forget(nc net.Conn) {
	_ = nc.Close() // what it has to say was said
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.connections, nc)
}

func (s *Server) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for nc := range s.connections {
		_ = nc.Close() // its goroutine notices
	}
}

// watch looks at the view often enough to know how old it is when somebody
// asks, and forgets what nobody asks for.
func (s *Server) watch(ctx context.Context) {
	for {
		s.tracker.observe(s.o.View(), s.o.Now())
		s.topics.forget(s.o.Now())
		s.listed.forget(s.o.Now())
		s.described.forget(s.o.Now())
		if pause.For(ctx, max(s.o.MaxStaleness/8, 10*time.Millisecond)) != nil {
			return
		}
	}
}
