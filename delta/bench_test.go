package delta_test

import (
	"fmt"
	"testing"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// BenchmarkPartitionChange is one change of one partition among 100,000
// topics, as the records of a quiet cluster come: each makes an image.
func BenchmarkPartitionChange(b *testing.B) {
	base := hundredThousandTopics(b)
	var c record.PartitionChangeRecord
	c.Reset()
	c.TopicID, c.PartitionID = kafka.UUID{15: 1}, 0
	c.Isr, c.Leader = []int32{1}, 1
	b.ReportAllocs()
	for b.Loop() {
		d := delta.New(base)
		if err := d.Replay(&c); err != nil {
			b.Fatal(err)
		}
		d.Apply(image.Provenance{})
	}
}

func hundredThousandTopics(b *testing.B) *image.MetadataImage {
	d := delta.NewSnapshot(image.Empty())
	var topic record.TopicRecord
	var p record.PartitionRecord
	for i := range 100_000 {
		id := kafka.UUID{13: byte(i >> 16), 14: byte(i >> 8), 15: byte(i)}
		topic.Reset()
		topic.Name, topic.TopicID = fmt.Sprintf("topic-%06d", i), id
		if err := d.Replay(&topic); err != nil {
			b.Fatal(err)
		}
		for n := range int32(10) {
			p.Reset()
			p.TopicID, p.PartitionID, p.Leader = id, n, 1
			p.Replicas, p.Isr = []int32{1, 2, 3}, []int32{1, 2, 3}
			p.Directories = []kafka.UUID{{0: 1}, {0: 2}, {0: 3}}
			if err := d.Replay(&p); err != nil {
				b.Fatal(err)
			}
		}
	}
	return d.Apply(image.Provenance{})
}
