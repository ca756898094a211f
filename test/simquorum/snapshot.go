package simquorum

import (
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/internal/wire"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// snapshot is a snapshot that the leader can serve.
type snapshot struct {
	end   kafka.Offset
	epoch kafka.Epoch
	bytes []byte
	gone  bool // named by Fetch, and no longer there
}

// TakeSnapshot makes a snapshot of the log up to the high watermark, which
// has records of these values, and removes the log before it.
func (q *Quorum) TakeSnapshot(values ...[]byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	end := position{}
	for len(q.log) > 0 && q.log[0].NextOffset() <= q.highWatermark {
		end = position{q.log[0].NextOffset(), q.log[0].LeaderEpoch}
		q.log = q.log[1:]
	}
	q.snapshot = &snapshot{end: end.Offset, epoch: end.Epoch, bytes: Snapshot(end.Epoch, values...)}
	q.logStart = end.Offset
	q.wake()
}

// LoseSnapshot makes every request for the snapshot fail, although Fetch goes
// on naming it, until TakeSnapshot makes another.
func (q *Quorum) LoseSnapshot() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.snapshot.gone = true
}

// Snapshot is the content of a snapshot file with records of these values, a
// batch each.
func Snapshot(epoch kafka.Epoch, values ...[]byte) []byte {
	header := &record.SnapshotHeaderRecord{LastContainedLogTimestamp: 1}
	file := snapshotBatch(nil, 0, epoch, recordbatch.Control, controlRecord(recordbatch.SnapshotHeader, header))
	for i, v := range values {
		file = snapshotBatch(file, kafka.Offset(i+1), epoch, 0, recordbatch.Record{Value: v})
	}
	return snapshotBatch(file, kafka.Offset(len(values)+1), epoch, recordbatch.Control,
		controlRecord(recordbatch.SnapshotFooter, &record.SnapshotFooterRecord{}))
}

func snapshotBatch(file []byte, base kafka.Offset, epoch kafka.Epoch, flags recordbatch.Attributes, r recordbatch.Record) []byte {
	b := makeBatch(base, epoch, flags, []recordbatch.Record{r})
	return append(file, b.Bytes()...)
}

func leaderChange(leader kafka.NodeID) recordbatch.Record {
	return controlRecord(recordbatch.LeaderChange, &record.LeaderChangeMessage{LeaderID: int32(leader)})
}

func controlRecord(kind recordbatch.ControlType, msg record.Control) recordbatch.Record {
	key := wire.AppendInt16(wire.AppendInt16(nil, 0), int16(kind))
	value, err := msg.Append(nil, 0)
	if err != nil {
		panic(err)
	}
	return recordbatch.Record{Key: key, Value: value}
}
