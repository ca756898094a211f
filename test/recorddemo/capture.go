//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/demo"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/pause"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// capture copies both logs to dir as far as they are committed, while the cluster runs: members that left would be the
// last thing in it. The metadata log is taken later and so explains all of the groups' log.
func (r *recorder) capture(ctx context.Context, dir string) (*demo.Manifest, error) {
	m := &demo.Manifest{KafkaVersion: r.cluster.Version(), ClusterID: r.cluster.ID, Steps: r.steps}
	ends, err := kadm.NewClient(r.client).ListEndOffsets(ctx, kafka.OffsetsTopic)
	if err != nil {
		return nil, err
	}
	if err := ends.Error(); err != nil {
		return nil, err
	}
	for p := range int32(offsetsPartitions) {
		end, _ := ends.Lookup(kafka.OffsetsTopic, p)
		name := fmt.Sprintf("%s-%d", kafka.OffsetsTopic, p)
		from := filepath.Join(r.cluster.LogDir(survivor), name)
		if err := copyLog(from, filepath.Join(dir, name), kafka.Offset(end.Offset)); err != nil {
			return nil, err
		}
	}
	if err := pause.For(ctx, quiet); err != nil { // so that a record of the metadata log is newer
		return nil, err
	}
	end, err := r.metadataEnd(ctx)
	if err != nil {
		return nil, err
	}
	from := r.cluster.MetadataDir(r.cluster.ControllerIDs()[0])
	if err := copyLog(from, filepath.Join(dir, filepath.Base(from)), end); err != nil {
		return nil, err
	}
	m.Hashes, err = storedHashes(ctx, r.cluster.Version(), dir)
	return m, err
}

// survivor is a broker that has been there to the end.
const survivor = 2

// metadataEnd is the high watermark of the metadata log.
func (r *recorder) metadataEnd(ctx context.Context) (kafka.Offset, error) {
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic = kafka.MetadataTopic
	topic.Partitions = append(topic.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, r.client)
	if err != nil {
		return 0, fmt.Errorf("describe quorum: %w", err)
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 || resp.Topics[0].Partitions[0].ErrorCode != 0 {
		return 0, fmt.Errorf("describe quorum: unexpected answer %+v", resp)
	}
	return kafka.Offset(resp.Topics[0].Partitions[0].HighWatermark), nil
}

// copyLog copies the batches of a log's only segment that lie below an offset.
func copyLog(from, to string, end kafka.Offset) error {
	segments, err := filepath.Glob(filepath.Join(from, "*.log"))
	if err != nil {
		return err
	}
	if len(segments) != 1 || filepath.Base(segments[0]) != segment {
		return fmt.Errorf("%s has the segments %v, not the one from offset 0", from, segments)
	}
	log, err := os.ReadFile(segments[0])
	if err != nil {
		return err
	}
	rest, next := log, kafka.Offset(0)
	for next < end {
		b, after, err := recordbatch.Split(rest)
		if err != nil {
			return fmt.Errorf("%s: %w", segments[0], err)
		}
		next, rest = b.NextOffset(), after
	}
	if next != end {
		return fmt.Errorf("%s: no batch ends at offset %d", segments[0], end)
	}
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, segment), log[:len(log)-len(rest)], 0o644)
}
