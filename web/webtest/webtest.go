// Package webtest makes views for tests of what is answered from them: a
// pipeline that is fed with both logs, as lines of text.
package webtest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/groups/offsetslog"
	grouprecord "github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/metadatalog/record"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/topichash"
)

// Cluster is a sidecar's state without a sidecar. It belongs to one goroutine,
// but for Pipeline and View. Its clock starts at the second 1,700,000,000 and
// goes on by a second with every batch.
type Cluster struct {
	*pipeline.Pipeline
	// Written, unless nil, is given each batch as it would lie in the log: of
	// a partition of __consumer_offsets, or of offsetslog.NoPartition, which
	// stands for the metadata log.
	Written func(partition int32, batch []byte)

	tb      testing.TB
	options pipeline.Options
	now     time.Time
	next    kafka.Offset           // of the metadata log
	offsets map[int32]kafka.Offset // of the partitions of __consumer_offsets
}

// New returns a cluster before its first record.
func New(tb testing.TB, o pipeline.Options) *Cluster {
	o.ClusterID = "aaaaaaaaaaaaaaaaaaaaaa"
	p, err := pipeline.New(o)
	require.NoError(tb, err)
	c := &Cluster{Pipeline: p, tb: tb, options: o, now: time.Unix(1_700_000_000, 0), offsets: make(map[int32]kafka.Offset)}
	c.Tick(c.now)
	return c
}

// Now is the cluster's clock.
func (c *Cluster) Now() time.Time { return c.now }

// Wait lets time pass.
func (c *Cluster) Wait(d time.Duration) {
	c.now = c.now.Add(d)
	c.Tick(c.now)
}

// Metadata appends records in one committed batch, and says that the tail has
// caught up. A line is what delta.ParseRecord reads, with "$7" for a topic id.
func (c *Cluster) Metadata(lines ...string) {
	var values [][]byte
	for _, line := range lines {
		m, err := delta.ParseRecord(expandIDs(line))
		require.NoError(c.tb, err, line)
		value, err := record.AppendFrame(nil, m, m.Type().HighestVersion())
		require.NoError(c.tb, err, line)
		values = append(values, value)
	}
	b := c.batch(c.next, 1, nil, values)
	require.NoError(c.tb, c.MetadataSink().Append(&b))
	c.written(offsetslog.NoPartition, &b)
	c.next = b.NextOffset()
	c.MetadataProgress(metadatalog.Progress{})
	c.assign()
}

// MetadataProgress says how the tail stands. Without a high watermark it is
// that of a tail that has caught up.
func (c *Cluster) MetadataProgress(p metadatalog.Progress) {
	p.Delivered = metadatalog.Position{Offset: c.next, Epoch: 1}
	if p.HighWatermark == 0 {
		p.Leader, p.LeaderEpoch, p.HighWatermark = 3000, 1, c.next
	}
	require.NoError(c.tb, c.MetadataSink().Progress(p))
}

// assign follows the partitions of __consumer_offsets by the scope.
func (c *Cluster) assign() {
	a := offsetslog.Assignment{Known: true}
	if topic, ok := c.View().Image.Topics().ByName(kafka.OffsetsTopic); ok {
		for number, p := range topic.Partitions() {
			if c.options.Scope == pipeline.All || slices.Contains(p.Replicas, c.options.NodeID) {
				a.Partitions = append(a.Partitions, number)
			}
		}
	}
	c.Assigned(a)
}

// Assigned says which partitions of __consumer_offsets are followed.
func (c *Cluster) Assigned(a offsetslog.Assignment) {
	require.NoError(c.tb, c.GroupsSink().Assigned(a))
}

// Groups appends records to a partition of __consumer_offsets in one batch,
// and says that this is its end. A line is the type, the key and the value as
// JSON, with "$7" for a topic id and "$hash orders returns" for the group hash
// of topics as they are:
//
//	3 {"groupId":"g"} {"epoch":3,"metadataHash":"$hash orders"}
func (c *Cluster) Groups(partition int32, lines ...string) {
	if c.GroupsSink().Resume(partition).Offset < 0 {
		c.start(partition)
	}
	c.append(partition, lines)
	c.GroupsProgress(offsetslog.Progress{Partition: partition, End: c.offsets[partition]})
}

// Load begins to read a partition from its start, which has taken the given
// time so far, and ends before an offset at which it is not yet.
func (c *Cluster) Load(partition int32, took time.Duration, end kafka.Offset, lines ...string) {
	c.start(partition)
	c.append(partition, lines)
	c.GroupsProgress(offsetslog.Progress{Partition: partition, End: end, Loading: true, LoadEnd: end, Since: c.now.Add(-took)})
}

func (c *Cluster) start(partition int32) {
	c.offsets[partition] = 0
	require.NoError(c.tb, c.GroupsSink().Start(offsetslog.Start{Partition: partition, TopicID: TopicID(9), Reason: offsetslog.Fresh}))
}

func (c *Cluster) append(partition int32, lines []string) {
	var keys, values [][]byte
	for _, line := range lines {
		key, value := c.groupRecord(partition, line)
		keys, values = append(keys, key), append(values, value)
	}
	b := c.batch(c.offsets[partition], 0, keys, values)
	c.written(partition, &b)
	require.NoError(c.tb, c.GroupsSink().Append(offsetslog.NewBatch(partition, &b, new(recordbatch.Decoder))))
	c.offsets[partition] = b.NextOffset()
}

func (c *Cluster) written(partition int32, b *recordbatch.Batch) {
	if c.Written != nil {
		c.Written(partition, b.Bytes())
	}
}

// GroupsProgress says how a partition stands, which is at the end of what was
// appended.
func (c *Cluster) GroupsProgress(p offsetslog.Progress) {
	p.Next = c.offsets[p.Partition]
	require.NoError(c.tb, c.GroupsSink().Progress(p))
}

// batch makes a batch of records; without keys they have none.
func (c *Cluster) batch(base kafka.Offset, epoch kafka.Epoch, keys, values [][]byte) recordbatch.Batch {
	c.Wait(time.Second)
	at := c.now.UnixMilli()
	h := recordbatch.Header{
		BaseOffset: base, LeaderEpoch: epoch, BaseTimestamp: at, MaxTimestamp: at,
		LastOffsetDelta: int32(len(values) - 1), ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1,
	}
	var records []recordbatch.Record
	for i, value := range values {
		r := recordbatch.Record{Offset: base + kafka.Offset(i), Timestamp: at, Value: value}
		if keys != nil {
			r.Key = keys[i]
		}
		records = append(records, r)
	}
	raw, err := recordbatch.Append(nil, h, records)
	require.NoError(c.tb, err)
	b, _, err := recordbatch.Split(raw)
	require.NoError(c.tb, err)
	return b
}

// groupRecord encodes a line, whose group has to be in the partition.
func (c *Cluster) groupRecord(partition int32, line string) (key, value []byte) {
	kind, fields, _ := strings.Cut(line, " ")
	make := recordTypes[kind]
	require.NotNil(c.tb, make, "record type of %q", line)
	k, v := make()
	in := json.NewDecoder(strings.NewReader(expandIDs(c.expandHashes(fields))))
	in.DisallowUnknownFields()
	require.NoError(c.tb, in.Decode(k), line)
	topic, _ := c.View().Image.Topics().ByName(kafka.OffsetsTopic)
	require.Equal(c.tb, partition, groups.PartitionFor(k.Owner(), int32(topic.NumPartitions())), "the partition of %s", line)
	key, err := grouprecord.AppendKey(nil, k)
	require.NoError(c.tb, err, line)
	var raw json.RawMessage
	require.NoError(c.tb, in.Decode(&raw), line)
	if string(raw) == "null" {
		return key, nil
	}
	v.Reset()
	require.NoError(c.tb, json.Unmarshal(raw, v), line)
	value, err = grouprecord.AppendValue(nil, v, v.Type().HighestVersion())
	require.NoError(c.tb, err, line)
	return key, value
}

var (
	idPattern   = regexp.MustCompile(`"\$(\d+)"`)
	hashPattern = regexp.MustCompile(`"\$hash ([^"]*)"`)
)

// expandIDs replaces "$7" by the topic id that ends in 7.
func expandIDs(line string) string {
	return idPattern.ReplaceAllStringFunc(line, func(short string) string {
		n, _ := strconv.ParseUint(strings.Trim(short, `"$`), 10, 8) // the pattern has checked it
		return fmt.Sprintf("%q", TopicID(byte(n)))
	})
}

func (c *Cluster) expandHashes(line string) string {
	return hashPattern.ReplaceAllStringFunc(line, func(text string) string {
		return strconv.FormatInt(c.Hash(strings.Fields(hashPattern.FindStringSubmatch(text)[1])...), 10)
	})
}

// TopicID is the id that "$n" stands for.
func TopicID(n byte) kafka.TopicID { return kafka.TopicID{15: n} }

// Hash is the hash of a group that subscribes to topics, as they are now.
func (c *Cluster) Hash(topics ...string) int64 {
	cache := topichash.NewCache(topichash.Kafka, c.View().Image)
	for _, name := range topics {
		cache.Subscribe(name)
	}
	return cache.GroupHash(slices.Values(topics))
}
