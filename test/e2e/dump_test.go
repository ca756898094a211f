//go:build e2e && unix

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/dump"
	"github.com/kraftside/kraftside/internal/dump/dumptest"
	"github.com/kraftside/kraftside/internal/kafka"
)

// dumped is what `dump` prints of files.
func dumped(t testing.TB, format cli.Format, secrets bool, paths ...string) string {
	t.Helper()
	var out, notes bytes.Buffer
	err := dump.Run(&cli.Output{Out: &out, Err: &notes, Format: format}, paths, dump.Options{ShowSecrets: secrets, To: kafka.UnknownOffset})
	require.NoError(t, err, notes.String())
	return out.String()
}

// sameDump compares `dump --show-secrets` of the logs that the story left with
// the release's own tool, and what that says of hashes with what was seen live.
func (c *cast) sameDump(t *testing.T) { c.world.sameDump(t) }

func (w *world) sameDump(t *testing.T) {
	metadata := copyDir(t, w.MetadataDir(w.active(t)))
	log, err := readControllerLog(metadata)
	require.NoError(t, err)
	files := log.segments
	for _, id := range log.snapshots {
		files = append(files, filepath.Join(metadata, id.String()+".checkpoint"))
	}
	records := w.compareDump(t, files)
	require.NotEmpty(t, records)

	for _, p := range w.all.View().Partitions {
		name := fmt.Sprintf("%s-%d", kafka.OffsetsTopic, p.Partition)
		dir := copyDir(t, filepath.Join(w.LogDir(int32(p.Coordinator)), name))
		segments, err := filepath.Glob(filepath.Join(dir, "*.log"))
		require.NoError(t, err)
		w.requireHashes(t, p.Partition, w.compareDump(t, segments))
	}
}

// compareDump compares both dumps of files of one log, and returns Kafka's.
func (w *world) compareDump(t *testing.T, files []string) []string {
	theirs, err := w.Dump(within(t), files...)
	require.NoError(t, err)
	var ours strings.Builder
	for _, f := range files {
		ours.WriteString(dumped(t, cli.JSONFormat, true, f))
	}
	n := dumptest.RequireSame(t, theirs, []byte(ours.String()))
	t.Logf("%s: %d records", filepath.Base(filepath.Dir(files[0])), n)
	return theirs
}

// requireHashes holds the hashes in Kafka's dump against those that were seen
// while they were written.
func (w *world) requireHashes(t *testing.T, partition int32, lines []string) {
	seen, err := w.log.all()
	require.NoError(t, err)
	at := 0
	for at < len(seen) && seen[at].Partition < partition {
		at++
	}
	for _, line := range lines {
		h, ok := hashOf(t, partition, line)
		if !ok {
			continue
		}
		require.Less(t, at, len(seen), line)
		require.Equal(t, h, seen[at])
		at++
	}
	require.True(t, at == len(seen) || seen[at].Partition > partition, "only seen live: %v", seen[min(at, len(seen)-1)])
}

func hashOf(t *testing.T, partition int32, line string) (h storedHash, ok bool) {
	_, text, is := strings.Cut(line, " key: ")
	if !is || !strings.HasPrefix(text, "{") {
		return h, false
	}
	var key struct {
		Type string
		Data struct{ GroupID string }
	}
	d := json.NewDecoder(strings.NewReader(text))
	require.NoError(t, d.Decode(&key), line)
	kind, err := strconv.Atoi(key.Type)
	require.NoError(t, err)
	switch h.Type = record.Type(kind); h.Type {
	case record.TypeConsumerGroupMetadata, record.TypeShareGroupMetadata, record.TypeStreamsGroupMetadata:
	default:
		return h, false
	}
	h.Group, h.Partition = key.Data.GroupID, partition
	_, err = fmt.Sscanf(line, "| offset: %d", &h.Offset)
	require.NoError(t, err)
	payload := strings.TrimPrefix(text[d.InputOffset():], " payload: ")
	if payload == "<DELETE>" {
		h.Tombstone = true
		return h, true
	}
	var value struct {
		Data struct {
			Epoch        int32
			MetadataHash int64
		}
	}
	require.NoError(t, json.Unmarshal([]byte(payload), &value), line)
	h.Epoch, h.Hash = value.Data.Epoch, value.Data.MetadataHash
	return h, true
}
