//go:build unix

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/pause"
	"github.com/kraftside/kraftside/test/realkafka"
)

// The groups of the story. Their ids decide the partition of __consumer_offsets: 0 for mailer, 1 for payments, 3 for
// reports, 2 for the others.
const (
	payments   = "payments"   // consumer: orders, returns
	archive    = "archive"    // consumer: whatever has orders in its name
	mailer     = "mailer"     // consumer: customers
	fulfilment = "fulfilment" // share: orders
	loyalty    = "loyalty"    // streams: customers, and the internal topics of a count
	reports    = "reports"    // classic: orders
)

// The topics. Broker 3 has no replica of the first two.
const (
	orders    = "orders"
	customers = "customers"
	returns   = "returns"
	points    = "points" // what loyalty writes
	ordersEU  = "orders-eu"
)

// unnoticed is longer than the time that a coordinator may take to notice a change, as the verdicts reckon it.
const unnoticed = 50 * time.Second

// story plays it all.
func (r *recorder) story(ctx context.Context) error {
	for _, part := range []func(context.Context) error{
		r.create, r.join, r.moveRack, r.electLeaders, r.unregister, r.moveCoordinator, r.addPartition, r.matchRegex,
		r.recreate, r.leave,
	} {
		if err := part(ctx); err != nil {
			return fmt.Errorf("%s: %w", r.steps[len(r.steps)-1].Text, err)
		}
	}
	return nil
}

// create makes the topics. It places __consumer_offsets too: broker 3 coordinates payments and reports, broker 2 the
// other groups.
func (r *recorder) create(ctx context.Context) error {
	r.step("A new cluster: brokers 1, 2 and 3, in rack-1, rack-2 and rack-3")
	for _, t := range []topic{
		{kafka.OffsetsTopic, [][]int32{{2, 3, 1}, {3, 2, 1}, {2, 3, 1}, {3, 2, 1}}},
		{orders, [][]int32{{1, 2}, {2, 1}, {1, 2}}},
		{customers, [][]int32{{2, 1}, {1, 2}}},
		{returns, [][]int32{{2, 3}}},
		{points, [][]int32{{3, 2}}},
	} {
		if err := r.createTopic(ctx, t); err != nil {
			return err
		}
	}
	if err := r.awaitTopics(ctx, kafka.OffsetsTopic, orders, customers, returns, points); err != nil {
		return err
	}
	return r.watch()
}

func (r *recorder) join(ctx context.Context) error {
	r.step("Groups join: payments, archive and mailer (consumer), fulfilment (share), loyalty (streams), reports (classic)")
	return r.effect(ctx, func() error {
		for _, m := range []struct {
			client string
			opts   []kgo.Opt
		}{
			{"payments-1", consumer(payments, orders, returns)},
			{"payments-2", consumer(payments, orders, returns)},
			{"archive-1", append(consumer(archive, orders), kgo.ConsumeRegex())},
			{"mailer-1", consumer(mailer, customers)},
			{"fulfilment-1", []kgo.Opt{kgo.ShareGroup(fulfilment), kgo.ConsumeTopics(orders)}},
			{"reports-1", []kgo.Opt{kgo.ConsumerGroup(reports), kgo.ConsumeTopics(orders)}},
		} {
			if err := r.consume(m.client, m.opts...); err != nil {
				return err
			}
		}
		if err := r.startStreams(ctx); err != nil {
			return err
		}
		return r.produce(ctx, orders, customers)
	}, payments, archive, mailer, fulfilment, loyalty)
}

func (r *recorder) moveRack(ctx context.Context) error {
	r.step("Broker 2 restarts and comes back in rack-9")
	return r.effect(ctx, func() error { return r.restart(2, realkafka.WithRack("rack-9")) },
		payments, archive, mailer, fulfilment, loyalty)
}

func (r *recorder) electLeaders(ctx context.Context) error {
	r.step("Broker 2 gets its leaderships back, and with them its groups: nothing rebalances")
	return r.effect(ctx, func() error { return r.electPreferred(ctx, kafka.OffsetsTopic, orders, customers) })
}

// unregister makes hashes stale: no record touches a topic once the registration is gone.
func (r *recorder) unregister(ctx context.Context) error {
	r.step("Broker 1 stops and is unregistered: the racks of orders and customers change, and no coordinator notices")
	err := r.effect(ctx, func() error {
		if err := r.cluster.StopBroker(1); err != nil {
			return err
		}
		return r.cluster.UnregisterBroker(ctx, 1)
	})
	if err != nil {
		return err
	}
	return r.effect(ctx, func() error { return pause.For(ctx, unnoticed) })
}

// moveCoordinator moves the coordinator of payments to broker 2, and touches internal topics of loyalty on the way,
// but not customers.
func (r *recorder) moveCoordinator(ctx context.Context) error {
	r.step("Broker 3 restarts in the same rack: it has no replica of orders or customers, but it coordinates payments")
	return r.effect(ctx, func() error { return r.restart(3) }, payments, loyalty)
}

func (r *recorder) addPartition(ctx context.Context) error {
	r.step("Topic orders gets a fourth partition")
	return r.effect(ctx, func() error { return r.createPartition(ctx, orders, 4, []int32{2, 3}) },
		payments, archive, fulfilment)
}

func (r *recorder) matchRegex(ctx context.Context) error {
	r.step("Topic orders-eu is created: the regular expression of archive matches it")
	return r.effect(ctx, func() error { return r.createTopic(ctx, topic{ordersEU, [][]int32{{3, 2}, {2, 3}}}) }, archive)
}

func (r *recorder) recreate(ctx context.Context) error {
	r.step("Topic returns is deleted, and created again under the same name")
	err := r.effect(ctx, func() error { return r.deleteTopic(ctx, returns) }, payments)
	if err != nil {
		return err
	}
	return r.effect(ctx, func() error { return r.createTopic(ctx, topic{returns, [][]int32{{2, 3}}}) }, payments)
}

func (r *recorder) leave(ctx context.Context) error {
	r.step("One of the two members of payments leaves")
	before := r.watcher.snapshot()
	return r.effect(ctx, func() error { // on the epoch, not on the hash
		r.leaveGroup("payments-2")
		return r.poll(ctx, "payments to bump its epoch", func() bool {
			return r.watcher.snapshot()[payments].epoch > before[payments].epoch
		})
	})
}
