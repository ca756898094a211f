package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog/record"
)

const (
	brokers           = 300
	racks             = 3
	directories       = 4 // of each broker
	partitionsOfTopic = 10
	replicas          = 3
	// metadataVersion is that of Kafka 4.4.
	metadataVersion = 33
)

// records makes the records of a cluster that has been used for a while, the
// same in every run: replicas that are in sync are in no order, any of them
// leads, epochs are large.
type records struct{ *rand.Rand }

// versioned is a record and the version it is written in.
type versioned struct {
	record.Message
	version int16
}

func newRecords() *records { return &records{rand.New(rand.NewPCG(1, 2))} }

func (r *records) id() kafka.UUID { return kafka.NewUUID(r.Uint64(), r.Uint64()) }

// directory is a log directory of a broker.
func directory(broker int32, slot int) kafka.UUID {
	return kafka.NewUUID(9, 100+uint64(broker)*directories+uint64(slot))
}

// cluster is what stands in the log before the first topic.
func (r *records) cluster() []versioned {
	all := []versioned{{&record.FeatureLevelRecord{Name: "metadata.version", FeatureLevel: metadataVersion}, 0}}
	for id := range int32(brokers) {
		rack := fmt.Sprint("rack-", id%racks)
		b := &record.RegisterBrokerRecord{BrokerID: id, IncarnationID: r.id(), BrokerEpoch: int64(id), Rack: &rack}
		b.EndPoints = []record.BrokerEndpoint{{Name: "PLAINTEXT", Host: fmt.Sprint("broker-", id), Port: 9092}}
		for slot := range directories {
			b.LogDirs = append(b.LogDirs, directory(id, slot))
		}
		all = append(all, versioned{b, 3})
	}
	return all
}

// topic is a new topic with all its partitions.
func (r *records) topic(name string) []versioned {
	t := &record.TopicRecord{Name: name, TopicID: r.id()}
	all := []versioned{{t, 0}}
	for n := range int32(partitionsOfTopic) {
		all = append(all, versioned{r.partition(t.TopicID, n), 1})
	}
	return all
}

func (r *records) partition(topic kafka.TopicID, n int32) *record.PartitionRecord {
	p := &record.PartitionRecord{
		TopicID: topic, PartitionID: n,
		LeaderEpoch: r.Int32N(3000), PartitionEpoch: r.Int32N(30000),
	}
	first := r.Int32N(brokers)
	for i := range int32(replicas) {
		broker := (first + i) % brokers
		p.Replicas = append(p.Replicas, broker)
		p.Directories = append(p.Directories, directory(broker, r.IntN(directories)))
	}
	for _, i := range r.Perm(replicas) {
		p.Isr = append(p.Isr, p.Replicas[i])
	}
	p.Leader = p.Isr[r.IntN(replicas)]
	return p
}
