package rebalance

import (
	"slices"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
)

// membersOf lists the members before and after a bump, by id. A static member
// that comes back under another id has what it had.
func membersOf(before, after *groups.Group) []Member {
	var old []*groups.Member // that are not in the list yet
	if before != nil {
		old = before.Members
	}
	list := make([]Member, 0, max(len(old), len(after.Members))+1)
	var joined []int
	for _, m := range after.Members {
		for len(old) > 0 && old[0].ID < m.ID {
			list, old = append(list, leaving(old[0])), old[1:]
		}
		n := newMember(m)
		if len(old) > 0 && old[0].ID == m.ID {
			n.Before, old = has(old[0]), old[1:]
		} else {
			n.Joined = true
			joined = append(joined, len(list))
		}
		list = append(list, n)
	}
	for _, m := range old {
		list = append(list, leaving(m))
	}
	return comeBack(list, joined)
}

// leaving is a member that is not there after the bump.
func leaving(m *groups.Member) Member {
	n := newMember(m)
	n.Before, n.Left = has(m), true
	return n
}

// comeBack gives static members that seem to have joined what those had in
// whose place they are, and takes these from the list.
func comeBack(list []Member, joined []int) []Member {
	var replaced []string
	for _, at := range joined {
		n := &list[at]
		if n.InstanceID == "" {
			continue
		}
		i := slices.IndexFunc(list, func(o Member) bool { return o.Left && o.InstanceID == n.InstanceID })
		if i >= 0 {
			n.Joined, n.Before = false, list[i].Before
			replaced = append(replaced, list[i].MemberID)
		}
	}
	if replaced == nil {
		return list
	}
	return slices.DeleteFunc(list, func(m Member) bool { return m.Left && slices.Contains(replaced, m.MemberID) })
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
	if len(m.PendingRevocation) == 0 {
		return m.Assigned
	}
	return slices.Concat(m.Assigned, m.PendingRevocation)
}

// wants is what a member of a group that is not classic is to get.
func wants(m *groups.Member) []groups.TopicPartitions {
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
			e.advance(t)
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
	t.pending = t.editMembers(r).advance(g, op.timestamp)
	e.advance(t)
}

// advance has it told how far the members are. In a large group that is often
// another thing, and each state that is given out costs a copy: unless it is the
// last one, the next may take its place.
func (e *Explainer) advance(t *track) {
	r := t.current()
	if !r.Open() {
		e.tell(t, r)
		return
	}
	t.advanced = true
	e.changed[r.Group] = struct{}{}
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
		if now == nil || !reached(now, r) && !lacking(now) {
			continue // it has yet to give up partitions
		}
		at, there := slices.BinarySearchFunc(r.Members, op.records[i].name, byMemberID)
		if !there || r.Members[at].ReconciledAt > 0 {
			continue
		}
		n := t.editMembers(r)
		m := &n.Members[at]
		if reached(now, r) {
			m.ReconciledAt = op.timestamp
			t.pending--
		} else {
			m.wait(now, othersOf(shard, r, now))
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
	there := g.Members // both are sorted
	for i := range r.Members {
		m := &r.Members[i]
		for len(there) > 0 && there[0].ID < m.MemberID {
			there = there[1:]
		}
		if len(there) == 0 || there[0].ID != m.MemberID {
			continue
		}
		now := there[0]
		if first {
			m.After = wants(now)
			if g.Type == groups.Classic {
				m.After = now.Assigned
			}
		}
		switch {
		case m.ReconciledAt > 0:
		case g.Type == groups.Classic || reached(now, r):
			m.ReconciledAt = at
		case lacking(now):
			m.wait(now, g.Members)
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

// othersOf are members of a group, those among them who have what a member waits
// for.
func othersOf(shard *groups.Shard, r *Rebalance, m *groups.Member) []*groups.Member {
	if r.Type == groups.Consumer {
		return shard.Owners(r.Group, m.Target)
	}
	return shard.Freeze(r.Group).Members
}

// wait notes whom a member waits for among others, as long as somebody has what
// it is to get.
func (m *Member) wait(now *groups.Member, others []*groups.Member) {
	if waits := waitsOf(now, others); len(waits) > 0 {
		m.WaitedFor = waits
	}
}

// waitsOf are the others that have what a member is to get.
func waitsOf(m *groups.Member, others []*groups.Member) (waits []Wait) {
	mine := slotsOf(wants(m))
	for _, o := range others {
		if o.ID == m.ID {
			continue
		}
		w := Wait{MemberID: o.ID}
		for s := range slots(has(o)) {
			if mine.has(s) {
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

// slotSet is some partitions, by number.
type slotSet map[int32][]slot

func slotsOf(list []groups.TopicPartitions) slotSet {
	set := make(slotSet)
	for s := range slots(list) {
		set[s.partition] = append(set[s.partition], s)
	}
	return set
}

func (l slotSet) has(s slot) bool { return slices.Contains(l[s.partition], s) }

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

// owners are members that have a partition, by their places in a list, before
// and after a bump.
type owners struct{ before, after []int }

// moved counts the partitions that had an owner and get another one. Those of
// share groups may have several. Mostly nearly all members keep what they have,
// so that only the others are looked at closely.
func moved(members []Member) (n int) {
	changed := make(map[slot]owners)
	keeps := make([]bool, len(members))
	for i := range members {
		m := &members[i]
		if keeps[i] = slices.EqualFunc(m.Before, m.After, sameSlots); keeps[i] {
			continue
		}
		for s := range slots(m.Before) {
			o := changed[s]
			o.before = append(o.before, i)
			changed[s] = o
		}
		for s := range slots(m.After) {
			o := changed[s]
			o.after = append(o.after, i)
			changed[s] = o
		}
	}
	lone := make(map[slot]struct{}) // those that only one who keeps them may make moved
	for s, o := range changed {
		switch {
		case slices.Equal(o.before, o.after):
		case len(o.before) > 0 && len(o.after) > 0:
			n++
		default:
			lone[s] = struct{}{}
		}
	}
	return n + kept(members, keeps, lone)
}

// kept is how many of the partitions somebody has who keeps them.
func kept(members []Member, keeps []bool, of map[slot]struct{}) (n int) {
	for i := 0; i < len(members) && len(of) > 0; i++ {
		if !keeps[i] {
			continue
		}
		for s := range slots(members[i].After) {
			if _, asked := of[s]; asked {
				n++
				delete(of, s)
			}
		}
	}
	return n
}

func sameSlots(a, b groups.TopicPartitions) bool {
	return a.TopicID == b.TopicID && a.Topic == b.Topic && slices.Equal(a.Partitions, b.Partitions)
}
