// Package image holds the metadata of a Kafka cluster as immutable values:
// what a broker knows after it has applied the metadata log up to an offset
// (org.apache.kafka.image). It exists so that any number of readers can answer
// from one consistent state while the next one is being made.
//
// A change costs what it touches: two images share every part that no record
// between them changed. Topics are packed, about 20 bytes a partition; see
// TopicsImage.
package image

import (
	"fmt"

	"github.com/kraftside/kraftside/internal/kafka"
)

// Provenance says which part of the log an image is the result of.
type Provenance struct {
	// Offset and Epoch are those of the last record that the image contains;
	// for a snapshot, its end offset minus one. kafka.UnknownOffset for the
	// empty image.
	Offset kafka.Offset
	Epoch  kafka.Epoch
	// AppendTime is when the controller wrote that record, in milliseconds
	// since 1970; 0 if not known.
	AppendTime int64
}

// String is "offset 42, epoch 3".
func (p Provenance) String() string { return fmt.Sprintf("offset %d, epoch %d", p.Offset, p.Epoch) }

// MetadataImage is the whole metadata of the cluster. It never changes after
// it is published and may be read by any number of goroutines.
type MetadataImage struct {
	provenance     Provenance
	features       *FeaturesImage
	cluster        *ClusterImage
	topics         *TopicsImage
	configs        *ConfigurationsImage
	quotas         *ClientQuotasImage
	nextProducerID int64 // -1: no record yet
	acls           *AclsImage
	scram          *ScramImage
	tokens         *DelegationTokensImage
}

// Empty returns an image without any record.
func Empty() *MetadataImage {
	return &MetadataImage{
		provenance:     Provenance{Offset: kafka.UnknownOffset, Epoch: kafka.UnknownEpoch},
		features:       newFeatures(),
		cluster:        newCluster(),
		topics:         emptyTopics,
		configs:        newConfigs(),
		quotas:         newQuotas(),
		nextProducerID: -1,
		acls:           newAcls(),
		scram:          newScram(),
		tokens:         newTokens(),
	}
}

// Provenance says which part of the log the image is the result of.
func (m *MetadataImage) Provenance() Provenance { return m.provenance }

// Features is the finalized feature levels.
func (m *MetadataImage) Features() *FeaturesImage { return m.features }

// Cluster is the registrations of brokers and controllers.
func (m *MetadataImage) Cluster() *ClusterImage { return m.cluster }

// Topics is the topics.
func (m *MetadataImage) Topics() *TopicsImage { return m.topics }

// Configs is the dynamic configurations.
func (m *MetadataImage) Configs() *ConfigurationsImage { return m.configs }

// ClientQuotas is the client quotas.
func (m *MetadataImage) ClientQuotas() *ClientQuotasImage { return m.quotas }

// NextProducerID is the first producer id that no broker has been given; -1
// before the first was.
func (m *MetadataImage) NextProducerID() int64 { return m.nextProducerID }

// Acls is the access control entries.
func (m *MetadataImage) Acls() *AclsImage { return m.acls }

// Scram is the SCRAM credentials.
func (m *MetadataImage) Scram() *ScramImage { return m.scram }

// DelegationTokens is the delegation tokens.
func (m *MetadataImage) DelegationTokens() *DelegationTokensImage { return m.tokens }

// Equal compares the contents of two images, and not their provenance: a
// snapshot and the log that it stands for give equal images.
func (m *MetadataImage) Equal(n *MetadataImage) bool {
	return m.features.Equal(n.features) &&
		m.cluster.Equal(n.cluster) &&
		m.topics.Equal(n.topics) &&
		m.configs.Equal(n.configs) &&
		m.quotas.Equal(n.quotas) &&
		m.nextProducerID == n.nextProducerID &&
		m.acls.Equal(n.acls) &&
		m.scram.Equal(n.scram) &&
		m.tokens.Equal(n.tokens)
}
