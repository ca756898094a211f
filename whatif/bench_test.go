package whatif

import (
	"fmt"
	"testing"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog/record"
	"github.com/kraftside/kraftside/topichash"
)

// large is a cluster of 10,000 topics with ten partitions each on 12 brokers in
// three racks, with 1,000 groups that read ten topics each.
func large() (*image.MetadataImage, []Group) {
	d := delta.New(image.Empty())
	add := func(m record.Message) {
		if err := d.Replay(m); err != nil {
			panic(err)
		}
	}
	for id := range int32(12) {
		rack := fmt.Sprintf("rack-%d", id%3)
		add(&record.RegisterBrokerRecord{BrokerID: id, BrokerEpoch: 1, Rack: &rack})
	}
	topic := func(n int, name string) {
		id := kafka.NewUUID(1, uint64(n))
		add(&record.TopicRecord{Name: name, TopicID: id})
		for p := range int32(10) {
			first := (int32(n) + p) % 12
			replicas := []int32{first, (first + 1) % 12, (first + 2) % 12}
			add(&record.PartitionRecord{TopicID: id, PartitionID: p, Replicas: replicas, Isr: replicas, Leader: first})
		}
	}
	topic(1, kafka.OffsetsTopic)
	for n := range 10_000 {
		topic(n+2, fmt.Sprintf("topic-%d", n))
	}
	m := d.Apply(image.Provenance{Offset: 1})
	cache := topichash.NewCache(topichash.Kafka, m)
	var all []Group
	for n := range 1000 {
		g := &groups.Group{ID: fmt.Sprint(n), Type: groups.Consumer, Members: []*groups.Member{{ID: "m"}}}
		for i := range 10 {
			g.SubscribedTopics = append(g.SubscribedTopics, fmt.Sprintf("topic-%d", n*10+i))
		}
		for _, name := range g.SubscribedTopics {
			cache.Subscribe(name)
		}
		hash := cache.GroupHash(func(yield func(string) bool) {
			for _, name := range g.SubscribedTopics {
				if !yield(name) {
					return
				}
			}
		})
		g.Hash = &groups.StoredHash{Value: hash}
		all = append(all, Group{Group: g, Partition: int32(n % 10), Answer: topichash.Answer{Verdict: topichash.Match, Computed: hash}})
	}
	return m, all
}

// BenchmarkRack predicts for every group what a broker in another rack does.
func BenchmarkRack(b *testing.B) {
	m, all := large()
	broker, rack := kafka.NodeID(3), "rack-9"
	b.ReportAllocs()
	for b.Loop() {
		p, err := NewPlan(m, []Change{{Kind: Rack, Broker: &broker, Rack: &rack}})
		if err != nil {
			b.Fatal(err)
		}
		bumps := 0
		for _, g := range all {
			if out, ok := p.Predict(g); ok {
				bumps += out.Max
			}
		}
		b.ReportMetric(float64(bumps), "bumps")
	}
}
