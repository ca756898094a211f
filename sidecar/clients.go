package sidecar

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kraftside/kraftside/internal/config"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/kafkaclient"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/telemetry"
)

// clients are how this process talks to Kafka: one client for brokers, and what
// a source needs to make its own connections to controllers.
type clients struct {
	brokers           *kgo.Client // nil: no brokers are known
	brokerAccess      *kafkaclient.Access
	controllerAccess  *kafkaclient.Access
	controllerOptions []kgo.Opt
}

func newClients(c *config.Config, version string, meter *telemetry.Meter) (*clients, error) {
	made := &clients{
		brokerAccess:     kafkaclient.New("kafka", c.Kafka.Security, version),
		controllerAccess: kafkaclient.New("controllers", c.Controllers, version),
	}
	made.controllerOptions = append(made.controllerAccess.Options(), kgo.WithHooks(meter.Requests(telemetry.Controllers)))
	if len(c.Kafka.Bootstrap) == 0 {
		return made, nil
	}
	var err error
	made.brokers, err = made.brokerAccess.NewClient(c.Kafka.Bootstrap, kgo.WithHooks(meter.Requests(telemetry.Brokers)))
	return made, err
}

func (c *clients) close() {
	if c.brokers != nil {
		c.brokers.Close()
	}
}

// bound tells how much of the log in the neighbour broker's directory is
// committed.
func (c *clients) bound(node kafka.NodeID, at metadatalog.Location) metadatalog.Bound {
	return metadatalog.FirstBound{
		&metadatalog.AppliedBound{Client: c.brokers, Node: node, ClusterID: at.ClusterID},
		&metadatalog.QuorumBound{Client: c.brokers, Node: node, Directory: at.DirectoryID},
	}
}

const identifyTimeout = 10 * time.Second

// clusterID asks any broker which cluster it is of.
func (c *clients) clusterID(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, identifyTimeout)
	defer cancel()
	return kafkaclient.ClusterID(ctx, c.brokers)
}
