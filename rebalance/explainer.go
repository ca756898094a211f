package rebalance

import (
	"cmp"
	"container/heap"
	"iter"
	"maps"
	"slices"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
)

// Skew is how much later than the metadata log a record of a coordinator may
// seem to be written, or earlier, in milliseconds: their clocks differ, and a
// coordinator applies the log with a delay.
const Skew = 2_000

// Limits bound what an Explainer keeps.
type Limits struct {
	// Images in which a hash may have changed, and Touches, records that named
	// a topic, that are kept of the metadata log. A bump that rests on older
	// ones is unknown.
	Images, Touches int
	// Rebalances that are kept in all, and of one group, and Members of all of
	// them, the oldest dropped first.
	Rebalances, PerGroup, Members int
	// Undecided bumps wait for the metadata log. Beyond, they are settled with
	// what is known.
	Undecided int
	// Causes listed of one rebalance.
	Causes int
}

// DefaultLimits are less than 100 MB in a large cluster.
var DefaultLimits = Limits{
	Images: 1024, Touches: 1 << 16, Rebalances: 10_000, PerGroup: 50, Members: 200_000, Undecided: 10_000, Causes: 32,
}

// Options configure an Explainer.
type Options struct {
	// ClusterID is part of the identity of each rebalance.
	ClusterID string
	Limits    Limits
	// OnChange is told of every new state of a rebalance: it began, its causes
	// were settled, it is over; and, when TakeChanged is called, how far its
	// members are. It may be nil.
	OnChange func(*Rebalance)
	// OnBegin is told of every rebalance that was not known, before OnChange.
	// It may be nil.
	OnBegin func(*Rebalance)
	// Stored says that somebody takes the rows.
	Stored bool
}

// Explainer explains the bumps of all groups.
type Explainer struct {
	Options
	history *history
	groups  map[string]*track
	waiting waiting
	changed map[string]struct{}
	kept    references
	members int       // of those
	removed []removal // that TakeRows has yet to tell
	// partitions are those that are followed.
	partitions map[int32]*Partition
}

// reference is a rebalance that is kept.
type reference struct {
	group     string
	id        ID
	startedAt int64
	members   int
}

func (r *reference) before(o *reference) bool {
	return cmp.Or(cmp.Compare(r.startedAt, o.startedAt), cmp.Compare(r.id.Partition, o.id.Partition), cmp.Compare(r.id.Offset, o.id.Offset)) < 0
}

// track is what is known of one group.
type track struct {
	partition  int32
	rebalances []*Rebalance // oldest first
	own        *Rebalance   // the one of them that nobody else has, which may be written to
	ownMembers bool         // its members, too
	pending    int          // members of the newest that have yet to reach its epoch
	advanced   bool         // OnChange was not told how far the newest is
	bumps      []*bump      // that are not settled, oldest first
	stored     []*Rebalance // those that TakeRows has given out, as they were
	memory
}

// memory is what the next bump of a group is compared with. A store keeps it.
type memory struct {
	Last *evaluation // nil: not known
	// Share is the state of the share partitions at the last bump, nil if there
	// was none, and ShareAt the last record of it.
	Share   *shareState
	ShareAt Evidence
	// ShareLeft proves that the last bump of a share group took a member from
	// it, if it did.
	ShareLeft []Evidence
	// Converted is the record that made it a group of another type, until the
	// next bump.
	Converted *Evidence
	// ClassicAt is when the last generation began.
	ClassicAt int64
}

type shareState struct{ Initialized []groups.TopicPartitions }

// New returns an Explainer that knows an image and nothing before it.
func New(base *image.MetadataImage, o Options) *Explainer {
	if o.Limits == (Limits{}) {
		o.Limits = DefaultLimits
	}
	return &Explainer{
		Options: o, history: newHistory(base, o.Limits, o.Stored),
		groups: make(map[string]*track), changed: make(map[string]struct{}), partitions: make(map[int32]*Partition),
	}
}

// OnMetadataUpdate takes the next image, and settles what waited for it.
func (e *Explainer) OnMetadataUpdate(d *delta.Delta) {
	e.history.follow(d)
	e.settle()
}

// SetClusterID says which cluster the logs are of, if Options did not.
func (e *Explainer) SetClusterID(id string) {
	if e.ClusterID == id {
		return
	}
	e.ClusterID = id
	for group, t := range e.groups {
		for i, r := range t.rebalances {
			n := *r
			n.ID.ClusterID = id
			t.rebalances[i] = &n
		}
		t.own = nil
		for _, b := range t.bumps {
			b.id.ClusterID = id
		}
		e.changed[group] = struct{}{}
	}
	for i := range e.kept {
		e.kept[i].id.ClusterID = id
	}
}

// Rebalances yields those of a partition, in no order. They must not be written
// to.
func (e *Explainer) Rebalances(partition int32) iter.Seq[*Rebalance] {
	return func(yield func(*Rebalance) bool) {
		for _, t := range e.groups {
			if t.partition != partition {
				continue
			}
			t.own = nil
			for _, r := range t.rebalances {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// Group returns the rebalances of a group that are kept, newest first.
func (e *Explainer) Group(id string) []*Rebalance {
	t := e.groups[id]
	if t == nil {
		return nil
	}
	t.own = nil
	list := slices.Clone(t.rebalances)
	slices.Reverse(list)
	return list
}

func (e *Explainer) track(partition int32, group string) *track {
	t := e.groups[group]
	if t == nil {
		t = &track{partition: partition}
		e.groups[group] = t
	}
	return t
}

// add keeps a new rebalance.
func (e *Explainer) add(t *track, r *Rebalance) {
	if last := t.current(); last != nil && last.Open() {
		n := t.edit(last)
		n.SupersededBy = r.Epoch
		e.tell(t, n)
	}
	t.rebalances = append(t.rebalances, r)
	t.own, t.ownMembers = r, true
	e.keep(r)
	if e.OnBegin != nil {
		e.OnBegin(r)
	}
	if len(t.rebalances) > e.Limits.PerGroup {
		e.remove(removal{t.partition, t.rebalances[0].ID.Offset, ""})
		t.rebalances = slices.Delete(t.rebalances, 0, 1) // what refers to it finds nothing
	}
	e.trim()
	t.advanced = true // look tells of it
	e.changed[r.Group] = struct{}{}
}

func (e *Explainer) keep(r *Rebalance) {
	heap.Push(&e.kept, reference{r.Group, r.ID, r.StartedAt, len(r.Members)})
	e.members += len(r.Members)
}

// trim drops the oldest rebalances, if there are more than the limits allow.
func (e *Explainer) trim() {
	for len(e.kept) > e.Limits.Rebalances || e.members > e.Limits.Members && len(e.kept) > 1 {
		e.dropOldest()
	}
}

// Expire drops the rebalances that began before a time, in milliseconds since
// 1970. What the next bump of a group is compared with is kept as long as there
// is the group.
func (e *Explainer) Expire(before int64) {
	for len(e.kept) > 0 && e.kept[0].startedAt < before {
		e.dropOldest()
	}
}

// dropOldest forgets the oldest rebalance, if its group has not yet.
func (e *Explainer) dropOldest() {
	r := heap.Pop(&e.kept).(reference)
	e.members -= r.members
	t := e.groups[r.group]
	if t == nil {
		return
	}
	if i := t.index(r.id); i >= 0 {
		e.remove(removal{t.partition, r.id.Offset, ""})
		t.rebalances = slices.Delete(t.rebalances, i, i+1)
		e.changed[r.group] = struct{}{}
	}
	e.dropTrack(r.group, t)
}

// dropTrack forgets a group of which no rebalance is kept, once it is gone.
func (e *Explainer) dropTrack(group string, t *track) {
	if len(t.rebalances)+len(t.bumps) > 0 {
		return
	}
	if p := e.partitions[t.partition]; p != nil && p.shard.Freeze(group) != nil {
		return
	}
	delete(e.groups, group)
	e.remove(removal{partition: t.partition, track: group})
}

// edit returns a rebalance of the track to be written to, but for its members:
// itself, as long as nobody else has it, or a copy in its place.
func (t *track) edit(r *Rebalance) *Rebalance {
	if t.own == r {
		return r
	}
	n := *r
	if i := t.index(r.ID); i >= 0 {
		t.rebalances[i] = &n
	}
	t.own, t.ownMembers = &n, false
	return &n
}

// editMembers is edit for the members as well.
func (t *track) editMembers(r *Rebalance) *Rebalance {
	n := t.edit(r)
	if !t.ownMembers {
		n.Members, t.ownMembers = slices.Clone(n.Members), true
	}
	return n
}

// TakeChanged returns the groups of which Group says something else than at
// the last call.
func (e *Explainer) TakeChanged() []string {
	if len(e.changed) == 0 {
		return nil
	}
	ids := slices.Collect(maps.Keys(e.changed))
	clear(e.changed)
	for _, id := range ids {
		if t := e.groups[id]; t != nil && t.advanced && t.current() != nil {
			e.inform(t, t.current())
		}
	}
	return ids
}

// tell says that a rebalance is another than before.
func (e *Explainer) tell(t *track, r *Rebalance) {
	e.changed[r.Group] = struct{}{}
	e.inform(t, r)
}

func (e *Explainer) inform(t *track, r *Rebalance) {
	if r == t.current() {
		t.advanced = false
	}
	if e.OnChange != nil {
		t.own = nil
		e.OnChange(r)
	}
}

func (t *track) index(id ID) int {
	return slices.IndexFunc(t.rebalances, func(r *Rebalance) bool { return r.ID == id })
}

// current is the newest rebalance, nil if there is none.
func (t *track) current() *Rebalance {
	if len(t.rebalances) == 0 {
		return nil
	}
	return t.rebalances[len(t.rebalances)-1]
}

// Forget drops what is known of the groups of a partition that is not followed
// any more, or is read anew.
func (e *Explainer) Forget(partition int32) {
	delete(e.partitions, partition)
	for id, t := range e.groups {
		if t.partition == partition {
			for _, b := range t.bumps {
				b.gone = true
			}
			delete(e.groups, id)
			e.changed[id] = struct{}{}
		}
	}
	e.kept = slices.DeleteFunc(e.kept, func(r reference) bool {
		if r.id.Partition != partition {
			return false
		}
		e.members -= r.members
		return true
	})
	heap.Init(&e.kept)
}

// references are the rebalances that are kept, by when they began.
type references []reference

func (k references) Len() int           { return len(k) }
func (k references) Less(i, j int) bool { return k[i].before(&k[j]) }
func (k references) Swap(i, j int)      { k[i], k[j] = k[j], k[i] }

// Push implements heap.Interface.
func (k *references) Push(r any) { *k = append(*k, r.(reference)) }

// Pop implements heap.Interface.
func (k *references) Pop() any {
	last := len(*k) - 1
	r := (*k)[last]
	*k = (*k)[:last]
	return r
}

// waiting are the bumps that wait for the metadata log, by their times.
type waiting []*bump

func (w waiting) Len() int           { return len(w) }
func (w waiting) Less(i, j int) bool { return w[i].before(w[j]) }
func (w waiting) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }

// Push implements heap.Interface.
func (w *waiting) Push(b any) { *w = append(*w, b.(*bump)) }

// Pop implements heap.Interface.
func (w *waiting) Pop() any {
	last := len(*w) - 1
	b := (*w)[last]
	(*w)[last] = nil
	*w = (*w)[:last]
	return b
}

// ahead is how much later than the metadata log a bump may be that is looked
// at already, in milliseconds. What comes of it does not depend on when it is
// looked at.
const ahead = 60_000

// settle looks at the bumps that may be explained by now.
func (e *Explainer) settle() {
	var again []*bump
	for len(e.waiting) > 0 && e.waiting[0].time <= e.history.clock+ahead {
		b := heap.Pop(&e.waiting).(*bump)
		if !e.try(b, false) {
			again = append(again, b)
		}
	}
	for _, b := range again {
		heap.Push(&e.waiting, b)
	}
}

// Finish says that no more of the metadata log follows, as at the end of a file:
// what waits for it is settled with what is known.
func (e *Explainer) Finish() {
	for len(e.waiting) > 0 {
		e.try(heap.Pop(&e.waiting).(*bump), true)
	}
}

// await has a bump looked at again later.
func (e *Explainer) await(b *bump) {
	heap.Push(&e.waiting, b)
	if len(e.waiting) > e.Limits.Undecided {
		oldest := heap.Pop(&e.waiting).(*bump)
		e.try(oldest, true)
	}
}

// offset is where the metadata log was read to.
func (e *Explainer) offset() kafka.Offset { return e.history.image.Provenance().Offset }
