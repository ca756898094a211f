package whatif

import (
	"math/rand/v2"
	"slices"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// Replay carries a plan out, the records of each spread step one by one in any
// order, and optional steps now and then. It returns the last image.
func Replay(p *Plan, r *rand.Rand, each func(*delta.Delta)) *image.MetadataImage {
	current := p.Start()
	apply := func(records []record.Message) {
		d := delta.New(current)
		for _, m := range records {
			if err := d.Replay(m); err != nil {
				panic(err) // a mistake of the test
			}
		}
		at := current.Provenance()
		at.Offset++
		current = d.Apply(at)
		each(d)
	}
	for i := range p.steps {
		records := difference(current, p.images[i+1])
		switch s := &p.steps[i]; {
		case s.optional && r.IntN(2) == 0:
			continue
		case s.spread:
			r.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
			for _, m := range records {
				apply([]record.Message{m})
			}
		default:
			apply(records)
		}
	}
	return current
}

// difference are the records from one image to the next, made of the images
// and not by what made the step. Every partition whose epoch moved has one.
func difference(from, to *image.MetadataImage) (records []record.Message) {
	for b := range from.Cluster().Brokers() {
		if _, ok := to.Cluster().Broker(b.ID); !ok {
			records = append(records, &record.UnregisterBrokerRecord{BrokerID: int32(b.ID), BrokerEpoch: b.Epoch})
		}
	}
	for b := range to.Cluster().Brokers() {
		if old, ok := from.Cluster().Broker(b.ID); !ok || !old.Equal(b) {
			records = append(records, image.BrokerRecord(b))
		}
	}
	for t := range from.Topics().All() {
		if _, ok := to.Topics().ByID(t.ID()); !ok {
			records = append(records, &record.RemoveTopicRecord{TopicID: t.ID()})
		}
	}
	for t := range to.Topics().All() {
		old, _ := from.Topics().ByID(t.ID())
		for number, p := range t.Partitions() {
			var was image.Partition
			if old.Partition(number, &was); was.PartitionEpoch == p.PartitionEpoch {
				continue
			}
			change := &record.PartitionChangeRecord{
				TopicID: t.ID(), PartitionID: number, Leader: noChange, LeaderRecoveryState: -1,
				Replicas: numbers(p.Replicas), Isr: numbers(p.Isr), AddingReplicas: numbers(p.AddingReplicas),
				RemovingReplicas: numbers(p.RemovingReplicas), Directories: slices.Clone(p.Directories),
			}
			if was.LeaderEpoch != p.LeaderEpoch {
				change.Leader = int32(p.Leader)
			}
			records = append(records, change)
		}
	}
	return records
}
