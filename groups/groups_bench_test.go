package groups

import (
	"runtime"
	"testing"

	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
)

// bigGroup is a rebalance of a consumer group: n members with 100 topics and
// 20 partitions each.
func bigGroup(tb testing.TB, n int) (out []Record) {
	topics := make([]string, 100)
	for i := range topics {
		topics[i] = "topic-" + string(rune('a'+i/26)) + string(rune('a'+i%26))
	}
	add := func(key record.Key, value record.Value) {
		out = append(out, Record{
			Offset: kafka.Offset(len(out)), ProducerID: noProducer, Key: keyBytes(tb, key), Value: valueBytes(tb, value, 0),
		})
	}
	for i := range n {
		id := "member-" + string(rune('a'+i/676%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i%26))
		partitions := make([]int32, 20)
		for p := range partitions {
			partitions[p] = int32(20*i + p)
		}
		add(&record.ConsumerGroupMemberMetadataKey{GroupID: "g", MemberID: id}, &record.ConsumerGroupMemberMetadataValue{
			ClientID: "client", ClientHost: "/10.0.0.1", SubscribedTopicNames: topics,
		})
		add(&record.ConsumerGroupTargetAssignmentMemberKey{GroupID: "g", MemberID: id}, &record.ConsumerGroupTargetAssignmentMemberValue{
			TopicPartitions: []record.TopicPartitions{{TopicID: topicID(1), Partitions: partitions}},
		})
		add(&record.ConsumerGroupCurrentMemberAssignmentKey{GroupID: "g", MemberID: id}, &record.ConsumerGroupCurrentMemberAssignmentValue{
			MemberEpoch: 1, AssignedPartitions: []record.CurrentTopicPartitions{{TopicID: topicID(1), Partitions: partitions}},
		})
	}
	return out
}

func BenchmarkReplayConsumerGroup(b *testing.B) {
	log := bigGroup(b, 1000)
	s := NewShard(0, Options{})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.Replay(&log[i%len(log)])
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
}

// What a reader pays for a group of 1000 members that has just changed.
func BenchmarkFreeze(b *testing.B) {
	log := bigGroup(b, 1000)
	s := NewShard(0, Options{})
	for i := range log {
		s.Replay(&log[i])
	}
	b.ReportAllocs()
	for b.Loop() {
		s.groups["g"].view = nil
		s.Freeze("g")
	}
}

// The memory of a million committed offsets of 1000 groups.
func BenchmarkOffsetsMemory(b *testing.B) {
	log := commits(b, 1000, 10, 100, "")
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		s := NewShard(0, Options{})
		for i := range log {
			s.Replay(&log[i])
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(log)), "bytes/offset")
		runtime.KeepAlive(s)
	}
}
