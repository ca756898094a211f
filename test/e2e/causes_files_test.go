//go:build e2e && unix

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/ask"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir"
	"github.com/kraftside/kraftside/internal/offline"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/internal/wire"
	"github.com/kraftside/kraftside/metadatalog"
	metadatarecord "github.com/kraftside/kraftside/metadatalog/record"
	"github.com/kraftside/kraftside/web/api"
)

// requireSameFromFiles: what is explained from copies of the logs is what was
// explained live, of every group.
func (s *stage) requireSameFromFiles(t *testing.T) {
	s.all.awaitCaughtUp(t)
	eventually(t, "the files give the same explanations", func() error {
		files, err := offline.Open(t.Context(), s.copyLogs(t), "e2e", &cli.Output{Out: io.Discard, Err: io.Discard, Now: time.Now})
		if err != nil {
			return err
		}
		for _, id := range slices.Sorted(maps.Keys(s.ids)) {
			live := rebalances(t, s.all.Address(), id)
			got, err := files.Rebalances(t.Context(), id, ask.Rebalances{Last: 100, Epoch: -1})
			if err != nil {
				return err
			}
			slices.Reverse(got.Rebalances)
			if live, got := encode(t, live), encode(t, got.Rebalances); live != got {
				return fmt.Errorf("group %s, live:\n%s\nfrom the files:\n%s", id, live, got)
			}
		}
		return nil
	})
}

// copyLogs copies the metadata log of a controller and every replica of
// __consumer_offsets.
func (s *stage) copyLogs(t *testing.T) offline.Dirs {
	d := offline.Dirs{Metadata: copyDir(t, s.MetadataDir(s.ControllerIDs()[0]))}
	for _, broker := range s.BrokerIDs() {
		for p := range int32(offsetsPartitions) {
			dir := filepath.Join(s.LogDir(broker), logdir.PartitionName(kafka.OffsetsTopic, p))
			if _, err := os.Stat(dir); err == nil {
				d.Offsets = append(d.Offsets, copyDir(t, dir))
			}
		}
	}
	return d
}

func encode(t testing.TB, v any) string {
	b, err := json.MarshalIndent(v, "", " ")
	require.NoError(t, err)
	return string(b)
}

// requireEvidence looks up every record that an explanation names in the logs:
// it is there, of that type, and about that group or topic.
func (s *stage) requireEvidence(t *testing.T) {
	c := s.readMetadata(t)
	c.offsetsTopic, _ = s.all.View().Image.Topics().ByName(kafka.OffsetsTopic)
	looked := 0
	for _, id := range slices.Sorted(maps.Keys(s.ids)) {
		for _, r := range rebalances(t, s.all.Address(), id) {
			for i := range r.Causes {
				// What reads the groups' log for the test may be behind.
				eventually(t, "the evidence is in the logs", func() error {
					n, err := c.check(s.log, id, &r.Causes[i])
					if err != nil {
						return fmt.Errorf("group %s: %w\n%s", id, err, encode(t, r))
					}
					looked += n
					return nil
				})
			}
		}
	}
	require.Positive(t, looked)
	t.Logf("%d records of evidence are in the logs", looked)
}

// readMetadata reads a controller's metadata log, of which nothing was cleaned away.
func (w *world) readMetadata(t *testing.T) *proofs {
	p := &proofs{metadata: map[kafka.Offset]metadataRow{}}
	err := metadatalog.ReadDir(copyDir(t, w.MetadataDir(w.ControllerIDs()[0])), kafka.UnknownOffset, p)
	if !errors.Is(err, recordbatch.ErrPartial) {
		require.NoError(t, err)
	}
	return p
}

// proofs are the records of the metadata log.
type proofs struct {
	metadata     map[kafka.Offset]metadataRow
	offsetsTopic interface{ ID() kafka.TopicID }
}

// metadataRow is a record of the metadata log.
type metadataRow struct {
	name, json string
	at         int64 // milliseconds since 1970
}

// LoadSnapshot implements metadatalog.Sink.
func (p *proofs) LoadSnapshot(*metadatalog.SnapshotReader) error {
	return errors.New("the log does not begin at offset 0")
}

// Append implements metadatalog.Sink.
func (p *proofs) Append(b *recordbatch.Batch) error {
	if b.IsControl() {
		return nil
	}
	var batches recordbatch.Decoder
	var decoder metadatarecord.Decoder
	if err := batches.Start(b); err != nil {
		return err
	}
	for r := (recordbatch.Record{}); batches.Next(&r); {
		m, version, err := decoder.Decode(r.Value)
		if err != nil {
			return err
		}
		p.metadata[r.Offset] = metadataRow{m.Type().RecordName(), string(m.AppendJSON(nil, version, wire.HideSecrets)), r.Timestamp}
	}
	return batches.Err()
}

// Reset implements metadatalog.Sink.
func (p *proofs) Reset(reason error) error { return reason }

// Progress implements metadatalog.Sink.
func (p *proofs) Progress(metadatalog.Progress) error { return nil }

// check looks up the records of one cause of a rebalance of a group.
func (p *proofs) check(log *coordinatorLog, group string, c *api.Cause) (looked int, err error) {
	for i := range c.Evidence {
		if err := p.find(log, group, &c.Evidence[i], subjects(c)); err != nil {
			return 0, err
		}
	}
	if c.Trigger == nil {
		return len(c.Evidence), nil
	}
	about := subjects(c)
	switch c.Trigger.Kind {
	case "coordinatorMoved":
		about = []string{fmt.Sprintf(`"partitionId":%d,"topicId":"%s"`, partitionOf(group), p.offsetsTopic.ID())}
	case "regexRefresh":
		about = []string{`"topicId":`} // the creation of any topic
	}
	for i := range c.Trigger.Evidence {
		if err := p.find(log, group, &c.Trigger.Evidence[i], about); err != nil {
			return 0, err
		}
	}
	return len(c.Evidence) + len(c.Trigger.Evidence), nil
}

// subjects are what a record of the metadata log names, one of them, if it is
// about the cause.
func subjects(c *api.Cause) (all []string) {
	if c.TopicID != nil {
		all = append(all, fmt.Sprintf(`"topicId":"%s"`, c.TopicID))
	}
	if c.Field != nil && *c.Field == "id" {
		all = append(all, fmt.Sprintf(`"topicId":"%s"`, c.Before[0]))
	}
	for _, e := range c.Evidence {
		var broker int
		if e.Detail != nil {
			if _, err := fmt.Sscanf(*e.Detail, "broker %d ", &broker); err == nil {
				all = append(all, fmt.Sprintf(`"brokerId":%d,`, broker))
			}
		}
	}
	return all
}

// find looks up one record.
func (p *proofs) find(log *coordinatorLog, group string, e *api.Evidence, about []string) error {
	if e.Log != "metadata" {
		return log.find(group, e)
	}
	row, ok := p.metadata[e.Offset]
	switch {
	case !ok || row.name != e.Record:
		return fmt.Errorf("%s at metadata offset %d, where there is %q", e.Record, e.Offset, row.name)
	case !slices.ContainsFunc(about, func(a string) bool { return strings.Contains(row.json, a) }):
		return fmt.Errorf("%s at metadata offset %d is about none of %q: %s", e.Record, e.Offset, about, row.json)
	}
	return nil
}

// find looks up a record of a group.
func (l *coordinatorLog) find(group string, e *api.Evidence) error {
	partition := partitionOf(group)
	if e.Log != fmt.Sprintf("offsets-%d", partition) {
		return fmt.Errorf("evidence in %s, and the group is in partition %d", e.Log, partition)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, entry := range l.entries[partition] {
		if entry.Offset != e.Offset {
			continue
		}
		var decoder record.Decoder
		key, err := decoder.Key(entry.Key)
		if err != nil {
			return err
		}
		removed := e.Detail != nil && *e.Detail == "tombstone"
		if key.Owner() != group || key.Type().RecordName() != e.Record || removed != (entry.Value == nil) {
			return fmt.Errorf("%s of %s at offset %d of partition %d, where there is %s of %s", e.Record, group, e.Offset, partition, key.Type().RecordName(), key.Owner())
		}
		return nil
	}
	return fmt.Errorf("no record at offset %d of partition %d", e.Offset, partition)
}

// requireSharedBatch: the two groups of twoGroups have bumps in one batch.
func (s *stage) requireSharedBatch(t *testing.T) {
	const partition = bothIn
	var bumps [][]kafka.Offset // of each of the two groups
	for id := range s.ids {
		if strings.HasPrefix(id, "both-") {
			var list []kafka.Offset
			for _, stored := range s.log.of(id) {
				list = append(list, kafka.Offset(stored.Offset))
			}
			bumps = append(bumps, list)
		}
	}
	require.Len(t, bumps, 2)
	leader := s.leader(t, kafka.OffsetsTopic, partition)
	dir := copyDir(t, filepath.Join(s.LogDir(leader), logdir.PartitionName(kafka.OffsetsTopic, partition)))
	b, err := os.ReadFile(filepath.Join(dir, "00000000000000000000.log"))
	require.NoError(t, err)
	for len(b) > 0 {
		var batch recordbatch.Batch
		batch, b, err = recordbatch.Split(b)
		require.NoError(t, err)
		within := func(at kafka.Offset) bool { return at >= batch.BaseOffset && at <= batch.LastOffset() }
		if slices.ContainsFunc(bumps[0], within) && slices.ContainsFunc(bumps[1], within) {
			return
		}
	}
	require.Fail(t, "no batch has the bumps of both groups", "%v", bumps)
}
