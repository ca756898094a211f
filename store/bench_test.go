package store

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog/record"
)

const (
	manyTopics     = 100_000
	manyPartitions = 10
	manyBrokers    = 300
)

// largeImage has a million partitions.
func largeImage(t testing.TB) *image.MetadataImage {
	d := delta.New(image.Empty())
	for i := range int32(manyTopics) {
		id := kafka.UUID{}
		binary.BigEndian.PutUint64(id[:], uint64(i+1)*0x9E3779B97F4A7C15)
		require.NoError(t, d.Replay(&record.TopicRecord{Name: fmt.Sprintf("team-%02d.events.topic-%06d", i%100, i), TopicID: id}))
		for p := range int32(manyPartitions) {
			a := (i*7 + p) % manyBrokers
			replicas := []int32{a, (a + 1) % manyBrokers, (a + 2) % manyBrokers}
			require.NoError(t, d.Replay(&record.PartitionRecord{
				TopicID: id, PartitionID: p, Replicas: replicas, Isr: replicas, Leader: a, LeaderEpoch: i % 300, PartitionEpoch: i % 500,
				Directories: []kafka.UUID{{1, byte(a)}, {2, byte(a)}, {3, byte(a)}},
			}))
		}
	}
	return d.Apply(image.Provenance{Offset: 1_000_000_000, Epoch: 7, AppendTime: 1})
}

func snapshotOf(t testing.TB, m *image.MetadataImage) *delta.Delta {
	d := delta.NewSnapshot(image.Empty())
	require.NoError(t, m.Write(func(r record.Message, _ int16) error { return d.Replay(r) }))
	d.Apply(m.Provenance())
	return d
}

// BenchmarkWriteImage writes 100,000 topics of 10 partitions to a new store,
// and waits until they are durable.
func BenchmarkWriteImage(b *testing.B) {
	d := snapshotOf(b, largeImage(b))
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		s, _, err := Open(dir, Options{})
		require.NoError(b, err)
		b.StartTimer()
		s.Metadata(d)
		require.NoError(b, s.Flush())
		b.StopTimer()
		b.ReportMetric(float64(s.Status().Bytes)/1e6, "MB")
		require.NoError(b, s.Close())
		b.StartTimer()
	}
}

// BenchmarkOpen opens such a store and loads the image.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	s, _, err := Open(dir, Options{})
	require.NoError(b, err)
	s.Metadata(snapshotOf(b, largeImage(b)))
	require.NoError(b, s.Close())
	b.ReportAllocs()
	var load time.Duration
	for b.Loop() {
		s, _, err := Open(dir, Options{})
		require.NoError(b, err)
		started := time.Now()
		m, err := s.LoadImage()
		load += time.Since(started)
		require.NoError(b, err)
		require.Equal(b, manyTopics, m.Topics().NumTopics())
		b.StopTimer()
		require.NoError(b, s.Close())
		b.StartTimer()
	}
	b.ReportMetric(float64(load.Milliseconds())/float64(b.N), "load-ms/op")
}

// BenchmarkCommit makes one change of a partition of the large image durable.
func BenchmarkCommit(b *testing.B) {
	m := largeImage(b)
	s, _, err := Open(b.TempDir(), Options{})
	require.NoError(b, err)
	s.Metadata(snapshotOf(b, m))
	require.NoError(b, s.Flush())
	change := &record.PartitionChangeRecord{LeaderRecoveryState: -1}
	for t := range m.Topics().All() {
		change.TopicID = t.ID()
		break
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		d := delta.New(m)
		change.Leader = int32(i % 3)
		require.NoError(b, d.Replay(change))
		at := m.Provenance()
		at.Offset++
		m = d.Apply(at)
		s.Metadata(d)
		require.NoError(b, s.Flush())
	}
	require.NoError(b, s.Close())
}

// BenchmarkGroup takes the effect of one committed offset.
func BenchmarkGroup(b *testing.B) {
	s, _, err := Open(b.TempDir(), Options{})
	require.NoError(b, err)
	s.GroupsStart(0)
	key := make([]byte, 60)
	effects := []groups.Effect{{Row: groups.Row{Kind: groups.RowRecord, ProducerID: -1, Key: key, Value: make([]byte, 40)}}}
	now := time.Now()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		binary.BigEndian.PutUint32(key[40:], uint32(i%100_000))
		effects[0].Offset = kafka.Offset(i)
		s.Group(0, effects)
		if i%100 == 0 { // as many as in a batch
			s.GroupsOffset(0, PartitionOffset{Next: kafka.Offset(i)})
			now = now.Add(time.Millisecond)
			s.MaybeCommit(now)
		}
	}
	require.NoError(b, s.Close())
}
