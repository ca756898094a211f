package loader

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// largeSnapshot is the batches of a snapshot of topics, one record each, in
// several slabs. The record at bad cannot be decoded.
func largeSnapshot(t *testing.T, bad int) (batches []recordbatch.Batch, topics int) {
	const perBatch = 100
	var records []logged
	for i := range 5*slabRecords + 17 {
		r := frame(t, kafka.Offset(i), &record.TopicRecord{Name: fmt.Sprintf("topic-%d", i), TopicID: kafka.UUID{byte(i), byte(i >> 8), 1}})
		if i == bad {
			r.value = []byte{1, 126, 3}
		} else {
			topics++
		}
		records = append(records, r)
		if len(records) == perBatch {
			batches = append(batches, *rebatch(t, records))
			records = nil
		}
	}
	return append(batches, *rebatch(t, records)), topics
}

// reader reads batches, then fails. It must not be asked once it is closed.
type reader struct {
	t       *testing.T
	batches []recordbatch.Batch
	err     error
	closed  bool
}

func (r *reader) next() (recordbatch.Batch, error) {
	if r.closed {
		r.t.Error("read after LoadSnapshot has returned")
	}
	if len(r.batches) == 0 {
		return recordbatch.Batch{}, r.err
	}
	b := r.batches[0]
	r.batches = r.batches[1:]
	return b, nil
}

// A snapshot that is decoded ahead of its replay is one to whoever loads it: an
// error names its record, whatever was decoded behind it, and nothing of the
// snapshot is left.
func TestSnapshotIsDecodedAhead(t *testing.T) {
	for _, bad := range []int{-1, 0, slabRecords - 1, slabRecords, 3*slabRecords + 5, 5*slabRecords + 16} {
		for _, policy := range []UnknownPolicy{Stop, Skip} {
			batches, topics := largeSnapshot(t, bad)
			var skipped []*ReplayError
			l := New(image.Empty(), Options{Unknown: policy, OnSkip: func(e *ReplayError) { skipped = append(skipped, e) }})
			r := &reader{t: t, batches: batches, err: io.EOF}
			err := l.LoadSnapshot(10_000, 1, 0, r.next)
			r.closed = true
			if bad >= 0 && policy == Stop {
				var refused *ReplayError
				require.ErrorAs(t, err, &refused)
				requireAt(t, bad, refused)
				require.True(t, image.Empty().Equal(l.Image()))
				continue
			}
			require.NoError(t, err)
			require.Equal(t, topics, l.Image().Topics().NumTopics())
			if bad >= 0 {
				require.Len(t, skipped, 1)
				requireAt(t, bad, skipped[0])
			}
		}
	}
}

func requireAt(t *testing.T, bad int, e *ReplayError) {
	require.True(t, e.Snapshot)
	require.ErrorIs(t, e, record.ErrUnknownType)
	require.Equal(t, kafka.Offset(bad), e.Offset)
	require.Equal(t, bad%100, e.Index)
}

func TestSnapshotThatCannotBeRead(t *testing.T) {
	damaged := errors.New("damaged")
	for _, n := range []int{0, 1, slabRecords / 100, 3 * slabRecords / 100} {
		batches, _ := largeSnapshot(t, -1)
		l := New(image.Empty(), Options{})
		r := &reader{t: t, batches: batches[:n], err: damaged}
		require.ErrorIs(t, l.LoadSnapshot(10_000, 1, 0, r.next), damaged)
		r.closed = true
		require.True(t, image.Empty().Equal(l.Image()))
	}
}
