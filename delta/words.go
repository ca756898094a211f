package delta

import (
	"fmt"
	"strings"
)

// Summary is the change in words. Names are in it as they are in the log, and
// are to be escaped before they are shown.
func (c *Change) Summary() string {
	switch c.Kind {
	case TopicCreated:
		return fmt.Sprintf("topic %s is created with %s", c.Topic, partitionsText(c.PartitionsAfter))
	case TopicDeleted:
		return fmt.Sprintf("topic %s is deleted", c.Topic)
	case TopicRecreated:
		return fmt.Sprintf("topic %s is another one of the same name", c.Topic)
	case PartitionsAdded:
		return fmt.Sprintf("topic %s has %s, no longer %d", c.Topic, partitionsText(c.PartitionsAfter), c.PartitionsBefore)
	case ReplicasChanged:
		return fmt.Sprintf("replicas of %s-%d: %v -> %v", c.Topic, c.Partition, c.ReplicasBefore, c.ReplicasAfter)
	case RacksChanged:
		return fmt.Sprintf("racks of %s-%d: %s -> %s", c.Topic, c.Partition, racksText(c.RacksBefore), racksText(c.RacksAfter))
	case BrokerRegistered:
		return fmt.Sprintf("broker %d registers, in %s", c.Broker, racksText(c.RacksAfter))
	case BrokerUnregistered:
		return fmt.Sprintf("broker %d is unregistered, was in %s", c.Broker, racksText(c.RacksBefore))
	case BrokerRackChanged:
		return fmt.Sprintf("broker %d is in %s, was in %s", c.Broker, racksText(c.RacksAfter), racksText(c.RacksBefore))
	}
	return c.String()
}

func partitionsText(n int) string {
	if n == 1 {
		return "1 partition"
	}
	return fmt.Sprintf("%d partitions", n)
}

// racksText are the racks of a partition's replicas, or that of a broker.
func racksText(names []string) string {
	if len(names) == 0 {
		return "no rack"
	}
	return strings.Join(names, " ")
}
