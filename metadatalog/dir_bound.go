package metadatalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/kafka"
)

// softwareName and softwareVersion are what ApiVersions requires a client to
// call itself (KIP-511).
const (
	softwareName    = "kraftside"
	softwareVersion = "1"
)

var (
	// errNothingApplied means that the broker is up and has not applied any
	// of the log yet.
	errNothingApplied = errors.New("the broker has not applied any metadata yet")
	// errNotFollowing means that the leader of the quorum does not know the
	// node as a replica of the log, or has not heard from it for long.
	errNotFollowing = errors.New("the quorum does not list the node as a replica")
	// errNoHighWatermark means that a new leader has not committed anything
	// yet.
	errNoHighWatermark = errors.New("the leader does not know its high watermark yet")
)

// FirstBound asks one Bound after the other until one answers.
type FirstBound []Bound

// CommittedEnd implements Bound.
func (f FirstBound) CommittedEnd(ctx context.Context) (kafka.Offset, error) {
	var failed error
	for _, b := range f {
		end, err := b.CommittedEnd(ctx)
		if err == nil {
			return end, nil
		}
		failed = errors.Join(failed, err)
	}
	return kafka.UnknownOffset, failed
}

// AppliedBound asks the broker whose log directory it is how far it has
// applied the log. It needs no ACL. A controller gives no such answer: what it
// calls the epoch of its features stands still.
type AppliedBound struct {
	// Client is a client of the cluster's brokers, with kgo.RequestRetries(0):
	// when to ask again is not its business.
	Client *kgo.Client
	// Node is the broker beside us, and ClusterID its cluster; empty takes
	// any.
	Node      kafka.NodeID
	ClusterID string

	known bool // the client's brokers are those of the cluster
}

// CommittedEnd implements Bound: a broker applies what its own log holds below
// its high watermark. The FinalizedFeaturesEpoch of ApiVersions is the offset
// of the image that it has published (KRaftMetadataCache.features).
func (a *AppliedBound) CommittedEnd(ctx context.Context) (kafka.Offset, error) {
	if !a.known {
		if err := checkCluster(ctx, a.Client, a.ClusterID); err != nil {
			return kafka.UnknownOffset, err
		}
		a.known = true
	}
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = softwareName, softwareVersion
	resp, err := req.RequestWith(ctx, a.Client.Broker(int(a.Node)))
	if err == nil {
		err = errorForCode(resp.ErrorCode)
	}
	if err == nil && resp.FinalizedFeaturesEpoch < 0 {
		err = errNothingApplied
	}
	if err != nil {
		a.known = false // another process may have come in its place
		return kafka.UnknownOffset, fmt.Errorf("ask broker %d for the offset it has applied: %w", a.Node, err)
	}
	return kafka.Offset(resp.FinalizedFeaturesEpoch) + 1, nil
}

// checkCluster asks for the cluster id.
func checkCluster(ctx context.Context, client *kgo.Client, want string) error {
	if want == "" {
		return nil
	}
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return fmt.Errorf("ask a broker for its cluster id: %w", err)
	}
	if resp.ClusterID == nil || *resp.ClusterID != want {
		has := "none"
		if resp.ClusterID != nil {
			has = *resp.ClusterID
		}
		return wrongCluster{"the brokers that were given belong", has, want}
	}
	return nil
}

// QuorumBound asks the active controller, through any broker, by
// DescribeQuorum. It needs DESCRIBE on the cluster. It works for a node that
// is a controller only, and while the node itself is away.
type QuorumBound struct {
	// Client is as AppliedBound's.
	Client *kgo.Client
	// Node is the one whose log directory is read, and Directory the
	// directory's id; zero is not compared.
	Node      kafka.NodeID
	Directory kafka.UUID
}

// CommittedEnd implements Bound. The high watermark alone will not do: the
// directory may yet hold, below it, what an earlier leader wrote and the
// present one does not have. But up to the end offset that the leader has
// noted for a replica it has compared the replica's log with its own.
func (q *QuorumBound) CommittedEnd(ctx context.Context) (kafka.Offset, error) {
	p, err := q.describe(ctx)
	if err == nil && p.HighWatermark < 0 {
		err = errNoHighWatermark
	}
	end := kafka.UnknownOffset
	if err == nil {
		end, err = q.replicaEnd(p)
	}
	if err != nil {
		return kafka.UnknownOffset, fmt.Errorf("ask the quorum how far node %d follows it: %w", q.Node, err)
	}
	return min(end, kafka.Offset(p.HighWatermark)), nil
}

func (q *QuorumBound) describe(ctx context.Context) (*kmsg.DescribeQuorumResponseTopicPartition, error) {
	req := kmsg.NewPtrDescribeQuorumRequest()
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic = kafka.MetadataTopic
	topic.Partitions = []kmsg.DescribeQuorumRequestTopicPartition{kmsg.NewDescribeQuorumRequestTopicPartition()}
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, q.Client)
	if err != nil {
		return nil, err
	}
	if err := errorForCode(resp.ErrorCode); err != nil {
		return nil, err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return nil, errEmptyAnswer
	}
	p := &resp.Topics[0].Partitions[0]
	return p, errorForCode(p.ErrorCode)
}

// replicaEnd is the end of the node's log as the leader knows it. Where the
// node is listed more than once, because its directory was replaced and
// nothing tells which is ours, it is the least.
func (q *QuorumBound) replicaEnd(p *kmsg.DescribeQuorumResponseTopicPartition) (kafka.Offset, error) {
	end := kafka.UnknownOffset
	for _, replicas := range [][]kmsg.DescribeQuorumResponseTopicPartitionReplicaState{p.CurrentVoters, p.Observers} {
		for _, r := range replicas {
			directory := kafka.UUID(r.ReplicaDirectoryID)
			if r.ReplicaID != int32(q.Node) || r.LogEndOffset < 0 ||
				!directory.IsZero() && !q.Directory.IsZero() && directory != q.Directory {
				continue
			}
			if end < 0 || kafka.Offset(r.LogEndOffset) < end {
				end = kafka.Offset(r.LogEndOffset)
			}
		}
	}
	if end < 0 {
		return end, errNotFollowing
	}
	return end, nil
}
