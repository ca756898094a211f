//go:build e2e && unix

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/test/jaeger"
	"github.com/kraftside/kraftside/web/api"
)

// soon is when a rebalance is exported as incomplete here.
const soon = 2 * time.Second

// killing is a sidecar that is killed and started again on its store.
type killing struct {
	*tracing
	*scene
	t        *testing.T
	recorder *jaeger.Recorder
	dir      string
	child    *child
	kills    int
}

// killed: a sidecar is killed while a rebalance is open, and between an export
// and its answer. In the end every span is there once, and what was sent again
// has the same bytes.
func (s *tracing) killed(t *testing.T) {
	j := jaeger.New(t)
	j.Start()
	k := &killing{tracing: s, t: t, scene: s.scene(t, "killed", groups.Consumer), recorder: jaeger.NewRecorder(t, j), dir: t.TempDir()}
	k.configure(map[string]string{"session.timeout.ms": "60000"})
	k.create("orders", 3)
	a, b, c := k.member("a"), k.member("b"), k.member("c")
	k.start()
	a.beat()
	b.beat()
	k.settle(a, b)

	holder, quiet := a, b // the one that is to give up a partition, and the other one
	if len(b.state.Topics[0].Partitions) == 2 {
		holder, quiet = b, a
	}
	holder.holds = true
	came := await(k.recorder, k.group, incomplete, true)
	c.beat()
	k.beat(k.isOpen, holder, c)
	k.kill() // while it is open

	k.start()
	k.awaitThere(came, holder, c)
	quiet.beat() // so that it is another rebalance than the one that was sent
	k.beat(func() error { return k.hasReached(quiet) }, holder, c)
	k.kill() // before the answer

	came = await(k.recorder, k.group, incomplete, false)
	k.start()
	k.awaitThere(came, holder, c, quiet)
	k.kill() // at the answer

	came = await(k.recorder, k.group, completion, true)
	k.start()
	holder.holds = false
	k.settle(holder, quiet, c)
	k.awaitThere(came, holder, quiet, c)
	k.kill()

	c.leave()
	k.beat(func() error { return k.inLog(holder) }, holder)
	came = await(k.recorder, k.group, incomplete, true)
	k.start()
	k.awaitThere(came, holder)
	k.kill()
	k.settle(holder, quiet) // while nobody looks
	came = await(k.recorder, k.group, completion, false)
	k.start()
	k.awaitThere(came, holder, quiet)
	k.kill()
	k.recorder.Answer(nil)
	k.start()
	k.requireAll(j, nil, []string{holder.state.MemberID})
	k.child.stop(t)
}

func (k *killing) member(id string) *heart {
	h := k.heart(id, "orders")
	h.state.RebalanceTimeoutMillis = int32((10 * time.Minute).Milliseconds())
	return h
}

func (k *killing) start() {
	k.child = k.export(k.t, k.kraftside, k.dir, "http", k.recorder.URL, "--telemetry.slow-after", soon.String())
}

func (k *killing) kill() {
	k.child.kill(k.t)
	k.kills++
}

// beat has members send heartbeats until nothing is wrong.
func (k *killing) beat(check func() error, members ...*heart) {
	k.t.Helper()
	eventually(k.t, "what is waited for comes", func() error {
		for _, h := range members {
			h.beat()
		}
		return check()
	})
}

// awaitThere waits until something comes.
func (k *killing) awaitThere(came <-chan struct{}, members ...*heart) {
	k.t.Helper()
	k.beat(func() error {
		select {
		case <-came:
			return nil
		default:
			return fmt.Errorf("it has not come:\n%s", k.child.said())
		}
	}, members...)
}

// newest is the last rebalance of the group by the sidecar that is killed.
func (k *killing) newest() (r api.Rebalance, err error) {
	address, err := k.child.address()
	if err != nil {
		return r, err
	}
	all := rebalances(k.t, address, k.group)
	if len(all) == 0 {
		return r, fmt.Errorf("there is no rebalance")
	}
	return all[len(all)-1], nil
}

// isOpen: three members are in a rebalance, and it is not over.
func (k *killing) isOpen() error {
	r, err := k.newest()
	if err == nil && (len(r.Members) != 3 || r.CompletedAt != nil || r.TargetAt == nil) {
		err = fmt.Errorf("%s", encode(k.t, r))
	}
	return err
}

func (k *killing) hasReached(h *heart) error {
	r, err := k.newest()
	if err != nil {
		return err
	}
	for _, m := range r.Members {
		if m.MemberID == h.state.MemberID && m.ReconciledAt != nil {
			return nil
		}
	}
	return fmt.Errorf("%s", encode(k.t, r))
}

// inLog says whether a member has reached the last epoch by the log.
func (k *killing) inLog(h *heart) error {
	all, err := k.tracing.log.bumps(k.group)
	if err != nil {
		return err
	}
	if m := all[len(all)-1].members[h.state.MemberID]; m == nil || m.reached == 0 {
		return fmt.Errorf("it has not")
	}
	return nil
}

// requireAll waits for the last request, and compares all there is with the log.
// Of the last two rebalances, which were exported as incomplete, it is given who
// had reached the epoch by then.
func (k *killing) requireAll(j *jaeger.Server, reached ...[]string) {
	all := k.over(k.t, k.group, 4)
	var want []*wantTrace
	spans := 0
	for i, b := range all {
		last := i - (len(all) - len(reached))
		if last >= 0 {
			want = append(want, b.incomplete(soon.Milliseconds(), reached[last]...), b.trace(completion))
			continue
		}
		w := b.trace(completion) // if the machine was slow
		if !sentOf(k.t, k.recorder, k.group).has(w) {
			w = b.trace("")
		}
		want = append(want, w)
	}
	eventually(k.t, "all was exported", func() error {
		got := sentOf(k.t, k.recorder, k.group)
		for _, w := range want {
			if !got.has(w) || !got.logs[w.id] {
				return fmt.Errorf("%s %s is missing", w.identity(), w.state)
			}
		}
		if n, err := metric(k.t, k.child, "kraftside_otlp_pending"); err != nil || n > 0 {
			return fmt.Errorf("%v are pending, %w", n, err)
		}
		return nil
	})
	shown, got := k.traces(k.t, j, k.group), sentOf(k.t, k.recorder, k.group)
	for _, w := range want {
		requireTrace(k.t, w, shown[w.id])
		require.Len(k.t, got.spans[w.id], len(w.spans), "spans that were sent")
		spans += len(w.spans)
	}
	require.Len(k.t, shown, len(got.spans))
	require.GreaterOrEqual(k.t, got.again, 3, "requests that came again")
	k.t.Logf("%d kills, %d rebalances in %d traces with %d distinct spans; %d requests came again, with the same bytes",
		k.kills, len(all), len(got.spans), spans, got.again)
}
