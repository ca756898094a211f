package pipeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/groups/offsetslog"
	grouprecord "github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/metadatalog/record"
	"github.com/kraftside/kraftside/topichash"
)

// cluster drives a pipeline with the records of both logs.
type cluster struct {
	t        *testing.T
	p        *Pipeline
	metadata kafka.Offset
	offsets  map[int32]kafka.Offset
	now      int64
	// written, unless nil, is given each batch as it lies in the log: of a
	// partition of __consumer_offsets, or of metadataLog.
	written func(partition int32, batch []byte)
}

// metadataLog stands for the metadata log where a partition is given.
const metadataLog = offsetslog.NoPartition

func newCluster(t *testing.T, o Options) *cluster {
	p, err := New(o)
	require.NoError(t, err)
	return &cluster{t: t, p: p, metadata: p.MetadataPosition().Offset, offsets: map[int32]kafka.Offset{}, now: 1000}
}

// apply appends metadata records, each given as a line, in one batch.
func (c *cluster) apply(lines ...string) {
	c.now += 1000
	h := recordbatch.Header{
		BaseOffset: c.metadata, LeaderEpoch: 1, BaseTimestamp: c.now, MaxTimestamp: c.now,
		LastOffsetDelta: int32(len(lines) - 1), ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1,
	}
	var records []recordbatch.Record
	for i, line := range lines {
		m, err := delta.ParseRecord(line)
		require.NoError(c.t, err)
		value, err := record.AppendFrame(nil, m, m.Type().HighestVersion())
		require.NoError(c.t, err)
		records = append(records, recordbatch.Record{Offset: c.metadata + kafka.Offset(i), Timestamp: c.now, Value: value})
	}
	raw, err := recordbatch.Append(nil, h, records)
	require.NoError(c.t, err)
	b, _, err := recordbatch.Split(raw)
	require.NoError(c.t, err)
	require.NoError(c.t, c.p.MetadataSink().Append(&b))
	c.tell(metadataLog, raw)
	c.metadata += kafka.Offset(len(lines))
}

func (c *cluster) tell(partition int32, batch []byte) {
	if c.written != nil {
		c.written(partition, batch)
	}
}

// keyed is a record; without a value it is a tombstone.
type keyed struct {
	key   grouprecord.Key
	value grouprecord.Value
}

func (r *keyed) encode(t *testing.T) (key, value []byte) {
	key, err := grouprecord.AppendKey(nil, r.key)
	require.NoError(t, err)
	if r.value != nil {
		value, err = grouprecord.AppendValue(nil, r.value, r.value.Type().HighestVersion())
		require.NoError(t, err)
	}
	return key, value
}

// write appends group records to a partition, in one batch, and says that this
// is its end.
func (c *cluster) write(partition int32, records ...keyed) {
	c.append(partition, records...)
	c.reach(partition, c.offsets[partition])
}

func (c *cluster) append(partition int32, records ...keyed) {
	var all []recordbatch.Record
	for i := range records {
		key, value := records[i].encode(c.t)
		all = append(all, recordbatch.Record{Key: key, Value: value})
	}
	c.appendRaw(partition, 0, -1, all...)
}

// appendRaw appends a batch of a producer, -1 for none, to a partition.
func (c *cluster) appendRaw(partition int32, flags recordbatch.Attributes, producer int64, records ...recordbatch.Record) {
	c.now += 1000
	sink := c.p.GroupsSink()
	if sink.Resume(partition).Offset < 0 {
		require.NoError(c.t, sink.Start(offsetslog.Start{Partition: partition, TopicID: topicID(9), Reason: offsetslog.Fresh}))
	}
	h := recordbatch.Header{
		BaseOffset: c.offsets[partition], BaseTimestamp: c.now, MaxTimestamp: c.now, Attributes: flags,
		LastOffsetDelta: int32(len(records) - 1), ProducerID: producer, ProducerEpoch: -1, BaseSequence: -1,
	}
	for i := range records {
		records[i].Offset, records[i].Timestamp = h.BaseOffset+kafka.Offset(i), c.now
	}
	raw, err := recordbatch.Append(nil, h, records)
	require.NoError(c.t, err)
	b, _, err := recordbatch.Split(raw)
	require.NoError(c.t, err)
	require.NoError(c.t, sink.Append(offsetslog.NewBatch(partition, &b, new(recordbatch.Decoder))))
	c.tell(partition, raw)
	c.offsets[partition] += kafka.Offset(len(records))
}

// reach says that the high watermark is end.
func (c *cluster) reach(partition int32, end kafka.Offset) {
	require.NoError(c.t, c.p.GroupsSink().Progress(offsetslog.Progress{
		Partition: partition, Next: c.offsets[partition], End: end, Loading: c.offsets[partition] < end,
	}))
}

func (c *cluster) wait(seconds int64) {
	c.now += seconds * 1000
	c.p.Tick(time.UnixMilli(c.now))
}

func topicID(n byte) kafka.TopicID { return kafka.TopicID{15: n} }

func broker(id int, rack string) string {
	return fmt.Sprintf(`RegisterBrokerRecord {"brokerId":%d,"brokerEpoch":1,"rack":%q,"features":[{"name":"metadata.version","minSupportedVersion":7,"maxSupportedVersion":33}]}`, id, rack)
}

func topic(n byte, name string) string {
	return fmt.Sprintf(`TopicRecord {"name":%q,"topicId":%q}`, name, topicID(n))
}

func partition(topic byte, number int, replicas string, leader int) string {
	return fmt.Sprintf(`PartitionRecord {"topicId":%q,"partitionId":%d,"replicas":%s,"isr":%s,"leader":%d,"leaderEpoch":0}`,
		topicID(topic), number, replicas, replicas, leader)
}

func change(topic byte, number int, fields string) string {
	return fmt.Sprintf(`PartitionChangeRecord {"topicId":%q,"partitionId":%d,%s}`, topicID(topic), number, fields)
}

// start is three brokers, the offsets topic and one more topic.
func (c *cluster) start() {
	c.apply(broker(1, "rack-1"), broker(2, "rack-9"), broker(3, "rack-3"),
		topic(9, kafka.OffsetsTopic), partition(9, 0, "[1,2]", 1), partition(9, 1, "[2,3]", 2),
		topic(1, "orders"), partition(1, 0, "[1,2]", 1), partition(1, 1, "[2,3]", 2))
}

func member(group string) keyed {
	return keyed{&grouprecord.ConsumerGroupMemberMetadataKey{GroupID: group, MemberID: "m"},
		&grouprecord.ConsumerGroupMemberMetadataValue{SubscribedTopicNames: []string{"orders"}}}
}

func epoch(group string, epoch int32, hash int64) keyed {
	return keyed{&grouprecord.ConsumerGroupMetadataKey{GroupID: group},
		&grouprecord.ConsumerGroupMetadataValue{Epoch: epoch, MetadataHash: hash}}
}

func (c *cluster) fresh(topics ...string) int64 {
	cache := topichash.NewCache(topichash.Kafka, c.p.View().Image)
	for _, name := range topics {
		cache.Subscribe(name)
	}
	return cache.GroupHash(func(yield func(string) bool) {
		for _, name := range topics {
			if !yield(name) {
				return
			}
		}
	})
}

func (c *cluster) requireVerdict(group string, want topichash.Verdict) *Group {
	c.t.Helper()
	g, ok := c.p.View().Group(group)
	require.True(c.t, ok, "group %s", group)
	require.Equal(c.t, want, g.Answer.Verdict, "%+v", g.Answer)
	return g
}

// The story of topichash's stale_rack, told by both logs.
func TestStaleRack(t *testing.T) {
	c := newCluster(t, Options{Scope: All, NodeID: kafka.NoNode})
	c.start()
	c.write(0, member("g"), epoch("g", 2, c.fresh("orders")))
	c.requireVerdict("g", topichash.Match)

	c.apply(change(1, 0, `"isr":[2],"leader":2`))
	c.requireVerdict("g", topichash.Match)
	c.apply(`UnregisterBrokerRecord {"brokerId":1,"brokerEpoch":1}`)
	c.requireVerdict("g", topichash.Pending)
	c.wait(60)
	c.requireVerdict("g", topichash.Stale)

	// The coordinator moves to broker 2, evaluates and bumps.
	c.apply(change(9, 0, `"isr":[2],"leader":2`))
	g := c.requireVerdict("g", topichash.Pending)
	require.Equal(t, kafka.NodeID(2), g.Coordinator)
	c.write(0, epoch("g", 3, c.fresh("orders")))
	c.requireVerdict("g", topichash.Match)
}

// What a coordinator has not written yet can only be missed where its log was read:
// of a partition that lags, nothing is held against the hash that was read last. A
// snapshot may even be all that is known of the images it came from.
func TestLagIsNoDrift(t *testing.T) {
	s := &teller{cluster: newCluster(t, Options{Scope: All, NodeID: kafka.NoNode})}
	s.start()
	s.write(0, member("g"), epoch("g", 2, s.fresh("orders")))
	behind := offsetslog.Progress{Partition: 0, Next: s.offsets[0], End: s.offsets[0] + 1}
	require.NoError(t, s.p.GroupsSink().Progress(behind))
	s.apply(change(1, 0, `"replicas":[2,3],"isr":[2,3],"leader":2`))
	s.wait(60)
	s.requireVerdict("g", topichash.Pending)

	s.snapshot()
	loadSnapshot(t, s.p, &s.events[len(s.events)-1])
	s.apply(change(1, 0, `"replicas":[3,1],"isr":[3,1],"leader":3`))
	s.wait(60)
	require.Equal(t, topichash.OlderThanHistory, s.requireVerdict("g", topichash.Unknown).Answer.Reason)

	s.write(0, epoch("g", 3, s.fresh("orders")))
	s.requireVerdict("g", topichash.Match)
	require.NoError(t, s.p.GroupsSink().Progress(behind))
	s.apply(change(1, 0, `"replicas":[1,2],"isr":[1,2],"leader":1`))
	s.wait(60)
	s.requireVerdict("g", topichash.Pending)
	s.reach(0, s.offsets[0])
	s.wait(1)
	s.requireVerdict("g", topichash.Stale)
	s.write(0, epoch("g", 4, 12345))
	s.apply(topic(2, "payments"))
	s.wait(60)
	s.requireVerdict("g", topichash.Drift)
}

// A file is read to its end where it ends, with no high watermark to tell.
func TestFilesAreRead(t *testing.T) {
	c := newCluster(t, Options{Scope: All, NodeID: kafka.NoNode})
	c.start()
	c.append(0, member("g"), epoch("g", 2, c.fresh("orders")))
	c.reach(0, kafka.UnknownOffset)
	c.apply(change(1, 0, `"replicas":[2,3],"isr":[2,3],"leader":2`))
	c.requireVerdict("g", topichash.Pending)
	c.wait(60)
	c.requireVerdict("g", topichash.Stale)
}

// A sidecar with scope local answers for what its broker leads, and needs no
// load when a coordinator moves to it.
func TestLocalScope(t *testing.T) {
	c := newCluster(t, Options{Scope: Local, NodeID: 2})
	c.start()
	c.write(0, member("g"), epoch("g", 2, c.fresh("orders")))
	g := c.requireVerdict("g", topichash.Match)
	require.False(t, c.p.View().Answers(g))

	c.apply(change(9, 0, `"leader":2`))
	g = c.requireVerdict("g", topichash.Match)
	require.True(t, c.p.View().Answers(g))

	require.NoError(t, c.p.GroupsSink().Stop(0))
	_, ok := c.p.View().Group("g")
	require.False(t, ok)
	require.Empty(t, c.p.View().Partitions)
}

// Groups of a partition that is read from its start are shown once its high
// watermark was reached.
func TestLoading(t *testing.T) {
	c := newCluster(t, Options{Scope: All, NodeID: kafka.NoNode})
	c.start()
	c.append(0, member("g"))
	c.reach(0, 2)
	p, ok := c.p.View().Partition(0)
	require.True(t, ok)
	require.True(t, p.Loading && p.Hidden)
	_, ok = c.p.View().Group("g")
	require.False(t, ok)

	c.write(0, epoch("g", 2, c.fresh("orders")))
	p, _ = c.p.View().Partition(0)
	require.False(t, p.Loading || p.Hidden)
	c.requireVerdict("g", topichash.Match)
}

// A partition that is started over forgets what was known of it.
func TestStartOver(t *testing.T) {
	c := newCluster(t, Options{Scope: All, NodeID: kafka.NoNode})
	c.start()
	c.write(0, member("g"), epoch("g", 2, c.fresh("orders")))
	require.NoError(t, c.p.GroupsSink().Start(offsetslog.Start{Partition: 0, TopicID: topicID(8), Reason: offsetslog.Recreated}))
	_, ok := c.p.View().Group("g")
	require.False(t, ok)
	require.Zero(t, c.p.GroupsSink().Resume(0).Offset)
}

// A coordinator of Kafka 4.0 stores no hash.
func TestKafka40HasNoHash(t *testing.T) {
	c := newCluster(t, Options{Scope: All, NodeID: kafka.NoNode})
	c.start()
	c.write(0, member("g"), epoch("g", 2, 0))
	c.requireVerdict("g", topichash.Unknown)
	c.apply(`RegisterBrokerRecord {"brokerId":1,"brokerEpoch":2,"rack":"rack-1","features":[{"name":"metadata.version","maxSupportedVersion":25}]}`)
	c.requireVerdict("g", topichash.None)
}

// A view does not change when the state does.
func TestViewsDoNotChange(t *testing.T) {
	c := newCluster(t, Options{Scope: All, NodeID: kafka.NoNode})
	c.start()
	c.write(0, member("g"), epoch("g", 2, c.fresh("orders")))
	held := c.p.View()
	c.apply(`UnregisterBrokerRecord {"brokerId":1,"brokerEpoch":1}`)
	c.write(0, epoch("g", 3, 1), epoch("h", 1, 1))
	g, _ := held.Group("g")
	require.Equal(t, int32(2), g.Epoch)
	require.Equal(t, topichash.Match, g.Answer.Verdict)
	_, ok := held.Group("h")
	require.False(t, ok)
}

// A record that cannot be replayed stops the tail at the last good image and
// shows in the view.
func TestRefusedRecord(t *testing.T) {
	c := newCluster(t, Options{Scope: All, NodeID: kafka.NoNode})
	c.start()
	raw, err := recordbatch.Append(nil, recordbatch.Header{BaseOffset: c.metadata, LeaderEpoch: 1, ProducerID: -1},
		[]recordbatch.Record{{Offset: c.metadata, Value: []byte{1, 120, 0}}})
	require.NoError(t, err)
	b, _, err := recordbatch.Split(raw)
	require.NoError(t, err)
	require.ErrorIs(t, c.p.MetadataSink().Append(&b), record.ErrUnknownType)
	require.Error(t, c.p.View().Refused)
	require.Equal(t, c.metadata, c.p.MetadataPosition().Offset)
	require.NoError(t, c.p.MetadataSink().Progress(metadatalog.Progress{HighWatermark: 100}))
	require.Error(t, c.p.View().Refused)
	require.Equal(t, kafka.Offset(100), c.p.View().Metadata.HighWatermark)
}
