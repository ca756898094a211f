//go:build e2e && unix

package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/test/jaeger"
)

const (
	awayFor    = time.Minute
	awayGroups = 4
	awayCycles = 20 // of a member that joins and leaves, in each group
	// mostGrowth is how much more memory a sidecar may take meanwhile: the
	// garbage collector and Pebble move it by some 20 MB.
	mostGrowth = 64 << 20
)

// outage is a Jaeger that is stopped for a minute, a receiver that takes
// connections and does not answer for half of it, and a sidecar for each.
type outage struct {
	*tracing
	jaeger          *jaeger.Server
	recorder        *jaeger.Recorder
	dir             string
	refused, silent *child
	scenes          []*scene
	members         []*heart
	began           time.Time
}

// away: groups rebalance for a minute without anybody to export to. The sidecars
// go on, their memory stays what it was, and then every rebalance arrives.
func (s *tracing) away(t *testing.T) {
	o := &outage{tracing: s, jaeger: jaeger.New(t), recorder: jaeger.NewRecorder(t, nil), dir: t.TempDir()}
	o.jaeger.Start()
	o.start(t)
	o.silent = s.export(t, s.kraftside.with("OTEL_EXPORTER_OTLP_TIMEOUT=2000"), t.TempDir(), "http", o.recorder.URL)
	for i := range awayGroups {
		c := s.scene(t, fmt.Sprintf("away-%d", i), groups.Consumer)
		c.create("orders", 2)
		first := c.heart("a", "orders")
		first.beat()
		c.settle(first)
		o.scenes, o.members = append(o.scenes, c), append(o.members, first)
		o.awaitTraces(t, o.jaeger, c.group, 1)
	}
	o.jaeger.Stop()
	o.began = time.Now()
	before := rss(t, o.refused)
	var rebalancing sync.WaitGroup
	for i := range o.scenes {
		rebalancing.Go(func() { o.rebalance(i) })
	}
	o.until(t, awayFor/2)
	o.recorder.Answer(func(ctx context.Context, _ jaeger.Request) bool {
		<-ctx.Done()
		return false
	})
	o.until(t, awayFor*4/5)
	o.requireGoesOn(t, before)
	rebalancing.Wait()
	o.until(t, awayFor)
	o.jaeger.Start()
	o.recorder.Answer(nil)
	back := time.Now()
	o.requireAll(t)
	t.Logf("all was there %.1f s after Jaeger was back", time.Since(back).Seconds())
	require.Equal(t, 1, strings.Count(o.silent.said(), "rebalances cannot be exported"), o.silent.said())
	o.refused.stop(t)
	o.silent.stop(t)
}

// start starts the sidecar whose receiver refuses connections.
func (o *outage) start(t *testing.T) {
	o.refused = o.export(t, o.kraftside.with("OTEL_LOGS_EXPORTER=none"), o.dir, "http", o.jaeger.HTTP)
}

func (o *outage) until(t *testing.T, since time.Duration) { pause(t, time.Until(o.began.Add(since))) }

// rebalance has a member join and leave a group all the time.
func (o *outage) rebalance(i int) {
	c, first := o.scenes[i], o.members[i]
	for n := range awayCycles {
		o.until(c.t, awayFor*time.Duration(n)/awayCycles)
		second := c.heart("b", "orders")
		second.beat()
		c.settle(first, second)
		second.leave()
		c.settle(first)
	}
}

// requireGoesOn: meanwhile the sidecar knows every rebalance, tells once that it
// cannot export, and takes no more memory. Then it is killed and started again.
func (o *outage) requireGoesOn(t *testing.T, before int64) {
	eventually(t, "many rebalances wait", func() error {
		n, err := metric(t, o.refused, "kraftside_otlp_pending")
		if err == nil && n != 64 {
			err = fmt.Errorf("%v", n)
		}
		return err
	})
	address, err := o.refused.address()
	require.NoError(t, err)
	n := 0
	for _, c := range o.scenes {
		known, err := o.log.bumps(c.group)
		require.NoError(t, err)
		n += len(known)
		eventually(t, "the sidecar goes on", func() error {
			if all := rebalances(t, address, c.group); len(all) < len(known) {
				return fmt.Errorf("it has %d rebalances, not %d", len(all), len(known))
			}
			return nil
		})
	}
	now := rss(t, o.refused)
	require.Less(t, now, before+mostGrowth)
	require.Equal(t, 1, strings.Count(o.refused.said(), "rebalances cannot be exported"), o.refused.said())
	t.Logf("resident memory was %d MB, and is %d MB with %d rebalances that wait", before>>20, now>>20, n-awayGroups)
	o.refused.kill(t)
	o.start(t)
}

// requireAll: every rebalance is there, with the spans that it has to have and no
// other.
func (o *outage) requireAll(t *testing.T) {
	traces, spans, again := 0, 0, 0
	for _, c := range o.scenes {
		all := o.over(t, c.group, 1+2*awayCycles)
		o.awaitTraces(t, o.jaeger, c.group, len(all), o.members...)
		eventually(t, "the other receiver has all", func() error {
			for _, h := range o.members {
				h.beat()
			}
			if got := sentOf(t, o.recorder, c.group); len(got.spans) < len(all) || len(got.logs) < len(all) {
				return fmt.Errorf("%d traces and %d log records of %d", len(got.spans), len(got.logs), len(all))
			}
			return nil
		})
		shown, got := o.traces(t, o.jaeger, c.group), sentOf(t, o.recorder, c.group)
		require.Len(t, got.spans, len(all))
		for _, b := range all {
			w := b.trace("")
			requireTrace(t, w, shown[w.id])
			require.True(t, got.has(w), w.identity())
			require.Len(t, got.spans[w.id], len(w.spans))
			spans += len(w.spans)
		}
		traces, again = traces+len(all), again+got.again
	}
	require.Positive(t, again)
	t.Logf("%d rebalances, each a trace, with %d distinct spans; the silent receiver got %d requests again", traces, spans, again)
}

// rss is the resident memory of a sidecar in bytes.
func rss(t *testing.T, c *child) int64 {
	t.Helper()
	out, err := exec.CommandContext(within(t), "ps", "-o", "rss=", "-p", strconv.Itoa(c.cmd.Process.Pid)).Output()
	require.NoError(t, err)
	kilobytes, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	require.NoError(t, err)
	return kilobytes << 10
}
