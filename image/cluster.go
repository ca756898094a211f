package image

import (
	"iter"
	"slices"

	"github.com/kraftside/kraftside/internal/kafka"
)

// ClusterImage is the registrations of brokers and controllers. It never
// changes after it is published.
type ClusterImage struct {
	brokers     table[*Broker]
	controllers table[*Controller]
}

// Broker is the registration of a broker (Kafka's BrokerRegistration). It is
// shared: do not change it.
type Broker struct {
	ID                   kafka.NodeID
	IncarnationID        kafka.UUID
	Epoch                int64
	EndPoints            []EndPoint         // by name
	Features             []SupportedFeature // by name
	Rack                 *string            // nil: none configured
	Fenced               bool
	InControlledShutdown bool
	IsMigratingZkBroker  bool
	LogDirs              []kafka.UUID
	CordonedLogDirs      []kafka.UUID // nil: the version of the record has none
}

// Controller is the registration of a controller. It is shared: do not change
// it.
type Controller struct {
	ID               kafka.NodeID
	IncarnationID    kafka.UUID
	ZkMigrationReady bool
	EndPoints        []EndPoint         // by name
	Features         []SupportedFeature // by name
}

// EndPoint is a listener that a node advertises. SecurityProtocol is the
// number of Kafka's SecurityProtocol: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT,
// 3 SASL_SSL.
type EndPoint struct {
	Name, Host       string
	Port             uint16
	SecurityProtocol int16
}

// SupportedFeature is a range of feature levels that a node supports.
type SupportedFeature struct {
	Name     string
	Min, Max int16
}

func newCluster() *ClusterImage {
	return &ClusterImage{
		brokers:     newTable(func(a, b *Broker) bool { return a.ID < b.ID }),
		controllers: newTable(func(a, b *Controller) bool { return a.ID < b.ID }),
	}
}

func (c *ClusterImage) copy() *ClusterImage {
	return &ClusterImage{brokers: c.brokers.copy(), controllers: c.controllers.copy()}
}

// NumBrokers is the number of registered brokers, fenced ones included.
func (c *ClusterImage) NumBrokers() int { return c.brokers.len() }

// Broker finds a broker by its id.
func (c *ClusterImage) Broker(id kafka.NodeID) (*Broker, bool) { return c.brokers.get(&Broker{ID: id}) }

// Controller finds a controller by its id.
func (c *ClusterImage) Controller(id kafka.NodeID) (*Controller, bool) {
	return c.controllers.get(&Controller{ID: id})
}

// Brokers yields the brokers by ascending id.
func (c *ClusterImage) Brokers() iter.Seq[*Broker] { return c.brokers.all() }

// Controllers yields the controllers by ascending id.
func (c *ClusterImage) Controllers() iter.Seq[*Controller] { return c.controllers.all() }

// Rack is the rack of a broker; false if the broker is not registered or has
// no rack. A fenced broker counts.
func (c *ClusterImage) Rack(id kafka.NodeID) (string, bool) {
	b, ok := c.Broker(id)
	if !ok || b.Rack == nil {
		return "", false
	}
	return *b.Rack, true
}

// Equal compares every registration.
func (c *ClusterImage) Equal(d *ClusterImage) bool {
	return c.brokers.equal(d.brokers, (*Broker).Equal) && c.controllers.equal(d.controllers, (*Controller).Equal)
}

// Equal compares every field.
func (b *Broker) Equal(o *Broker) bool {
	return b.ID == o.ID && b.IncarnationID == o.IncarnationID && b.Epoch == o.Epoch &&
		b.Fenced == o.Fenced && b.InControlledShutdown == o.InControlledShutdown && b.IsMigratingZkBroker == o.IsMigratingZkBroker &&
		equalStrings(b.Rack, o.Rack) &&
		slices.Equal(b.EndPoints, o.EndPoints) && slices.Equal(b.Features, o.Features) &&
		slices.Equal(b.LogDirs, o.LogDirs) &&
		slices.Equal(b.CordonedLogDirs, o.CordonedLogDirs) && (b.CordonedLogDirs == nil) == (o.CordonedLogDirs == nil)
}

// Equal compares every field.
func (c *Controller) Equal(o *Controller) bool {
	return c.ID == o.ID && c.IncarnationID == o.IncarnationID && c.ZkMigrationReady == o.ZkMigrationReady &&
		slices.Equal(c.EndPoints, o.EndPoints) && slices.Equal(c.Features, o.Features)
}

func equalStrings(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
