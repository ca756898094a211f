package main

import (
	"context"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/rebalance"
)

// replayed is what came of a replay.
type replayed struct {
	cpu        time.Duration // of the process, user and system
	records    int64         // of __consumer_offsets
	anomalies  int64
	rebalances int
	explained  int // that have a cause
}

// replay replays both logs through a pipeline without a store, in the order in
// which offline commands do.
func replay(ctx context.Context, dir string, explain bool) (r replayed, err error) {
	newest := make(map[kafka.Offset]*rebalance.Rebalance)
	p, err := pipeline.New(pipeline.Options{
		Scope: pipeline.All, NodeID: kafka.NoNode,
		OnRebalance: func(r *rebalance.Rebalance) { newest[r.ID.Offset] = r },
	})
	if err == nil && !explain {
		err = know(p.GroupsSink())
	}
	if err != nil {
		return r, err
	}
	runtime.GC()
	before := cpu()
	if err := offsetslog.ReadFiles(ctx, []string{filepath.Join(dir, offsetsPartition)}, p.GroupsSink()); err != nil {
		return r, err
	}
	if err := metadatalog.ReadDir(filepath.Join(dir, metadataPartition), kafka.UnknownOffset, p.MetadataSink()); err != nil {
		return r, err
	}
	p.Finish()
	r.cpu = cpu() - before
	r.records = p.Stats().GroupRecords
	for _, partition := range p.View().Partitions {
		for _, n := range partition.Anomalies.Counts {
			r.anomalies += n
		}
	}
	for _, n := range newest {
		r.rebalances++
		if n.Explained() {
			r.explained++
		}
	}
	return r, nil
}

// beyond is after every record of the segments.
const beyond = 1 << 30

// know has the pipeline know the partition up to beyond, with nothing in it. It
// is read from its start all the same, as after a stop of the store, and the
// records that are known are replayed and no longer shown to what explains.
func know(sink offsetslog.Sink) error {
	raw, err := recordbatch.Append(nil, recordbatch.Header{LastOffsetDelta: beyond, ProducerID: -1}, nil)
	if err != nil {
		return err
	}
	batch, _, err := recordbatch.Split(raw)
	if err != nil {
		return err
	}
	if err := sink.Start(offsetslog.Start{Reason: offsetslog.Fresh}); err != nil {
		return err
	}
	return sink.Append(offsetslog.NewBatch(0, &batch, new(recordbatch.Decoder)))
}

// cpu is what the process has used so far.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it fails only for an argument that is wrong
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
