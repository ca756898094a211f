package metadatalog

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/kafka"
)

const testCluster = "a-cluster"

// brokers are three brokers, of which each answers ApiVersions with an offset
// of its own.
type brokers struct {
	*kfake.Cluster
	client  *kgo.Client
	applied [3]atomic.Int64
	quorum  atomic.Pointer[kmsg.DescribeQuorumResponse]
}

func startBrokers(t *testing.T) *brokers {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.ClusterID(testCluster))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	b := &brokers{Cluster: cluster}
	cluster.ControlKey(int16(kmsg.ApiVersions), func(req kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		return b.apiVersions(req.(*kmsg.ApiVersionsRequest)), nil, true
	})
	cluster.ControlKey(int16(kmsg.DescribeQuorum), func(req kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		resp := *b.quorum.Load()
		resp.SetVersion(req.GetVersion())
		return &resp, nil, true
	})
	b.client, err = kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.RequestRetries(0), kgo.DialTimeout(time.Second))
	require.NoError(t, err)
	t.Cleanup(b.client.Close)
	return b
}

func (b *brokers) apiVersions(req *kmsg.ApiVersionsRequest) *kmsg.ApiVersionsResponse {
	resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
	if req.ClientSoftwareName == "" || req.ClientSoftwareVersion == "" {
		resp.ErrorCode = kerr.InvalidRequest.Code
	}
	for _, key := range []kmsg.Key{kmsg.Metadata, kmsg.ApiVersions, kmsg.DescribeQuorum} {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MaxVersion = int16(key), 2
		if key == kmsg.ApiVersions {
			k.MaxVersion = 4
		} else if key == kmsg.Metadata {
			k.MaxVersion = 12
		}
		resp.ApiKeys = append(resp.ApiKeys, k)
	}
	resp.FinalizedFeaturesEpoch = b.applied[b.CurrentNode()].Load()
	return resp
}

func ask(t *testing.T, b Bound) (kafka.Offset, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return b.CommittedEnd(ctx)
}

func TestAppliedBoundAsksTheBrokerItself(t *testing.T) {
	b := startBrokers(t)
	for i := range b.applied {
		b.applied[i].Store(int64(100 * (i + 1)))
	}
	bound := &AppliedBound{Client: b.client, Node: 1, ClusterID: testCluster}
	for _, applied := range []int64{200, 207} {
		b.applied[1].Store(applied)
		end, err := ask(t, bound)
		require.NoError(t, err)
		require.Equal(t, kafka.Offset(applied+1), end, "the offset of the last record that was applied, exclusive")
	}
	b.applied[1].Store(-1)
	_, err := ask(t, bound)
	require.ErrorIs(t, err, errNothingApplied)
	require.ErrorContains(t, err, "broker 1")

	_, err = ask(t, &AppliedBound{Client: b.client, Node: 7, ClusterID: testCluster})
	require.ErrorContains(t, err, "broker 7")

	_, err = ask(t, &AppliedBound{Client: b.client, Node: 1, ClusterID: "another"})
	kind, _ := classifyBound(err)
	require.Equal(t, WrongCluster, kind)
}

func TestAppliedBoundOfABrokerThatIsAway(t *testing.T) {
	b := startBrokers(t)
	bound := &AppliedBound{Client: b.client, Node: 1}
	b.applied[1].Store(5)
	_, err := ask(t, bound)
	require.NoError(t, err)
	b.Close()
	_, err = ask(t, bound)
	require.Error(t, err)
	kind, advice := classifyBound(err)
	require.Equal(t, Unreachable, kind)
	require.NotEmpty(t, advice)
}

func replica(id int32, directory byte, end int64) kmsg.DescribeQuorumResponseTopicPartitionReplicaState {
	r := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
	r.ReplicaID, r.LogEndOffset, r.ReplicaDirectoryID = id, end, kafka.UUID{15: directory}
	return r
}

func (b *brokers) answer(change func(*kmsg.DescribeQuorumResponse, *kmsg.DescribeQuorumResponseTopicPartition)) {
	resp := kmsg.NewPtrDescribeQuorumResponse()
	p := kmsg.NewDescribeQuorumResponseTopicPartition()
	p.HighWatermark = 100
	p.CurrentVoters = append(p.CurrentVoters, replica(10, 1, 105), replica(11, 2, 90))
	p.Observers = append(p.Observers, replica(1, 3, 104), replica(2, 4, 80), replica(3, 5, 70), replica(3, 6, 60), replica(4, 0, -1))
	topic := kmsg.NewDescribeQuorumResponseTopic()
	topic.Topic = kafka.MetadataTopic
	if change != nil {
		change(resp, &p)
	}
	topic.Partitions = append(topic.Partitions, p)
	resp.Topics = append(resp.Topics, topic)
	b.quorum.Store(resp)
}

// What is committed on the leader need not be what lies below that offset
// here: the leader must have seen this replica's log agree so far.
func TestQuorumBoundIsWhereTheReplicaAgrees(t *testing.T) {
	b := startBrokers(t)
	b.answer(nil)
	for name, c := range map[string]struct {
		node      kafka.NodeID
		directory byte
		want      kafka.Offset
	}{
		"an observer ahead of the high watermark": {1, 3, 100},
		"an observer behind it":                   {2, 4, 80},
		"a voter":                                 {11, 2, 90},
		"the leader":                              {10, 1, 100},
		"an unknown directory":                    {2, 0, 80},
		"one of two directories":                  {3, 5, 70},
		"either of two directories":               {3, 0, 60},
	} {
		t.Run(name, func(t *testing.T) {
			end, err := ask(t, &QuorumBound{Client: b.client, Node: c.node, Directory: kafka.UUID{15: c.directory}})
			require.NoError(t, err)
			require.Equal(t, c.want, end)
		})
	}
	for name, node := range map[string]kafka.NodeID{"not listed": 8, "end not known": 4} {
		t.Run(name, func(t *testing.T) {
			_, err := ask(t, &QuorumBound{Client: b.client, Node: node})
			require.ErrorIs(t, err, errNotFollowing)
		})
	}
	_, err := ask(t, &QuorumBound{Client: b.client, Node: 2, Directory: kafka.UUID{15: 9}})
	require.ErrorIs(t, err, errNotFollowing, "the directory was replaced")
}

func TestQuorumBoundWithoutAnAnswer(t *testing.T) {
	b := startBrokers(t)
	bound := &QuorumBound{Client: b.client, Node: 1}
	for name, c := range map[string]struct {
		change func(*kmsg.DescribeQuorumResponse, *kmsg.DescribeQuorumResponseTopicPartition)
		kind   ProblemKind
	}{
		"election": {func(_ *kmsg.DescribeQuorumResponse, p *kmsg.DescribeQuorumResponseTopicPartition) {
			p.HighWatermark = -1
		}, NoLeader},
		"not leader": {func(_ *kmsg.DescribeQuorumResponse, p *kmsg.DescribeQuorumResponseTopicPartition) {
			p.ErrorCode = kerr.NotLeaderForPartition.Code
		}, BadAnswer},
		"no right": {func(r *kmsg.DescribeQuorumResponse, _ *kmsg.DescribeQuorumResponseTopicPartition) {
			r.ErrorCode = kerr.ClusterAuthorizationFailed.Code
		}, NotAuthorized},
		"no login": {func(r *kmsg.DescribeQuorumResponse, _ *kmsg.DescribeQuorumResponseTopicPartition) {
			r.ErrorCode = kerr.SaslAuthenticationFailed.Code
		}, NotAuthorized},
	} {
		t.Run(name, func(t *testing.T) {
			b.answer(c.change)
			_, err := ask(t, bound)
			require.Error(t, err)
			kind, advice := classifyBound(err)
			require.Equal(t, c.kind, kind, "%v", err)
			require.NotEmpty(t, advice)
		})
	}
	b.quorum.Store(kmsg.NewPtrDescribeQuorumResponse())
	_, err := ask(t, bound)
	require.ErrorIs(t, err, errEmptyAnswer)
}

func TestFirstBound(t *testing.T) {
	var a, b fakeBound
	a.end.Store(5)
	b.end.Store(4)
	end, err := ask(t, FirstBound{&a, &b})
	require.NoError(t, err)
	require.Equal(t, kafka.Offset(5), end)
	require.Zero(t, b.asked.Load())
	a.fails.Store(true)
	end, err = ask(t, FirstBound{&a, &b})
	require.NoError(t, err)
	require.Equal(t, kafka.Offset(4), end)
	b.fails.Store(true)
	_, err = ask(t, FirstBound{&a, &b})
	require.Error(t, err)
	require.False(t, errors.Is(err, context.DeadlineExceeded))
}
