//go:build unix

package realkafka

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const pollInterval = 50 * time.Millisecond

// A StartOption changes a server at its next start, for good.
type StartOption func(*node)

// WithRack moves a broker to another rack; an empty rack means none.
func WithRack(rack string) StartOption {
	return func(n *node) { n.rack = rack }
}

// StartBroker starts a broker that was stopped or killed and waits until every running broker sees it. Kafka takes a broker
// back only when its previous session has ended, so this lasts a few seconds.
func (c *Cluster) StartBroker(id int32, options ...StartOption) error {
	n := c.find(id)
	for _, o := range options {
		o(n)
	}
	if err := c.run(n); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return c.waitReady(ctx)
}

// StopBroker stops a broker in the orderly way: it leaves its leaderships and its ISRs first.
func (c *Cluster) StopBroker(id int32) error { return c.find(id).stop() }

// KillBroker kills a broker.
func (c *Cluster) KillBroker(id int32) error { return c.find(id).kill() }

// StartController starts a controller that was stopped or killed and waits until it serves.
func (c *Cluster) StartController(id int32) error {
	if err := c.run(c.find(id)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return c.waitReady(ctx)
}

// StopController stops a controller in the orderly way.
func (c *Cluster) StopController(id int32) error { return c.find(id).stop() }

// KillController kills a controller.
func (c *Cluster) KillController(id int32) error { return c.find(id).kill() }

// BrokerIDs returns the node ids of all brokers, running or not.
func (c *Cluster) BrokerIDs() []int32 { return ids(c.brokers) }

// ControllerIDs returns the node ids of all controllers, running or not.
func (c *Cluster) ControllerIDs() []int32 { return ids(c.controllers) }

func ids(nodes []*node) []int32 {
	var out []int32
	for _, n := range nodes {
		out = append(out, n.id)
	}
	return out
}

// Address returns host:port of a server's plain listener.
func (c *Cluster) Address(id int32) string { return c.find(id).address() }

// LogDir returns the log directory of a server: partitions such as __consumer_offsets-0, and meta.properties.
func (c *Cluster) LogDir(id int32) string { return c.find(id).dataDir() }

// MetadataDir returns the directory of a server's copy of the metadata log.
func (c *Cluster) MetadataDir(id int32) string {
	return filepath.Join(c.LogDir(id), "__cluster_metadata-0")
}

// ConfigFile returns the configuration file that a server runs with.
func (c *Cluster) ConfigFile(id int32) string { return c.find(id).configFile() }

// ActiveController returns the node id of the leader of the metadata quorum.
func (c *Cluster) ActiveController(ctx context.Context) (int32, error) {
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic = "__cluster_metadata"
	topic.Partitions = []kmsg.DescribeQuorumRequestTopicPartition{kmsg.NewDescribeQuorumRequestTopicPartition()}
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, c.client)
	if err != nil {
		return 0, fmt.Errorf("describe quorum: %w", err)
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return 0, fmt.Errorf("describe quorum: %w", err)
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return 0, errors.New("describe quorum: no partition in the answer")
	}
	p := resp.Topics[0].Partitions[0]
	return p.LeaderID, kerr.ErrorForCode(p.ErrorCode)
}

// Upgrade stops every server, and starts them with another release on the same files. The metadata.version stays.
func (c *Cluster) Upgrade(version string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	java, err := newJava(ctx, version)
	if err != nil {
		return err
	}
	for _, nodes := range [][]*node{c.brokers, c.controllers} {
		for _, n := range nodes {
			if err := n.stop(); err != nil {
				return err
			}
		}
	}
	c.config.Version, c.java = version, java
	return c.runAll(ctx)
}

// UnregisterBroker removes the registration of a broker that is not running.
func (c *Cluster) UnregisterBroker(ctx context.Context, id int32) error {
	req := kmsg.NewPtrUnregisterBrokerRequest()
	req.BrokerID = id
	resp, err := req.RequestWith(ctx, c.client)
	if err != nil {
		return fmt.Errorf("unregister broker %d: %w", id, err)
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return fmt.Errorf("unregister broker %d: %w", id, err)
	}
	return nil
}

// run writes a server's configuration and starts its process.
func (c *Cluster) run(n *node) error {
	if err := n.writeConfig(c.properties(n)); err != nil {
		return err
	}
	return n.start(c.java.server(n, c.config.JavaOptions...))
}

// waitReady waits until every server that ought to run has started and every broker of them sees all brokers of them.
func (c *Cluster) waitReady(ctx context.Context) error {
	alive := 0
	for _, n := range c.nodes() {
		if !n.wanted {
			continue
		}
		if err := n.await(ctx, "start", n.started); err != nil {
			return err
		}
		if n.role == roleBroker {
			alive++
		}
	}
	for _, n := range c.brokers {
		if !n.wanted {
			continue
		}
		if err := n.awaitBrokers(ctx, alive); err != nil {
			return err
		}
	}
	return nil
}

// awaitBrokers waits until the broker's own metadata holds at least so many brokers that are alive.
func (n *node) awaitBrokers(ctx context.Context, alive int) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(n.address()))
	if err != nil {
		return err
	}
	defer cl.Close()
	return n.await(ctx, fmt.Sprintf("see %d brokers", alive), func() (bool, error) {
		req := kmsg.NewPtrMetadataRequest()
		req.Topics = []kmsg.MetadataRequestTopic{}
		resp, err := cl.SeedBrokers()[0].Request(ctx, req)
		if err != nil {
			return false, err
		}
		return len(resp.(*kmsg.MetadataResponse).Brokers) >= alive, nil
	})
}

// await polls until ok; it gives up when ok fails, the server ends, or ctx does.
func (n *node) await(ctx context.Context, what string, ok func() (bool, error)) error {
	for {
		done, err := ok()
		if err != nil {
			return fmt.Errorf("wait for %s to %s: %w\n%s", n.name(), what, err, n.tail())
		}
		if done {
			return nil
		}
		select {
		case <-time.After(pollInterval):
		case <-n.process.done:
			return fmt.Errorf("%s ended before it could %s: %w\n%s", n.name(), what, n.process.err, n.tail())
		case <-ctx.Done():
			return fmt.Errorf("wait for %s to %s: %w\n%s", n.name(), what, ctx.Err(), n.tail())
		}
	}
}
