//go:build unix

package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/pause"
	"github.com/kraftside/kraftside/test/realkafka"
)

const offsetsPartitions = 4

// topic is a topic with the replicas of its partitions, preferred leaders first.
type topic struct {
	name     string
	replicas [][]int32
}

// createTopic creates a topic on chosen brokers, which kadm does not offer.
func (r *recorder) createTopic(ctx context.Context, t topic) error {
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = t.name, -1, -1
	for i, replicas := range t.replicas {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = int32(i), replicas
		rt.ReplicaAssignment = append(rt.ReplicaAssignment, a)
	}
	if t.name == kafka.OffsetsTopic {
		// What a broker gives the topic when the first group makes it create it.
		for name, value := range map[string]string{"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"} {
			c := kmsg.NewCreateTopicsRequestTopicConfig()
			c.Name, c.Value = name, kmsg.StringPtr(value)
			rt.Configs = append(rt.Configs, c)
		}
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, r.client)
	if err != nil {
		return fmt.Errorf("create topic %s: %w", t.name, err)
	}
	if err := kerr.ErrorForCode(resp.Topics[0].ErrorCode); err != nil {
		return fmt.Errorf("create topic %s: %w", t.name, err)
	}
	return nil
}

// awaitTopics waits until every broker knows the topics, and a bit: a coordinator is told of them last. A member that joined
// before that would get a hash of topics that do not exist yet.
func (r *recorder) awaitTopics(ctx context.Context, names ...string) error {
	for _, id := range r.cluster.BrokerIDs() {
		broker, err := kgo.NewClient(kgo.SeedBrokers(r.cluster.Address(id)))
		if err != nil {
			return err
		}
		defer broker.Close()
		req := kmsg.NewPtrMetadataRequest()
		for _, name := range names {
			t := kmsg.NewMetadataRequestTopic()
			t.Topic = kmsg.StringPtr(name)
			req.Topics = append(req.Topics, t)
		}
		if err := r.poll(ctx, fmt.Sprintf("broker %d to know the topics", id), func() bool {
			resp, err := broker.SeedBrokers()[0].Request(ctx, req)
			return err == nil && !slices.ContainsFunc(resp.(*kmsg.MetadataResponse).Topics, func(t kmsg.MetadataResponseTopic) bool { return t.ErrorCode != 0 })
		}); err != nil {
			return err
		}
	}
	return pause.For(ctx, quiet)
}

// createPartition adds a partition to a topic of which it will be the count-th.
func (r *recorder) createPartition(ctx context.Context, name string, count int32, replicas []int32) error {
	a := kmsg.NewCreatePartitionsRequestTopicAssignment()
	a.Replicas = replicas
	rt := kmsg.NewCreatePartitionsRequestTopic()
	rt.Topic, rt.Count, rt.Assignment = name, count, append(rt.Assignment, a)
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, r.client)
	if err != nil {
		return fmt.Errorf("add a partition to %s: %w", name, err)
	}
	if err := kerr.ErrorForCode(resp.Topics[0].ErrorCode); err != nil {
		return fmt.Errorf("add a partition to %s: %w", name, err)
	}
	return nil
}

func (r *recorder) deleteTopic(ctx context.Context, name string) error {
	deleted, err := kadm.NewClient(r.client).DeleteTopic(ctx, name)
	if err == nil {
		err = deleted.Err
	}
	return err
}

// electPreferred gives the partitions of the topics back to the first of their replicas.
func (r *recorder) electPreferred(ctx context.Context, topics ...string) error {
	admin := kadm.NewClient(r.client)
	details, err := admin.ListTopics(ctx, topics...)
	if err != nil {
		return err
	}
	var partitions kadm.TopicsSet
	for _, t := range details {
		for _, p := range t.Partitions {
			if p.Leader != p.Replicas[0] {
				partitions.Add(t.Topic, p.Partition)
			}
		}
	}
	results, err := admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, partitions)
	if err != nil {
		return err
	}
	for topic, partitions := range results {
		for partition, result := range partitions {
			if result.Err != nil {
				return fmt.Errorf("elect the leader of %s-%d: %w", topic, partition, result.Err)
			}
		}
	}
	return nil
}

// restart stops a broker in the orderly way and starts it again.
func (r *recorder) restart(id int32, options ...realkafka.StartOption) error {
	if err := r.cluster.StopBroker(id); err != nil {
		return err
	}
	return r.cluster.StartBroker(id, options...)
}
