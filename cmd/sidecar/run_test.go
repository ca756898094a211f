package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/delta"
	groups "github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir/logdirtest"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// outcome is what a command line led to.
type outcome struct {
	stdout, stderr string
	code           cli.Code
}

// runLine runs a command line, split at spaces, as a process in a pipe would
// that was started on 14 November 2023 in a zone called CET.
func runLine(line string) outcome { return runArgs(strings.Fields(line)) }

func runArgs(args []string) outcome {
	var stdout, stderr bytes.Buffer
	now := time.Date(2023, 11, 14, 22, 30, 0, 0, time.UTC)
	code := run(args, &cli.Output{
		Out: &stdout, Err: &stderr, Format: cli.TextFormat,
		Clock: cli.Clock{Now: now, Zone: time.FixedZone("CET", 3600)},
		Now:   func() time.Time { return now },
	})
	return outcome{stdout.String(), stderr.String(), code}
}

// world is the folder that a transcript runs in.
type world struct {
	t    *testing.T
	logs map[string]*logdirtest.Log
}

// newWorld makes an empty folder the current one. It has a metadata log that
// Kafka's own classes wrote, with its snapshot, in recorded/.
func newWorld(t *testing.T, repository string) *world {
	t.Chdir(t.TempDir())
	source := filepath.Join(repository, "image/loader/testdata/log")
	for from, to := range map[string]string{
		"00000000000000000000.log":   "00000000000000000000.log",
		"kraft-version-1.checkpoint": "00000000000000000166-0000000002.checkpoint",
	} {
		content, err := os.ReadFile(filepath.Join(source, from))
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll("recorded/__cluster_metadata-0", 0o755))
		require.NoError(t, os.WriteFile(filepath.Join("recorded/__cluster_metadata-0", to), content, 0o600))
	}
	return &world{t: t, logs: make(map[string]*logdirtest.Log)}
}

func (w *world) log(dir string) *logdirtest.Log {
	if w.logs[dir] == nil {
		w.logs[dir] = logdirtest.New(w.t, dir, 0)
	}
	return w.logs[dir]
}

// The files under testdata/transcripts are sessions in a folder of their own.
// Commands:
//
//	run                      each line is a command line without its first word;
//	                         lines of standard error begin with "! ", and an exit
//	                         code that is not 0 comes last
//	metadata dir=D [epoch=N] appends one batch of records, one a line as
//	                         delta.ParseRecord reads them, to a metadata log
//	groups dir=D             appends one batch to a group coordinator's log: the
//	                         type, key and value of a record a line
//	marker dir=D [commit]    appends the end of producer 7's transaction, begun
//	                         by groups with the argument txn
//	roll dir=D               begins another segment
//	snapshot dir=D end=N     writes a snapshot with these records
//	flip file=F at=N         damages byte N of a file; counts from the end if < 0
//	cut file=F at=N          cuts a file off there
func TestTranscripts(t *testing.T) {
	repository, err := filepath.Abs("../..")
	require.NoError(t, err)
	datadriven.Walk(t, filepath.Join(repository, "cmd/sidecar/testdata/transcripts"), func(t *testing.T, path string) {
		w := newWorld(t, repository)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "run" {
				return w.run(d.Input)
			}
			var dir, file string
			epoch, at, end := 1, 0, 0
			d.MaybeScanArgs(t, "dir", &dir)
			d.MaybeScanArgs(t, "file", &file)
			d.MaybeScanArgs(t, "epoch", &epoch)
			d.MaybeScanArgs(t, "at", &at)
			d.MaybeScanArgs(t, "end", &end)
			switch d.Cmd {
			case "metadata":
				w.appendMetadata(w.log(dir), kafka.Epoch(epoch), d.Input)
			case "groups":
				w.appendGroups(w.log(dir), d.HasArg("txn"), d.Input)
			case "marker":
				w.appendMarker(w.log(dir), d.HasArg("commit"))
			case "snapshot":
				w.log(dir).Snapshot(kafka.Offset(end), kafka.Epoch(epoch), w.snapshot(kafka.Epoch(epoch), d.Input))
			case "roll":
				w.log(dir).Roll()
			case "flip":
				w.damage(file, at, false)
			case "cut":
				w.damage(file, at, true)
			default:
				return "unknown command " + d.Cmd
			}
			return ""
		})
	})
}

func (w *world) run(input string) string {
	var b strings.Builder
	for _, line := range strings.Split(input, "\n") {
		o := runLine(line)
		b.WriteString(o.stdout)
		for l := range strings.Lines(o.stderr) {
			b.WriteString("! " + l)
		}
		if o.code != cli.OK {
			fmt.Fprintf(&b, "exit %d\n", o.code)
		}
	}
	return b.String()
}

// start is when the records of transcripts begin. They are a second apart.
var start = time.Date(2023, 11, 14, 22, 0, 0, 0, time.UTC).UnixMilli()

func (w *world) appendMetadata(log *logdirtest.Log, epoch kafka.Epoch, input string) {
	records := w.records(input, start+int64(log.End())*1000)
	log.AppendBatch(recordbatch.Header{
		LeaderEpoch: epoch, BaseTimestamp: records[0].Timestamp, MaxTimestamp: records[len(records)-1].Timestamp,
	}, records)
}

// groupRecords has the key and the value of the types in transcripts.
var groupRecords = map[string]func() (groups.Key, groups.Value){
	"OffsetCommit": func() (groups.Key, groups.Value) { return &groups.OffsetCommitKey{}, &groups.OffsetCommitValue{} },
	"ConsumerGroupMetadata": func() (groups.Key, groups.Value) {
		return &groups.ConsumerGroupMetadataKey{}, &groups.ConsumerGroupMetadataValue{}
	},
	"ConsumerGroupMemberMetadata": func() (groups.Key, groups.Value) {
		return &groups.ConsumerGroupMemberMetadataKey{}, &groups.ConsumerGroupMemberMetadataValue{}
	},
	"ShareGroupMetadata": func() (groups.Key, groups.Value) {
		return &groups.ShareGroupMetadataKey{}, &groups.ShareGroupMetadataValue{}
	},
}

func (w *world) appendGroups(log *logdirtest.Log, txn bool, input string) {
	h := recordbatch.Header{LeaderEpoch: 1, BaseTimestamp: start, ProducerID: -1}
	if txn {
		h.Attributes, h.ProducerID = recordbatch.Transactional, 7
	}
	var records []recordbatch.Record
	for _, line := range strings.Split(strings.TrimSpace(input), "\n") {
		name, fields, _ := strings.Cut(line, " ")
		key, value := groupRecords[name]()
		d := json.NewDecoder(strings.NewReader(fields))
		require.NoError(w.t, d.Decode(key), line)
		keyBytes, err := groups.AppendKey(nil, key)
		require.NoError(w.t, err, line)
		r := recordbatch.Record{Timestamp: start, Key: keyBytes}
		if !strings.HasSuffix(fields, " null") {
			value.Reset()
			require.NoError(w.t, d.Decode(value), line)
			r.Value, err = groups.AppendValue(nil, value, value.Type().HighestVersion())
			require.NoError(w.t, err, line)
		}
		records = append(records, r)
	}
	log.AppendBatch(h, records)
}

func (w *world) appendMarker(log *logdirtest.Log, commit bool) {
	kind := byte(recordbatch.AbortMarker)
	if commit {
		kind = byte(recordbatch.CommitMarker)
	}
	log.AppendBatch(recordbatch.Header{Attributes: recordbatch.Control | recordbatch.Transactional, LeaderEpoch: 1, ProducerID: 7},
		[]recordbatch.Record{{Key: []byte{0, 0, 0, kind}, Value: make([]byte, 6)}})
}

func (w *world) records(input string, timestamp int64) (records []recordbatch.Record) {
	for i, line := range strings.Split(strings.TrimSpace(input), "\n") {
		m, err := delta.ParseRecord(strings.TrimSpace(line))
		require.NoError(w.t, err, line)
		frame, err := record.AppendFrame(nil, m, m.Type().HighestVersion())
		require.NoError(w.t, err, line)
		records = append(records, recordbatch.Record{Offset: kafka.Offset(i), Timestamp: timestamp + int64(i)*1000, Value: frame})
	}
	return records
}

// snapshot is the content of a snapshot: header, records, footer.
func (w *world) snapshot(epoch kafka.Epoch, input string) []byte {
	header := []recordbatch.Record{{Timestamp: start, Key: []byte{0, 0, 0, 3}, Value: append(make([]byte, 2+8), 0)}}
	footer := []recordbatch.Record{{Timestamp: start, Key: []byte{0, 0, 0, 4}, Value: make([]byte, 2+1)}}
	var content []byte
	offset := kafka.Offset(0)
	for i, records := range [][]recordbatch.Record{header, w.records(input, start), footer} {
		h := recordbatch.Header{BaseOffset: offset, LeaderEpoch: epoch, BaseTimestamp: start, MaxTimestamp: start, LastOffsetDelta: int32(len(records) - 1)}
		if i != 1 {
			h.Attributes = recordbatch.Control
		}
		for j := range records {
			records[j].Offset = offset
			offset++
		}
		var err error
		content, err = recordbatch.Append(content, h, records)
		require.NoError(w.t, err)
	}
	return content
}

func (w *world) damage(file string, at int, cut bool) {
	content, err := os.ReadFile(file)
	require.NoError(w.t, err)
	if at < 0 {
		at += len(content)
	}
	if cut {
		content = content[:at]
	} else {
		content[at] ^= 0x40
	}
	require.NoError(w.t, os.WriteFile(file, content, 0o600))
}
