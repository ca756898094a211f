package check

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/delta"
	groups "github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir/logdirtest"
	"github.com/kraftside/kraftside/internal/logfile"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/metadatalog/record"
)

const recorded = "../../image/loader/testdata/log/"

func run(t testing.TB, paths ...string) *Report {
	t.Helper()
	r, err := Run(&cli.Output{}, paths, "")
	require.NoError(t, err)
	return r
}

func readFile(t testing.TB, path string) []byte {
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

func writeFile(t testing.TB, path string, content []byte) string {
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	_ = os.Chmod(path, 0o600) // a snapshot is read-only
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

func frame(t testing.TB, line string) string {
	m, err := delta.ParseRecord(line)
	require.NoError(t, err, line)
	b, err := record.AppendFrame(nil, m, m.Type().HighestVersion())
	require.NoError(t, err, line)
	return string(b)
}

// summaries are the findings, a line each.
func summaries(l *LogReport) (all []string) {
	for _, f := range l.Findings {
		all = append(all, fmt.Sprintf("%s %s: %s", f.Kind, filepath.Base(f.File), f.Summary))
	}
	return all
}

func metadataLog(t testing.TB) *logdirtest.Log {
	return logdirtest.New(t, filepath.Join(t.TempDir(), "__cluster_metadata-0"), 0)
}

// TestRecordedSnapshotsEqualTheLog holds Kafka's own snapshots to Kafka's own
// log.
func TestRecordedSnapshotsEqualTheLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "__cluster_metadata-0")
	writeFile(t, filepath.Join(dir, "00000000000000000000.log"), readFile(t, recorded+"00000000000000000000.log"))
	for _, version := range []string{"0", "1"} {
		writeFile(t, filepath.Join(dir, "00000000000000000166-0000000002.checkpoint"), readFile(t, recorded+"kraft-version-"+version+".checkpoint"))
		r := run(t, dir)
		require.NoError(t, r.Err())
		require.Equal(t, OK, r.Result)
		require.Empty(t, r.Logs[0].Findings)
		require.Equal(t, 1, r.Logs[0].SnapshotsEqual)
	}
}

// TestEveryFlippedBitIsFound: whichever byte of a log or of its snapshot has a
// wrong bit, something is said, but for the leader epochs of the first and the
// last batch: they are no part of the checksum, and nothing contradicts them.
func TestEveryFlippedBitIsFound(t *testing.T) {
	log := metadataLog(t)
	log.Append(3, frame(t, `FeatureLevelRecord {"name":"f","featureLevel":1}`))
	log.Append(3, frame(t, `TopicRecord {"name":"t","topicId":"AAAAAAAAAAAAAAAAAAAAAQ"}`), frame(t, `NoOpRecord`))
	log.Roll()
	log.Append(3, frame(t, `FeatureLevelRecord {"name":"g","featureLevel":1}`))
	log.Append(3, frame(t, `NoOpRecord`))
	snapshot := log.Snapshot(5, 3, snapshotOf(t, 3, frame(t, `FeatureLevelRecord {"name":"f","featureLevel":1}`),
		frame(t, `FeatureLevelRecord {"name":"g","featureLevel":1}`), frame(t, `TopicRecord {"name":"t","topicId":"AAAAAAAAAAAAAAAAAAAAAQ"}`)))
	sound := run(t, log.Dir)
	require.Empty(t, summaries(sound.Logs[0]))
	require.Equal(t, 1, sound.Logs[0].SnapshotsEqual)

	batches := log.Batches()
	last := len(readFile(t, log.Path(1))) - batches[len(batches)-1].Size
	const epoch = 12 // where it stands in a batch
	for path, blind := range map[string]int{log.Path(0): epoch, log.Path(1): last + epoch, snapshot: -epoch} {
		content := readFile(t, path)
		for i := range content {
			flipped := bytes.Clone(content)
			flipped[i] ^= 1 << (i % 8)
			writeFile(t, path, flipped)
			if l := run(t, log.Dir).Logs[0]; len(l.Findings) == 0 {
				require.True(t, i >= blind && i < blind+4, "%s, byte %d", filepath.Base(path), i)
			}
		}
		writeFile(t, path, content)
	}
}

// snapshotOf makes the content of a snapshot.
func snapshotOf(t testing.TB, epoch kafka.Epoch, frames ...string) []byte {
	var data []recordbatch.Record
	for _, f := range frames {
		data = append(data, recordbatch.Record{Value: []byte(f)})
	}
	var content []byte
	offset := kafka.Offset(0)
	for i, records := range [][]recordbatch.Record{
		{{Key: []byte{0, 0, 0, 3}, Value: make([]byte, 11)}}, data, {{Key: []byte{0, 0, 0, 4}, Value: make([]byte, 3)}},
	} {
		h := recordbatch.Header{BaseOffset: offset, LeaderEpoch: epoch, LastOffsetDelta: int32(len(records) - 1)}
		if i != 1 {
			h.Attributes = recordbatch.Control
		}
		for j := range records {
			records[j].Offset = offset
			offset++
		}
		var err error
		content, err = recordbatch.Append(content, h, records)
		require.NoError(t, err)
	}
	return content
}

func TestSnapshotsAgainstTheLog(t *testing.T) {
	feature := func(n int) string {
		return frame(t, fmt.Sprintf(`FeatureLevelRecord {"name":"f","featureLevel":%d}`, n))
	}
	log := metadataLog(t)
	for i := range 6 {
		log.Append(1, feature(i+1))
		log.Roll()
	}
	log.Append(1, frame(t, `ConfigRecord {"resourceType":2,"resourceName":"t","name":"not.known","value":"1"}`))
	log.Append(1, feature(8), feature(9))
	log.Append(1, frame(t, `BeginTransactionRecord`))
	log.Append(1, feature(11))
	log.Append(1, frame(t, `EndTransactionRecord`))

	log.Snapshot(2, 1, snapshotOf(t, 1, feature(2)))
	wrong := log.Snapshot(3, 1, snapshotOf(t, 1, feature(77)))
	log.Snapshot(4, 1, snapshotOf(t, 1, feature(4)))
	config := log.Snapshot(7, 1, snapshotOf(t, 1, feature(6)))
	inside := log.Snapshot(8, 1, snapshotOf(t, 1, feature(8)))
	log.Snapshot(9, 1, snapshotOf(t, 1, feature(9)))
	transaction := log.Snapshot(11, 1, snapshotOf(t, 1, feature(11)))
	log.Snapshot(12, 1, snapshotOf(t, 1, feature(11)))
	beyond := log.Snapshot(20, 1, snapshotOf(t, 1, feature(1)))
	l := run(t, log.Dir).Logs[0]
	require.Equal(t, []string{
		"damage " + filepath.Base(wrong) + ": it is not what the log says at offset 2; from log to snapshot, the first of 1 differences: f 3 -> 77",
		"note " + filepath.Base(config) + ": 1 configurations are only in it or only in the log, which Kafka allows: from 4.2 on it leaves out names that it does not know",
		"unchecked " + filepath.Base(inside) + ": it ends at offset 7, inside a batch or a transaction of the log, and was not compared",
		"note 00000000000000000009-0000000001.checkpoint: 1 configurations are only in it or only in the log, which Kafka allows: from 4.2 on it leaves out names that it does not know",
		"unchecked " + filepath.Base(transaction) + ": it ends at offset 10, inside a batch or a transaction of the log, and was not compared",
		"note 00000000000000000012-0000000001.checkpoint: 1 configurations are only in it or only in the log, which Kafka allows: from 4.2 on it leaves out names that it does not know",
		"note " + filepath.Base(beyond) + ": the log ends before offset 19, so that it was not compared",
	}, summaries(l))
	require.Equal(t, 5, l.SnapshotsEqual)

	// When the log begins later it is replayed from the first snapshot that
	// reaches it.
	log.DeleteBelow(3)
	l = run(t, log.Dir).Logs[0]
	require.Equal(t, kafka.Offset(3), l.StartOffset)
	require.Equal(t, 4, l.SnapshotsEqual, "those at 4, 7, 9 and 12; the wrong one is believed")
	require.NotContains(t, summaries(l)[0], "it is not what the log says")
}

func TestSnapshotsAlone(t *testing.T) {
	for name, c := range map[string]struct {
		content []byte
		result  Result
		finding string
	}{
		"sound":      {snapshotOf(t, 1, frame(t, `NoOpRecord`)), OK, ""},
		"epoch":      {snapshotOf(t, 2, frame(t, `NoOpRecord`)), Damaged, "its leader epoch is 2, the snapshot's name says 1"},
		"refused":    {snapshotOf(t, 1, frame(t, `PartitionRecord {"topicId":"AAAAAAAAAAAAAAAAAAAAAQ"}`)), Damaged, "unknown topic"},
		"begin":      {snapshotOf(t, 1, frame(t, `BeginTransactionRecord`)), Damaged, "misplaced transaction record"},
		"later type": {snapshotOf(t, 1, "\x01\x7f\x00"), PartlyUnverified, "record type is not known"},
		"cut":        {snapshotOf(t, 1, frame(t, `NoOpRecord`))[:100], Damaged, "input ends inside a record batch"},
		"empty":      {nil, Damaged, "incomplete snapshot: it ends without a footer"},
	} {
		path := writeFile(t, filepath.Join(t.TempDir(), "00000000000000000005-0000000001.checkpoint"), c.content)
		r := run(t, path)
		require.Equal(t, c.result, r.Result, name)
		if c.finding == "" {
			require.Empty(t, r.Logs[0].Findings)
			continue
		}
		require.Contains(t, summaries(r.Logs[0])[0], c.finding, name)
	}
}

func TestSegmentsThatDoNotFit(t *testing.T) {
	for name, c := range map[string]struct {
		dir     string
		spoil   func(log *logdirtest.Log)
		finding string
	}{
		"a segment is missing": {"__cluster_metadata-0", func(log *logdirtest.Log) { require.NoError(t, os.Remove(log.Path(1))) },
			"damage 00000000000000000004.log: offsets 2 to 3 are missing before it"},
		"a segment twice": {"__cluster_metadata-0", func(log *logdirtest.Log) {
			writeFile(t, filepath.Join(log.Dir, "00000000000000000003.log"), readFile(t, log.Path(1)))
		}, "damage 00000000000000000003.log: it begins at offset 3, which the segment before has: that ends at offset 3"},
		"another name": {"__cluster_metadata-0", func(log *logdirtest.Log) {
			require.NoError(t, os.Rename(log.Path(0), filepath.Join(log.Dir, "00000000000000000001.log")))
		}, "damage 00000000000000000001.log: the batch begins at offset 0, below the one in the segment's name"},
		"a compacted log may have gaps": {"__consumer_offsets-1", func(log *logdirtest.Log) { require.NoError(t, os.Remove(log.Path(1))) }, ""},
		"a compacted log may not go back": {"__consumer_offsets-1", func(log *logdirtest.Log) {
			writeFile(t, filepath.Join(log.Dir, "00000000000000000003.log"), readFile(t, log.Path(1)))
		}, "damage 00000000000000000003.log: it begins at offset 3, which the segment before has: that ends at offset 3"},
	} {
		t.Run(name, func(t *testing.T) {
			log := logdirtest.New(t, filepath.Join(t.TempDir(), c.dir), 0)
			for i := range 3 {
				if i > 0 {
					log.Roll()
				}
				for range 2 {
					r := recordbatch.Record{Value: []byte(frame(t, `NoOpRecord`))}
					if c.dir != "__cluster_metadata-0" {
						key, err := groups.AppendKey(nil, &groups.ConsumerGroupMetadataKey{GroupID: "g"})
						require.NoError(t, err)
						r = recordbatch.Record{Key: key}
					}
					log.AppendBatch(recordbatch.Header{LeaderEpoch: 1}, []recordbatch.Record{r})
				}
			}
			c.spoil(log)
			l := run(t, log.Dir).Logs[0]
			if c.finding == "" {
				require.Empty(t, summaries(l))
				return
			}
			require.Contains(t, summaries(l), c.finding)
			require.Equal(t, Damaged, l.Result)
		})
	}
}

// TestFindingsAreBounded: a log that is wrong everywhere does not fill the
// memory.
func TestFindingsAreBounded(t *testing.T) {
	log := metadataLog(t)
	for range 30 {
		log.Append(1, "\x01\x02\x00", "\x01\x02\x00", "\x01\x02\x00", "\x01\x02\x00", "\x01\x02\x00")
	}
	l := run(t, log.Dir).Logs[0]
	require.Len(t, l.Findings, maxFindings)
	require.EqualValues(t, 150-maxFindings, l.MoreFindings)

	offsets := logdirtest.New(t, filepath.Join(t.TempDir(), "__consumer_offsets-0"), 0)
	for range 30 {
		offsets.AppendBatch(recordbatch.Header{}, []recordbatch.Record{{Key: []byte{0, 99}}})
	}
	l = run(t, offsets.Dir).Logs[0]
	require.Len(t, l.Anomalies, 1)
	require.EqualValues(t, 30, l.Anomalies[0].Count)
	require.Len(t, l.Anomalies[0].First, maxAnomalies)
	require.Equal(t, OK, l.Result)
}

func TestOtherCoordinators(t *testing.T) {
	root := t.TempDir()
	transactions := logdirtest.New(t, filepath.Join(root, "__transaction_state-0"), 0)
	transactions.AppendBatch(recordbatch.Header{}, []recordbatch.Record{{Key: []byte("\x00\x00\x00\x01x")}, {Key: []byte{0, 0, 0}}, {Key: []byte{0, 9}}})
	shares := logdirtest.New(t, filepath.Join(root, "__share_group_state-0"), 0)
	shares.AppendBatch(recordbatch.Header{}, []recordbatch.Record{{Key: []byte{0, 9}}})
	r := run(t, root)
	require.Equal(t, Damaged, r.Result)
	require.Equal(t, logfile.Transactions, r.Logs[0].Log)
	require.Len(t, r.Logs[0].Findings, 2)
	require.Equal(t, []Kind{Damage, Unchecked}, []Kind{r.Logs[0].Findings[0].Kind, r.Logs[0].Findings[1].Kind})
	require.Equal(t, PartlyUnverified, r.Logs[1].Result)
	require.Equal(t, cli.Corrupt, cli.ExitCode(r.Err()))
	require.Equal(t, cli.Failed, cli.ExitCode(run(t, shares.Dir).Err()))
}
