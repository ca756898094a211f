package main

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog/record"
	"github.com/kraftside/kraftside/topichash"
)

// hash computes the hash of every topic.
func (b *bench) hash() error {
	h, racks := topichash.NewHasher(), topichash.RacksOf(b.image.Cluster())
	var replicas []kafka.NodeID
	var times []time.Duration
	for range b.runs {
		b.HashXor = 0
		start := time.Now()
		for t := range b.image.Topics().All() {
			hash, err := topichash.HashTopic(h, topichash.Kafka, racks, t, &replicas)
			if err != nil {
				return err
			}
			b.HashXor ^= hash
		}
		times = append(times, time.Since(start))
	}
	b.Topics = b.image.Topics().NumTopics()
	d := median(times)
	b.HashAllMs = milliseconds(d)
	b.HashNsPerTopic = float64(d.Nanoseconds()) / float64(b.Topics)
	return nil
}

// outage is one broker that leaves every ISR, as one delta.
func (b *bench) outage() error {
	changes := b.leaving(0)
	b.OutageRecords = len(changes)
	var times []time.Duration
	for range b.runs {
		start := time.Now()
		d := delta.New(b.image)
		for i := range changes {
			if err := d.Replay(&changes[i]); err != nil {
				return err
			}
		}
		d.Apply(image.Provenance{Offset: b.id.EndOffset})
		times = append(times, time.Since(start))
	}
	b.OutageApplyMs = milliseconds(median(times))
	return nil
}

// leaving is the changes by which a broker leaves every ISR.
func (b *bench) leaving(broker int32) (changes []record.PartitionChangeRecord) {
	for t := range b.image.Topics().All() {
		for number, p := range t.Partitions() {
			at := slices.Index(p.Isr, kafka.NodeID(broker))
			if at < 0 {
				continue
			}
			c := newChange(t.ID(), number)
			c.Isr = []int32{}
			for _, id := range slices.Delete(p.Isr, at, at+1) {
				c.Isr = append(c.Isr, int32(id))
			}
			c.Leader = -1
			if len(c.Isr) > 0 {
				c.Leader = c.Isr[0]
			}
			changes = append(changes, c)
		}
	}
	return changes
}

func newChange(id kafka.TopicID, partition int32) record.PartitionChangeRecord {
	var c record.PartitionChangeRecord
	c.Reset()
	c.TopicID, c.PartitionID = id, partition
	return c
}

// singleChange is one change of one partition, each from the same image: one
// replica stays in the ISR, and leads.
func (b *bench) singleChange() error {
	var first image.Topic
	for first = range b.image.Topics().All() {
		break
	}
	var p image.Partition
	first.Partition(0, &p)
	c := newChange(first.ID(), 0)
	c.Leader = int32(p.Isr[0])
	c.Isr = []int32{c.Leader}
	const times = 3000
	best := time.Hour
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range times {
		start := time.Now()
		d := delta.New(b.image)
		if err := d.Replay(&c); err != nil {
			return err
		}
		d.Apply(image.Provenance{Offset: b.id.EndOffset})
		best = min(best, time.Since(start))
	}
	runtime.ReadMemStats(&after)
	b.SingleChangeNs = float64(best.Nanoseconds())
	b.SingleChangeBytes = float64(after.TotalAlloc-before.TotalAlloc) / times
	return nil
}

// manyChanges is random changes that follow each other, each an image of its
// own, garbage collection included.
func (b *bench) manyChanges(n int) error {
	ids := make([]kafka.TopicID, 0, b.Topics)
	for t := range b.image.Topics().All() {
		ids = append(ids, t.ID())
	}
	r := rand.New(rand.NewPCG(1, 2))
	current := b.image
	c := newChange(kafka.TopicID{}, 0)
	var p image.Partition
	start := time.Now()
	for range n {
		id := ids[r.IntN(len(ids))]
		topic, _ := current.Topics().ByID(id)
		number := int32(r.IntN(topic.NumPartitions()))
		topic.Partition(number, &p)
		c.TopicID, c.PartitionID = id, number
		c.Isr = c.Isr[:0]
		for i := range p.Replicas {
			if i == 0 || r.IntN(4) > 0 {
				c.Isr = append(c.Isr, int32(p.Replicas[i]))
			}
		}
		c.Leader = c.Isr[r.IntN(len(c.Isr))]
		d := delta.New(current)
		if err := d.Replay(&c); err != nil {
			return err
		}
		current = d.Apply(image.Provenance{Offset: b.id.EndOffset})
	}
	b.Changes = n
	b.ChangeNs = float64(time.Since(start).Nanoseconds()) / float64(n)
	b.image = current
	ids = nil
	b.HeapAfterChanges = liveHeap()
	runtime.KeepAlive(current)
	return nil
}
