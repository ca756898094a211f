package topichash

import (
	"fmt"
	"maps"
	"testing"

	"github.com/kraftside/kraftside/internal/kafka"
)

// benchmarkCluster has 300 brokers in three racks, and replicas of partitions
// in all three.
func benchmarkCluster(partitions int) (*Racks, [][]kafka.NodeID) {
	brokers := map[kafka.NodeID]string{}
	for id := range kafka.NodeID(300) {
		brokers[id] = fmt.Sprintf("eu-central-1%c", 'a'+id%3)
	}
	replicas := make([][]kafka.NodeID, partitions)
	for p := range replicas {
		first := kafka.NodeID(p * 7 % 300)
		replicas[p] = []kafka.NodeID{first, (first + 1) % 300, (first + 2) % 300}
	}
	return NewRacks(maps.All(brokers)), replicas
}

func hashBenchmarkTopic(h *Hasher, s Scheme, racks *Racks, replicas [][]kafka.NodeID) int64 {
	h.Begin(s, racks, kafka.NewUUID(1, 2), "payments.orders.created", int32(len(replicas)))
	for p := range replicas {
		h.Partition(int32(p), replicas[p])
	}
	sum, _ := h.Sum()
	return sum
}

func BenchmarkTopic(b *testing.B) {
	for _, s := range bothSchemes {
		for _, partitions := range []int{10, 100, 1000} {
			b.Run(fmt.Sprintf("%s/partitions=%d", s, partitions), func(b *testing.B) {
				racks, replicas := benchmarkCluster(partitions)
				h := NewHasher()
				b.ReportAllocs()
				for b.Loop() {
					hashBenchmarkTopic(h, s, racks, replicas)
				}
			})
		}
	}
}

func BenchmarkGroup(b *testing.B) {
	for _, s := range bothSchemes {
		b.Run(s.String()+"/topics=20", func(b *testing.B) {
			var topics []NamedHash
			for i := range int64(20) {
				topics = append(topics, NamedHash{fmt.Sprintf("payments.orders.%02d", i), i * 7919})
			}
			h := NewHasher()
			b.ReportAllocs()
			for b.Loop() {
				h.Group(s, topics)
			}
		})
	}
}

// BenchmarkNewRacks is what a changed broker registration costs.
func BenchmarkNewRacks(b *testing.B) {
	brokers := map[kafka.NodeID]string{}
	for id := range kafka.NodeID(300) {
		brokers[id] = fmt.Sprintf("eu-central-1%c", 'a'+id%3)
	}
	b.ReportAllocs()
	for b.Loop() {
		NewRacks(maps.All(brokers))
	}
}
