package offline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/internal/ask"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/topichash"
	"github.com/kraftside/kraftside/web/api"
	"github.com/kraftside/kraftside/web/webtest"
)

// disk is the log directory of a broker whose logs are those of a cluster.
type disk struct {
	*webtest.Cluster
	dir string
	t   *testing.T
}

// newDisk has groups a and b, in partitions 0 and 1 of __consumer_offsets, and
// two topics.
func newDisk(t *testing.T) *disk {
	d := &disk{Cluster: webtest.New(t, pipeline.Options{NodeID: kafka.NoNode, Scope: pipeline.All}), dir: t.TempDir(), t: t}
	d.Written = func(partition int32, batch []byte) { appendTo(t, d.path(partition), batch) }
	d.Metadata(
		`FeatureLevelRecord {"name":"metadata.version","featureLevel":33}`,
		`RegisterBrokerRecord {"brokerId":1,"brokerEpoch":1,"rack":"rack-1"}`,
		`RegisterBrokerRecord {"brokerId":2,"brokerEpoch":1,"rack":"rack-2"}`,
		`TopicRecord {"name":"__consumer_offsets","topicId":"$9"}`,
		`PartitionRecord {"topicId":"$9","partitionId":0,"replicas":[1,2],"isr":[1,2],"leader":1,"leaderEpoch":1}`,
		`PartitionRecord {"topicId":"$9","partitionId":1,"replicas":[2,1],"isr":[2,1],"leader":2,"leaderEpoch":1}`,
		`TopicRecord {"name":"orders","topicId":"$1"}`,
		`PartitionRecord {"topicId":"$1","partitionId":0,"replicas":[1,2],"isr":[1,2],"leader":1,"leaderEpoch":0}`)
	for partition, group := range []string{"b", "a"} {
		d.Groups(int32(partition),
			fmt.Sprintf(`5 {"groupId":%q,"memberId":"m"} {"clientId":"c","clientHost":"/10.0.0.1","subscribedTopicNames":["orders"]}`, group),
			fmt.Sprintf(`3 {"groupId":%q} {"epoch":1,"metadataHash":"$hash orders"}`, group))
	}
	d.Metadata(`UnregisterBrokerRecord {"brokerId":2,"brokerEpoch":1}`)
	return d
}

func appendTo(t *testing.T, path string, content []byte) {
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.Write(content)
	require.NoError(t, err)
}

// path is the segment of a partition of __consumer_offsets, or of the metadata
// log.
func (d *disk) path(partition int32) string {
	name := logdir.PartitionName(kafka.OffsetsTopic, partition)
	if partition == offsetslog.NoPartition {
		name = logdir.PartitionName(kafka.MetadataTopic, 0)
	}
	return filepath.Join(d.dir, name, "00000000000000000000.log")
}

func quiet() *cli.Output { return &cli.Output{Err: new(bytes.Buffer), Now: time.Now} }

func open(t *testing.T, d Dirs) *Files {
	f, err := Open(t.Context(), d, "1.2.3", quiet())
	require.NoError(t, err)
	return f
}

func both(dir string) Dirs { return Dirs{Metadata: dir, Offsets: []string{dir}} }

func groupsOf(t *testing.T, f *Files) []api.Group {
	answer, err := f.Groups(t.Context(), ask.Query{})
	require.NoError(t, err)
	return answer.Groups
}

// TestAnswersAreThoseOfASidecar: from the files comes what the pipeline that
// was fed with the same records says.
func TestAnswersAreThoseOfASidecar(t *testing.T) {
	d := newDisk(t)
	f := open(t, both(d.dir))
	require.NoError(t, f.Damage)
	require.Empty(t, f.Notes)

	v := d.View()
	var want []*api.Group
	for g := range v.GroupsFrom("") {
		want = append(want, api.NewGroup(v, g))
	}
	require.Len(t, want, 2)
	got := groupsOf(t, f)
	for i := range got {
		require.Equal(t, topichash.Stale, got[i].MetadataHash.Verdict)
	}
	requireSameJSON(t, want, got)

	var topics []*api.Topic
	describe, subscriptions := api.NewTopics(v), api.NewSubscriptions(v, "", "\xff")
	for _, name := range []string{"__consumer_offsets", "orders"} {
		topic, ok := v.Image.Topics().ByName(name)
		require.True(t, ok)
		topics = append(topics, describe.Topic(topic, subscriptions[name]))
	}
	list, err := f.Topics(t.Context())
	require.NoError(t, err)
	require.Empty(t, list.Missing)
	for i := range list.Topics {
		list.Topics[i].ChangedAt = nil // a sidecar forgets what was before its groups
	}
	requireSameJSON(t, topics, list.Topics)

	status, err := f.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, api.NewCounts(v), status.TotalCounts())
	require.Equal(t, 1, status.Kafka.Brokers)
}

func requireSameJSON(t *testing.T, want, got any) {
	a, err := json.Marshal(want)
	require.NoError(t, err)
	b, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, string(a), string(b))
}

// TestAllRebalances: from the files come those that the pipeline explained, and
// it is said which partitions are not there.
func TestAllRebalances(t *testing.T) {
	d := newDisk(t)
	require.NoError(t, os.WriteFile(filepath.Join(d.dir, "meta.properties"), []byte("version=1\nnode.id=1\ncluster.id=aaaaaaaaaaaaaaaaaaaaaa\n"), 0o600))
	for partition := range int32(2) {
		appendTo(t, filepath.Join(filepath.Dir(d.path(partition)), "partition.metadata"), []byte("version: 0\ntopic_id: "+kafka.TopicID{15: 9}.String()+"\n"))
	}
	d.Groups(1, `3 {"groupId":"a"} {"epoch":2,"metadataHash":"$hash orders"}`)
	d.Wait(5 * time.Second)
	d.Metadata(`NoOpRecord {}`) // so that it is settled
	var want []api.Rebalance
	for r := range d.View().AllRebalances() {
		want = append(want, api.NewRebalance(d.View(), r))
	}
	require.Len(t, want, 3)
	f := open(t, both(d.dir))
	got, err := f.AllRebalances(t.Context(), time.Time{})
	require.NoError(t, err)
	require.Empty(t, got.Missing)
	requireSameJSON(t, api.JoinRebalances(want), got.Rebalances)
	require.NotNil(t, got.Rebalances[0].TraceID)
	got, err = f.AllRebalances(t.Context(), time.UnixMilli(int64(got.Rebalances[0].StartedAt)))
	require.NoError(t, err)
	require.Len(t, got.Rebalances, 1)

	got, err = open(t, Dirs{Metadata: d.dir, Offsets: []string{filepath.Dir(d.path(0))}}).AllRebalances(t.Context(), time.Time{})
	require.NoError(t, err)
	require.Len(t, got.Rebalances, 1)
	require.Equal(t, "b", got.Rebalances[0].Group)
	require.EqualValues(t, 2, got.Missing[0].Broker)
}

// TestOneGroup: that a group is not there can be told only of partitions that
// are.
func TestOneGroup(t *testing.T) {
	d := newDisk(t)
	f := open(t, Dirs{Metadata: d.dir, Offsets: []string{filepath.Dir(d.path(0))}})
	g, err := f.Group(t.Context(), "b")
	require.NoError(t, err)
	require.Equal(t, "b", g.Group)
	_, err = f.Group(t.Context(), "d")
	require.Equal(t, cli.NotFound, cli.ExitCode(err), "%v", err)
	_, err = f.Group(t.Context(), "a")
	require.Equal(t, cli.Incomplete, cli.ExitCode(err), "%v", err)
	answer, err := f.Verify(t.Context())
	require.NoError(t, err)
	require.Equal(t, []api.Missing{{Broker: 2, Error: "partitions [1] of __consumer_offsets are in no --offsets-dir"}}, answer.Missing)
	topic, err := f.Topic(t.Context(), "orders")
	require.NoError(t, err)
	require.Equal(t, answer.Missing, topic.Missing)
}

// TestCopies: of several copies of a partition the one is read whose last batch
// is of the latest leader, and of those the longest.
func TestCopies(t *testing.T) {
	d := newDisk(t)
	lost := filepath.Join(t.TempDir(), "lost")
	require.NoError(t, os.CopyFS(lost, os.DirFS(d.dir)))
	longer := filepath.Join(t.TempDir(), "longer")
	require.NoError(t, os.CopyFS(longer, os.DirFS(d.dir)))
	segment := filepath.Join(longer, "__consumer_offsets-1", "00000000000000000000.log")
	d.Written = func(_ int32, batch []byte) { appendTo(t, segment, batch) }
	d.Groups(1, `3 {"groupId":"a"} {"epoch":2,"metadataHash":"$hash orders"}`)

	for _, order := range [][]string{{d.dir, longer}, {longer, d.dir}} {
		got := groupsOf(t, open(t, Dirs{Metadata: d.dir, Offsets: order}))
		require.EqualValues(t, 2, got[0].Epoch)
		require.EqualValues(t, 1, got[1].Epoch)
	}

	// The partition's former leader goes on for longer, and what it wrote is lost.
	for range 3 {
		appendTo(t, filepath.Join(lost, "__consumer_offsets-1", "00000000000000000000.log"), batchOf(t, 2, 0, nil))
	}
	appendTo(t, segment, batchOf(t, 3, 1, nil))
	// The newest segment is still empty.
	appendTo(t, filepath.Join(longer, "__consumer_offsets-1", "00000000000000000004.log"), nil)
	for _, order := range [][]string{{lost, longer}, {longer, lost}} {
		require.EqualValues(t, 2, groupsOf(t, open(t, Dirs{Metadata: d.dir, Offsets: order}))[0].Epoch)
	}
}

// batchOf is a batch of one record without a key.
func batchOf(t *testing.T, offset kafka.Offset, epoch kafka.Epoch, value []byte) []byte {
	b, err := recordbatch.Append(nil, recordbatch.Header{BaseOffset: offset, LeaderEpoch: epoch, ProducerID: -1},
		[]recordbatch.Record{{Offset: offset, Value: value}})
	require.NoError(t, err)
	return b
}

func TestDamage(t *testing.T) {
	t.Run("groups", func(t *testing.T) {
		d := newDisk(t)
		flip(t, d.path(0), 80)
		f := open(t, both(d.dir))
		require.ErrorContains(t, f.Damage, "__consumer_offsets-0/00000000000000000000.log at byte 0, offset 0")
		require.ErrorContains(t, f.Damage, "the answer is that of what could be read")
		require.Equal(t, cli.Corrupt, cli.ExitCode(f.Damage))
		require.Len(t, groupsOf(t, f), 1)
	})
	t.Run("the end of the metadata", func(t *testing.T) {
		d := newDisk(t)
		info, err := os.Stat(d.path(offsetslog.NoPartition))
		require.NoError(t, err)
		flip(t, d.path(offsetslog.NoPartition), int(info.Size())-5)
		f := open(t, both(d.dir))
		require.Equal(t, cli.Corrupt, cli.ExitCode(f.Damage))
		require.EqualValues(t, 7, *groupsOf(t, f)[0].ReadAt.MetadataOffset)
		require.Equal(t, topichash.Match, groupsOf(t, f)[0].MetadataHash.Verdict)
	})
	t.Run("all of the metadata", func(t *testing.T) {
		d := newDisk(t)
		flip(t, d.path(offsetslog.NoPartition), 30)
		_, err := Open(t.Context(), both(d.dir), "", quiet())
		require.Equal(t, cli.Corrupt, cli.ExitCode(err))
	})
	t.Run("a record of a later Kafka", func(t *testing.T) {
		d := newDisk(t)
		appendTo(t, d.path(offsetslog.NoPartition), batchOf(t, 9, 1, []byte{1, 0x7f, 0}))
		f := open(t, both(d.dir))
		require.ErrorContains(t, f.Damage, "offset 9")
		require.ErrorContains(t, f.Damage, "a newer kraftside may know it")
		require.Equal(t, cli.Failed, cli.ExitCode(f.Damage))
		require.Len(t, groupsOf(t, f), 2)
	})
	t.Run("a record that cannot be replayed", func(t *testing.T) {
		d := newDisk(t)
		// RemoveTopicRecord v0 of a topic that is not there.
		appendTo(t, d.path(offsetslog.NoPartition), batchOf(t, 9, 1, append([]byte{1, 9, 0}, append(make([]byte, 16), 0)...)))
		f := open(t, both(d.dir))
		require.ErrorContains(t, f.Damage, "the answer is that of the records before it")
		require.Equal(t, cli.Corrupt, cli.ExitCode(f.Damage))
	})
	t.Run("inside a batch", func(t *testing.T) {
		d := newDisk(t)
		require.NoError(t, os.Truncate(d.path(1), 100))
		f := open(t, both(d.dir))
		require.NoError(t, f.Damage)
		require.Len(t, f.Notes, 1)
		require.Contains(t, f.Notes[0], "input ends inside a record batch")
	})
}

func flip(t *testing.T, path string, at int) {
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	content[at] ^= 0x40
	require.NoError(t, os.WriteFile(path, content, 0o600))
}

func TestClusters(t *testing.T) {
	d, other := newDisk(t), newDisk(t)
	write := func(dir, cluster string) {
		content := fmt.Sprintf("version=1\nnode.id=1\ncluster.id=%s\n", cluster)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "meta.properties"), []byte(content), 0o600))
	}
	write(d.dir, "one")
	status, err := open(t, Dirs{Metadata: d.dir, Offsets: []string{other.dir}}).Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, "one", *status.ClusterID)
	write(other.dir, "another")
	_, err = Open(t.Context(), Dirs{Metadata: d.dir, Offsets: []string{other.dir}}, "", quiet())
	require.ErrorContains(t, err, "name folders of one cluster")
	require.Equal(t, cli.BadUsage, cli.ExitCode(err))
	require.NoError(t, os.WriteFile(filepath.Join(d.dir, "meta.properties"), []byte("version=0\n"), 0o600))
	_, err = Open(t.Context(), both(d.dir), "", quiet())
	require.ErrorIs(t, err, logdir.ErrFormat)
}

func TestProgressAndInterruption(t *testing.T) {
	d := newDisk(t)
	shown := new(bytes.Buffer)
	now := time.Unix(0, 0)
	out := &cli.Output{Err: shown, ShowsProgress: true, Now: func() time.Time { now = now.Add(time.Second); return now }}
	_, err := Open(t.Context(), both(d.dir), "", out)
	require.NoError(t, err)
	require.Contains(t, shown.String(), "% __consumer_offsets-1")
	require.Contains(t, shown.String(), "100% __cluster_metadata")
	require.True(t, bytes.HasSuffix(shown.Bytes(), []byte("\r\x1b[K")), "it is taken away at the end")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Open(ctx, both(d.dir), "", quiet())
	require.ErrorIs(t, err, context.Canceled)
}
