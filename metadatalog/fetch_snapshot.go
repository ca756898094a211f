package metadatalog

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/kafka"
)

// startDownload answers a leader that says to load a snapshot first.
func (q *Quorum) startDownload(target endpoint, id SnapshotID) (verdict, error) {
	if id.Bootstrap() {
		return q.failed(target, fmt.Errorf("%w: it names the bootstrap snapshot", errEmptyAnswer)), nil
	}
	q.view.answered(target)
	if d := q.download; d != nil && d.id == id && d.node == q.view.leader {
		return onward, nil
	}
	q.closeDownload()
	d, err := openDownload(q.config.Dir, id, q.view.leader)
	if err != nil {
		return q.cannotStore(target, err), nil
	}
	if id == q.downloaded.id && d.node != q.downloaded.node {
		q.reread() // another node's file of that name: from its start
	}
	q.download, q.downloaded = d, download{id: id, node: d.node}
	if d.complete() { // the process before ended between the last piece and the load
		return q.loadDownload(target)
	}
	return onward, nil
}

// fetchSnapshot asks the leader for the next piece.
func (q *Quorum) fetchSnapshot(ctx context.Context, c *controller, target endpoint) (verdict, error) {
	answer, err := c.request(ctx, q.fetchSnapshotRequest())
	if err != nil {
		q.closeDownload() // the piece stays; Fetch says whether to go on with it
		return q.failed(target, err), nil
	}
	resp := answer.(*kmsg.FetchSnapshotResponse)
	p, err := snapshotPartition(resp)
	if err != nil {
		return q.snapshotLost(target, err), nil
	}
	if q.learn(p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch, snapshotEndpoints(resp)) {
		q.closeDownload()
		return q.newLeader(), nil
	}
	if err := errorForCode(p.ErrorCode); err != nil {
		return q.snapshotLost(target, err), nil
	}
	err = q.download.write(p.Position, p.Size, p.Bytes)
	switch {
	case errors.Is(err, errSnapshotChanged) || errors.Is(err, errEmptyAnswer):
		return q.snapshotLost(target, err), nil
	case err != nil:
		return q.cannotStore(target, err), nil
	}
	q.lostAt = -1
	if q.download.complete() {
		return q.loadDownload(target)
	}
	return again, nil
}

func (q *Quorum) fetchSnapshotRequest() *kmsg.FetchSnapshotRequest {
	req := kmsg.NewPtrFetchSnapshotRequest()
	req.ClusterID = q.clusterID()
	req.ReplicaID = -1
	req.MaxBytes = minFetchBytes
	topic := kmsg.NewFetchSnapshotRequestTopic()
	topic.Topic = kafka.MetadataTopic
	p := kmsg.NewFetchSnapshotRequestTopicPartition()
	p.CurrentLeaderEpoch = int32(q.view.epoch)
	p.SnapshotID.EndOffset = int64(q.download.id.EndOffset)
	p.SnapshotID.Epoch = int32(q.download.id.Epoch)
	p.Position = q.download.position
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	return req
}

func snapshotPartition(resp *kmsg.FetchSnapshotResponse) (*kmsg.FetchSnapshotResponseTopicPartition, error) {
	if err := errorForCode(resp.ErrorCode); err != nil {
		return nil, err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return nil, errEmptyAnswer
	}
	return &resp.Topics[0].Partitions[0], nil
}

// snapshotEndpoints puts the endpoints into the form that Fetch has.
func snapshotEndpoints(resp *kmsg.FetchSnapshotResponse) (brokers []kmsg.FetchResponseBroker) {
	for _, e := range resp.NodeEndpoints {
		brokers = append(brokers, kmsg.FetchResponseBroker{NodeID: e.NodeID, Host: e.Host, Port: int32(e.Port)})
	}
	return brokers
}

// snapshotLost gives the download up and lets Fetch find out what there is
// now. Kafka 4.4 answers everything that is wrong with a snapshot request by
// UNKNOWN_SERVER_ERROR, so nothing is concluded from the code; a piece that
// does not grow between two such answers is dropped with the download.
func (q *Quorum) snapshotLost(target endpoint, err error) verdict {
	d := q.download
	kind, advice := classify(err)
	if kind == BadAnswer || kind == Unreachable {
		kind, advice = SnapshotFailed, "it may have been replaced by a newer one; if it lasts, check the controller's log"
	}
	q.problem(target, kind, fmt.Errorf("snapshot %s at byte %d: %w", d.id, d.position, err), advice)
	if errors.Is(err, errSnapshotChanged) || q.lostAt == d.position {
		q.dropDownload()
	} else {
		q.lostAt = d.position
		q.closeDownload()
	}
	return stuck
}

// loadDownload checks the snapshot as a whole before the sink sees any of it.
func (q *Quorum) loadDownload(target endpoint) (verdict, error) {
	d := q.download
	defer q.dropDownload()
	file, err := d.rewind()
	if err == nil {
		err = verifySnapshot(d.id, file)
	}
	if err == nil {
		file, err = d.rewind()
	}
	if err != nil {
		q.problem(target, SnapshotFailed, err, "it is fetched again; if it lasts, check the file on this controller (kafka-dump-log)")
		return stuck, nil
	}
	if d.id.EndOffset < q.tail.delivered.Offset {
		reason := fmt.Errorf("%w: it begins with a snapshot up to offset %d, and %v was applied here", errDiverged, d.id.EndOffset, q.tail.delivered)
		q.tail.restart(Position{})
		if err := q.sink.Reset(reason); err != nil {
			return stuck, err
		}
	}
	return again, q.load(d.id, file)
}

func (q *Quorum) load(id SnapshotID, file io.Reader) error {
	s, err := NewSnapshotReader(id, file)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := q.sink.LoadSnapshot(s); err != nil {
		return err
	}
	hw := q.tail.highWatermark
	q.tail.restart(id.Position())
	// A snapshot is made of what is committed.
	q.tail.raise(max(hw, id.EndOffset))
	return nil
}

func (q *Quorum) cannotStore(target endpoint, err error) verdict {
	q.dropDownload()
	q.problem(target, SnapshotFailed, fmt.Errorf("store the snapshot: %w", err), "see that there is room in "+q.config.Dir+" and that it can be written")
	return stuck
}

func (q *Quorum) closeDownload() {
	if q.download != nil {
		q.download.close()
		q.download = nil
	}
}

func (q *Quorum) dropDownload() {
	if q.download != nil {
		// A piece that stays is removed by the next download.
		_ = q.download.drop()
		q.download = nil
	}
}
