package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kraftside/kraftside/test/bench/traffic"
)

// committers have a group each, and commit one offset after the other.
const committers = 20

// committing is commits under way.
type committing struct {
	done   atomic.Int64
	mu     sync.Mutex
	failed error
}

func (c *committing) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// startCommits commits so many offsets a second until ctx ends.
func startCommits(ctx context.Context, client *kgo.Client, topic traffic.Topic, perSecond int) *committing {
	c := new(committing)
	topic.Partitions = 1 // each request commits one offset
	for n := range committers {
		group := traffic.NewGroup(client, fmt.Sprintf("commits-%d", n), topic)
		go c.run(ctx, group, time.Second*committers/time.Duration(perSecond))
	}
	return c
}

func (c *committing) run(ctx context.Context, group *traffic.Group, every time.Duration) {
	next := time.NewTicker(every)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		if err := group.Commit(ctx); err != nil && ctx.Err() == nil {
			c.mu.Lock()
			c.failed = err
			c.mu.Unlock()
			return
		}
		c.done.Add(1)
	}
}

// rebalance has a member join a group again and again, and leave it: each time
// its epoch is raised.
func rebalance(ctx context.Context, group *traffic.Group, times int, every time.Duration) error {
	next := time.NewTicker(every)
	defer next.Stop()
	for n := range times {
		<-next.C
		step := group.Join
		if n%2 == 1 {
			step = group.Leave
		}
		if err := step(ctx, "member"); err != nil {
			return err
		}
	}
	return nil
}
