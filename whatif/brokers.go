package whatif

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// broker finds the broker that a change names.
func (b *builder) broker(id *kafka.NodeID) (*image.Broker, error) {
	if id == nil {
		return nil, invalid("there is no broker")
	}
	if broker, ok := b.image().Cluster().Broker(*id); ok {
		return broker, nil
	}
	return nil, b.noBroker(*id)
}

func (b *builder) noBroker(id kafka.NodeID) error {
	var ids []string
	for broker := range b.image().Cluster().Brokers() {
		if len(ids) == maxListed {
			ids = append(ids, "…")
			break
		}
		ids = append(ids, strconv.Itoa(int(broker.ID)))
	}
	return notFound("broker %d is not registered; registered are %s", id, strings.Join(ids, " "))
}

// maxListed bounds a list in a message.
const maxListed = 20

func (b *builder) restart(c *Change) error {
	broker, err := b.broker(c.Broker)
	if err != nil {
		return err
	}
	return b.comeBack(broker, broker.Rack)
}

func (b *builder) rack(c *Change) error {
	broker, err := b.broker(c.Broker)
	switch {
	case err != nil:
		return err
	case c.Rack == nil:
		return invalid("there is no rack; an empty one takes the broker's away")
	}
	rack := c.Rack
	if *rack == "" {
		rack = nil
	}
	return b.comeBack(broker, rack)
}

// comeBack restarts a broker. Nothing but its registration says that its rack
// is another one, and that names no topic: what coordinators hold of a topic
// they drop when the broker comes back to the topic's ISR.
func (b *builder) comeBack(broker *image.Broker, rack *string) error {
	if err := b.stop(broker); err != nil {
		return err
	}
	registers := step{after: fmt.Sprintf("broker %d registers", broker.ID)}
	if old, now := rackText(broker.Rack), rackText(rack); old != now {
		registers.after = fmt.Sprintf("broker %d registers in %s", broker.ID, now)
		registers.cause = fmt.Sprintf("broker %d comes back in %s, was in %s", broker.ID, now, old)
	}
	registration := image.BrokerRecord(broker)
	registration.Rack, registration.Fenced, registration.InControlledShutdown = rack, true, false
	registration.BrokerEpoch++
	if err := b.step(registers, func(r *recorder) { r.add(registration) }); err != nil {
		return err
	}
	unfenced := step{after: fmt.Sprintf("broker %d is unfenced", broker.ID)}
	if err := b.step(unfenced, func(r *recorder) {
		r.add(&record.BrokerRegistrationChangeRecord{BrokerID: int32(broker.ID), BrokerEpoch: registration.BrokerEpoch, Fenced: -1})
		b.partitions(func(t image.Topic, number int32, p *image.Partition) {
			if p.Leader == kafka.NoNode && slices.Contains(p.Isr, broker.ID) {
				r.add(lead(t, number, broker.ID))
			}
		})
	}); err != nil {
		return err
	}
	back := step{after: fmt.Sprintf("broker %d is back in the ISR", broker.ID), spread: true}
	return b.step(back, func(r *recorder) {
		b.partitions(func(t image.Topic, number int32, p *image.Partition) {
			if p.Leader != kafka.NoNode && slices.Contains(p.Replicas, broker.ID) && !slices.Contains(p.Isr, broker.ID) {
				r.add(&record.PartitionChangeRecord{
					TopicID: t.ID(), PartitionID: number, Leader: noChange, LeaderRecoveryState: -1, Isr: append(numbers(p.Isr), int32(broker.ID)),
				})
			}
		})
	})
}

func rackText(rack *string) string {
	if rack == nil {
		return "no rack"
	}
	return *rack
}

// stop is a controlled shutdown, unless the broker is down already: others lead
// what it led, and it leaves every ISR that it is not alone in.
func (b *builder) stop(broker *image.Broker) error {
	if broker.Fenced {
		return nil
	}
	leaves := step{after: fmt.Sprintf("broker %d leaves the ISR", broker.ID)}
	return b.step(leaves, func(r *recorder) {
		r.add(&record.BrokerRegistrationChangeRecord{
			BrokerID: int32(broker.ID), BrokerEpoch: broker.Epoch, InControlledShutdown: 1,
		})
		b.partitions(func(t image.Topic, number int32, p *image.Partition) { b.leave(r, t, number, p, broker.ID) })
		r.add(&record.BrokerRegistrationChangeRecord{BrokerID: int32(broker.ID), BrokerEpoch: broker.Epoch, Fenced: 1})
	})
}

// leave takes a broker out of the ISR of a partition
// (ReplicationControlManager.generateLeaderAndIsrUpdates).
func (b *builder) leave(r *recorder, t image.Topic, number int32, p *image.Partition, id kafka.NodeID) {
	if !slices.Contains(p.Isr, id) {
		return
	}
	change := &record.PartitionChangeRecord{TopicID: t.ID(), PartitionID: number, Leader: noChange, LeaderRecoveryState: -1}
	rest := without(p.Isr, []kafka.NodeID{id})
	if len(rest) > 0 {
		change.Isr = numbers(rest)
	}
	if p.Leader == id {
		change.Leader = int32(b.nextLeader(p, rest))
	}
	if change.Isr != nil || change.Leader != noChange {
		r.add(change)
	}
}

// nextLeader is the first replica in the ISR whose broker is up, or none.
func (b *builder) nextLeader(p *image.Partition, isr []kafka.NodeID) kafka.NodeID {
	for _, id := range p.Replicas {
		if broker, ok := b.image().Cluster().Broker(id); ok && !broker.Fenced && !broker.InControlledShutdown && slices.Contains(isr, id) {
			return id
		}
	}
	return kafka.NoNode
}

// partitions calls do with every partition of the image.
func (b *builder) partitions(do func(image.Topic, int32, *image.Partition)) {
	for t := range b.image().Topics().All() {
		for number, p := range t.Partitions() {
			do(t, number, p)
		}
	}
}

// unregister stops a broker, unless it is down already, and takes back its
// registration, which names no topic.
func (b *builder) unregister(c *Change) error {
	broker, err := b.broker(c.Broker)
	if err == nil {
		err = b.stop(broker)
	}
	if err != nil {
		return err
	}
	s := step{after: fmt.Sprintf("broker %d is unregistered", broker.ID)}
	if broker.Rack != nil {
		s.cause = fmt.Sprintf("broker %d (%s) is no longer registered", broker.ID, *broker.Rack)
	}
	return b.step(s, func(r *recorder) {
		r.add(&record.UnregisterBrokerRecord{BrokerID: int32(broker.ID), BrokerEpoch: broker.Epoch})
	})
}

// moveCoordinator elects another replica of a partition of __consumer_offsets.
func (b *builder) moveCoordinator(c *Change) error {
	if c.Partition == nil {
		return invalid("there is no partition of %s", kafka.OffsetsTopic)
	}
	broker, err := b.broker(c.Broker)
	if err != nil {
		return err
	}
	t, err := b.topic(kafka.OffsetsTopic)
	if err != nil {
		return err
	}
	var p image.Partition
	switch {
	case !t.Partition(*c.Partition, &p):
		return notFound("topic %s has no partition %d; it has %d", kafka.OffsetsTopic, *c.Partition, t.NumPartitions())
	case !slices.Contains(p.Replicas, broker.ID):
		return invalid("broker %d has no replica of partition %d of %s; the replicas are %v", broker.ID, *c.Partition, kafka.OffsetsTopic, p.Replicas)
	case !slices.Contains(p.Isr, broker.ID) || broker.Fenced:
		return invalid("broker %d is not in the ISR of partition %d of %s, or is fenced; the ISR is %v", broker.ID, *c.Partition, kafka.OffsetsTopic, p.Isr)
	case p.Leader == broker.ID:
		return invalid("broker %d leads partition %d of %s already", broker.ID, *c.Partition, kafka.OffsetsTopic)
	}
	s := step{after: fmt.Sprintf("the coordinator of partition %d moves to broker %d", *c.Partition, broker.ID)}
	return b.step(s, func(r *recorder) { r.add(lead(t, *c.Partition, broker.ID)) })
}

// upgrade is the one in which coordinators begin to store hashes: each starts
// anew on a broker of 4.1 or later.
func (b *builder) upgrade(c *Change) error {
	if c.From != "4.0" {
		return invalid("from %.20q: only an upgrade from 4.0 bumps groups by itself", c.From)
	}
	for broker := range b.image().Cluster().Brokers() {
		for _, f := range broker.Features {
			if f.Name == image.MetadataVersionFeature && f.Max < supports41 {
				b.plan.steps = append(b.plan.steps, step{after: "the coordinator runs on 4.1 or later", upgrade: true})
				b.plan.images = append(b.plan.images, b.image())
				return nil
			}
		}
	}
	return invalid("no registered broker runs on 4.0")
}

// supports41 is the level of metadata.version that brokers of 4.1 support.
const supports41 = 26
