package image

import (
	"fmt"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// Emit receives one record of an image. The message is overwritten by the
// next one.
type Emit func(m record.Message, version int16) error

// Write emits records that make an equal image out of the empty one, in the
// order in which Kafka writes a snapshot and in the versions that the image's
// metadata.version asks for (org.apache.kafka.image.MetadataImage.write). It
// stops at the first error of emit, and returns it.
func (m *MetadataImage) Write(emit Emit) error {
	w := &writer{emit: emit, mv: m.features.MetadataVersion(), elr: m.features.elrEnabled()}
	w.features(m.features)
	w.cluster(m.cluster)
	for topic := range m.topics.All() {
		w.topic(topic)
	}
	w.rest(m)
	return w.err
}

// WriteParts emits a record for each thing that has a PartKey, so that all of it
// is said whatever the image's metadata.version, each in its newest version.
func (m *MetadataImage) WriteParts(emit Emit) error {
	w := &writer{
		emit: func(m record.Message, _ int16) error { return emit(m, m.Type().HighestVersion()) },
		mv:   mvCordonedLogDirs,
	}
	w.features(m.features)
	w.cluster(m.cluster)
	w.rest(m)
	return w.err
}

// WriteTopic emits the records of one topic, as Write does.
func (m *MetadataImage) WriteTopic(t Topic, emit Emit) error {
	w := &writer{emit: emit, mv: m.features.MetadataVersion(), elr: m.features.elrEnabled()}
	w.topic(t)
	return w.err
}

// writer carries the first error, so that the steps need not.
type writer struct {
	emit      Emit
	mv        int16
	elr       bool
	err       error
	partition record.PartitionRecord
}

func (w *writer) write(m record.Message, version int16) {
	if w.err != nil {
		return
	}
	if err := w.emit(m, version); err != nil {
		w.err = fmt.Errorf("write %s of the image: %w", m.Type().RecordName(), err)
	}
}

func (w *writer) features(f *FeaturesImage) {
	if mv := f.MetadataVersion(); mv > 0 {
		w.write(&record.FeatureLevelRecord{Name: MetadataVersionFeature, FeatureLevel: mv}, 0)
	}
	for l := range f.All() {
		if l.Name != MetadataVersionFeature {
			w.write(&record.FeatureLevelRecord{Name: l.Name, FeatureLevel: l.Level}, 0)
		}
	}
}

func (w *writer) cluster(c *ClusterImage) {
	for b := range c.Brokers() {
		w.write(w.broker(b), w.brokerVersion())
	}
	for n := range c.Controllers() {
		w.write(controllerRecord(n), 0)
	}
}

func (w *writer) brokerVersion() int16 {
	switch {
	case w.mv >= mvCordonedLogDirs:
		return 4
	case w.mv >= mvDirectoryAssignment:
		return 3
	case w.mv >= mvZkMigration:
		return 2
	case w.mv >= mvControlledShutdown:
		return 1
	}
	return 0
}

// BrokerRecord is the record that registers b as it is, in the newest version.
func BrokerRecord(b *Broker) *record.RegisterBrokerRecord {
	newest := writer{mv: mvCordonedLogDirs}
	return newest.broker(b)
}

func (w *writer) broker(b *Broker) *record.RegisterBrokerRecord {
	r := &record.RegisterBrokerRecord{
		BrokerID:      int32(b.ID),
		IncarnationID: b.IncarnationID,
		BrokerEpoch:   b.Epoch,
		Rack:          b.Rack,
		Fenced:        b.Fenced,
		EndPoints:     make([]record.BrokerEndpoint, 0, len(b.EndPoints)),
		Features:      make([]record.BrokerFeature, 0, len(b.Features)),
		LogDirs:       []kafka.UUID{},
	}
	for _, e := range b.EndPoints {
		r.EndPoints = append(r.EndPoints, record.BrokerEndpoint{Name: e.Name, Host: e.Host, Port: e.Port, SecurityProtocol: e.SecurityProtocol})
	}
	for _, f := range b.Features {
		r.Features = append(r.Features, record.BrokerFeature{Name: f.Name, MinSupportedVersion: f.Min, MaxSupportedVersion: f.Max})
	}
	version := w.brokerVersion()
	r.InControlledShutdown = b.InControlledShutdown && version >= 1
	r.IsMigratingZkBroker = b.IsMigratingZkBroker && version >= 2
	if version >= 3 {
		r.LogDirs = b.LogDirs
	}
	if version >= 4 {
		r.CordonedLogDirs = b.CordonedLogDirs
	}
	return r
}

func controllerRecord(c *Controller) *record.RegisterControllerRecord {
	r := &record.RegisterControllerRecord{
		ControllerID:     int32(c.ID),
		IncarnationID:    c.IncarnationID,
		ZkMigrationReady: c.ZkMigrationReady,
		EndPoints:        make([]record.ControllerEndpoint, 0, len(c.EndPoints)),
		Features:         make([]record.ControllerFeature, 0, len(c.Features)),
	}
	for _, e := range c.EndPoints {
		r.EndPoints = append(r.EndPoints, record.ControllerEndpoint{Name: e.Name, Host: e.Host, Port: e.Port, SecurityProtocol: e.SecurityProtocol})
	}
	for _, f := range c.Features {
		r.Features = append(r.Features, record.ControllerFeature{Name: f.Name, MinSupportedVersion: f.Min, MaxSupportedVersion: f.Max})
	}
	return r
}

func (w *writer) topic(t Topic) {
	w.write(&record.TopicRecord{Name: t.Name(), TopicID: t.ID()}, 0)
	for number, p := range t.Partitions() {
		w.partitionRecord(t.ID(), number, p)
	}
}

// partitionRecord writes what the metadata.version can say (Kafka's
// PartitionRegistration.toRecord). ELRs are written whenever there are any;
// Kafka drops them where the feature is off.
func (w *writer) partitionRecord(id kafka.TopicID, number int32, p *Partition) {
	r := &w.partition
	r.Reset()
	r.PartitionID, r.TopicID = number, id
	r.Replicas = appendIDs(r.Replicas, p.Replicas)
	r.Isr = appendIDs(r.Isr, p.Isr)
	r.RemovingReplicas = appendIDs(r.RemovingReplicas, p.RemovingReplicas)
	r.AddingReplicas = appendIDs(r.AddingReplicas, p.AddingReplicas)
	r.Leader = int32(p.Leader)
	r.LeaderEpoch, r.PartitionEpoch = int32(p.LeaderEpoch), p.PartitionEpoch
	r.LeaderRecoveryState = p.LeaderRecoveryState
	version := int16(0)
	if w.mv >= mvDirectoryAssignment {
		version = 1
		r.Directories = append(r.Directories, p.Directories...)
	}
	if w.elr || len(p.Elr)+len(p.LastKnownElr) > 0 {
		version = 2
		if len(p.Elr) > 0 {
			r.EligibleLeaderReplicas = appendIDs(nil, p.Elr)
		}
		if len(p.LastKnownElr) > 0 {
			r.LastKnownElr = appendIDs(nil, p.LastKnownElr)
		}
	}
	w.write(r, version)
}

func appendIDs(list []int32, ids []kafka.NodeID) []int32 {
	for _, id := range ids {
		list = append(list, int32(id))
	}
	return list
}

// rest writes what comes after the topics.
func (w *writer) rest(m *MetadataImage) {
	w.configs(m.configs)
	w.quotas(m.quotas)
	if m.nextProducerID >= 0 {
		w.write(&record.ProducerIdsRecord{BrokerID: int32(kafka.NoNode), BrokerEpoch: -1, NextProducerID: m.nextProducerID}, 0)
	}
	w.security(m)
}

func (w *writer) configs(c *ConfigurationsImage) {
	for e := range c.All() {
		w.write(&record.ConfigRecord{ResourceType: e.Type, ResourceName: e.Name, Name: e.Key, Value: &e.Value}, 0)
	}
}

func (w *writer) quotas(q *ClientQuotasImage) {
	for e := range q.All() {
		r := &record.ClientQuotaRecord{Key: e.Key, Value: e.Value}
		for _, part := range e.Entity {
			r.Entity = append(r.Entity, record.EntityData{EntityType: part.Type, EntityName: part.Name})
		}
		w.write(r, 0)
	}
}

func (w *writer) security(m *MetadataImage) {
	for a := range m.acls.All() {
		w.write(&record.AccessControlEntryRecord{
			ID: a.ID, ResourceType: a.ResourceType, ResourceName: a.ResourceName, PatternType: a.PatternType,
			Principal: a.Principal, Host: a.Host, Operation: a.Operation, PermissionType: a.PermissionType,
		}, 0)
	}
	for c := range m.scram.All() {
		w.write(&record.UserScramCredentialRecord{
			Name: c.User, Mechanism: c.Mechanism, Salt: c.Salt, StoredKey: c.StoredKey, ServerKey: c.ServerKey, Iterations: c.Iterations,
		}, 0)
	}
	for t := range m.tokens.All() {
		w.write(&record.DelegationTokenRecord{
			Owner: t.Owner, Requester: t.Requester, Renewers: t.Renewers,
			IssueTimestamp: t.IssuedAt, MaxTimestamp: t.MaxAt, ExpirationTimestamp: t.ExpiresAt, TokenID: t.ID,
		}, 0)
	}
}
