// Command restart measures how long a sidecar whose store holds a large cluster
// takes from the start of its process until /readyz answers 200 and the newest
// topic is there, with the defaults of run, the pace at which it asks
// controllers included.
//
//	go run ./test/bench/restart [-topics 100000] [-runs 5]
//
// The sidecar is the real program, with its store on disk and its connections on
// loopback. The quorum is simulated: three controllers, of which the one that is
// asked first does not lead. So are the brokers, whose __consumer_offsets is
// empty. A first run, which is not measured, fills the store from the quorum's
// log. Before each of the others one batch is added to the log, to be caught up
// with. What the last run has is counted, which no run before it can have lost.
// The store's files are in the page cache, as they are where only the process
// starts again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"
)

func main() {
	topics := flag.Int("topics", 100_000, "how many topics the store holds, of ten partitions each")
	runs := flag.Int("runs", 5, "how often a restart is measured")
	flag.Parse()
	if err := measure(context.Background(), max(1, *topics), max(1, *runs)); err != nil {
		fmt.Fprintln(os.Stderr, "restart:", err)
		os.Exit(1)
	}
}

// progress tells whoever waits; figures go to standard output.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func measure(ctx context.Context, topics, runs int) error {
	dir, err := os.MkdirTemp("", "kraftside-restart-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := build(ctx, dir)
	if err != nil {
		return err
	}
	progress("making the log of %d topics", topics)
	c, err := newCluster(topics)
	if err != nil {
		return err
	}
	defer c.close()
	progress("filling the store")
	r, err := once(ctx, p, c, false)
	if err != nil {
		return fmt.Errorf("fill the store: %w", err)
	}
	progress("filled in %s", r.ready.Round(time.Millisecond))
	return restarts(ctx, p, c, runs)
}

// restarts prints the figures of each run, and the median.
func restarts(ctx context.Context, p program, c *cluster, runs int) error {
	var all []time.Duration
	for n := 1; n <= runs; n++ {
		if err := c.addTopic(fmt.Sprintf("late-%d", n)); err != nil {
			return err
		}
		r, err := once(ctx, p, c, n == runs)
		if err != nil {
			return fmt.Errorf("run %d: %w", n, err)
		}
		all = append(all, r.ready)
		fmt.Printf("run %d: ready after %4.0f ms", n, milliseconds(r.ready))
		for i, seen := range r.seen {
			fmt.Printf("; controller %d saw %d requests, %d connections", i+1, seen.requests, seen.connections)
		}
		fmt.Println()
	}
	slices.Sort(all)
	fmt.Printf("median: %.0f ms, with %d topics in the end\n", milliseconds(all[len(all)/2]), c.topics)
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// run is one life of the sidecar, up to when it was ready.
type run struct {
	ready time.Duration
	seen  []seen // by each controller
}

// once starts the sidecar, waits until it is ready, and stops it. Before that
// its topics are counted, if they are to be.
func once(ctx context.Context, p program, c *cluster, count bool) (r run, err error) {
	before, begin := c.seen(), time.Now()
	s, err := p.start(ctx, c)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	if err := await(ctx, s, c.newest); err != nil {
		return r, err
	}
	r.ready = time.Since(begin)
	for i, now := range c.seen() {
		r.seen = append(r.seen, seen{now.requests - before[i].requests, now.connections - before[i].connections})
	}
	if count {
		progress("counting its topics")
		err = holds(ctx, s, c.topics)
	}
	return r, err
}
