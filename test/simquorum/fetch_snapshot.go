package simquorum

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/kafka"
)

// fetchSnapshot answers one FetchSnapshot. Errors of the partition come out
// as Kafka 4.4.0 sends them: it fails on its own answer, and UNKNOWN_SERVER_ERROR
// without topics is all that arrives. A fault's own code is sent as it is.
func (q *Quorum) fetchSnapshot(c *controller, f Fault, req *kmsg.FetchSnapshotRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.FetchSnapshotResponse)
	q.mu.Lock()
	defer q.mu.Unlock()
	in := &req.Topics[0].Partitions[0]
	switch {
	case f.Kind == TopLevelError:
		resp.ErrorCode = f.Code
		return resp
	case req.ClusterID != nil && *req.ClusterID != q.config.ClusterID:
		resp.ErrorCode = kerr.InconsistentClusterID.Code
		return resp
	case f.Kind == EmptyAnswer:
		return resp
	case f.Kind == PartitionError || f.Kind == NoProgress || f.Kind == NamesItself:
	case !q.serves(c, in):
		resp.ErrorCode = kerr.UnknownServerError.Code
		return resp
	}
	p := kmsg.NewFetchSnapshotResponseTopicPartition()
	leader, epoch, at := q.named(c, f)
	p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = int32(leader), int32(epoch)
	if leader != kafka.NoNode {
		e := kmsg.NewFetchSnapshotResponseNodeEndpoint()
		e.NodeID, e.Host, e.Port = int32(leader), at.host, uint16(at.port)
		resp.NodeEndpoints = append(resp.NodeEndpoints, e)
	}
	p.SnapshotID.EndOffset, p.SnapshotID.Epoch = in.SnapshotID.EndOffset, in.SnapshotID.Epoch
	p.Position = in.Position
	switch f.Kind {
	case PartitionError:
		p.ErrorCode = f.Code
	case NamesItself:
		p.ErrorCode = kerr.NotLeaderForPartition.Code
	default:
		p.Size = int64(len(q.snapshot.bytes))
		if f.Kind != NoProgress {
			p.Bytes = damage(f, q.piece(in.Position, req.MaxBytes))
		}
	}
	topic := kmsg.NewFetchSnapshotResponseTopic()
	topic.Topic = kafka.MetadataTopic
	topic.Partitions = []kmsg.FetchSnapshotResponseTopicPartition{p}
	resp.Topics = append(resp.Topics, topic)
	return resp
}

// serves says whether the request can be answered. The lock is held.
func (q *Quorum) serves(c *controller, in *kmsg.FetchSnapshotRequestTopicPartition) bool {
	s := q.snapshot
	return c.id == q.leader && kafka.Epoch(in.CurrentLeaderEpoch) == q.epoch &&
		s != nil && !s.gone && in.SnapshotID.EndOffset == int64(s.end) && in.SnapshotID.Epoch == int32(s.epoch) &&
		in.Position >= 0 && in.Position < int64(len(s.bytes))
}

// piece is at most max bytes of the snapshot.
func (q *Quorum) piece(position int64, max int32) []byte {
	b := q.snapshot.bytes[position:]
	n := min(len(b), int(max))
	if q.config.SnapshotPiece > 0 {
		n = min(n, q.config.SnapshotPiece)
	}
	return append([]byte(nil), b[:n]...)
}
