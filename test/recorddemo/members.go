//go:build unix

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kraftside/kraftside/test/realkafka"
)

// member is a member of a group that kgo speaks for.
type member struct {
	client *kgo.Client
	polled chan struct{} // closed when nobody polls any more
}

// consumer are the options of a member of a consumer group (KIP-848).
func consumer(group string, topics ...string) []kgo.Opt {
	return []kgo.Opt{
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(topics...),
		kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()),
	}
}

// metadataAge is how soon a member sees a new topic. One of a regular expression does not join before it sees a match.
const metadataAge = time.Second

// consume starts a member, which polls until it leaves.
func (r *recorder) consume(client string, opts ...kgo.Opt) error {
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(r.cluster.Bootstrap()...), kgo.ClientID(client),
		kgo.MetadataMinAge(metadataAge/2), kgo.MetadataMaxAge(metadataAge))...)
	if err != nil {
		return err
	}
	m := &member{client: cl, polled: make(chan struct{})}
	r.members[client] = m
	go func() {
		defer close(m.polled)
		for !cl.PollFetches(context.Background()).IsClientClosed() {
		}
	}()
	return nil
}

// leaveGroup ends a member, which leaves its group.
func (r *recorder) leaveGroup(client string) {
	m := r.members[client]
	delete(r.members, client)
	m.client.Close()
	<-m.polled
}

// startStreams starts the member of loyalty, a Java program, and waits until its topology is set up. The program ends
// with the cluster.
func (r *recorder) startStreams(ctx context.Context) error {
	m, err := r.cluster.NewStreamsMember(ctx, loyalty, "loyalty-1")
	if err != nil {
		return err
	}
	if err := m.Start(realkafka.Count, points, customers); err != nil {
		return err
	}
	var state string
	if poll := r.poll(ctx, "loyalty to run", func() bool {
		state, err = m.State()
		return err != nil || state == "RUNNING"
	}); poll != nil {
		return fmt.Errorf("%w: it is %s", poll, state)
	}
	return err
}

// produce writes a few records to each topic, so that the groups have something to commit.
func (r *recorder) produce(ctx context.Context, topics ...string) error {
	var records []*kgo.Record
	for _, topic := range topics {
		for i := range 10 {
			records = append(records, &kgo.Record{Topic: topic, Key: fmt.Append(nil, i), Value: fmt.Appendf(nil, "%s %d", topic, i)})
		}
	}
	return r.client.ProduceSync(ctx, records...).FirstErr()
}
