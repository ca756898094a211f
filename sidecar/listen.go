package sidecar

import (
	"context"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/kraftside/kraftside/internal/pause"
)

// listenInterval is how often a port is tried again that is in use.
const listenInterval = 5 * time.Second

// listening is an address that is served. A port that is in use does not stop a
// sidecar, which may be ready to answer when the port is free.
type listening struct {
	bound  atomic.Pointer[string]
	failed atomic.Pointer[string] // why it is not served
}

// run serves until ctx ends. name and problem are what the log says of it.
func (l *listening) run(ctx context.Context, at string, log *slog.Logger, name, problem string, serve func(context.Context, net.Listener) error) {
	for ctx.Err() == nil {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at)
		if err == nil {
			address := listener.Addr().String()
			l.bound.Store(&address)
			l.failed.Store(nil)
			log.Info(name, "address", address)
			err = serve(ctx, listener)
			l.bound.Store(nil)
		}
		if err != nil {
			text := err.Error()
			l.failed.Store(&text)
			log.Warn(problem, "error", err, "again.in", listenInterval)
			_ = pause.For(ctx, listenInterval) // the loop looks whether ctx ended
		}
	}
}

// address is where it is served, "" while it is not.
func (l *listening) address() string {
	if a := l.bound.Load(); a != nil {
		return *a
	}
	return ""
}
