package offsetslog

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// drainer is a sink that reads every entry.
type drainer struct{ entries int }

func (*drainer) Assigned(Assignment) error { return nil }
func (*drainer) Resume(int32) Position     { return Position{Offset: kafka.UnknownOffset} }
func (*drainer) Start(Start) error         { return nil }
func (*drainer) Progress(Progress) error   { return nil }
func (*drainer) Stop(int32) error          { return nil }

func (d *drainer) Append(b *Batch) error {
	var e Entry
	for b.Read(&e) {
		d.entries++
	}
	return nil
}

// writeSegment writes a segment of offset commits as a busy coordinator leaves
// them: batches of ten, keys and values of the usual size.
func writeSegment(tb testing.TB, records int) string {
	dir := filepath.Join(tb.TempDir(), "__consumer_offsets-0")
	require.NoError(tb, os.Mkdir(dir, 0o755))
	var content []byte
	batch := make([]recordbatch.Record, 10)
	for base := 0; base < records; base += len(batch) {
		for i := range batch {
			batch[i] = recordbatch.Record{Offset: kafka.Offset(base + i), Key: make([]byte, 40), Value: make([]byte, 44)}
		}
		var err error
		h := recordbatch.Header{BaseOffset: kafka.Offset(base), LastOffsetDelta: int32(len(batch) - 1), ProducerID: -1}
		content, err = recordbatch.Append(content, h, batch)
		require.NoError(tb, err)
	}
	require.NoError(tb, os.WriteFile(filepath.Join(dir, "00000000000000000000.log"), content, 0o600))
	return dir
}

func BenchmarkReadFiles(b *testing.B) {
	const records = 1_000_000
	dir := writeSegment(b, records)
	b.ResetTimer()
	b.ReportAllocs()
	for b.Loop() {
		var d drainer
		require.NoError(b, ReadFiles(b.Context(), []string{dir}, &d))
		require.Equal(b, records, d.entries)
	}
	b.ReportMetric(float64(records)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
}

func TestReadingAllocatesNothingPerRecord(t *testing.T) {
	const records = 20_000
	dir := writeSegment(t, records)
	allocations := testing.AllocsPerRun(3, func() {
		var d drainer
		require.NoError(t, ReadFiles(t.Context(), []string{dir}, &d))
	})
	require.Less(t, allocations, float64(records)/100)
}
