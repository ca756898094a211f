package metadatalog

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/pause"
)

// What all controllers together see of us in any 5 s, but for answers that took
// us further: 10 requests, 5 connections. One limit for all is what keeps it
// for each: two addresses may be the same controller, and there is no telling.
// The window is longer than 5 s, because requests that leave 5 s apart need
// not arrive 5 s apart.
const (
	maxRequests    = 10
	maxConnections = 5
	paceWindow     = 6 * time.Second
)

// tailInterval is how often a caught-up tail asks. The active controller
// writes a NoOpRecord every 500 ms, so a long poll is answered twice in that
// time, once for the record and once for its commit. Asking this often
// instead adds 0.4 s on average to what is seen, and leaves room within the
// limit to look for another leader at once.
const tailInterval = 800 * time.Millisecond

// Failures wait from minBackoff on, half as long again each time.
const (
	minBackoff = 600 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// verdict is what an answer means for the next request.
type verdict int

const (
	// again: the answer brought something and there is more. It is followed
	// at once, and does not count against the limits if it took us further
	// than we ever were.
	again verdict = iota
	// caughtUp: the answer is the end of the log.
	caughtUp
	// onward: it is known now whom to ask, or from where. It is followed at
	// once, within the limits.
	onward
	// elsewhere: no use asking here; the next candidate is asked at once, and
	// after the last one there is a pause.
	elsewhere
	// stuck: the right controller answered, and it does not get us on.
	stuck
)

// window remembers the last n events within paceWindow.
type window struct {
	n  int
	at []time.Time
}

// next is when another event is allowed, now or later.
func (w *window) next(now time.Time) time.Time {
	for len(w.at) > 0 && now.Sub(w.at[0]) >= paceWindow {
		w.at = w.at[1:]
	}
	if len(w.at) < w.n {
		return now
	}
	return w.at[len(w.at)-w.n].Add(paceWindow)
}

func (w *window) add(now time.Time) { w.at = append(w.at, now) }

// refund takes back the last event.
func (w *window) refund() { w.at = w.at[:len(w.at)-1] }

// pace decides when the next request may go. Every request passes it, so that
// no mistake elsewhere can make a loop that hurts a controller.
type pace struct {
	requests  window
	notBefore time.Time
	failures  int
	jitter    func() float64
}

func newPace(jitter func() float64) *pace {
	return &pace{requests: window{n: maxRequests}, jitter: jitter}
}

// wait blocks until a request may go, and counts it.
func (p *pace) wait(ctx context.Context) error {
	for {
		now := time.Now()
		at := p.requests.next(now)
		if at.Before(p.notBefore) {
			at = p.notBefore
		}
		if !at.After(now) {
			p.requests.add(now)
			return ctx.Err()
		}
		if err := pause.For(ctx, at.Sub(now)); err != nil {
			return err
		}
	}
}

// settle takes the verdict on the request that wait let through. free says
// that the request took us further than we ever were, pause that a failure was
// that of the last candidate of a round.
func (p *pace) settle(v verdict, free, pause bool) {
	sent, now := p.requests.at[len(p.requests.at)-1], time.Now()
	p.notBefore = now
	switch v {
	case again:
		if free {
			p.requests.refund()
		}
	case caughtUp:
		p.failures = 0
		p.notBefore = sent.Add(tailInterval)
	case elsewhere, stuck:
		if v == stuck || pause {
			p.notBefore = now.Add(p.backoff())
		}
	}
}

// backoff is the next pause: between 0.8 and 1.2 of the nominal one, so that
// the sidecars of a cluster do not ask in step.
func (p *pace) backoff() time.Duration {
	nominal := min(float64(maxBackoff), float64(minBackoff)*math.Pow(1.5, float64(p.failures)))
	p.failures++
	return time.Duration(nominal * (0.8 + 0.4*p.jitter()))
}

// mark is how far reading ever got: the end of the log that is here, or the
// end of a snapshot and the bytes of it that are. A quorum that makes us read
// the same again and again does not thereby make progress.
type mark struct {
	offset kafka.Offset
	bytes  int64
}

// advance moves the mark to m if that is further, and says whether it is.
func (k *mark) advance(m mark) bool {
	if m.offset < k.offset || m.offset == k.offset && m.bytes <= k.bytes {
		return false
	}
	*k = m
	return true
}

// dialLimit bounds new connections; kgo dials from goroutines of its own.
type dialLimit struct {
	mu     sync.Mutex
	window window
}

// spent says whether a connection would have to wait.
func (l *dialLimit) spent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	return l.window.next(now).After(now)
}

// wait blocks until a connection may be made, and counts it.
func (l *dialLimit) wait(ctx context.Context) error {
	for {
		l.mu.Lock()
		now := time.Now()
		at := l.window.next(now)
		if !at.After(now) {
			l.window.add(now)
			l.mu.Unlock()
			return nil
		}
		l.mu.Unlock()
		if err := pause.For(ctx, at.Sub(now)); err != nil {
			return err
		}
	}
}
