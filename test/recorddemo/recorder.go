//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kraftside/kraftside/demo"
	"github.com/kraftside/kraftside/internal/pause"
	"github.com/kraftside/kraftside/test/realkafka"
)

const (
	pollInterval = 100 * time.Millisecond
	// effectTimeout bounds the wait for what a step sets off.
	effectTimeout = time.Minute
	// quiet is how long nothing may happen before a step is over: several heartbeats.
	quiet = 3 * time.Second
	// lead is the time between the beginning of a step and what is done in it. The records of a metadata batch all have the
	// time at which the controller began the batch, which may be before that of the request.
	lead = time.Second
)

// recorder plays the story on a cluster.
type recorder struct {
	start   time.Time
	cluster *realkafka.Cluster
	client  *kgo.Client
	members map[string]*member
	watcher *watcher
	steps   []demo.Step
}

func newRecorder(start time.Time, c *realkafka.Cluster) (*recorder, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(c.Bootstrap()...))
	return &recorder{start: start, cluster: c, client: client, members: make(map[string]*member)}, err
}

// close ends the clients, and with them the memberships, and the servers.
func (r *recorder) close() error {
	if r.watcher != nil {
		r.watcher.stop()
	}
	for client := range r.members {
		r.leaveGroup(client)
	}
	if r.client != nil {
		r.client.Close()
	}
	return r.cluster.Close()
}

// step begins a step. The first one began with the cluster.
func (r *recorder) step(text string) {
	at := time.Now()
	if len(r.steps) == 0 {
		at = r.start
	}
	r.steps = append(r.steps, demo.Step{At: at.UnixMilli(), Text: text})
	fmt.Printf("%4.0f s  %s\n", time.Since(r.start).Seconds(), text)
}

// effect does something and waits until the stored hashes of these groups are others than before, and until nothing
// more happens. If the hash of another group moved, the story is not the one that is told.
func (r *recorder) effect(ctx context.Context, do func() error, want ...string) error {
	if err := pause.For(ctx, lead); err != nil {
		return err
	}
	slices.Sort(want)
	before := r.watcher.snapshot()
	if err := do(); err != nil {
		return err
	}
	done := time.Now()
	err := r.poll(ctx, fmt.Sprintf("the hashes of %v to move", want), func() bool {
		return containsAll(moved(before, r.watcher.snapshot()), want) &&
			time.Since(done) >= quiet && time.Since(r.watcher.last()) >= quiet
	})
	if err != nil {
		return errors.Join(fmt.Errorf("%w; stored hashes: %v", err, r.watcher.snapshot()), r.watcher.err())
	}
	if moved := moved(before, r.watcher.snapshot()); !slices.Equal(moved, want) {
		return fmt.Errorf("the hashes of %v moved, not those of %v", moved, want)
	}
	return nil
}

func containsAll(list, want []string) bool {
	return !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(list, w) })
}

// moved lists the groups whose hash is another one, in their order.
func moved(before, after map[string]stored) (groups []string) {
	for group, now := range after {
		if now.hash != before[group].hash {
			groups = append(groups, group)
		}
	}
	slices.Sort(groups)
	return groups
}

func (r *recorder) poll(ctx context.Context, what string, done func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, effectTimeout)
	defer cancel()
	for !done() {
		if err := pause.For(ctx, pollInterval); err != nil {
			return fmt.Errorf("wait for %s: %w", what, err)
		}
	}
	return nil
}
