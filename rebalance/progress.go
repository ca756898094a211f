package rebalance

import (
	"slices"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
)

// membersOf lists the members before and after a bump. A static member that
// comes back under another id has what it had.
func membersOf(before, after *groups.Group) []Member {
	var list []Member // the members before, by id
	if before != nil {
		list = make([]Member, 0, len(before.Members)+1)
		for _, m := range before.Members {
			n := newMember(m)
			n.Before, n.Left = has(m), true
			list = append(list, n)
		}
	}
	var added []Member
	var replaced []string // ids of static members that came back under another
	for _, m := range after.Members {
		n := newMember(m)
		i, found := slices.BinarySearchFunc(list, m.ID, byMemberID)
		if found {
			n.Before = list[i].Before
			list[i] = n
			continue
		}
		n.Joined = true
		if m.InstanceID != "" {
			i = slices.IndexFunc(list, func(o Member) bool { return o.Left && o.InstanceID == m.InstanceID })
			if n.Joined = i < 0; !n.Joined {
				n.Before = list[i].Before
				replaced = append(replaced, list[i].MemberID)
			}
		}
		added = append(added, n)
	}
	list = slices.DeleteFunc(list, func(m Member) bool { return slices.Contains(replaced, m.MemberID) })
	list = append(list, added...)
	slices.SortFunc(list, func(a, b Member) int { return compare(a.MemberID, b.MemberID) })
	return list
}

func newMember(m *groups.Member) Member {
	return Member{MemberID: m.ID, InstanceID: m.InstanceID, ClientID: m.ClientID, ClientHost: m.ClientHost}
}

func byMemberID(m Member, id string) int { return compare(m.MemberID, id) }

// has is what a member has: partitions, or active tasks.
func has(m *groups.Member) []groups.TopicPartitions {
	if m.Streams != nil {
		return tasks(m.Streams.Assigned.Active, m.Streams.PendingRevocation.Active)
	}
	return slices.Concat(m.Assigned, m.PendingRevocation)
}

// wants is what a member is to get.
func wants(g *groups.Group, m *groups.Member) []groups.TopicPartitions {
	if g.Type == groups.Classic {
		return m.Assigned
	}
	if m.Streams != nil {
		return tasks(m.Streams.Target.Active)
	}
	return m.Target
}

func tasks(lists ...[]groups.TaskIDs) (out []groups.TopicPartitions) {
	for _, list := range lists {
		for i := range list {
			out = append(out, groups.TopicPartitions{Topic: list[i].Subtopology, Partitions: list[i].Partitions})
		}
	}
	return out
}

// progress looks at what an operation brought a rebalance under way. The bump
// itself may bring the target and the first member.
func (e *Explainer) progress(p *Partition, op *operation) {
	t := e.groups[op.group]
	if r := op.find(record.TypeShareGroupStatePartitionMetadata, false, ""); r != nil {
		t = e.track(p.shard.Partition(), op.group)
		t.ShareAt = evidence(p.shard.Partition(), r, op.timestamp)
		e.changed[op.group] = struct{}{}
	}
	if t == nil {
		return
	}
	r := t.current()
	if r == nil || !r.Open() || r.ID.Partition != p.shard.Partition() {
		return
	}
	if op.reports() {
		if t.reported(p.shard, op, r) {
			e.tell(t, t.current())
		}
		return
	}
	g := p.shard.Freeze(op.group)
	if g != nil && g.Type != r.Type {
		return // it was converted, and rebalances anew
	}
	if g == nil || len(g.Members) == 0 {
		n := t.edit(r)
		n.CompletedAt = op.timestamp // nobody is left
		e.tell(t, n)
		return
	}
	if r.TargetAt == 0 && g.AssignmentEpoch < r.Epoch {
		return
	}
	n := t.edit(r)
	t.pending = n.advance(g, op.timestamp)
	e.tell(t, n)
}

// reports says whether members only say what they have.
func (o *operation) reports() bool {
	for i := range o.records {
		if placeOf(o.records[i].kind, o.records[i].tombstone) != current {
			return false
		}
	}
	return true
}

// reported notes what members say. Of a group with many of them that is nearly
// all there is, so that only these members are looked at.
func (t *track) reported(shard *groups.Shard, op *operation, r *Rebalance) (changed bool) {
	if r.TargetAt == 0 {
		return false
	}
	for i := range op.records {
		now := shard.Member(op.group, op.records[i].name)
		at, there := slices.BinarySearchFunc(r.Members, op.records[i].name, byMemberID)
		if now == nil || !there || r.Members[at].ReconciledAt > 0 {
			continue
		}
		n := t.edit(r)
		m := &n.Members[at]
		switch {
		case reached(now, r):
			m.ReconciledAt = op.timestamp
			t.pending--
		case lacking(now):
			m.wait(shard.Freeze(op.group), now)
		}
		changed, r = true, n
	}
	if changed && t.pending == 0 {
		r.CompletedAt = op.timestamp
	}
	return changed
}

// advance notes a new target assignment, and how far all members are. It
// returns how many of those that are there have yet to reach the epoch.
func (r *Rebalance) advance(g *groups.Group, at int64) (pending int) {
	first := r.TargetAt == 0
	if first {
		r.TargetAt = at
	}
	find := func(id string) *groups.Member {
		i, there := slices.BinarySearchFunc(g.Members, id, func(o *groups.Member, id string) int { return compare(o.ID, id) })
		if !there {
			return nil
		}
		return g.Members[i]
	}
	for i := range r.Members {
		m := &r.Members[i]
		now := find(m.MemberID)
		if now == nil {
			continue
		}
		if first {
			m.After = wants(g, now)
		}
		switch {
		case m.ReconciledAt > 0:
		case g.Type == groups.Classic || reached(now, r):
			m.ReconciledAt = at
		case lacking(now):
			m.wait(g, now)
			pending++
		default:
			pending++
		}
	}
	if first {
		r.Moved = moved(r.Members)
	}
	if pending == 0 {
		r.CompletedAt = at
	}
	return pending
}

func reached(m *groups.Member, r *Rebalance) bool {
	return m.Epoch >= r.Epoch && m.State == groups.MemberStable
}

func lacking(m *groups.Member) bool {
	return m.State == groups.MemberUnreleasedPartitions || m.State == groups.MemberUnreleasedTasks
}

// wait notes whom a member waits for, as long as somebody has what it is to
// get.
func (m *Member) wait(g *groups.Group, now *groups.Member) {
	if waits := waitsOf(g, now); len(waits) > 0 {
		m.WaitedFor = waits
	}
}

// waitsOf are the members that have what a member is to get.
func waitsOf(g *groups.Group, m *groups.Member) (waits []Wait) {
	mine := make(map[slot]bool)
	for s := range slots(wants(g, m)) {
		mine[s] = true
	}
	for _, o := range g.Members {
		if o.ID == m.ID {
			continue
		}
		w := Wait{MemberID: o.ID}
		for s := range slots(has(o)) {
			if mine[s] {
				w.add(s)
			}
		}
		if len(w.Partitions) > 0 {
			waits = append(waits, w)
		}
	}
	return waits
}

func (w *Wait) add(s slot) {
	if n := len(w.Partitions); n > 0 && w.Partitions[n-1].TopicID == s.id && w.Partitions[n-1].Topic == s.topic {
		w.Partitions[n-1].Partitions = append(w.Partitions[n-1].Partitions, s.partition)
		return
	}
	w.Partitions = append(w.Partitions, groups.TopicPartitions{TopicID: s.id, Topic: s.topic, Partitions: []int32{s.partition}})
}

// slot is one partition.
type slot struct {
	id        kafka.TopicID
	topic     string
	partition int32
}

func slots(list []groups.TopicPartitions) func(yield func(slot) bool) {
	return func(yield func(slot) bool) {
		for i := range list {
			for _, p := range list[i].Partitions {
				if !yield(slot{list[i].TopicID, list[i].Topic, p}) {
					return
				}
			}
		}
	}
}

// moved counts the partitions that had an owner and get another one. Those of
// share groups may have several.
func moved(members []Member) (n int) {
	before, after := make(map[slot][]string), make(map[slot][]string)
	for i := range members {
		for s := range slots(members[i].Before) {
			before[s] = append(before[s], members[i].MemberID)
		}
		for s := range slots(members[i].After) {
			after[s] = append(after[s], members[i].MemberID)
		}
	}
	for s, owners := range after {
		if had := before[s]; len(had) > 0 && !slices.Equal(had, owners) {
			n++
		}
	}
	return n
}
