package rebalance

import (
	"fmt"
	"testing"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
)

// log writes records for a benchmark.
type log struct {
	b       *testing.B
	records []groups.Record
}

func (l *log) add(at int64, key record.Key, value record.Value) {
	k, err := record.AppendKey(nil, key)
	if err != nil {
		l.b.Fatal(err)
	}
	v, err := record.AppendValue(nil, value, value.Type().HighestVersion())
	if err != nil {
		l.b.Fatal(err)
	}
	l.records = append(l.records, groups.Record{Offset: kafka.Offset(len(l.records)), Timestamp: at, ProducerID: -1, Key: k, Value: v})
}

// replay replays the records, each timestamp in a batch of its own.
func (l *log) replay(explained bool) {
	shard := groups.NewShard(0, groups.Options{})
	p := New(image.Empty(), Options{}).Partition(kafka.TopicID{}, shard, 0)
	for i := range l.records {
		r := &l.records[i]
		if explained {
			if i > 0 && r.Timestamp != l.records[i-1].Timestamp {
				p.End()
			}
			p.Before(r)
		}
		shard.Replay(r)
	}
	p.End()
}

// BenchmarkLargeGroup is a group of 1,000 members that rebalances: the bump, a
// target assignment of all, and each member that comes to have it. The
// difference of the two is what explaining costs.
func BenchmarkLargeGroup(b *testing.B) {
	l := log{b: b}
	name := func(i int) string { return fmt.Sprintf("consumer-%04d", i) }
	const members = 1000
	for i := range members {
		l.add(1, &record.ConsumerGroupMemberMetadataKey{GroupID: "g", MemberID: name(i)},
			&record.ConsumerGroupMemberMetadataValue{SubscribedTopicNames: []string{"orders"}, ClientHost: "/10.0.0.1"})
	}
	for epoch := range int32(5) {
		at := int64(epoch+1) * 10_000
		l.add(at, &record.ConsumerGroupMetadataKey{GroupID: "g"}, &record.ConsumerGroupMetadataValue{Epoch: epoch + 1})
		for i := range members {
			l.add(at, &record.ConsumerGroupTargetAssignmentMemberKey{GroupID: "g", MemberID: name(i)}, &record.ConsumerGroupTargetAssignmentMemberValue{
				TopicPartitions: []record.TopicPartitions{{TopicID: kafka.TopicID{1}, Partitions: []int32{int32(i), int32(i) + 1000}}},
			})
		}
		l.add(at, &record.ConsumerGroupTargetAssignmentMetadataKey{GroupID: "g"}, &record.ConsumerGroupTargetAssignmentMetadataValue{AssignmentEpoch: epoch + 1})
		for i := range members {
			l.add(at+int64(i)+1, &record.ConsumerGroupCurrentMemberAssignmentKey{GroupID: "g", MemberID: name(i)}, &record.ConsumerGroupCurrentMemberAssignmentValue{
				MemberEpoch:        epoch + 1,
				AssignedPartitions: []record.CurrentTopicPartitions{{TopicID: kafka.TopicID{1}, Partitions: []int32{int32(i), int32(i) + 1000}}},
			})
		}
	}
	benchmark(b, &l)
}

// BenchmarkCommits is what a partition mostly holds: offsets.
func BenchmarkCommits(b *testing.B) {
	l := log{b: b}
	for i := range 10_000 {
		l.add(int64(i/10), &record.OffsetCommitKey{Group: fmt.Sprintf("group-%d", i%50), Topic: "orders", Partition: int32(i % 12)},
			&record.OffsetCommitValue{Offset: int64(i), CommitTimestamp: int64(i)})
	}
	benchmark(b, &l)
}

func benchmark(b *testing.B, l *log) {
	for name, explained := range map[string]bool{"explained": true, "replayed": false} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.replay(explained)
			}
		})
	}
}
