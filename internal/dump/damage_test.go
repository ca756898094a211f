package dump

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir/logdirtest"
	"github.com/kraftside/kraftside/internal/logfile"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// topics writes so many batches with a TopicRecord each.
func topics(t testing.TB, log *logdirtest.Log, n int) {
	for range n {
		frame, err := record.AppendFrame(nil, &record.TopicRecord{Name: "t"}, 0)
		require.NoError(t, err)
		log.Append(1, string(frame))
	}
}

func metadataLog(t testing.TB) *logdirtest.Log {
	return logdirtest.New(t, filepath.Join(t.TempDir(), "__cluster_metadata-0"), 0)
}

func size(t testing.TB, path string) int64 {
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Size()
}

// flip damages a byte of a file.
func flip(t testing.TB, path string, at int64) {
	b := readFile(t, path)
	b[at] ^= 0x40
	require.NoError(t, os.WriteFile(path, b, 0o600))
}

func lines(s string) int { return strings.Count(s, "\n") }

func TestDamageEndsAFileAndNotTheDump(t *testing.T) {
	log := metadataLog(t)
	topics(t, log, 3)
	log.Roll()
	topics(t, log, 2)
	one := size(t, log.Path(0)) / 3
	flip(t, log.Path(0), 2*one+70)

	out, notes, err := print(t, cli.JSONFormat, everything, log.Dir)
	require.Equal(t, cli.Corrupt, cli.ExitCode(err))
	require.ErrorIs(t, err, recordbatch.ErrCorrupt)
	require.ErrorContains(t, err, log.Path(0)+" at byte "+itoa(2*one)+", offset 2: ")
	require.ErrorContains(t, err, "what stands before it was printed")
	require.Empty(t, notes)
	require.Equal(t, 2+2, lines(out), "the sound part of the first segment, and the second one")
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func TestUnfinishedBatch(t *testing.T) {
	log := metadataLog(t)
	topics(t, log, 2)
	whole := size(t, log.Path(0))
	log.AppendTorn(1, 30, "x")
	out, notes, err := print(t, cli.JSONFormat, everything, log.Dir)
	require.NoError(t, err, "the newest segment may end so")
	require.Equal(t, 2, lines(out))
	require.Contains(t, notes, "note: read "+log.Path(0)+" at byte "+itoa(whole)+", offset 2: input ends inside a record batch")

	_, _, err = print(t, cli.JSONFormat, everything, log.Path(0))
	require.NoError(t, err)

	// The same end of an older segment is damage.
	next := filepath.Join(log.Dir, "00000000000000000003.log")
	require.NoError(t, os.WriteFile(next, nil, 0o600))
	for _, path := range []string{log.Dir, log.Path(0)} {
		_, notes, err = print(t, cli.JSONFormat, everything, path)
		require.Equal(t, cli.Corrupt, cli.ExitCode(err))
		require.ErrorIs(t, err, recordbatch.ErrPartial)
		require.Empty(t, notes)
	}
}

func TestSnapshotWithoutItsEnd(t *testing.T) {
	content := readFile(t, loaderLog+"kraft-version-0.checkpoint")
	const footer = 75 // bytes of the footer's batch
	for name, c := range map[string]struct {
		content []byte
		records int
		problem string
	}{
		"no footer":    {content[:len(content)-footer], 121, "incomplete snapshot: it ends without a footer"},
		"inside batch": {content[:len(content)-footer-1], 101, "input ends inside a record batch"},
		"empty":        {nil, 0, "incomplete snapshot: it ends without a footer"},
		"no header":    {readFile(t, loaderLog+"00000000000000000000.log"), 0, "incomplete snapshot: it does not begin with a header"},
		"after footer": {append(content[:len(content):len(content)], content[len(content)-footer:]...), 122, "incomplete snapshot: a batch follows the footer"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "00000000000000000166-0000000002.checkpoint")
			require.NoError(t, os.WriteFile(path, c.content, 0o600))
			out, _, err := print(t, cli.JSONFormat, everything, path)
			require.Equal(t, cli.Corrupt, cli.ExitCode(err))
			require.ErrorContains(t, err, c.problem)
			require.Equal(t, c.records, lines(out))
		})
	}
}

func TestRecordsThatCannotBeDecoded(t *testing.T) {
	log := metadataLog(t)
	log.Append(1,
		"\x01\x02\x00",        // a TopicRecord cut short: damage
		"\x01\x02\x63",        // a version of it that there is not
		"\x01\x7f\x00",        // a type that there is not
		"\x01\x04\x00hunter2", // a ConfigRecord cut short
		"\x02\x0b\x00\x01",    // another frame
		"\x01\x0b\x63\x01key", // SCRAM credentials of a later version
	)
	topics(t, log, 1)
	out, notes, err := print(t, cli.JSONFormat, Options{To: kafka.UnknownOffset}, log.Dir)
	require.Equal(t, `{"log":"metadata","offset":0,"error":"decode TopicRecord version 0: byte 3: input ends inside a value","hex":"010200"}
{"log":"metadata","offset":1,"error":"decode TopicRecord version 99: byte 3: record version is not known","hex":"010263"}
{"log":"metadata","offset":2,"error":"decode record type 127 version 0: record type is not known","hex":"(redacted)"}
{"log":"metadata","offset":3,"error":"decode ConfigRecord version 0: byte 5: input ends inside a value: value of length 116, 5 bytes left","hex":"(redacted)"}
{"log":"metadata","offset":4,"error":"decode frame of a record: frame version 2: record version is not known","hex":"(redacted)"}
{"log":"metadata","offset":5,"error":"decode UserScramCredentialRecord version 99: byte 3: record version is not known","hex":"(redacted)"}
{"log":"metadata","offset":6,"epoch":1,"timestamp":0,"payload":{"type":"TOPIC_RECORD","version":0,"data":{"name":"t","topicId":"AAAAAAAAAAAAAAAAAAAAAA"}}}
`, out)
	require.Equal(t, cli.Corrupt, cli.ExitCode(err))
	require.ErrorContains(t, err, "2 records cannot be decoded, the first at offset 0 of "+log.Path(0))
	require.Contains(t, notes, "4 records are of a type or a version that Kafka 4.0 to 4.4 do not have, the first at offset 1 of")

	out, _, _ = print(t, cli.JSONFormat, everything, log.Dir)
	require.Contains(t, out, `"hex":"01040068756e74657232"`)
}

func TestTransactionsAndPartitions(t *testing.T) {
	root := t.TempDir()
	for _, n := range []string{"3", "12"} {
		log := logdirtest.New(t, filepath.Join(root, "__consumer_offsets-"+n), 5)
		log.AppendBatch(recordbatch.Header{Attributes: recordbatch.Transactional, ProducerID: 7, ProducerEpoch: 1}, []recordbatch.Record{
			{Timestamp: 9, Key: []byte("\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x00")},
		})
		log.AppendBatch(recordbatch.Header{Attributes: recordbatch.Transactional | recordbatch.Control, ProducerID: 7, ProducerEpoch: 2}, []recordbatch.Record{
			{Key: []byte{0, 0, 0, 0}, Value: []byte{0, 0, 0, 0, 0, 3}},
		})
	}
	one, _, err := print(t, cli.JSONFormat, everything, filepath.Join(root, "__consumer_offsets-3"))
	require.NoError(t, err)
	require.Equal(t, `{"log":"offsets","offset":5,"epoch":0,"timestamp":9,"producerId":7,"producerEpoch":1,"key":{"type":"1","data":{"group":"g","topic":"t","partition":0}},"value":null}
{"log":"offsets","offset":6,"producerId":7,"producerEpoch":2,"control":"ABORT","data":{"coordinatorEpoch":3}}
`, one)
	both, _, err := print(t, cli.JSONFormat, everything, root)
	require.NoError(t, err)
	require.Contains(t, both, `{"log":"offsets","partition":3,"offset":5,`)
	require.Contains(t, both, `{"log":"offsets","partition":12,"offset":5,`)
	require.Equal(t, 4, lines(both))
	none, _, err := print(t, cli.JSONFormat, Options{Log: logfile.Metadata, To: kafka.UnknownOffset}, root)
	require.Equal(t, cli.NotFound, cli.ExitCode(err))
	require.Empty(t, none)
}

func TestFromAndTo(t *testing.T) {
	log := metadataLog(t)
	for range 4 {
		log.Append(1, "a", "b", "c")
		log.Roll()
	}
	log.Snapshot(6, 1, readFile(t, loaderLog+"kraft-version-0.checkpoint"))
	for name, c := range map[string]struct{ from, to, records kafka.Offset }{
		"all":          {0, -1, 12 + 122},
		"from":         {4, -1, 8},
		"to":           {0, 4, 5},
		"one":          {7, 7, 1},
		"beyond":       {100, -1, 0},
		"up to beyond": {11, 100, 1},
	} {
		out, _, _ := print(t, cli.JSONFormat, Options{From: c.from, To: c.to}, log.Dir)
		require.EqualValues(t, c.records, lines(out), name)
	}
	// What lies outside is not even read.
	flip(t, log.Path(3), 70)
	_, _, err := print(t, cli.JSONFormat, Options{To: 8}, log.Path(0), log.Path(3))
	require.NotErrorIs(t, err, recordbatch.ErrCorrupt)
}
