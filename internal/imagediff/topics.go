package imagediff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
)

// topics compares the topics, by id. What can move a hash is told by package
// delta; the rest of a partition here.
func (d *differ) topics(a, b *image.MetadataImage) {
	recreated := make(map[kafka.TopicID]bool)
	for _, was := range a.Topics().Sorted() {
		if _, same := b.Topics().ByID(was.ID()); same {
			continue
		}
		c := Change{Part: Topics, Topic: was.Name(), TopicID: was.ID(), Action: Removed, Before: was.NumPartitions()}
		now, again := b.Topics().ByName(was.Name())
		if !again {
			d.add(c, fmt.Sprintf("%s deleted, %s", cli.Name(was.Name()), partitions(was)))
			continue
		}
		recreated[now.ID()] = true
		c.Action, c.TopicID, c.Field, c.Before, c.After = Recreated, now.ID(), "id", was.ID(), now.ID()
		d.add(c, fmt.Sprintf("%s deleted and created again: id %s -> %s, now %s", cli.Name(was.Name()), was.ID(), now.ID(), partitions(now)))
	}
	for _, now := range b.Topics().Sorted() {
		was, existed := a.Topics().ByID(now.ID())
		if existed {
			d.topic(a, b, was, now)
		} else if !recreated[now.ID()] {
			c := Change{Part: Topics, Topic: now.Name(), TopicID: now.ID(), Action: Added, After: now.NumPartitions()}
			d.add(c, fmt.Sprintf("%s created, %s, id %s", cli.Name(now.Name()), partitions(now), now.ID()))
		}
	}
}

func partitions(t image.Topic) string {
	if n := t.NumPartitions(); n != 1 {
		return fmt.Sprintf("%d partitions", n)
	}
	return "1 partition"
}

// topic compares two states of a topic.
func (d *differ) topic(a, b *image.MetadataImage, was, now image.Topic) {
	if was.Name() != now.Name() { // which happens between two clusters, at most
		c := Change{Part: Topics, Action: Changed, Topic: now.Name(), TopicID: now.ID(), Field: "name", Before: was.Name(), After: now.Name()}
		d.add(c, fmt.Sprintf("id %s: name %s -> %s", now.ID(), cli.Name(was.Name()), cli.Name(now.Name())))
	}
	for _, c := range delta.CompareTopic(a, b, was, now) {
		d.hashed(&c)
	}
	if was.SameRows(now) {
		return
	}
	var old image.Partition
	for number, p := range now.Partitions() {
		if was.Partition(number, &old) {
			d.partition(now, number, &old, p)
		} else if was.NumPartitions() == now.NumPartitions() {
			d.numbered(now, number, Added)
		}
	}
	if was.NumPartitions() != now.NumPartitions() {
		return
	}
	for number := range was.Partitions() {
		if !now.Partition(number, &old) {
			d.numbered(now, number, Removed)
		}
	}
}

// hashed takes over what package delta tells of a topic.
func (d *differ) hashed(from *delta.Change) {
	c := Change{Part: Partitions, Action: Changed, Topic: from.Topic, TopicID: from.TopicID}
	var before, after string
	switch from.Kind {
	case delta.PartitionsAdded:
		c.Part, c.Field, c.Before, c.After = Topics, "partitions", from.PartitionsBefore, from.PartitionsAfter
		d.add(c, fmt.Sprintf("%s: partitions %d -> %d", cli.Name(from.Topic), from.PartitionsBefore, from.PartitionsAfter))
		return
	case delta.ReplicasChanged:
		c.Field, c.Before, c.After = "replicas", from.ReplicasBefore, from.ReplicasAfter
		before, after = nodeList(from.ReplicasBefore), nodeList(from.ReplicasAfter)
	case delta.RacksChanged:
		c.Field, c.Before, c.After = "racks", notNil(from.RacksBefore), notNil(from.RacksAfter)
		before, after = rackList(from.RacksBefore), rackList(from.RacksAfter)
	}
	c.Partition = &from.Partition
	d.add(c, fmt.Sprintf("%s: %s %s -> %s", partitionName(from.Topic, from.Partition), c.Field, before, after))
}

func notNil(list []string) []string { return append([]string{}, list...) }

func rackList(racks []string) string {
	names := make([]string, len(racks))
	for i, r := range racks {
		names[i] = cli.Name(r)
	}
	return "[" + strings.Join(names, ",") + "]"
}

func partitionName(topic string, number int32) string {
	return fmt.Sprintf("%s partition %d", cli.Name(topic), number)
}

// numbered is a partition that came or went while their number stayed.
func (d *differ) numbered(t image.Topic, number int32, action Action) {
	c := Change{Part: Partitions, Action: action, Topic: t.Name(), TopicID: t.ID(), Partition: &number}
	d.add(c, fmt.Sprintf("%s %s", partitionName(t.Name(), number), action))
}

// partition compares all but the replicas. The epochs count changes, so they
// are told only where nothing else is.
func (d *differ) partition(t image.Topic, number int32, was, now *image.Partition) {
	before := len(d.changes)
	change := func(name string, same bool, o, n any, old, new string) {
		if same {
			return
		}
		c := Change{Part: Partitions, Action: Changed, Topic: t.Name(), TopicID: t.ID(), Partition: &number, Field: name, Before: o, After: n}
		d.add(c, fmt.Sprintf("%s: %s %s -> %s", partitionName(t.Name(), number), name, old, new))
	}
	nodes := func(name string, o, n []kafka.NodeID) {
		change(name, slices.Equal(o, n), slices.Clone(o), slices.Clone(n), nodeList(o), nodeList(n))
	}
	number64 := func(name string, o, n int64) { change(name, o == n, o, n, fmt.Sprint(o), fmt.Sprint(n)) }

	change("leader", was.Leader == now.Leader, was.Leader, now.Leader, leader(was), leader(now))
	nodes("isr", was.Isr, now.Isr)
	nodes("elr", was.Elr, now.Elr)
	nodes("lastKnownElr", was.LastKnownElr, now.LastKnownElr)
	nodes("addingReplicas", was.AddingReplicas, now.AddingReplicas)
	nodes("removingReplicas", was.RemovingReplicas, now.RemovingReplicas)
	change("directories", slices.Equal(was.Directories, now.Directories), slices.Clone(was.Directories), slices.Clone(now.Directories),
		idList(was.Directories), idList(now.Directories))
	change("leaderRecoveryState", was.LeaderRecoveryState == now.LeaderRecoveryState, was.LeaderRecoveryState, now.LeaderRecoveryState,
		recovery(was), recovery(now))
	if was.Leader == now.Leader {
		number64("leaderEpoch", int64(was.LeaderEpoch), int64(now.LeaderEpoch))
	}
	if len(d.changes) == before && slices.Equal(was.Replicas, now.Replicas) {
		number64("leaderEpoch", int64(was.LeaderEpoch), int64(now.LeaderEpoch))
		number64("partitionEpoch", int64(was.PartitionEpoch), int64(now.PartitionEpoch))
	}
}

func leader(p *image.Partition) string {
	if p.Leader == kafka.NoNode {
		return "none"
	}
	return fmt.Sprint(p.Leader)
}

func recovery(p *image.Partition) string {
	if p.LeaderRecoveryState == image.LeaderRecovering {
		return "recovering"
	}
	return "recovered"
}
