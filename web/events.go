package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/kraftside/kraftside/history"
	"github.com/kraftside/kraftside/rebalance"
	"github.com/kraftside/kraftside/web/api"
)

const (
	// maxListeners and maxNews bound what is held for those who listen.
	maxListeners = 32
	maxNews      = 1024

	eventBeat    = 15 * time.Second // between comments, when there is nothing to tell
	eventTimeout = 30 * time.Second // for a listener to take an event
)

// Events hands to listeners what became durable. Its methods may be called from
// any goroutine, and do not wait for a listener.
type Events struct {
	mu        sync.Mutex
	listeners map[*listener]struct{}
	closed    bool
}

// NewEvents returns Events without listeners.
func NewEvents() *Events { return &Events{listeners: make(map[*listener]struct{})} }

// listener is a request for events. Its news end when it is too slow to take
// them, or when the server stops.
type listener struct {
	news chan news
	lost bool // it was too slow; to be read once news is closed
}

// news is one event: the one or the other.
type news struct {
	change    *history.Entry
	rebalance *rebalance.Rebalance
}

// OnChange is for pipeline.Options.
func (e *Events) OnChange(c *history.Entry) { e.tell(news{change: c}) }

// OnRebalance is for pipeline.Options.
func (e *Events) OnRebalance(r *rebalance.Rebalance) { e.tell(news{rebalance: r}) }

func (e *Events) tell(n news) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for l := range e.listeners {
		select {
		case l.news <- n:
		default:
			l.lost = true
			e.end(l)
		}
	}
}

// end is for whoever holds the lock.
func (e *Events) end(l *listener) {
	if _, there := e.listeners[l]; there {
		delete(e.listeners, l)
		close(l.news)
	}
}

// listen returns nil if there are too many listeners, or the server stops.
func (e *Events) listen() *listener {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || len(e.listeners) == maxListeners {
		return nil
	}
	l := &listener{news: make(chan news, maxNews)}
	e.listeners[l] = struct{}{}
	return l
}

func (e *Events) leave(l *listener) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.end(l)
}

// close ends all listeners, and has no more of them.
func (e *Events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	for l := range e.listeners {
		e.end(l)
	}
}

// events answers /v1/events: server-sent events of this sidecar alone, until the
// client leaves.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	l := s.o.Events.listen()
	if l == nil {
		w.Header().Set("Retry-After", "5")
		return fail(http.StatusServiceUnavailable, codeBusy, "%d listeners are served already, or the sidecar stops; try again later", maxListeners)
	}
	defer s.o.Events.leave(l)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	out := &eventWriter{w: w, control: http.NewResponseController(w)}
	// The limit for reading a request would end it: the client sends no more.
	out.err = out.control.SetReadDeadline(time.Time{})
	out.write(": listening\n\n")
	s.stream(r.Context(), l, out)
	return nil
}

// stream writes the news of a listener until something ends it.
func (s *Server) stream(ctx context.Context, l *listener, out *eventWriter) {
	beat := time.NewTicker(eventBeat)
	defer beat.Stop()
	for out.err == nil {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			out.write(": still here\n\n")
		case n, more := <-l.news:
			if !more {
				if l.lost {
					out.event("lost", struct{}{})
				}
				return
			}
			s.writeNews(n, out)
		}
	}
}

func (s *Server) writeNews(n news, out *eventWriter) {
	if n.change != nil {
		out.event("change", api.NewChange(n.change))
		return
	}
	out.event("rebalance", api.NewRebalance(s.o.View(), n.rebalance))
}

// eventWriter writes events, each at once and whole, until it fails.
type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	err     error
}

func (o *eventWriter) event(kind string, v any) {
	data, err := json.Marshal(v) // in one line
	if err != nil {
		o.err = err
		return
	}
	o.write(fmt.Sprintf("event: %s\ndata: %s\n\n", kind, data))
}

func (o *eventWriter) write(text string) {
	if o.err != nil {
		return
	}
	if o.err = o.control.SetWriteDeadline(time.Now().Add(eventTimeout)); o.err != nil {
		return
	}
	if _, o.err = fmt.Fprint(o.w, text); o.err == nil {
		o.err = o.control.Flush()
	}
}
