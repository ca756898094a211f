package dump

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordgen/vectors"
	"github.com/kraftside/kraftside/metadatalog/record"
)

const loaderLog = "../../image/loader/testdata/log/"

// everything prints the whole of a file.
var everything = Options{ShowSecrets: true, To: kafka.UnknownOffset}

// print runs the dump of paths in a form.
func print(t testing.TB, format cli.Format, o Options, paths ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, notes bytes.Buffer
	err = Run(&cli.Output{Out: &out, Err: &notes, Format: format}, paths, o)
	return out.String(), notes.String(), err
}

// kafkaRecord is a record as Kafka's reader sees it.
type kafkaRecord struct {
	Offset    int64           `json:"offset"`
	Timestamp int64           `json:"timestamp"`
	Name      string          `json:"name"`
	Control   *int16          `json:"controlType"`
	Version   int16           `json:"version"`
	JSON      json.RawMessage `json:"json"`
	epoch     int64
}

// kafkaRecords reads a file under testdata/kafka.
func kafkaRecords(t testing.TB, name string) (all []kafkaRecord) {
	f, err := os.Open(filepath.Join("testdata/kafka", name))
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var batch struct {
			PartitionLeaderEpoch int64         `json:"partitionLeaderEpoch"`
			Records              []kafkaRecord `json:"records"`
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &batch))
		for _, r := range batch.Records {
			r.epoch = batch.PartitionLeaderEpoch
			all = append(all, r)
		}
	}
	require.NoError(t, lines.Err())
	return all
}

// dumped is a line of `dump -o json` of the metadata log.
type dumped struct {
	Log       string
	Offset    *int64
	Snapshot  *struct{ EndOffset, Epoch int64 }
	Epoch     *int64
	Timestamp *int64
	Control   string
	Data      json.RawMessage
	Payload   *struct {
		Type    string
		Version int16
		Data    json.RawMessage
	}
}

// TestSameAsKafka: the dump of the recorded log and of its snapshot is field
// for field what Kafka's own classes say.
func TestSameAsKafka(t *testing.T) {
	dir := t.TempDir()
	snapshot, err := os.ReadFile(loaderLog + "kraft-version-1.checkpoint")
	require.NoError(t, err)
	named := filepath.Join(dir, "00000000000000000166-0000000002.checkpoint")
	require.NoError(t, os.WriteFile(named, snapshot, 0o600))

	for file, c := range map[string]struct {
		path     string
		records  int
		snapshot bool
	}{
		"segment.jsonl":  {loaderLog + "00000000000000000000.log", 166, false},
		"snapshot.jsonl": {named, 124, true},
	} {
		want := kafkaRecords(t, file)
		require.Len(t, want, c.records)
		out, notes, err := print(t, cli.JSONFormat, everything, c.path)
		require.NoError(t, err)
		require.Empty(t, notes)
		lines := bytes.Split(bytes.TrimSpace([]byte(out)), []byte("\n"))
		require.Len(t, lines, len(want))
		for i, line := range lines {
			var got dumped
			d := json.NewDecoder(bytes.NewReader(line))
			d.DisallowUnknownFields()
			require.NoError(t, d.Decode(&got), "%s", line)
			require.Equal(t, "metadata", got.Log)
			if c.snapshot {
				require.Nil(t, got.Offset)
				require.Equal(t, [2]int64{166, 2}, [2]int64{got.Snapshot.EndOffset, got.Snapshot.Epoch})
			} else {
				require.Nil(t, got.Snapshot)
				require.Equal(t, want[i].Offset, *got.Offset)
			}
			requireSameRecord(t, &want[i], &got)
		}
	}
}

func requireSameRecord(t *testing.T, want *kafkaRecord, got *dumped) {
	t.Helper()
	if want.Control != nil {
		require.Equal(t, want.Name, got.Control)
		vectors.RequireSameJSON(t, want.JSON, got.Data, want.Name)
		return
	}
	require.Equal(t, want.epoch, *got.Epoch)
	require.Equal(t, want.Timestamp, *got.Timestamp)
	require.Equal(t, record.New(want.Name).Type().String(), got.Payload.Type)
	require.Equal(t, want.Version, got.Payload.Version)
	vectors.RequireSameJSON(t, want.JSON, got.Payload.Data, want.Name)
}

// TestForms: what the forms have is the same, and YAML reads back as the JSON.
func TestFormsHaveTheSameRecords(t *testing.T) {
	path := loaderLog + "00000000000000000000.log"
	text, _, err := print(t, cli.TextFormat, everything, path)
	require.NoError(t, err)
	require.Equal(t, 1+166, bytes.Count([]byte(text), []byte("\n")), "a heading and a line a record")
	yaml, _, err := print(t, cli.YAMLFormat, everything, path)
	require.NoError(t, err)
	require.Equal(t, 166, bytes.Count([]byte(yaml), []byte("---\n")))
	part, _, err := print(t, cli.JSONFormat, Options{From: 100, To: 101}, path)
	require.NoError(t, err)
	require.Equal(t, 2, bytes.Count([]byte(part), []byte("\n")))
}
