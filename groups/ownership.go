package groups

import (
	"fmt"
	"slices"

	"github.com/kraftside/kraftside/internal/kafka"
)

// ownership says which members of a consumer group own a partition: have it
// assigned, or have yet to give it up. Kafka keeps one epoch per partition
// (ConsumerGroup.addPartitionEpochs) that depends on the order of what came
// before. This is a function of the members alone, so that it can be restored,
// and finds the same: a partition that is given to a member while another has
// it at the same or a later epoch.
type ownership struct {
	by map[ownedPartition]string
	// more has the owners beside the one in by. It is empty but for a log with
	// anomalies, and for one that is read while it is compacted.
	more map[ownedPartition][]string
}

type ownedPartition struct {
	topic     kafka.TopicID
	partition int32
}

// own adds what the member owns.
func (s *Shard) own(g *group, n *Member) {
	m := g.modern
	if m.owned.by == nil {
		m.owned.by = make(map[ownedPartition]string)
	}
	for p := range n.owned() {
		for _, other := range m.owned.add(p, n.ID) {
			if o := m.members[other]; o.Epoch >= n.Epoch {
				s.anomaly(PartitionOwned, g.id, fmt.Sprintf(
					"partition %d of topic %s goes to member %.64q at epoch %d, and member %.64q has it at epoch %d",
					p.partition, p.topic, n.ID, n.Epoch, other, o.Epoch))
			}
		}
	}
}

// disown takes back own.
func (s *Shard) disown(m *modernGroup, n *Member) {
	for p := range n.owned() {
		m.owned.remove(p, n.ID)
	}
}

// owned yields the partitions that the member owns.
func (m *Member) owned() func(yield func(ownedPartition) bool) {
	return func(yield func(ownedPartition) bool) {
		for _, list := range [...][]TopicPartitions{m.Assigned, m.PendingRevocation} {
			for i := range list {
				for _, p := range list[i].Partitions {
					if !yield(ownedPartition{list[i].TopicID, p}) {
						return
					}
				}
			}
		}
	}
}

// add makes the member an owner and returns the others, sorted.
func (o *ownership) add(p ownedPartition, member string) (others []string) {
	first, owned := o.by[p]
	if !owned {
		o.by[p] = member
	}
	if !owned || first == member && len(o.more) == 0 {
		return nil
	}
	all := append([]string{first}, o.more[p]...)
	slices.Sort(all)
	i, found := slices.BinarySearch(all, member)
	if found {
		return slices.Delete(all, i, i+1)
	}
	if o.more == nil {
		o.more = make(map[ownedPartition][]string)
	}
	o.more[p] = append(o.more[p], member)
	return all
}

func (o *ownership) remove(p ownedPartition, member string) {
	rest := o.more[p]
	if first, owned := o.by[p]; owned && first == member {
		if len(rest) == 0 {
			delete(o.by, p)
			return
		}
		o.by[p], rest = rest[0], rest[1:]
	} else if i := slices.Index(rest, member); i >= 0 {
		rest = slices.Delete(rest, i, i+1)
	}
	if len(rest) == 0 {
		delete(o.more, p)
	} else {
		o.more[p] = rest
	}
}

// Owners are the members of a consumer group that own one of the partitions,
// sorted by id. It costs less than to look for them in Freeze.
func (s *Shard) Owners(id string, of []TopicPartitions) (owners []*Member) {
	g := s.groups[id]
	if g == nil || g.modern == nil {
		return nil
	}
	o := &g.modern.owned
	var ids []string
	for i := range of {
		for _, n := range of[i].Partitions {
			p := ownedPartition{of[i].TopicID, n}
			if first, owned := o.by[p]; owned {
				ids = append(append(ids, first), o.more[p]...)
			}
		}
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		owners = append(owners, g.modern.members[id])
	}
	return owners
}
