package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/kraftside/kraftside/test/bench/traffic"
)

const (
	topics     = 50
	partitions = 6 // of each
	// atOnce is how many requests of one kind are under way at most.
	atOnce = 16
)

// load is what the groups do.
type load struct {
	groups  []*group
	commits atomic.Int64
}

// group is one whose rebalances are one at a time.
type group struct {
	*traffic.Group
	rebalancing sync.Mutex
}

// populate creates topics, and groups whose members have what they are to get.
func populate(ctx context.Context, client *kgo.Client, n int) (*load, error) {
	var names []string
	for i := range topics {
		names = append(names, fmt.Sprintf("topic-%d", i))
	}
	created, err := kadm.NewClient(client).CreateTopics(ctx, partitions, 1, nil, names...)
	if err == nil {
		err = created.Error()
	}
	if err != nil {
		return nil, err
	}
	l := &load{}
	for i := range n {
		t := created[names[i%topics]]
		topic := traffic.Topic{Name: t.Topic, ID: t.ID, Partitions: partitions}
		l.groups = append(l.groups, &group{Group: traffic.NewGroup(client, fmt.Sprintf("group-%d", i), topic)})
	}
	progress("%d groups join", n)
	// The first alone, which creates the groups' log.
	if err := join(ctx, l.groups[0]); err != nil {
		return nil, err
	}
	joining, ctx := errgroup.WithContext(ctx)
	joining.SetLimit(atOnce)
	for _, g := range l.groups[1:] {
		joining.Go(func() error { return join(ctx, g) })
	}
	return l, joining.Wait()
}

func memberID(i int) string { return fmt.Sprintf("member-%d", i) }

func join(ctx context.Context, g *group) error {
	for i := range *members {
		if err := g.Join(ctx, memberID(i)); err != nil {
			return err
		}
	}
	return g.Settle(ctx)
}

// start has the groups commit and rebalance until ctx ends. What it returns waits for
// that, and says what failed.
func (l *load) start(ctx context.Context) (stopped func() error) {
	var running sync.WaitGroup
	failed := make(chan error, 2)
	for _, work := range []struct {
		every time.Duration
		do    func(context.Context, *group) error
	}{
		{*commitEvery, l.commit},
		{*rebalanceEvery, rebalance},
	} {
		running.Go(func() { failed <- l.each(ctx, work.every, work.do) })
	}
	return func() error {
		running.Wait()
		return errors.Join(<-failed, <-failed)
	}
}

// each does something to one group after the other, to each once in the time given.
// If the broker is too slow for that, the groups wait. What is begun when ctx ends is
// done to its end, so that each group is then as it was.
func (l *load) each(ctx context.Context, every time.Duration, do func(context.Context, *group) error) error {
	doing, failing := errgroup.WithContext(ctx)
	doing.SetLimit(atOnce)
	pause := every / time.Duration(len(l.groups))
	for i, next := 0, time.Now(); failing.Err() == nil; i++ {
		next = next.Add(pause)
		select {
		case <-failing.Done():
			continue
		case <-time.After(time.Until(next)):
		}
		doing.Go(func() error { return do(context.WithoutCancel(ctx), l.groups[i%len(l.groups)]) })
	}
	return doing.Wait()
}

func (l *load) commit(ctx context.Context, g *group) error {
	err := g.Commit(ctx)
	if err == nil {
		l.commits.Add(1)
	}
	return err
}

// rebalances has the groups rebalance n times, all together, in turn.
func (l *load) rebalances(ctx context.Context, n int) error {
	rebalancing, ctx := errgroup.WithContext(ctx)
	rebalancing.SetLimit(atOnce)
	for i := range (n + 1) / 2 {
		rebalancing.Go(func() error { return rebalance(ctx, l.groups[i%len(l.groups)]) })
	}
	return rebalancing.Wait()
}

// rebalance has a member leave and join again, which are two rebalances.
func rebalance(ctx context.Context, g *group) error {
	g.rebalancing.Lock()
	defer g.rebalancing.Unlock()
	last := memberID(*members - 1)
	if err := g.Leave(ctx, last); err != nil {
		return err
	}
	if err := g.Settle(ctx); err != nil {
		return err
	}
	if err := g.Join(ctx, last); err != nil {
		return err
	}
	return g.Settle(ctx)
}
