package imagediff

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// imageOf is the image of records, one a line as delta.ParseRecord reads them.
func imageOf(t testing.TB, base *image.MetadataImage, input string) *image.MetadataImage {
	d := delta.New(base)
	for _, line := range strings.Split(strings.TrimSpace(input), "\n") {
		if line == "" {
			continue
		}
		m, err := delta.ParseRecord(line)
		require.NoError(t, err, line)
		require.NoError(t, d.Replay(m), line)
	}
	return d.Apply(image.Provenance{Offset: base.Provenance().Offset + 1, Epoch: 1})
}

// The files under testdata compare images. Commands:
//
//	from [json] makes an image of records
//	to [json]   makes another one, of the first one's records and these, and
//	            prints how it differs
func TestImages(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var from *image.MetadataImage
		datadriven.RunTest(t, path, func(t *testing.T, c *datadriven.TestData) string {
			if c.Cmd == "from" {
				from = imageOf(t, image.Empty(), c.Input)
				return ""
			}
			to := imageOf(t, from, c.Input)
			require.Equal(t, from.Equal(to), len(Images(from, to)) == 0)
			var b strings.Builder
			for _, change := range Images(from, to) {
				require.Equal(t, change.Summary, cli.Escape(change.Summary))
				line, err := json.Marshal(change)
				require.NoError(t, err)
				if c.HasArg("json") {
					b.Write(line)
					b.WriteByte('\n')
				}
				b.WriteString(change.Summary + "\n")
			}
			return b.String()
		})
	})
}

// replayLog calls f with the image after each record of a segment.
func replayLog(t testing.TB, path string, f func(*image.MetadataImage)) {
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	r := recordbatch.NewReader(file, 0)
	var walk recordbatch.Decoder
	var records record.Decoder
	m := image.Empty()
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		if b.IsControl() {
			continue
		}
		require.NoError(t, walk.Start(&b))
		for rec := (recordbatch.Record{}); walk.Next(&rec); {
			msg, _, err := records.Decode(rec.Value)
			require.NoError(t, err)
			d := delta.New(m)
			if d.Replay(msg) == nil {
				m = d.Apply(image.Provenance{Offset: rec.Offset, Epoch: b.LeaderEpoch})
				f(m)
			}
		}
	}
}

const recorded = "../../image/loader/testdata/log/00000000000000000000.log"

// TestNoDifferenceMeansEqual: of two images that a log passes through, those
// that are equal have no difference and all others have one, both ways.
func TestNoDifferenceMeansEqual(t *testing.T) {
	var all []*image.MetadataImage
	replayLog(t, recorded, func(m *image.MetadataImage) { all = append(all, m) })
	require.Greater(t, len(all), 150)
	equal := 0
	for i, a := range all {
		for n, b := range all[i:] {
			if n > 3 && n%41 != 0 {
				continue
			}
			same := a.Equal(b)
			if same {
				equal++
			}
			require.Equal(t, same, len(Images(a, b)) == 0, "offsets %d and %d", a.Provenance().Offset, b.Provenance().Offset)
			require.Equal(t, same, len(Images(b, a)) == 0, "offsets %d and %d", b.Provenance().Offset, a.Provenance().Offset)
		}
	}
	require.Greater(t, equal, len(all), "some records change nothing")
}

// TestEveryFieldCounts changes one field after the other of some records of
// each type, and finds the difference.
func TestEveryFieldCounts(t *testing.T) {
	full := image.Empty()
	replayLog(t, recorded, func(m *image.MetadataImage) { full = m })
	var lines []string
	var messages []record.Message
	require.NoError(t, full.Write(func(r record.Message, version int16) error {
		lines = append(lines, string(image.AppendRecordText(nil, r, version, true)))
		m, err := delta.ParseRecord(strings.TrimSpace(lines[len(lines)-1]))
		messages = append(messages, m)
		return err
	}))
	tried := 0
	seen := make(map[record.Type]int)
	for i, line := range lines {
		if seen[messages[i].Type()]++; seen[messages[i].Type()] > 5 {
			continue
		}
		for _, text := range variants(t, line) {
			changed, err := delta.ParseRecord(text)
			require.NoError(t, err, text)
			d := delta.New(image.Empty())
			var failed error
			for j, m := range messages {
				if j == i {
					m = changed
				}
				failed = errors.Join(failed, d.Replay(m))
			}
			if failed != nil {
				continue // such as a partition of a topic that is not there
			}
			tried++
			to := d.Apply(image.Provenance{Offset: kafka.Offset(i)})
			require.Equal(t, full.Equal(to), len(Images(full, to)) == 0, text)
			require.Equal(t, full.Equal(to), len(Images(to, full)) == 0, text)
		}
	}
	require.Greater(t, tried, 100)
}

// variants are the record with one field changed at a time.
func variants(t *testing.T, line string) (all []string) {
	name, rest, _ := strings.Cut(line, " ")
	version, body, _ := strings.Cut(rest, " ")
	var fields map[string]any
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	require.NoError(t, d.Decode(&fields))
	for key, value := range fields {
		switch v := value.(type) {
		case bool:
			fields[key] = !v
		case json.Number:
			fields[key] = 1
		case string:
			fields[key] = "AAAAAAAAAAAAAAAAAAAAZw" // an id, or a name
			if name == "UserScramCredentialRecord" {
				fields[key] = "AAAAZw==" // bytes
			}
		case nil:
			fields[key] = nil
		case []any:
			fields[key] = v[:len(v)/2]
		}
		changed, err := json.Marshal(fields)
		require.NoError(t, err)
		all = append(all, name+" "+version+" "+string(changed))
		fields[key] = value
	}
	return all
}
