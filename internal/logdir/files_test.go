package logdir

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir/logdirtest"
)

func touch(t *testing.T, dir string, names ...string) {
	for _, name := range names {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	touch(t, dir,
		"00000000000000000311.log", "00000000000000000000.log", "00000000000000000311.index", "00000000000000000311.timeindex",
		"00000000000000000100.log.deleted", "00000000000000000100.log.cleaned", "00000000000000000100.log.swap",
		"00000000000000000311.snapshot", "0000000000000000031.log", "99999999999999999999.log", "-0000000000000000311.log",
		"00000000000000000000-0000000000.checkpoint",
		"00000000000000000300-0000000002.checkpoint", "00000000000000000400-0000000001.checkpoint", "00000000000000000400-0000000003.checkpoint",
		"00000000000000000500-0000000003-123.checkpoint.part", "00000000000000000200-0000000002.checkpoint.deleted",
		"00000000000000000600-9999999999.checkpoint", "0000000000000000600-00000000003.checkpoint",
		"leader-epoch-checkpoint", "partition.metadata", "quorum-state")
	l, err := List(dir)
	require.NoError(t, err)
	path := func(name string) string { return filepath.Join(dir, name) }
	require.Equal(t, Listing{
		Segments: []Segment{{0, path("00000000000000000000.log")}, {311, path("00000000000000000311.log")}},
		Snapshots: []Snapshot{
			{400, 3, path("00000000000000000400-0000000003.checkpoint")},
			{400, 1, path("00000000000000000400-0000000001.checkpoint")},
			{300, 2, path("00000000000000000300-0000000002.checkpoint")},
		},
	}, l, "no bootstrap snapshot, nothing unfinished, nothing deleted")
	for offset, want := range map[kafka.Offset]int{0: 0, 310: 0, 311: 1, 1000: 1} {
		require.Equal(t, want, l.find(offset), "offset %d", offset)
	}
	require.Equal(t, -1, (&Listing{Segments: l.Segments[1:]}).find(310))

	_, err = List(path("none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestPartitions(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"t-0", "t-12", "t-1.abc-delete", "t-2.abc-future", "t-", "t-99999999999", "tt-3", "t--4"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	touch(t, dir, "t-5")
	found, err := Partitions(dir, "t")
	require.NoError(t, err)
	require.Equal(t, map[int32]string{0: filepath.Join(dir, "t-0"), 12: filepath.Join(dir, "t-12")}, found)
	require.Equal(t, "t-12", PartitionName("t", 12))
}

func TestPermissionErrorSaysWhoMayRead(t *testing.T) {
	require.ErrorContains(t, &PermissionError{Path: "x.checkpoint", Owner: 1000, Mode: 0o400},
		"open x.checkpoint: permission denied: it belongs to UID 1000 with mode 0400; run kraftside as that UID")
	require.ErrorContains(t, &PermissionError{Path: "x", Owner: -1}, "the user that Kafka runs as")
}

func TestReadMeta(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		content string
		want    Meta
		problem string
	}{
		"as Kafka writes it": {
			"#\n#Tue Oct 06 10:00:00 CET 2026\ncluster.id=c\\:1\\u0041\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAQ\nnode.id=3\nversion=1\n",
			Meta{ClusterID: "c:1A", NodeID: 3, DirectoryID: kafka.UUID{15: 1}}, "",
		},
		"node 0, no directory id, CRLF": {"version = 1\r\nnode.id : 0\r\ncluster.id=\tx\\=y \r\n", Meta{ClusterID: "x=y "}, ""},
		"zookeeper":                     {"version=0\nbroker.id=1\ncluster.id=x\n", Meta{}, `version is "0", only 1 (KRaft) is known`},
		"no node":                       {"version=1\ncluster.id=x\n", Meta{}, `node.id is ""`},
		"negative node":                 {"version=1\ncluster.id=x\nnode.id=-1", Meta{}, `node.id is "-1"`},
		"no cluster":                    {"version=1\nnode.id=1", Meta{}, "cluster.id is missing"},
		"bad directory":                 {"version=1\nnode.id=1\ncluster.id=x\ndirectory.id=?", Meta{}, "parse uuid"},
		"not properties":                {"\\", Meta{}, `version is ""`},
		"large":                         {string(make([]byte, maxProperties+1)), Meta{}, "more than 65536 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			logdirtest.Replace(t, filepath.Join(dir, "meta.properties"), c.content)
			m, err := ReadMeta(dir)
			if c.problem == "" {
				require.NoError(t, err)
				require.Equal(t, c.want, m)
				return
			}
			require.ErrorIs(t, err, ErrFormat)
			require.ErrorContains(t, err, c.problem)
		})
	}
	_, err := ReadMeta(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestReadTopicID(t *testing.T) {
	dir := t.TempDir()
	logdirtest.Replace(t, filepath.Join(dir, "partition.metadata"), "version: 0\ntopic_id: Q9PnpeIYTmCVFwmhM8GfuA")
	id, err := ReadTopicID(dir)
	require.NoError(t, err)
	require.Equal(t, "Q9PnpeIYTmCVFwmhM8GfuA", id.String())
	for _, content := range []string{"version: 1\ntopic_id: Q9PnpeIYTmCVFwmhM8GfuA", "version: 0\ntopic_id: x", ""} {
		logdirtest.Replace(t, filepath.Join(dir, "partition.metadata"), content)
		_, err = ReadTopicID(dir)
		require.ErrorIs(t, err, ErrFormat)
	}
}

func TestEpochStarts(t *testing.T) {
	dir := t.TempDir()
	logdirtest.Replace(t, filepath.Join(dir, leaderEpochFile), "0\n3\n1 10\n4 25\n9 26\n")
	starts, err := EpochStarts(dir)
	require.NoError(t, err)
	require.Equal(t, []EpochStart{{1, 10}, {4, 25}, {9, 26}}, starts)
	for offset, want := range map[kafka.Offset]kafka.Epoch{9: -1, 10: 1, 24: 1, 25: 4, 26: 9, 1 << 40: 9} {
		require.Equal(t, want, EpochAt(starts, offset), "offset %d", offset)
	}
}

func TestHighWatermarks(t *testing.T) {
	dir := t.TempDir()
	logdirtest.Replace(t, filepath.Join(dir, highWatermarkFile), "0\n4\norders 0 7\n__consumer_offsets 3 120\n__consumer_offsets 49 0\n__consumer 1 5\n")
	marks, err := HighWatermarks(dir, kafka.OffsetsTopic)
	require.NoError(t, err)
	require.Equal(t, map[int32]kafka.Offset{3: 120, 49: 0}, marks)

	logdirtest.Replace(t, filepath.Join(dir, highWatermarkFile), "")
	marks, err = HighWatermarks(dir, kafka.OffsetsTopic)
	require.NoError(t, err, "a broker that starts makes an empty one")
	require.Empty(t, marks)

	for content, problem := range map[string]string{
		"\n":                   `line 1: not in Kafka's format: version is "", only 0 is known`,
		"1\n0\n":               `version is "1"`,
		"0\n":                  `line 2: not in Kafka's format: "" is not a number of entries`,
		"0\n-1\n":              `"-1" is not a number of entries`,
		"0\n2\na 0 1\n":        "1 entries instead of 2",
		"0\n1\na 0\n":          "line 3: not in Kafka's format: 2 fields instead of 3",
		"0\n1\nt x 1\n":        "invalid syntax",
		"0\n1\nt 1 x\n":        "invalid syntax",
		"0\n1\nt 2147483648 1": "out of range",
	} {
		logdirtest.Replace(t, filepath.Join(dir, highWatermarkFile), content)
		_, err := HighWatermarks(dir, "t")
		require.ErrorIs(t, err, ErrFormat, "%q", content)
		require.ErrorContains(t, err, problem)
	}
}
