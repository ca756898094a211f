package pipeline

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"sort"

	"github.com/benbjohnson/immutable"
	"github.com/tidwall/btree"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/history"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/rebalance"
	"github.com/kraftside/kraftside/topichash"
)

// View is the state at one moment. It never changes; a reader answers all of a
// request from one. Every group in it rests on all of the image and on the
// records of its partition before Partition.Next; where a partition is Loading
// it may rest on more.
type View struct {
	Image *image.MetadataImage
	// Metadata is how the metadata tail stands. Refused is the record that it
	// stopped at, or nil.
	Metadata metadatalog.Progress
	Refused  error
	Scope    Scope
	NodeID   kafka.NodeID
	// Assignment is what is known of which partitions of __consumer_offsets
	// are to be followed; Partitions are those that are, ascending.
	Assignment offsetslog.Assignment
	Partitions []Partition
	groups     *btree.Map[string, *Group]
	index      *immutable.Map[string, *Group]       // the same
	touched    *btree.Map[string, image.Provenance] // by topic
	rebalances *btree.Map[string, []*rebalance.Rebalance]
	changes    *btree.Map[kafka.Offset, *history.Entry]
}

// Group is a group with the verdict on its hash. It is shared: do not change
// it.
type Group struct {
	*groups.Group
	// Partition of __consumer_offsets, and the broker that leads it, which is
	// the group's coordinator; kafka.NoNode if there is none now.
	Partition   int32
	Coordinator kafka.NodeID
	Answer      topichash.Answer
}

// same says whether nothing of a group is another than before.
func (g *Group) same(o *Group) bool {
	return g.Group == o.Group && g.Partition == o.Partition && g.Coordinator == o.Coordinator && g.Answer.Equal(&o.Answer)
}

// Partition is how a partition of __consumer_offsets stands.
type Partition struct {
	offsetslog.Progress
	// Answers says whether this sidecar speaks for the partition's groups.
	Answers bool
	// Coordinator is the partition's leader by the image, which is the
	// coordinator of its groups; kafka.NoNode if it has none.
	Coordinator kafka.NodeID
	// Hidden says that the partition's groups are not shown, since it is read
	// from its start and that is not over.
	Hidden bool
	// Anomalies are the records that Kafka would not replay.
	Anomalies groups.Anomalies
}

// newView is the view of the state; nil if nothing changed since the last one.
func (s *state) newView() *View {
	if s.published {
		return nil
	}
	s.published = true
	v := &View{
		Image:      s.loader.Image(),
		Metadata:   s.progress,
		Refused:    s.refused,
		Scope:      s.Scope,
		NodeID:     s.NodeID,
		Assignment: s.assignment,
		groups:     s.views.Copy(),
		index:      s.index,
		touched:    s.touched.Copy(),
		rebalances: s.rebalances.Copy(),
		changes:    s.changes.Copy(),
	}
	for _, number := range slices.Sorted(maps.Keys(s.shards)) {
		sh := s.shards[number]
		v.Partitions = append(v.Partitions, s.partition(number, sh))
	}
	return v
}

func (s *state) partition(number int32, sh *shard) Partition {
	p := Partition{
		Progress:    sh.progress,
		Answers:     s.answers(number),
		Coordinator: s.coordinators[number].leader,
		Hidden:      sh.hidden,
		Anomalies:   sh.Anomalies(),
	}
	p.Partition, p.Next, p.Epoch = number, sh.at.Offset, sh.at.Epoch
	return p
}

// Group finds a group that this sidecar follows.
func (v *View) Group(id string) (*Group, bool) { return v.index.Get(id) }

// Partition finds a partition of __consumer_offsets that is followed.
func (v *View) Partition(number int32) (Partition, bool) {
	i, ok := sort.Find(len(v.Partitions), func(i int) int { return cmp.Compare(number, v.Partitions[i].Partition) })
	if !ok {
		return Partition{}, false
	}
	return v.Partitions[i], true
}

// GroupsVersion is another one whenever a group is another one; their offsets are
// not part of that. It can be compared.
type GroupsVersion struct {
	index *immutable.Map[string, *Group]
}

// GroupsVersion is that of the view's groups.
func (v *View) GroupsVersion() GroupsVersion { return GroupsVersion{v.index} }

// NumGroups is the number of groups.
func (v *View) NumGroups() int { return v.groups.Len() }

// GroupsFrom yields the groups by id, beginning with the one given or the next
// after it.
func (v *View) GroupsFrom(id string) func(yield func(*Group) bool) {
	return func(yield func(*Group) bool) {
		v.groups.Ascend(id, func(_ string, g *Group) bool { return yield(g) })
	}
}

// Rebalances are those of a group that are kept, newest first, those of a group
// that is gone among them, as far as they are durable. They are shared: do not
// change them.
func (v *View) Rebalances(group string) []*rebalance.Rebalance {
	list, _ := v.rebalances.Get(group)
	return list
}

// NewestRebalances yields the newest one of each group, by group.
func (v *View) NewestRebalances() iter.Seq[*rebalance.Rebalance] {
	return func(yield func(*rebalance.Rebalance) bool) {
		v.rebalances.Scan(func(_ string, list []*rebalance.Rebalance) bool { return yield(list[0]) })
	}
}

// AllRebalances yields all that are kept, by group, and of each group newest
// first.
func (v *View) AllRebalances() iter.Seq[*rebalance.Rebalance] {
	return func(yield func(*rebalance.Rebalance) bool) {
		v.rebalances.Scan(func(_ string, list []*rebalance.Rebalance) bool {
			for _, r := range list {
				if !yield(r) {
					return false
				}
			}
			return true
		})
	}
}

// Changes yields what is kept of how the metadata changed, as far as it is
// durable, the newest first, beginning with the entry of an offset or the next
// older one.
func (v *View) Changes(from kafka.Offset) iter.Seq[*history.Entry] {
	return func(yield func(*history.Entry) bool) {
		v.changes.Descend(from, func(_ kafka.Offset, e *history.Entry) bool { return yield(e) })
	}
}

// Answers says whether this sidecar speaks for the group.
func (v *View) Answers(g *Group) bool { return v.Scope == All || g.Coordinator == v.NodeID }
