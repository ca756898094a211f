package store

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/topichash"
)

// The files under testdata/layout show the rows of docs/format/store.md. Commands:
//
//	replay                  records, one a line, become one delta of the image
//	snapshot                the same, as a snapshot
//	group partition=N       lines of `put KIND KEY VALUE` and `delete KIND KEY`;
//	      [producer=P]      the record's offset is that of the line before plus one
//	offset partition=N next=O
//	start partition=N       the partition is read from its start
//	model NAME=VALUE...
//	hash GROUP
//	commit                  and what is durable then
//	rows [family=X]         every row
//	reopen                  and what is durable then
func TestLayout(t *testing.T) {
	datadriven.Walk(t, "testdata/layout", func(t *testing.T, path string) {
		l := &layout{t: t, fs: vfs.NewMem(), image: image.Empty()}
		l.store = open(t, memOptions(l.fs))
		datadriven.RunTest(t, path, l.run)
		require.NoError(t, l.store.Close())
	})
}

type layout struct {
	t      *testing.T
	fs     vfs.FS
	store  *Store
	image  *image.MetadataImage
	offset kafka.Offset // of the group records
}

func (l *layout) run(t *testing.T, c *datadriven.TestData) string {
	var partition int32
	c.MaybeScanArgs(t, "partition", &partition)
	switch c.Cmd {
	case "replay", "snapshot":
		return l.replay(c)
	case "group":
		l.group(c, partition)
	case "offset":
		at := PartitionOffset{TopicID: kafka.UUID{1, 2}, LeaderEpoch: 5, SeenAt: start.UnixMilli()}
		c.ScanArgs(t, "next", &at.Next)
		l.store.GroupsOffset(partition, at)
	case "start":
		l.store.GroupsStart(partition)
	case "model":
		for _, arg := range c.CmdArgs {
			l.store.Model(arg.Key, []byte(arg.Vals[0]))
		}
	case "hash":
		l.store.Hash(c.CmdArgs[0].Key, HashRecord{
			Type: groups.Share, Epoch: 3, Scheme: topichash.Kafka, Stored: -1, Computed: 258, MetadataOffset: 4,
			Verdict: topichash.Stale, Since: start.UnixMilli(),
		})
	case "commit":
		require.NoError(t, l.store.Flush())
		return durableText(l.store)
	case "rows":
		family := ""
		c.MaybeScanArgs(t, "family", &family)
		return l.rows(family)
	case "reopen":
		require.NoError(t, l.store.Close())
		l.store = open(t, memOptions(l.fs))
		var err error
		l.image, err = l.store.LoadImage()
		require.NoError(t, err)
		return durableText(l.store)
	default:
		return "unknown command\n"
	}
	return ""
}

func durableText(s *Store) string { return fmt.Sprintf("%+v\n", s.Durable()) }

func (l *layout) replay(c *datadriven.TestData) string {
	d := delta.New(l.image)
	if c.Cmd == "snapshot" {
		d = delta.NewSnapshot(l.image)
	}
	for line := range strings.Lines(c.Input) {
		m, err := delta.ParseRecord(strings.TrimSpace(line))
		if err == nil {
			err = d.Replay(m)
		}
		if err != nil {
			return err.Error() + "\n"
		}
	}
	p := l.image.Provenance()
	l.image = d.Apply(image.Provenance{Offset: p.Offset + 1, Epoch: 1, AppendTime: start.UnixMilli()})
	l.store.Metadata(d)
	return ""
}

func (l *layout) group(c *datadriven.TestData, partition int32) {
	producer := int64(-1)
	c.MaybeScanArgs(l.t, "producer", &producer)
	var effects []groups.Effect
	for line := range strings.Lines(c.Input) {
		l.offset++
		fields := strings.Fields(line)
		kinds := map[string]groups.RowKind{"record": groups.RowRecord, "pending": groups.RowPending, "group": groups.RowGroup, "shard": groups.RowShard}
		e := groups.Effect{Delete: fields[0] == "delete", Row: groups.Row{
			Kind: kinds[fields[1]], ProducerID: producer, Key: []byte(fields[2]), Offset: l.offset, Timestamp: start.UnixMilli(),
		}}
		if !e.Delete {
			e.Value = []byte(fields[3])
		}
		effects = append(effects, e)
	}
	l.store.Group(partition, effects)
}

func (l *layout) rows(family string) string {
	var b strings.Builder
	require.NoError(l.t, l.store.engine.scan([]byte{0}, []byte{0xFF}, func(key, value []byte) error {
		if strings.HasPrefix(string(key), family) {
			fmt.Fprintf(&b, "%q\n    %q\n", key, value)
		}
		return nil
	}))
	return b.String()
}
