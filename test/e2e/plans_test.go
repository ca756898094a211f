//go:build e2e && unix

package e2e

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/test/realkafka"
	"github.com/kraftside/kraftside/whatif"
)

// kinds are twenty plans in an order of the seed. A topic is deleted before one
// of its name is created.
func (o *oracle) kinds() []string {
	all := []string{
		"reassign", "reassign", "within", "within", "within", "add", "add", "delete", "delete", "create", "create-unread", "create-unread",
		"rack", "rack", "restart", "restart", "unregister", "unregister-stopped", "coordinator",
	}
	o.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	// What nobody noticed is noticed when a coordinator moves.
	return slices.Insert(all, slices.Index(all, "unregister-stopped")+1, "coordinator-stale")
}

// invent makes a plan of a kind: the changes, how they are carried out, and what
// to do afterwards so that others can follow.
func (o *oracle) invent(kind string) (changes []whatif.Change, carryOut, after func()) {
	broker := 1 + o.random.Int32N(3)
	id := kafka.NodeID(broker)
	topic := o.topics[o.random.IntN(len(o.topics))]
	switch kind {
	case "reassign", "within":
		return o.inventMove(topic, kind == "within")
	case "add":
		current := len(o.details(topic).Partitions)
		return []whatif.Change{{Kind: whatif.AddPartitions, Topic: topic, Partitions: int32(current + 1)}},
			func() { o.addPartition(o.t, topic, o.pair()...) }, nil
	case "delete":
		o.topics = slices.DeleteFunc(o.topics, func(t string) bool { return t == topic })
		o.waited = append(o.waited, topic)
		return []whatif.Change{{Kind: whatif.DeleteTopic, Topic: topic}}, func() { o.delete(o.t, topic) }, nil
	case "create":
		topic = o.waited[0]
		o.waited, o.topics = o.waited[1:], append(o.topics, topic)
		return []whatif.Change{{Kind: whatif.CreateTopic, Topic: topic, Partitions: 2}},
			func() { o.create(o.t, topic, o.pair(), o.pair()) }, nil
	case "create-unread":
		o.nobody++
		name := fmt.Sprintf("unread-%d", o.nobody)
		return []whatif.Change{{Kind: whatif.CreateTopic, Topic: name, Partitions: 1}}, func() { o.create(o.t, name, o.pair()) }, nil
	case "rack":
		rack := fmt.Sprintf("rack-%d", 5+o.random.IntN(100))
		return []whatif.Change{{Kind: whatif.Rack, Broker: &id, Rack: &rack}}, func() { o.restart(broker, realkafka.WithRack(rack)) }, nil
	case "restart":
		return []whatif.Change{{Kind: whatif.RestartBroker, Broker: &id}}, func() { o.restart(broker) }, nil
	case "unregister":
		return []whatif.Change{{Kind: whatif.UnregisterBroker, Broker: &id}}, func() {
			require.NoError(o.t, o.StopBroker(broker))
			require.NoError(o.t, o.UnregisterBroker(within(o.t), broker))
		}, func() { o.start(broker) }
	case "unregister-stopped":
		require.NoError(o.t, o.StopBroker(broker))
		o.quiet()
		o.away = broker
		return []whatif.Change{{Kind: whatif.UnregisterBroker, Broker: &id}},
			func() { require.NoError(o.t, o.UnregisterBroker(within(o.t), broker)) }, nil
	}
	return o.inventCoordinator()
}

// inventMove moves one of a partition's replicas to the broker that has none,
// from the rack of which it may come, or from another.
func (o *oracle) inventMove(topic string, within bool) (changes []whatif.Change, carryOut, after func()) {
	racks := o.racksNow()
	names := slices.Clone(o.topics)
	o.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, topic := range append([]string{topic}, names...) {
		details := o.details(topic)
		for _, p := range details.Partitions.Sorted() {
			other := without(o.BrokerIDs(), p.Replicas)
			for at := range p.Replicas {
				if len(other) == 0 || (racks[p.Replicas[at]] == racks[other[0]]) != within {
					continue
				}
				replicas := slices.Clone(p.Replicas)
				replicas[at] = other[0]
				partition := p.Partition
				plan := fmt.Appendf(nil, `{"version":1,"partitions":[{"topic":%q,"partition":%d,"replicas":%s}]}`,
					topic, partition, strings.ReplaceAll(fmt.Sprint(replicas), " ", ","))
				return []whatif.Change{{Kind: whatif.Reassign, Plan: plan}}, func() { o.move(topic, partition, replicas) }, nil
			}
		}
	}
	if within {
		// Racks have moved so that no move is within one: make room for it.
		o.restart(2, realkafka.WithRack(racks[1]))
		o.quiet()
		return o.inventMove(topic, within)
	}
	require.Fail(o.t, "no partition can move to another rack")
	return nil, nil, nil
}

func without(list, others []int32) []int32 {
	return slices.DeleteFunc(slices.Clone(list), func(id int32) bool { return slices.Contains(others, id) })
}

func (o *oracle) racksNow() map[int32]string {
	racks, err := o.racks(within(o.t))
	require.NoError(o.t, err)
	out := map[int32]string{}
	for id, rack := range racks {
		if rack != nil {
			out[id] = *rack
		}
	}
	return out
}

func (o *oracle) details(topic string) kadm.TopicDetail {
	topics, err := o.admin.ListTopics(within(o.t), topic)
	require.NoError(o.t, err)
	require.NoError(o.t, topics[topic].Err, topic)
	return topics[topic]
}

// move reassigns a partition and waits until that is over.
func (o *oracle) move(topic string, partition int32, replicas []int32) {
	o.reassign(o.t, topic, partition, replicas...)
	eventually(o.t, "the partition has moved", func() error {
		var set kadm.TopicsSet
		set.Add(topic, partition)
		running, err := o.admin.ListPartitionReassignments(within(o.t), set)
		if err != nil {
			return err
		}
		if len(running) > 0 {
			return fmt.Errorf("%v", running)
		}
		return nil
	})
}

func (o *oracle) restart(broker int32, options ...realkafka.StartOption) {
	require.NoError(o.t, o.StopBroker(broker))
	o.start(broker, options...)
}

// start starts a broker and waits until it is in every ISR.
func (o *oracle) start(broker int32, options ...realkafka.StartOption) {
	require.NoError(o.t, o.StartBroker(broker, options...))
	eventually(o.t, "all replicas are in sync", func() error {
		topics, err := o.admin.ListTopicsWithInternal(within(o.t))
		if err != nil {
			return err
		}
		for name, topic := range topics {
			for _, p := range topic.Partitions {
				if len(p.ISR) < len(p.Replicas) {
					return fmt.Errorf("%s-%d: %v of %v", name, p.Partition, p.ISR, p.Replicas)
				}
			}
		}
		return nil
	})
}

// inventCoordinator moves the coordinators of one partition.
func (o *oracle) inventCoordinator() (changes []whatif.Change, carryOut, after func()) {
	partition := o.random.Int32N(offsetsPartitions)
	p := o.details(kafka.OffsetsTopic).Partitions[partition]
	broker := without(p.ISR, []int32{p.Leader})[0]
	id := kafka.NodeID(broker)
	if away := o.away; away != 0 {
		after, o.away = func() { o.start(away) }, 0
	}
	return []whatif.Change{{Kind: whatif.MoveCoordinator, Partition: &partition, Broker: &id}},
		func() { o.coordinateAt(o.t, partition, broker, p.ISR) }, after
}
