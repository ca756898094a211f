package rebalance

import (
	"cmp"
	"slices"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
)

// membersOf lists the members before and after a bump. A static member that
// comes back under another id has what it had.
func membersOf(before, after *groups.Group) (list []Member) {
	if before != nil {
		for _, m := range before.Members {
			list = append(list, Member{Before: has(m), Left: true, MemberID: m.ID, InstanceID: m.InstanceID, ClientID: m.ClientID, ClientHost: m.ClientHost})
		}
	}
	for _, m := range after.Members {
		n := Member{MemberID: m.ID, InstanceID: m.InstanceID, ClientID: m.ClientID, ClientHost: m.ClientHost, Joined: true}
		i := slices.IndexFunc(list, func(o Member) bool { return o.MemberID == m.ID })
		if i < 0 && m.InstanceID != "" {
			i = slices.IndexFunc(list, func(o Member) bool { return o.InstanceID == m.InstanceID })
		}
		if i < 0 {
			list = append(list, n)
			continue
		}
		n.Before, n.Joined = list[i].Before, false
		list[i] = n
	}
	slices.SortFunc(list, func(a, b Member) int { return compare(a.MemberID, b.MemberID) })
	return list
}

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
		t = e.track(op.group)
		t.shareAt = evidence(p.shard.Partition(), r, op.timestamp)
	}
	if t == nil {
		return
	}
	r := t.current()
	if r == nil || !r.Open() || r.ID.Partition != p.shard.Partition() {
		return
	}
	g := p.shard.Freeze(op.group)
	if g != nil && g.Type != r.Type {
		return // it was converted, and rebalances anew
	}
	if g == nil || len(g.Members) == 0 {
		n := *r
		n.CompletedAt = op.timestamp // nobody is left
		e.put(t, &n)
		return
	}
	if n := advanced(r, g, op.timestamp); n != nil {
		e.put(t, n)
	}
}

// advanced is the rebalance after a change of its group, nil if nothing of it
// is another than before.
func advanced(r *Rebalance, g *groups.Group, at int64) *Rebalance {
	n := *r
	n.Members = slices.Clone(r.Members)
	changed := false
	if r.TargetAt == 0 && g.AssignmentEpoch >= r.Epoch {
		n.TargetAt, changed = at, true
	}
	done := n.TargetAt > 0
	for i := range n.Members {
		m := &n.Members[i]
		j, there := slices.BinarySearchFunc(g.Members, m.MemberID, func(o *groups.Member, id string) int { return cmp.Compare(o.ID, id) })
		if !there {
			continue
		}
		now := g.Members[j]
		if n.TargetAt == at && changed {
			m.After = wants(g, now)
		}
		if m.ReconciledAt == 0 && n.TargetAt > 0 {
			changed = m.follow(g, now, r, at) || changed
		}
		done = done && m.ReconciledAt > 0
	}
	if !changed && !done {
		return nil
	}
	if n.TargetAt == at {
		n.Moved = moved(n.Members)
	}
	if done {
		n.CompletedAt = at
	}
	return &n
}

// follow notes how far a member is.
func (m *Member) follow(g *groups.Group, now *groups.Member, r *Rebalance, at int64) (changed bool) {
	switch {
	case g.Type == groups.Classic, now.Epoch >= r.Epoch && now.State == groups.MemberStable:
		m.ReconciledAt = at
		return true
	case now.State == groups.MemberUnreleasedPartitions || now.State == groups.MemberUnreleasedTasks:
		if waits := waitsOf(g, now); len(waits) > 0 && !slices.EqualFunc(waits, m.WaitedFor, sameWait) {
			m.WaitedFor = waits
			return true
		}
	}
	return false
}

func sameWait(a, b Wait) bool {
	return a.MemberID == b.MemberID && slices.EqualFunc(a.Partitions, b.Partitions, func(a, b groups.TopicPartitions) bool {
		return a.TopicID == b.TopicID && a.Topic == b.Topic && slices.Equal(a.Partitions, b.Partitions)
	})
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
