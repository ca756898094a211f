package main

import (
	"fmt"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog/record"
	"github.com/kraftside/kraftside/topichash"
)

const (
	brokers = 6
	racks   = 3
)

// Levels of metadata.version that Kafka 4.4 supports.
const lowestLevel, highestLevel = 7, 33

func rackOf(broker kafka.NodeID) string { return fmt.Sprint("rack-", int(broker)%racks) }

// replicasOf is where a partition lies.
func replicasOf(partition int32) []int32 {
	return []int32{partition % brokers, (partition + 1) % brokers, (partition + 2) % brokers}
}

// writeCluster writes what stands in the metadata log before any group joins.
func (w *writer) writeCluster() {
	w.meta.metadata(w.clock, &record.FeatureLevelRecord{Name: "metadata.version", FeatureLevel: highestLevel})
	for id := range kafka.NodeID(brokers) {
		rack := rackOf(id)
		w.meta.metadata(w.clock, &record.RegisterBrokerRecord{
			BrokerID: int32(id), IncarnationID: kafka.NewUUID(w.Uint64(), w.Uint64()), Rack: &rack,
			EndPoints: []record.BrokerEndpoint{{Name: "PLAINTEXT", Host: fmt.Sprint("broker-", id), Port: 9092}},
			Features:  []record.BrokerFeature{{Name: "metadata.version", MinSupportedVersion: lowestLevel, MaxSupportedVersion: highestLevel}},
		})
	}
	w.writeTopic(&topic{kafka.OffsetsTopic, kafka.NewUUID(w.Uint64(), w.Uint64()), 1})
	for _, g := range w.groups {
		for i := range g.topics {
			w.writeTopic(&g.topics[i])
		}
	}
	w.meta.endBatch()
}

func (w *writer) writeTopic(t *topic) {
	w.meta.metadata(w.clock, &record.TopicRecord{Name: t.name, TopicID: t.id})
	for p := range t.partitions {
		w.writePartition(t, p)
	}
}

func (w *writer) writePartition(t *topic, p int32) {
	replicas := replicasOf(p)
	w.meta.metadata(w.clock, &record.PartitionRecord{TopicID: t.id, PartitionID: p, Replicas: replicas, Isr: replicas, Leader: replicas[0]})
}

// hashes computes the MetadataHash of groups as the coordinator does.
type hashes struct {
	hasher *topichash.Hasher
	racks  *topichash.Racks
}

func newHashes() hashes {
	return hashes{topichash.NewHasher(), topichash.NewRacks(func(yield func(kafka.NodeID, string) bool) {
		for id := range kafka.NodeID(brokers) {
			if !yield(id, rackOf(id)) {
				return
			}
		}
	})}
}

func (h hashes) of(g *group) (int64, error) {
	var named []topichash.NamedHash
	for i := range g.topics {
		t := &g.topics[i]
		h.hasher.Begin(topichash.Kafka, h.racks, t.id, t.name, t.partitions)
		for p := range t.partitions {
			r := replicasOf(p)
			h.hasher.Partition(p, []kafka.NodeID{kafka.NodeID(r[0]), kafka.NodeID(r[1]), kafka.NodeID(r[2])})
		}
		hash, err := h.hasher.Sum()
		if err != nil {
			return 0, err
		}
		named = append(named, topichash.NamedHash{Name: t.name, Hash: hash})
	}
	return h.hasher.Group(topichash.Kafka, named), nil
}
