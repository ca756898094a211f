//go:build e2e && unix

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/test/jvm"
	"github.com/kraftside/kraftside/test/realkafka"
)

// world is a running cluster with everything that watches it.
type world struct {
	*realkafka.Cluster
	t      *testing.T // whose end is the cluster's
	client *kgo.Client
	admin  *kadm.Client
	hasher *jvm.Hasher // nil for 4.0, which has no hashes
	log    *coordinatorLog
	all    *beside // a sidecar of scope all
}

// newWorld starts a cluster and, beside it, a sidecar of scope all.
func newWorld(t *testing.T, config realkafka.Config) *world {
	properties := map[string]string{
		// Leaders move when a test says so.
		"auto.leader.rebalance.enable": "false",
	}
	for key, value := range config.Properties {
		properties[key] = value
	}
	config.Properties = properties
	begin := time.Now()
	w := &world{t: t, Cluster: realkafka.Start(t, config)}
	t.Logf("Kafka %s started in %.1f s", w.Version(), time.Since(begin).Seconds())
	var err error
	w.client, err = kgo.NewClient(kgo.SeedBrokers(w.Bootstrap()...), kgo.MetadataMinAge(100*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(w.client.Close)
	w.admin = kadm.NewClient(w.client)
	if !w.is("4.0") {
		w.hasher, err = jvm.NewHasher(context.WithoutCancel(t.Context()), w.Version())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, w.hasher.Close()) })
	}
	w.log = readCoordinatorLog(t, w.Cluster)
	w.all = w.sidecar("all", t.TempDir())
	return w
}

// is says whether the release is one of a line of releases, such as 4.1.
func (w *world) is(line string) bool { return strings.HasPrefix(w.Version(), line+".") }

// create creates a topic whose partitions have the given replicas.
func (w *world) create(t testing.TB, topic string, replicas ...[]int32) {
	t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(patience.Milliseconds())
	one := kmsg.NewCreateTopicsRequestTopic()
	one.Topic, one.NumPartitions, one.ReplicationFactor = topic, -1, -1
	for i, r := range replicas {
		p := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		p.Partition, p.Replicas = int32(i), r
		one.ReplicaAssignment = append(one.ReplicaAssignment, p)
	}
	req.Topics = append(req.Topics, one)
	resp, err := req.RequestWith(within(t), w.client)
	require.NoError(t, err)
	require.NoError(t, kerr.ErrorForCode(resp.Topics[0].ErrorCode), "create %s", topic)
}

func (w *world) delete(t testing.TB, topics ...string) {
	t.Helper()
	r, err := w.admin.DeleteTopics(within(t), topics...)
	require.NoError(t, err)
	require.NoError(t, r.Error())
}

// addPartition gives a topic one more partition with the given replicas.
func (w *world) addPartition(t testing.TB, topic string, replicas ...int32) {
	t.Helper()
	existing, err := w.admin.ListTopics(within(t), topic)
	require.NoError(t, err)
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.TimeoutMillis = int32(patience.Milliseconds())
	one := kmsg.NewCreatePartitionsRequestTopic()
	one.Topic, one.Count = topic, int32(len(existing[topic].Partitions)+1)
	one.Assignment = []kmsg.CreatePartitionsRequestTopicAssignment{{Replicas: replicas}}
	req.Topics = append(req.Topics, one)
	resp, err := req.RequestWith(within(t), w.client)
	require.NoError(t, err)
	require.NoError(t, kerr.ErrorForCode(resp.Topics[0].ErrorCode), "add a partition to %s", topic)
}

// reassign gives a partition other replicas, and does not wait until it has them.
func (w *world) reassign(t testing.TB, topic string, partition int32, replicas ...int32) {
	t.Helper()
	var req kadm.AlterPartitionAssignmentsReq
	req.Assign(topic, partition, replicas)
	r, err := w.admin.AlterPartitionAssignments(within(t), req)
	require.NoError(t, err)
	require.NoError(t, r.Error())
}

// electPreferred makes the first replica of a partition its leader.
func (w *world) electPreferred(t testing.TB, topic string, partition int32) {
	t.Helper()
	var set kadm.TopicsSet
	set.Add(topic, partition)
	r, err := w.admin.ElectLeaders(within(t), kadm.ElectPreferredReplica, set)
	require.NoError(t, err)
	if err := r[topic][partition].Err; err != nil {
		require.ErrorIs(t, err, kerr.ElectionNotNeeded)
	}
}

// leader asks which broker leads a partition.
func (w *world) leader(t testing.TB, topic string, partition int32) int32 {
	t.Helper()
	topics, err := w.admin.ListTopics(within(t), topic)
	require.NoError(t, err)
	require.NoError(t, topics[topic].Err)
	return topics[topic].Partitions[partition].Leader
}

// moveCoordinator makes another broker the coordinator of a partition's groups
// and returns it. Nothing but the partition of __consumer_offsets is touched.
func (w *world) moveCoordinator(t testing.TB, partition int32) int32 {
	t.Helper()
	topics, err := w.admin.ListTopics(within(t), kafka.OffsetsTopic)
	require.NoError(t, err)
	p := topics[kafka.OffsetsTopic].Partitions[partition]
	require.NoError(t, p.Err)
	at := slices.IndexFunc(p.ISR, func(id int32) bool { return id != p.Leader })
	require.GreaterOrEqual(t, at, 0, "another replica in sync: %+v", p)
	// Only the replicas that are in sync: another may be unregistered.
	w.coordinateAt(t, partition, p.ISR[at], p.ISR)
	return p.ISR[at]
}

// coordinateAt makes one of the replicas of a partition of __consumer_offsets
// its leader.
func (w *world) coordinateAt(t testing.TB, partition, broker int32, replicas []int32) {
	t.Helper()
	others := slices.DeleteFunc(slices.Clone(replicas), func(id int32) bool { return id == broker })
	w.reassign(t, kafka.OffsetsTopic, partition, append([]int32{broker}, others...)...)
	eventually(t, "the coordinator moves", func() error {
		w.electPreferred(t, kafka.OffsetsTopic, partition)
		if at := w.leader(t, kafka.OffsetsTopic, partition); at != broker {
			return fmt.Errorf("broker %d leads, not %d", at, broker)
		}
		return nil
	})
}

// awaitReplicas gives a partition of __consumer_offsets a replica on every
// broker and waits until all are in sync.
func (w *world) awaitReplicas(t testing.TB, partition int32) {
	t.Helper()
	leader := w.leader(t, kafka.OffsetsTopic, partition)
	others := slices.DeleteFunc(w.BrokerIDs(), func(id int32) bool { return id == leader })
	w.reassign(t, kafka.OffsetsTopic, partition, append([]int32{leader}, others...)...)
	eventually(t, "all replicas are in sync", func() error {
		topics, err := w.admin.ListTopics(within(t), kafka.OffsetsTopic)
		if err != nil {
			return err
		}
		if isr := topics[kafka.OffsetsTopic].Partitions[partition].ISR; len(isr) != len(w.BrokerIDs()) {
			return fmt.Errorf("in sync are %v", isr)
		}
		return nil
	})
}

// configureGroup makes the group notice soon that a member is gone. A sidecar
// cannot know what a broker's file says of that.
func (w *world) configureGroup(t testing.TB, kind, group string) {
	t.Helper()
	w.alterConfig(t, kmsg.ConfigResourceTypeGroupConfig, group, map[string]string{
		kind + ".session.timeout.ms":    fmt.Sprint(session.Milliseconds()),
		kind + ".heartbeat.interval.ms": fmt.Sprint(heartbeat.Milliseconds()),
	})
}

const (
	heartbeat = 500 * time.Millisecond
	session   = 6 * time.Second
)

func (w *world) alterConfig(t testing.TB, kind kmsg.ConfigResourceType, name string, values map[string]string) {
	t.Helper()
	one := kmsg.NewIncrementalAlterConfigsRequestResource()
	one.ResourceType, one.ResourceName = kind, name
	for key, value := range values {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Value = key, kmsg.StringPtr(value)
		if value == "" {
			c.Op, c.Value = kmsg.IncrementalAlterConfigOpDelete, nil
		}
		one.Configs = append(one.Configs, c)
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = append(req.Resources, one)
	resp, err := req.RequestWith(within(t), w.client)
	require.NoError(t, err)
	r := resp.Resources[0]
	message := ""
	if r.ErrorMessage != nil {
		message = *r.ErrorMessage
	}
	require.NoError(t, kerr.ErrorForCode(r.ErrorCode), "configure %s: %s", name, message)
}

// racks asks a broker for the rack of every registered broker, fenced ones
// included; nil is no rack.
func (w *world) racks(ctx context.Context) (map[int32]*string, error) {
	req := kmsg.NewPtrDescribeClusterRequest()
	req.EndpointType, req.IncludeFencedBrokers = 1, true
	resp, err := req.RequestWith(ctx, w.client)
	if err != nil {
		return nil, err
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, err
	}
	racks := map[int32]*string{}
	for _, b := range resp.Brokers {
		racks[b.NodeID] = b.Rack
	}
	return racks, nil
}

// expected is the hash that Kafka's own classes give a group that subscribes
// to the topics, by what a broker says of topics and racks now.
func (w *world) expected(ctx context.Context, topics []string) (int64, error) {
	hashes := map[string]int64{}
	if len(topics) > 0 {
		racks, err := w.racks(ctx)
		if err != nil {
			return 0, err
		}
		details, err := w.admin.ListTopics(ctx, topics...)
		if err != nil {
			return 0, err
		}
		for name, d := range details {
			if d.Err == kerr.UnknownTopicOrPartition {
				continue // is no part of the hash
			}
			if d.Err != nil {
				return 0, d.Err
			}
			if hashes[name], err = w.hasher.Topic(name, kafka.TopicID(d.ID), racksOf(d, racks)); err != nil {
				return 0, err
			}
		}
	}
	return w.hasher.Group(hashes)
}

// racksOf lists the racks of each partition's replicas. A broker that is not
// registered, or has no rack, has none.
func racksOf(d kadm.TopicDetail, racks map[int32]*string) [][]*string {
	out := make([][]*string, len(d.Partitions))
	for number, p := range d.Partitions {
		for _, id := range p.Replicas {
			out[number] = append(out[number], racks[id])
		}
	}
	return out
}
