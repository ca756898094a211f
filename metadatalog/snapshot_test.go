package metadatalog

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

const kafkaSnapshotName = "00000000000000000166-0000000002.checkpoint"

var kafkaSnapshot = SnapshotID{EndOffset: 166, Epoch: 2}

func readKafkaFile(t testing.TB, name string) []byte {
	b, err := os.ReadFile("testdata/kafka/" + name)
	require.NoError(t, err)
	return b
}

// readSnapshot returns the number of data records.
func readSnapshot(b []byte) (n int, timestamp int64, err error) {
	s, err := NewSnapshotReader(kafkaSnapshot, bytes.NewReader(b))
	if err != nil {
		return 0, 0, err
	}
	defer s.Close()
	for {
		batch, err := s.Next()
		if err == io.EOF {
			return n, s.LastContainedLogTimestamp(), nil
		}
		if err != nil {
			return n, 0, err
		}
		n += int(batch.Count)
	}
}

// Kafka's own snapshots read to their end, with and without voters inside.
func TestSnapshotsOfKafka(t *testing.T) {
	plain, timestamp, err := readSnapshot(readKafkaFile(t, kafkaSnapshotName))
	require.NoError(t, err)
	require.Positive(t, plain)
	require.Positive(t, timestamp)
	voters, _, err := readSnapshot(readKafkaFile(t, "kraft-version-1/"+kafkaSnapshotName))
	require.NoError(t, err)
	require.Equal(t, plain, voters, "control records are not data")
}

// A snapshot that was cut anywhere is not taken for a whole one.
func TestCutSnapshotIsIncomplete(t *testing.T) {
	whole := readKafkaFile(t, kafkaSnapshotName)
	for n := 0; n < len(whole); n += 1 + n%41 {
		_, _, err := readSnapshot(whole[:n])
		require.Error(t, err, "%d of %d bytes", n, len(whole))
	}
}

func TestDamagedSnapshots(t *testing.T) {
	whole := readKafkaFile(t, kafkaSnapshotName)
	first, rest, err := recordbatch.Split(whole)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		bytes []byte
		want  error
	}{
		"no header":             {rest, ErrIncompleteSnapshot},
		"header twice":          {append(bytes.Clone(first.Bytes()), whole...), ErrIncompleteSnapshot},
		"bytes after footer":    {append(bytes.Clone(whole), first.Bytes()...), ErrIncompleteSnapshot},
		"a segment":             {readKafkaFile(t, "00000000000000000000.log"), ErrIncompleteSnapshot},
		"empty":                 {nil, ErrIncompleteSnapshot},
		"zeros":                 {make([]byte, 1000), ErrIncompleteSnapshot},
		"one bit in the middle": {flip(whole, len(whole)/2), recordbatch.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := readSnapshot(c.bytes)
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, kafkaSnapshot.String())
		})
	}
}

func flip(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 1
	return b
}

func TestSnapshotID(t *testing.T) {
	for _, name := range []string{kafkaSnapshotName, "00000000000000000166-0000000002"} {
		id, err := ParseSnapshotID(name)
		require.NoError(t, err)
		require.Equal(t, kafkaSnapshot, id)
	}
	require.Equal(t, "00000000000000000166-0000000002", kafkaSnapshot.String())
	require.True(t, SnapshotID{}.Bootstrap())
	require.False(t, kafkaSnapshot.Bootstrap())
	for _, name := range []string{"", "166-2.checkpoint", "bootstrap.checkpoint", "0000000000000000016a-0000000002.checkpoint",
		"00000000000000000166-0000000002.checkpoint.deleted", "99999999999999999999-0000000002.checkpoint",
		"00000000000000000166-9999999999.checkpoint", "-0000000000000000166-0000000002.checkpoint"} {
		_, err := ParseSnapshotID(name)
		require.Error(t, err, name)
	}
}

func FuzzSnapshot(f *testing.F) {
	f.Add(readKafkaFile(f, kafkaSnapshotName))
	f.Add(readKafkaFile(f, "kraft-version-1/"+kafkaSnapshotName))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, _, err := readSnapshot(b)
		if err == nil {
			require.Positive(t, len(b))
			require.GreaterOrEqual(t, n, 0)
		}
	})
}

func TestDownload(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "download")
	d, err := openDownload(dir, kafkaSnapshot, 1)
	require.NoError(t, err)
	require.NoError(t, d.write(0, 10, []byte("0123")))
	require.False(t, d.complete())
	for name, c := range map[string]struct {
		position, size int64
		piece          string
	}{
		"a gap": {5, 10, "56"}, "what is here": {0, 10, "0"}, "another size": {4, 11, "4"},
		"beyond the end": {4, 10, "4567890"}, "no size": {4, 0, "4"},
	} {
		require.ErrorIs(t, d.write(c.position, c.size, []byte(c.piece)), errSnapshotChanged, name)
	}
	require.ErrorIs(t, d.write(4, 10, nil), errEmptyAnswer)
	d.close()

	d, err = openDownload(dir, kafkaSnapshot, 1)
	require.NoError(t, err)
	require.Equal(t, int64(4), d.position, "the next one goes on from there")
	require.NoError(t, d.write(4, 10, []byte("456789")))
	require.True(t, d.complete())
	f, err := d.rewind()
	require.NoError(t, err)
	all, err := io.ReadAll(f)
	require.NoError(t, err)
	require.Equal(t, "0123456789", string(all))
	d.close()

	// Another node's file of the same name may have other bytes.
	d, err = openDownload(dir, kafkaSnapshot, 2)
	require.NoError(t, err)
	require.Zero(t, d.position)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
	require.NoError(t, d.drop())
}

func TestDownloadDropsAPieceThatIsTooLong(t *testing.T) {
	dir := t.TempDir()
	d := &download{id: kafkaSnapshot, node: 1}
	require.NoError(t, os.WriteFile(dir+"/"+d.prefix()+"3.part", []byte("0123"), 0o600))
	_, err := openDownload(dir, kafkaSnapshot, 1)
	require.NoError(t, err)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestDownloadWithoutRoom(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := openDownload(filepath.Join(file, "download"), kafkaSnapshot, 1)
	require.ErrorIs(t, err, syscall.ENOTDIR)

	dir := filepath.Join(t.TempDir(), "download")
	d, err := openDownload(dir, kafkaSnapshot, 1)
	require.NoError(t, err)
	require.NoError(t, os.Remove(dir))
	require.ErrorIs(t, d.write(0, 10, []byte("0123")), os.ErrNotExist)
	require.Equal(t, kafka.NodeID(1), d.node)
}
