package demo

import (
	"fmt"
	"strings"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/rebalance"
)

// changeText is a change of the metadata in words.
func changeText(c *delta.Change) string {
	switch c.Kind {
	case delta.TopicCreated:
		return fmt.Sprintf("topic %s is created with %s", cli.Name(c.Topic), partitions(c.PartitionsAfter))
	case delta.TopicDeleted:
		return fmt.Sprintf("topic %s is deleted", cli.Name(c.Topic))
	case delta.TopicRecreated:
		return fmt.Sprintf("topic %s is another one of the same name", cli.Name(c.Topic))
	case delta.PartitionsAdded:
		return fmt.Sprintf("topic %s has %s, no longer %d", cli.Name(c.Topic), partitions(c.PartitionsAfter), c.PartitionsBefore)
	case delta.ReplicasChanged:
		return fmt.Sprintf("replicas of %s-%d: %v -> %v", cli.Name(c.Topic), c.Partition, c.ReplicasBefore, c.ReplicasAfter)
	case delta.RacksChanged:
		return fmt.Sprintf("racks of %s-%d: %s -> %s", cli.Name(c.Topic), c.Partition, racks(c.RacksBefore), racks(c.RacksAfter))
	case delta.BrokerRegistered:
		return fmt.Sprintf("broker %d registers, in %s", c.Broker, racks(c.RacksAfter))
	case delta.BrokerUnregistered:
		return fmt.Sprintf("broker %d is unregistered, was in %s", c.Broker, racks(c.RacksBefore))
	case delta.BrokerRackChanged:
		return fmt.Sprintf("broker %d is in %s, was in %s", c.Broker, racks(c.RacksAfter), racks(c.RacksBefore))
	}
	return cli.Escape(c.String())
}

// recordText names the record that a cause rests on: the last one of the
// metadata log, and else the first one.
func recordText(list []rebalance.Evidence) string {
	if len(list) == 0 {
		return ""
	}
	e := list[0]
	for _, other := range list {
		if other.Log == rebalance.MetadataLog {
			e = other
		}
	}
	return fmt.Sprintf("%s %d", e.Log, e.Offset)
}

func partitions(n int) string {
	if n == 1 {
		return "1 partition"
	}
	return fmt.Sprintf("%d partitions", n)
}

// racks are the racks of a partition's replicas, or that of a broker.
func racks(names []string) string {
	if len(names) == 0 {
		return "no rack"
	}
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = cli.Name(name)
	}
	return strings.Join(shown, " ")
}

func brokerText(id kafka.NodeID) string {
	if id == kafka.NoNode {
		return "none"
	}
	return fmt.Sprintf("broker %d", id)
}

// staleText says what will make a group rebalance whose coordinator has not
// noticed that its hash is not true any more.
func staleText(g *pipeline.Group) string {
	const most = 2
	var topics []string
	for _, name := range g.Answer.Outdated {
		topics = append(topics, cli.Name(name))
	}
	if len(topics) > most {
		topics = append(topics[:1:1], fmt.Sprintf("%d other topics", len(topics)-1))
	}
	move := "it gets a coordinator"
	if g.Coordinator != kafka.NoNode {
		move = fmt.Sprintf("its coordinator leaves broker %d", g.Coordinator)
	}
	return fmt.Sprintf("will rebalance when a record touches %s, or when %s", list(topics, "or"), move)
}
