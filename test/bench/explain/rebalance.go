package main

import (
	"fmt"

	"github.com/kraftside/kraftside/groups/record"
)

// atOnce is how many groups rebalance at the same time.
const atOnce = 4

// step is what comes next: a heartbeat in a rebalance, the begin of one if more
// are due, or a commit. Members send as many heartbeats as they commit.
func (w *writer) step(due bool) {
	heartbeats := 0
	for _, g := range w.busy {
		heartbeats += len(g.members)
	}
	switch {
	case heartbeats > 0 && (w.ofGroups == 1 || w.IntN(heartbeats+len(w.committers)) < heartbeats):
		w.heartbeat()
	case w.ofGroups < 1 && !due:
		w.commit()
	}
	if g := w.groups[w.IntN(len(w.groups))]; (due || w.ofGroups == 1) && len(w.busy) < atOnce && len(g.reports) == 0 {
		w.event(g)
	}
}

// heartbeat goes on with a rebalance.
func (w *writer) heartbeat() {
	i := w.IntN(len(w.busy))
	g := w.busy[i]
	w.report(g)
	if len(g.reports) == 0 {
		w.busy[i] = w.busy[len(w.busy)-1]
		w.busy = w.busy[:len(w.busy)-1]
	}
}

// report is a heartbeat after which a member has something else.
func (w *writer) report(g *group) {
	r := &g.reports[0]
	w.row(g.said(r))
	r.member.epoch, r.member.owned = r.epoch, r.owned
	g.reports = g.reports[1:]
}

// event is something that makes a group rebalance, mostly.
func (w *writer) event(g *group) {
	if g.classic {
		g.epoch++
		w.row(g.generation(w.clock))
		return
	}
	switch n := w.IntN(20); {
	case n < 2:
		w.touch(g)
		return
	case n < 4:
		w.grow(g)
	case len(g.members) > g.size:
		w.leave(g)
	default:
		w.join(g)
	}
	w.plan(g)
	w.busy = append(w.busy, g)
}

// touch changes something of a member that does not matter to others.
func (w *writer) touch(g *group) {
	m := g.members[w.IntN(len(g.members))]
	m.host = fmt.Sprintf("/10.1.%d.%d", w.IntN(256), w.IntN(256))
	w.row(g.joined(m))
}

// join has a member join, which gets its part from others.
func (w *writer) join(g *group) {
	g.epoch++
	m := w.newMember(g)
	m.epoch = 0
	changed := []*member{m}
	for range 3 {
		from := g.members[w.IntN(len(g.members))]
		if taken := takeOne(from); taken != nil {
			reassign(m, taken...)
			changed = append(changed, from)
		}
	}
	g.members = append(g.members, m)
	w.committers = append(w.committers, committer{g, m})
	w.row(g.joined(m))
	w.row(g.bumped())
	w.assign(g, changed)
}

// leave has a member leave. Another finds that out by its heartbeat, and makes
// the coordinator assign anew.
func (w *writer) leave(g *group) {
	g.epoch++
	i := w.IntN(len(g.members))
	m := g.members[i]
	g.members[i] = g.members[len(g.members)-1]
	g.members = g.members[:len(g.members)-1]
	w.row(&record.ConsumerGroupCurrentMemberAssignmentKey{GroupID: g.id, MemberID: m.id}, nil)
	w.row(&record.ConsumerGroupTargetAssignmentMemberKey{GroupID: g.id, MemberID: m.id}, nil)
	w.row(&record.ConsumerGroupMemberMetadataKey{GroupID: g.id, MemberID: m.id}, nil)
	w.row(g.bumped())
	w.clock++
	var changed []*member
	for _, s := range m.wants {
		to := g.members[w.IntN(len(g.members))]
		reassign(to, s)
		changed = append(changed, to)
	}
	m.owned = nil
	w.assign(g, changed)
}

// grow adds a partition to a topic, which the coordinator notices later.
func (w *writer) grow(g *group) {
	i := w.IntN(len(g.topics))
	t := &g.topics[i]
	w.writePartition(t, t.partitions)
	w.meta.endBatch()
	w.clock += int64(w.IntN(2000))
	to := g.members[w.IntN(len(g.members))]
	reassign(to, slot{int32(i), t.partitions})
	t.partitions++
	g.epoch++
	g.hash, w.err = w.hashes.of(g)
	w.row(g.bumped())
	w.assign(g, []*member{to})
}

// assign writes a target assignment, of those members that get another one.
func (w *writer) assign(g *group, changed []*member) {
	for _, m := range changed {
		w.row(&record.ConsumerGroupTargetAssignmentMemberKey{GroupID: g.id, MemberID: m.id}, g.target(m.wants))
	}
	w.row(g.assigned(w.clock))
}
