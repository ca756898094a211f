package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/test/bench/traffic"
	"github.com/kraftside/kraftside/test/realkafka"
)

// members is how many brokers the topics are on, of which nothing is there but
// their registration: so many logs would be too much for one machine.
const members = 30

// populate makes the groups' log on the broker that runs, then brokers that do
// not, topics on them, and groups.
func populate(ctx context.Context, cluster *realkafka.Cluster) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.Bootstrap()...))
	if err != nil {
		return err
	}
	defer client.Close()
	if _, err := kadm.NewClient(client).CreateTopic(ctx, 2, 1, nil, "read"); err != nil {
		return err
	}
	if err := joinGroups(ctx, client, 0, 1); err != nil { // which creates the groups' log
		return err
	}
	if err := registerBrokers(ctx, cluster); err != nil {
		return err
	}
	if err := createTopics(ctx, client); err != nil {
		return err
	}
	var running sync.WaitGroup
	failed := make(chan error, 8)
	for i := range cap(failed) {
		running.Go(func() { failed <- joinGroups(ctx, client, i, cap(failed)) })
	}
	running.Wait()
	close(failed)
	for one := range failed {
		err = errors.Join(err, one)
	}
	return err
}

func groupID(i int) string { return fmt.Sprintf("group-%d", i) }

// joinGroups has a member join every step-th group; with step 1, the first alone.
func joinGroups(ctx context.Context, client *kgo.Client, from, step int) error {
	last := *groups
	if step == 1 {
		last = 1
	}
	for i := from; i < last; i += step {
		if err := traffic.NewGroup(client, groupID(i), traffic.Topic{Name: "read"}).Join(ctx, "member"); err != nil {
			return err
		}
	}
	return nil
}

// registerBrokers tells the controller of brokers that are ready.
func registerBrokers(ctx context.Context, cluster *realkafka.Cluster) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ControllerBootstrap()...))
	if err != nil {
		return err
	}
	defer client.Close()
	controller := client.SeedBrokers()[0]
	for i := range int32(members) {
		q := kmsg.NewPtrBrokerRegistrationRequest()
		q.BrokerID, q.ClusterID, q.PreviousBrokerEpoch = 100+i, cluster.ID, -1
		q.IncarnationID, q.LogDirs = randomID(), [][16]byte{randomID()}
		q.Rack = new(fmt.Sprintf("rack-%d", i%3))
		q.Listeners = []kmsg.BrokerRegistrationRequestListener{{Name: "PLAINTEXT", Host: fmt.Sprintf("b%d.example", i), Port: 9092}}
		q.Features = features()
		got, err := controller.RetriableRequest(ctx, q)
		if err != nil {
			return err
		}
		r := got.(*kmsg.BrokerRegistrationResponse)
		if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
			return fmt.Errorf("register broker %d: %w", q.BrokerID, err)
		}
		beat := kmsg.NewPtrBrokerHeartbeatRequest()
		beat.BrokerID, beat.BrokerEpoch, beat.CurrentMetadataOffset, beat.WantFence = q.BrokerID, r.BrokerEpoch, 1<<40, false
		got, err = controller.RetriableRequest(ctx, beat)
		if err != nil {
			return err
		}
		if err := kerr.ErrorForCode(got.(*kmsg.BrokerHeartbeatResponse).ErrorCode); err != nil {
			return fmt.Errorf("heartbeat of broker %d: %w", q.BrokerID, err)
		}
	}
	return nil
}

// features are what brokers of any release support, and more.
func features() (all []kmsg.BrokerRegistrationRequestFeature) {
	for name, lowest := range map[string]int16{
		"metadata.version": 7, "kraft.version": 0, "group.version": 0, "transaction.version": 0, "share.version": 0, "streams.version": 0,
		"eligible.leader.replicas.version": 0,
	} {
		all = append(all, kmsg.BrokerRegistrationRequestFeature{Name: name, MinSupportedVersion: lowest, MaxSupportedVersion: 100})
	}
	return all
}

func randomID() (id [16]byte) {
	_, _ = rand.Read(id[:]) // it never fails
	return id
}

// createTopics creates topics on the brokers that do not run, 5,000 partitions at
// a time: the controller writes no more records in one go.
func createTopics(ctx context.Context, client *kgo.Client) error {
	atOnce := max(1, 5000 / *partitions)
	for from := 0; from < *topics; from += atOnce {
		q := kmsg.NewPtrCreateTopicsRequest()
		q.TimeoutMillis = 60_000
		for n := from; n < min(*topics, from+atOnce); n++ {
			q.Topics = append(q.Topics, newTopic(n))
		}
		r, err := q.RequestWith(ctx, client)
		if err != nil {
			return err
		}
		for _, t := range r.Topics {
			if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
				return fmt.Errorf("create %s: %w", t.Topic, err)
			}
		}
		fmt.Fprintf(os.Stderr, "\r%d of %d topics", min(*topics, from+atOnce), *topics)
	}
	fmt.Fprintln(os.Stderr)
	return nil
}

func newTopic(n int) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = fmt.Sprintf("topic-%d", n), -1, -1
	for p := range *partitions {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition = int32(p)
		for i := range 3 {
			a.Replicas = append(a.Replicas, int32(100+(n+p+i)%members))
		}
		t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	}
	return t
}
