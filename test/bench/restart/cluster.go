package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog/record"
	"github.com/kraftside/kraftside/test/simquorum"
)

const (
	clusterID   = "Cnk3vNk7SpiiE2eSm0TUTg"
	controllers = 3
	// leader is not the first that is asked, so that it has to be found.
	leader = kafka.NodeID(2)
	// offsetsPartitions is offsets.topic.num.partitions as Kafka has it.
	offsetsPartitions = 50
)

// cluster is a quorum whose log has the topics, and brokers for the groups'
// log. The brokers know nothing of those topics: nobody asks them.
type cluster struct {
	quorum    *simquorum.Quorum
	addresses []string // of the controllers, by id
	listeners []net.Listener
	brokers   *kfake.Cluster
	bridges   sync.WaitGroup

	records *records
	topics  int
	newest  string // the topic that was added last
}

func newCluster(topics int) (_ *cluster, err error) {
	c := &cluster{records: newRecords(), quorum: simquorum.New(simquorum.Config{
		Controllers: controllers, ClusterID: clusterID, FetchVersion: 18,
	})}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	c.quorum.Elect(leader, 0)
	for id := kafka.NodeID(1); id <= controllers; id++ {
		if err := c.listen(id); err != nil {
			return nil, err
		}
	}
	if err := c.fill(topics); err != nil {
		return nil, err
	}
	c.brokers, err = kfake.NewCluster(kfake.NumBrokers(3), kfake.ClusterID(clusterID),
		kfake.SeedTopics(offsetsPartitions, kafka.OffsetsTopic))
	return c, err
}

// close ends everything, and waits for it.
func (c *cluster) close() {
	for _, l := range c.listeners {
		_ = l.Close() // it fails only if it was closed before
	}
	c.quorum.Close()
	c.bridges.Wait()
	if c.brokers != nil {
		c.brokers.Close()
	}
}

// listen makes a controller one that other processes can connect to.
func (c *cluster) listen(id kafka.NodeID) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	c.listeners, c.addresses = append(c.listeners, l), append(c.addresses, l.Addr().String())
	c.quorum.Advertise(id, l.Addr().String())
	c.bridges.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // it was closed
			}
			c.bridges.Go(func() { c.bridge(conn, id) })
		}
	})
	return nil
}

// bridge carries bytes between a process and a controller until one of them
// hangs up.
func (c *cluster) bridge(process net.Conn, id kafka.NodeID) {
	defer process.Close()
	controller, err := c.quorum.Dial(context.Background(), "tcp", simquorum.Address(id))
	if err != nil {
		return // which is what the process sees of it
	}
	c.bridges.Go(func() {
		defer controller.Close()
		_, _ = io.Copy(controller, process) // ends as connections do
	})
	_, _ = io.Copy(process, controller)
}

// seen is what a controller saw.
type seen struct{ requests, connections int }

func (c *cluster) seen() (all []seen) {
	for id := kafka.NodeID(1); id <= controllers; id++ {
		n := c.quorum.Seen(id)
		all = append(all, seen{len(n.Requests), len(n.Connections)})
	}
	return all
}

// topicsInBatch is how many topics somebody creates by one request, which
// become one batch.
const topicsInBatch = 100

// fill writes the log.
func (c *cluster) fill(topics int) error {
	if err := c.append(c.records.cluster()); err != nil {
		return err
	}
	for c.topics < topics {
		var batch []versioned
		for range min(topicsInBatch, topics-c.topics) {
			batch = append(batch, c.newTopic(fmt.Sprintf("orders-%d.%08x", c.topics, c.records.Uint32()))...)
		}
		if err := c.append(batch); err != nil {
			return err
		}
	}
	c.quorum.Commit()
	return nil
}

// addTopic adds one batch, with one topic.
func (c *cluster) addTopic(name string) error {
	if err := c.append(c.newTopic(name)); err != nil {
		return err
	}
	c.quorum.Commit()
	return nil
}

func (c *cluster) newTopic(name string) []versioned {
	c.topics++
	c.newest = name
	return c.records.topic(name)
}

func (c *cluster) append(batch []versioned) (err error) {
	values := make([][]byte, len(batch))
	for i, r := range batch {
		if values[i], err = record.AppendFrame(nil, r.Message, r.version); err != nil {
			return err
		}
	}
	c.quorum.Append(values...)
	return nil
}
