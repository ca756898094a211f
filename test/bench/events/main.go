// Command events measures how long it takes from the record that raises a
// group's epoch to its explanation at another process, by /v1/events, while
// other groups commit offsets.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kraftside/kraftside/test/bench/process"
	"github.com/kraftside/kraftside/test/bench/traffic"
	"github.com/kraftside/kraftside/test/realkafka"
)

var (
	bumps   = flag.Int("bumps", 300, "how many rebalances to bring about")
	every   = flag.Duration("every", 100*time.Millisecond, "the time between two of them")
	commits = flag.Int("commits", 1000, "offset commits a second beside them")
)

func main() {
	flag.Parse()
	if err := measure(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "events:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "kraftside-events-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cluster, err := realkafka.Run(filepath.Join(dir, "kafka"), realkafka.Config{Controllers: 1, Brokers: 1})
	if err != nil {
		return err
	}
	defer cluster.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.Bootstrap()...))
	if err != nil {
		return err
	}
	defer client.Close()
	created, err := kadm.NewClient(client).CreateTopic(ctx, 4, 1, nil, "orders")
	if err != nil {
		return err
	}
	topic := traffic.Topic{Name: created.Topic, ID: created.ID}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := startCommits(ctx, client, topic, *commits)
	sidecar, err := startSidecar(ctx, dir, cluster)
	if err != nil {
		return err
	}
	return errors.Join(follow(ctx, sidecar, traffic.NewGroup(client, "rebalancing", topic), c), sidecar.Stop())
}

// startSidecar starts one, and waits until it is ready.
func startSidecar(ctx context.Context, dir string, cluster *realkafka.Cluster) (*process.Sidecar, error) {
	binary, err := process.Build(ctx, dir)
	if err != nil {
		return nil, err
	}
	flags := process.Kafka(cluster.Bootstrap(), cluster.ControllerBootstrap())
	sidecar, err := process.Start(ctx, binary, append(flags, "--store.dir", filepath.Join(dir, "store"))...)
	if err != nil {
		return nil, err
	}
	if err := sidecar.Await(ctx, time.Minute, 100*time.Millisecond, "/readyz"); err != nil {
		return nil, errors.Join(err, sidecar.Stop())
	}
	return sidecar, nil
}

// follow measures beside a sidecar that is ready.
func follow(ctx context.Context, sidecar *process.Sidecar, group *traffic.Group, c *committing) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // which ends the stream, so that the sidecar need not wait for it
	arrivals, err := listen(ctx, sidecar.HTTP)
	if err != nil {
		return err
	}
	return load(ctx, group, c, arrivals)
}

// load brings about rebalances beside the commits, and prints how long each took to
// arrive.
func load(ctx context.Context, group *traffic.Group, c *committing, arrivals <-chan arrival) error {
	start := time.Now()
	c.done.Store(0)
	var rebalancing sync.WaitGroup
	failed := make(chan error, 1)
	rebalancing.Go(func() { failed <- rebalance(ctx, group, *bumps, *every) })
	var took []time.Duration
	for late := time.NewTimer(time.Duration(*bumps)**every + 30*time.Second); len(took) < *bumps; {
		select {
		case a, more := <-arrivals:
			if !more {
				return errors.New("the stream of events has ended")
			}
			took = append(took, a.took)
		case <-late.C:
			return fmt.Errorf("%d of %d rebalances have arrived", len(took), *bumps)
		}
	}
	rate := float64(c.done.Load()) / time.Since(start).Seconds()
	rebalancing.Wait()
	if err := errors.Join(<-failed, c.err()); err != nil {
		return err
	}
	slices.Sort(took)
	at := func(percent int) time.Duration { return took[(len(took)-1)*percent/100] }
	fmt.Printf("%d rebalances beside %.0f offset commits/s: median %v, 90%% %v, 99%% %v, last %v\n",
		len(took), rate, at(50), at(90), at(99), at(100))
	return nil
}
