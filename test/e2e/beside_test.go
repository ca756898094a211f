//go:build e2e && unix

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/config"
	"github.com/kraftside/kraftside/sidecar"
)

// beside is a sidecar in this process.
type beside struct {
	*sidecar.Sidecar
	*watch
	config *config.Config
	name   string
	output *output
	cancel context.CancelFunc
	done   chan error
}

// output keeps what a sidecar logs.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// sidecar starts a sidecar with its store in dir. Without options it reads the
// metadata from the quorum, the groups from the brokers, and has scope all. It
// ends with the cluster at the latest.
func (w *world) sidecar(name, dir string, options ...func(*config.Config)) *beside {
	t := w.t
	t.Helper()
	c := config.Default()
	c.Metadata.Source = config.SourceQuorum
	c.Metadata.Controllers = w.ControllerBootstrap()
	c.Kafka.Bootstrap = w.Bootstrap()
	c.HTTP.Listen = "127.0.0.1:0"
	c.Admin.Listen = ""
	c.Store.Dir = dir + "/store"
	c.Log.Level = "debug"
	for _, o := range options {
		o(c)
	}
	b := &beside{config: c, name: name, output: &output{}, done: make(chan error, 1)}
	log := slog.New(slog.NewTextHandler(b.output, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	b.Sidecar, err = sidecar.Start(c, "", "e2e", log)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel = cancel
	go func() { b.done <- b.Wait(ctx) }()
	b.watch = watchView(b.View)
	t.Cleanup(func() { b.end(t) })
	return b
}

// end stops the sidecar, unless that was done, and checks what it said in its
// whole life.
func (b *beside) end(t testing.TB) {
	if b.cancel == nil {
		return
	}
	b.cancel()
	b.cancel = nil
	require.NoError(t, <-b.done, "sidecar %s", b.name)
	b.watch.stop()
	require.Empty(t, b.drifted(), "sidecar %s: verdicts of drift", b.name)
	if t.Failed() {
		t.Logf("log of the sidecar %s:\n%s", b.name, b.output)
	}
}

// caughtUp says what keeps the sidecar from having read both logs to their end.
func (b *beside) caughtUp() error {
	v := b.View()
	switch {
	case v.Refused != nil:
		return v.Refused
	case v.Metadata.Problem != nil:
		return v.Metadata.Problem
	case v.Metadata.Lag() != 0:
		return fmt.Errorf("the metadata lags by %d offsets", v.Metadata.Lag())
	case !v.Assignment.Known:
		return fmt.Errorf("partitions are not known: %v", v.Assignment.Problem)
	}
	for _, p := range v.Partitions {
		if p.Loading || p.Problem != nil || p.Lag() != 0 {
			return fmt.Errorf("partition %d: loading %t, lag %d, problem %v", p.Partition, p.Loading, p.Lag(), p.Problem)
		}
	}
	return nil
}

// awaitCaughtUp waits until the sidecar has read both logs to their end.
func (b *beside) awaitCaughtUp(t testing.TB) {
	t.Helper()
	eventually(t, "the sidecar "+b.name+" catches up", b.caughtUp)
}
