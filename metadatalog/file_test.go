package metadatalog

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// counter is a sink that counts.
type counter struct {
	batches, records, snapshots int
	progress                    []Progress
	fail                        error
}

func (c *counter) LoadSnapshot(s *SnapshotReader) error {
	c.snapshots++
	for {
		b, err := s.Next()
		if err == io.EOF {
			return c.fail
		}
		if err != nil {
			return err
		}
		c.records += int(b.Count)
	}
}

func (c *counter) Append(b *recordbatch.Batch) error {
	c.batches++
	c.records += int(b.Count)
	return c.fail
}

func (c *counter) Reset(error) error { return errors.New("a file is never reset") }

func (c *counter) Progress(p Progress) error {
	c.progress = append(c.progress, p)
	return nil
}

const kafkaSegmentName = "00000000000000000000.log"

func TestReadSegmentFile(t *testing.T) {
	var c counter
	require.NoError(t, ReadFile("testdata/kafka/"+kafkaSegmentName, &c))
	require.Equal(t, 166, c.records)
	require.Len(t, c.progress, 1)
	require.Equal(t, kafkaSnapshot.Position(), c.progress[0].Delivered)
	require.Equal(t, kafka.UnknownOffset, c.progress[0].HighWatermark, "nothing says what is committed")
	require.Equal(t, int64(-1), c.progress[0].Lag())
}

func TestReadSnapshotFile(t *testing.T) {
	var c counter
	require.NoError(t, ReadFile("testdata/kafka/"+kafkaSnapshotName, &c))
	require.Equal(t, 1, c.snapshots)
	require.Positive(t, c.records)
	require.Equal(t, kafkaSnapshot.Position(), c.progress[0].Delivered)
}

func TestReadFileThatIsDamaged(t *testing.T) {
	segment := readKafkaFile(t, kafkaSegmentName)
	var batches []recordbatch.Batch
	for rest := segment; len(rest) > 0; {
		b, after, err := recordbatch.Split(rest)
		require.NoError(t, err)
		batches, rest = append(batches, b), after
	}
	without := func(i int) (b []byte) {
		for j := range batches {
			if j != i {
				b = append(b, batches[j].Bytes()...)
			}
		}
		return b
	}
	for name, c := range map[string]struct {
		file  string
		bytes []byte
		want  error
		n     int // batches that were delivered
	}{
		"cut":              {kafkaSegmentName, segment[:len(segment)-1], recordbatch.ErrPartial, len(batches) - 1},
		"flipped bit":      {kafkaSegmentName, flip(segment, batches[0].Size+40), recordbatch.ErrCorrupt, 1},
		"gap":              {kafkaSegmentName, without(3), errOutOfOrder, 3},
		"zeros at end":     {kafkaSegmentName, append(segment[:len(segment):len(segment)], make([]byte, 9999)...), nil, len(batches)},
		"empty":            {kafkaSegmentName, nil, nil, 0},
		"not a log":        {"README.md", []byte("# a file of another kind, long enough for a header to be read"), recordbatch.ErrTooLarge, 0},
		"cut snapshot":     {kafkaSnapshotName, readKafkaFile(t, kafkaSnapshotName)[:5000], recordbatch.ErrPartial, 0},
		"renamed snapshot": {"snapshot", readKafkaFile(t, kafkaSnapshotName), nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.file)
			require.NoError(t, os.WriteFile(path, c.bytes, 0o600))
			var sink counter
			err := ReadFile(path, &sink)
			switch {
			case name == "renamed snapshot":
				require.ErrorContains(t, err, "parse snapshot name")
			case c.want == nil:
				require.NoError(t, err)
			default:
				require.ErrorIs(t, err, c.want)
				require.ErrorContains(t, err, path)
			}
			require.Equal(t, c.n, sink.batches)
		})
	}
	require.ErrorIs(t, ReadFile("testdata/missing", new(counter)), os.ErrNotExist)
}

func TestReadFileEndsWithItsSink(t *testing.T) {
	full := errors.New("the sink is full")
	for _, name := range []string{kafkaSegmentName, kafkaSnapshotName} {
		require.ErrorIs(t, ReadFile("testdata/kafka/"+name, &counter{fail: full}), full)
	}
}
