package sidecar

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/kraftside/kraftside/internal/config"
	"github.com/kraftside/kraftside/internal/pause"
	"github.com/kraftside/kraftside/web"
	"github.com/kraftside/kraftside/web/api"
)

// Following is a configuration that may change, and that may be wrong.
type Following struct {
	// Load reads it. Two configurations are the same if their Effective is.
	Load func() (*config.Config, error)
	// Listen is where /healthz and /readyz are while there is none that works.
	Listen string
	// Every is how often to look. 5 s if it is 0.
	Every   time.Duration
	Version string
	// Log makes the log of a configuration.
	Log func(*config.Config) *slog.Logger
}

// Follow runs a sidecar with the configuration as it is at each time, until ctx
// ends. One that is wrong does not end it: a container that ends makes the pod of
// its broker not ready. What was right goes on then, and /readyz says what is wrong.
func Follow(ctx context.Context, f Following) {
	f.Every = cmp.Or(f.Every, 5*time.Second)
	w := &follower{Following: f, log: f.Log(config.Default())}
	for ctx.Err() == nil {
		s, effective, err := w.prepare("")
		if err != nil {
			w.note(unusable, err)
		}
		for s != nil && err == nil {
			if s, effective, err = w.run(ctx, s, effective); err != nil {
				w.note(unstarted, err)
			}
		}
		if err != nil {
			w.await(ctx, effective)
		}
	}
}

// follower is Follow under way. Its methods are for one goroutine, but for
// reasons.
type follower struct {
	Following
	log     *slog.Logger
	problem atomic.Pointer[api.Reason] // with the configuration as it is now
}

// What begins the problems of a configuration, and what to do about them.
var (
	unusable = api.Reason{
		What: "the configuration cannot be used",
		Do:   "correct it: it is read again every few seconds; until then the former one is in effect, if there was one",
	}
	unstarted = api.Reason{
		What: "the sidecar cannot start",
		Do:   "remove the cause: it is tried again every few seconds, and with every new configuration",
	}
)

func (w *follower) load() (*config.Config, string, error) {
	c, err := w.Load()
	if err != nil {
		return nil, "", err
	}
	if err := c.Readable(); err != nil { // a Secret may come later than what names its files
		return nil, "", err
	}
	effective, err := c.Effective()
	return c, effective, err
}

// prepare makes a sidecar of the configuration as it is now, if that is another than
// the former one, and says which it is.
func (w *follower) prepare(former string) (*Sidecar, string, error) {
	c, effective, err := w.load()
	if err != nil || effective == former {
		return nil, effective, err
	}
	s, err := prepare(c, "", w.Version, w.Log(c))
	return s, effective, err
}

// successor is prepare beside a sidecar that runs. A store that is not that one's is
// opened, too.
func (w *follower) successor(running *Sidecar, effective string) (*Sidecar, string, error) {
	s, now, err := w.prepare(effective)
	if err != nil || s == nil || sameDir(s.config.Store.Dir, running.config.Store.Dir) {
		return s, now, err
	}
	if err := s.openStore(); err != nil {
		return nil, now, errors.Join(err, s.close())
	}
	return s, now, nil
}

// sameDir says whether two paths lead to one folder that is there.
func sameDir(a, b string) bool {
	x, err := os.Stat(a)
	y, otherErr := os.Stat(b)
	return err == nil && otherErr == nil && os.SameFile(x, y)
}

// note keeps what is wrong, for /readyz, and logs it once.
func (w *follower) note(kind api.Reason, err error) {
	r := api.Reason{What: kind.What + ": " + err.Error(), Do: kind.Do}
	if old := w.problem.Swap(&r); old == nil || *old != r {
		w.log.Error(kind.What, "error", err)
	}
}

func (w *follower) reasons() []api.Reason {
	if problem := w.problem.Load(); problem != nil {
		return []api.Reason{*problem}
	}
	return nil
}

// run runs a sidecar until its configuration has changed, and returns what follows on
// it, or until ctx ends. The error is why it cannot start.
func (w *follower) run(ctx context.Context, s *Sidecar, effective string) (next *Sidecar, its string, err error) {
	w.problem.Store(nil)
	w.log, s.further = s.log, w.reasons
	inner, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.run(inner) }()
	look := time.NewTicker(w.Every)
	defer look.Stop()
	for {
		select {
		case err := <-ended:
			return nil, effective, err
		case <-look.C:
		}
		switch next, its, err := w.successor(s, effective); {
		case err != nil:
			w.note(unusable, err)
		case next == nil:
			w.problem.Store(nil)
		default:
			w.log.Info("the configuration has changed, starting anew")
			stop()
			if err := <-ended; err != nil {
				w.log.Error("stop", "error", err)
			}
			return next, its, nil
		}
	}
}

// retryInterval is how often a configuration is tried again that could not be
// used although it is right in itself: its store may be in use, say.
const retryInterval = 10 * time.Second

// await answers on /healthz and /readyz until there is another configuration than
// the one that failed, or it is time to try that again.
func (w *follower) await(ctx context.Context, failed string) {
	inner, stop := context.WithCancel(ctx)
	served := make(chan struct{})
	go func() {
		defer close(served)
		w.serve(inner)
	}()
	defer func() {
		stop()
		<-served
	}()
	for begin := time.Now(); pause.For(ctx, w.Every) == nil; {
		switch _, now, err := w.load(); {
		case err != nil:
			w.note(unusable, err)
		case now != failed, time.Since(begin) > retryInterval:
			return
		}
	}
}

// serve answers until ctx ends, whoever has the port at first.
func (w *follower) serve(ctx context.Context) {
	(&listening{}).run(ctx, w.Listen, w.log, "listening", "HTTP server", func(ctx context.Context, l net.Listener) error {
		s := &http.Server{Handler: web.NotReady(w.reasons), ReadHeaderTimeout: w.Every, ErrorLog: slog.NewLogLogger(w.log.Handler(), slog.LevelWarn)}
		defer context.AfterFunc(ctx, func() { _ = s.Close() })() // nobody waits for what it says
		if err := s.Serve(l); ctx.Err() == nil {
			return err
		}
		return nil
	})
}
