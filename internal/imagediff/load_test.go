package imagediff

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir/logdirtest"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/metadatalog/record"
)

func frame(t testing.TB, line string) string {
	m, err := delta.ParseRecord(line)
	require.NoError(t, err, line)
	b, err := record.AppendFrame(nil, m, m.Type().HighestVersion())
	require.NoError(t, err, line)
	return string(b)
}

// feature is the record that sets feature f to a level.
func feature(t testing.TB, level kafka.Offset) string {
	return frame(t, fmt.Sprintf(`FeatureLevelRecord {"name":"f","featureLevel":%d}`, level+1))
}

// level is what feature set last; -1 if it never did.
func level(s *State) kafka.Offset { return kafka.Offset(s.Image.Features().Level("f")) - 1 }

// features writes a log in which the record at each offset sets the feature to
// that offset, in batches of three over four segments.
func featureLog(t testing.TB) *logdirtest.Log {
	log := logdirtest.New(t, filepath.Join(t.TempDir(), "__cluster_metadata-0"), 0)
	for i := kafka.Offset(0); i < 24; i += 3 {
		log.Append(1, feature(t, i), feature(t, i+1), feature(t, i+2))
		if i%6 == 3 && i < 21 {
			log.Roll()
		}
	}
	return log
}

func load(t testing.TB, argument string) *State {
	s, err := Load(&cli.Output{}, argument)
	require.NoError(t, err, argument)
	return s
}

// snapshotOf makes the content of a snapshot out of a line a record.
func snapshotOf(t testing.TB, lines ...string) []byte {
	var content []byte
	for i, b := range [][]recordbatch.Record{
		{{Key: []byte{0, 0, 0, 3}, Value: make([]byte, 11)}}, nil, {{Key: []byte{0, 0, 0, 4}, Value: make([]byte, 3)}},
	} {
		h := recordbatch.Header{Attributes: recordbatch.Control}
		if i == 1 {
			h.Attributes = 0
			for j, line := range lines {
				b = append(b, recordbatch.Record{Offset: kafka.Offset(j), Value: []byte(line)})
			}
		}
		h.LastOffsetDelta = int32(max(0, len(b)-1))
		var err error
		content, err = recordbatch.Append(content, h, b)
		require.NoError(t, err)
	}
	return content
}

// TestLoadAtEveryOffset: with and without snapshots, the state at an offset is
// that after its record, wherever batches and segments end.
func TestLoadAtEveryOffset(t *testing.T) {
	log := featureLog(t)
	check := func(from kafka.Offset) {
		t.Helper()
		for offset := from; offset < log.End(); offset++ {
			s := load(t, fmt.Sprintf("%s@%d", log.Dir, offset))
			require.Equal(t, offset, level(s))
			require.Equal(t, offset, s.Image.Provenance().Offset)
			require.False(t, s.InTransaction)
		}
		s := load(t, log.Dir)
		require.Equal(t, log.End()-1, level(s))
	}
	check(0)
	log.Snapshot(7, 1, snapshotOf(t, feature(t, 6)))
	log.Snapshot(13, 1, snapshotOf(t, feature(t, 12)))
	check(0)
	require.True(t, load(t, log.Dir+"@12").Committed)
	require.False(t, load(t, log.Dir+"@13").Committed)
	log.DeleteBelow(13)
	check(12)
	require.Equal(t, kafka.Offset(6), level(load(t, log.Dir+"@6")), "a snapshot stands for its offset")
	for offset, problem := range map[int]string{
		3:  "starts at offset 12, past offset 0 which comes next here; name an offset that a snapshot and the segments after it reach",
		8:  "starts at offset 12, past offset 7",
		24: "has no offset 24: the log ends at offset 23",
	} {
		_, err := Load(&cli.Output{}, fmt.Sprintf("%s@%d", log.Dir, offset))
		require.ErrorContains(t, err, problem)
		require.Equal(t, cli.NotFound, cli.ExitCode(err))
	}
}

func TestLoadInsideTransaction(t *testing.T) {
	log := logdirtest.New(t, filepath.Join(t.TempDir(), "__cluster_metadata-0"), 0)
	log.Append(1, feature(t, 0), frame(t, "BeginTransactionRecord"), feature(t, 2))
	log.Append(1, feature(t, 3))
	log.Append(1, frame(t, "EndTransactionRecord"), feature(t, 5))
	for offset, want := range []kafka.Offset{0, 0, 0, 0, 3, 5} {
		s := load(t, fmt.Sprintf("%s@%d", log.Dir, offset))
		require.Equal(t, want, level(s), "offset %d", offset)
		require.Equal(t, offset >= 1 && offset <= 3, s.InTransaction, "offset %d", offset)
	}
}

func TestLoadSnapshotFile(t *testing.T) {
	dir := t.TempDir()
	content, err := os.ReadFile("../../image/loader/testdata/log/kraft-version-1.checkpoint")
	require.NoError(t, err)
	path := filepath.Join(dir, "00000000000000000166-0000000002.checkpoint")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	s := load(t, path)
	require.Equal(t, image.Provenance{Offset: 165, Epoch: 2, AppendTime: 1700000000710}, s.Image.Provenance())
	require.True(t, s.Committed)
	replayed := load(t, filepath.Dir(recorded)+"@165")
	require.True(t, s.Image.Equal(replayed.Image))
	require.Empty(t, Compare(s, replayed).Changes)
	require.True(t, load(t, dir).Image.Equal(s.Image), "a folder with nothing but a snapshot")

	bootstrap := filepath.Join(dir, "00000000000000000000-0000000000.checkpoint")
	require.NoError(t, os.WriteFile(bootstrap, snapshotOf(t, feature(t, 1)), 0o600))
	require.False(t, load(t, bootstrap).Committed)
}

func TestLoadErrors(t *testing.T) {
	log := featureLog(t)
	snapshot := log.Snapshot(7, 1, snapshotOf(t, feature(t, 6)))
	broken := log.Snapshot(8, 1, snapshotOf(t, feature(t, 6))[:120])
	unknown := log.Snapshot(9, 1, snapshotOf(t, "\x01\x7f\x00"))
	refused := log.Snapshot(10, 1, snapshotOf(t, frame(t, `PartitionRecord {"topicId":"AAAAAAAAAAAAAAAAAAAAAQ"}`)))
	other := logdirtest.New(t, filepath.Join(t.TempDir(), "__consumer_offsets-0"), 0)
	other.AppendBatch(recordbatch.Header{}, []recordbatch.Record{{Key: []byte{0, 3}}})
	for argument, c := range map[string]struct {
		code cli.Code
		text string
	}{
		"nowhere":         {cli.NotFound, "open nowhere: there is no such file or folder"},
		"nowhere@5":       {cli.NotFound, "open nowhere: there is no such file or folder"},
		log.Dir + "@x":    {cli.BadUsage, "x after the @ is not an offset; want DIR@OFFSET"},
		log.Dir + "@-1":   {cli.BadUsage, "-1 after the @ is not an offset"},
		log.Path(0):       {cli.BadUsage, "is a segment, which does not stand alone"},
		snapshot + "@6":   {cli.BadUsage, "is a snapshot and stands for one offset; leave out @6"},
		other.Dir:         {cli.BadUsage, "is not of the metadata log"},
		broken:            {cli.Corrupt, "input ends inside a record batch"},
		unknown:           {cli.Failed, "record type is not known; a newer kraftside may know it"},
		refused:           {cli.Corrupt, "replay PartitionRecord of the snapshot, record 0"},
		log.Dir + "@9":    {cli.Corrupt, refused},
		log.Dir + "@7":    {cli.Corrupt, broken},
		log.Dir + "@8":    {cli.Failed, unknown},
		log.Dir + "@1000": {cli.Corrupt, refused},
	} {
		_, err := Load(&cli.Output{}, argument)
		require.ErrorContains(t, err, c.text, argument)
		require.Equal(t, c.code, cli.ExitCode(err), "%s: %v", argument, err)
	}

	damaged := featureLog(t)
	content, err := os.ReadFile(damaged.Path(1))
	require.NoError(t, err)
	content[70] ^= 1
	require.NoError(t, os.WriteFile(damaged.Path(1), content, 0o600))
	require.Equal(t, kafka.Offset(5), level(load(t, damaged.Dir+"@5")), "what lies before the damage can be asked for")
	_, err = Load(&cli.Output{}, damaged.Dir+"@6")
	require.Equal(t, cli.Corrupt, cli.ExitCode(err))
	require.ErrorContains(t, err, damaged.Path(1)+" at byte 0, offset 6: corrupt record batch")
}
