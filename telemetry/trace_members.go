package telemetry

import (
	"cmp"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/kraftside/kraftside/rebalance"
)

// What became of a member.
const (
	memberReconciled = "reconciled"
	memberWaiting    = "waiting" // for partitions that others hold
	memberOpen       = "open"    // has yet to reach the epoch
	memberLeft       = "left"    // was not there any more at the bump
	memberGone       = "gone"    // left, or was fenced, before it reached the epoch
)

// maxMembers is how many members a trace has: more than anybody looks at. Those
// that took longest are there.
const maxMembers = 1000

// target adds the time until there was a target assignment.
func (b *builder) target() {
	if b.r.TargetAt > 0 {
		b.child("target", "target assignment", b.r.StartedAt, b.r.TargetAt, movedKey.Int(b.r.Moved))
		return
	}
	if b.state == stateIncomplete {
		b.child("target", "target assignment", b.r.StartedAt, b.spans[0].to, openKey.Bool(true))
	}
}

func (b *builder) members() {
	all := b.shownMembers()
	if omitted := len(b.r.Members) - len(all); omitted > 0 {
		root := b.spans[0]
		root.attributes = append(root.attributes, membersOmittedKey.Int(omitted))
	}
	for _, m := range all {
		b.member(m)
	}
}

// shownMembers are as many members as a trace has, by id.
func (b *builder) shownMembers() []*rebalance.Member {
	all := make([]*rebalance.Member, len(b.r.Members))
	for i := range b.r.Members {
		all[i] = &b.r.Members[i]
	}
	if len(all) <= maxMembers {
		return all
	}
	slices.SortStableFunc(all, func(x, y *rebalance.Member) int { return cmp.Compare(b.until(y), b.until(x)) })
	all = all[:maxMembers]
	slices.SortFunc(all, func(x, y *rebalance.Member) int { return strings.Compare(x.MemberID, y.MemberID) })
	return all
}

// since is when members could begin with the new assignment.
func (b *builder) since() int64 { return max(b.r.StartedAt, b.r.TargetAt) }

// until is when a member had what it was to get, or the end of what is known of
// it.
func (b *builder) until(m *rebalance.Member) int64 {
	switch b.stateOf(m) {
	case memberReconciled:
		return m.ReconciledAt
	case memberLeft:
		return b.r.StartedAt
	case memberGone:
		return b.since()
	}
	return b.spans[0].to
}

func (b *builder) stateOf(m *rebalance.Member) string {
	switch {
	case m.ReconciledAt > 0:
		return memberReconciled
	case m.Left:
		return memberLeft
	case b.r.CompletedAt > 0:
		return memberGone
	case len(m.WaitedFor) > 0:
		return memberWaiting
	}
	return memberOpen
}

// member adds what the rebalance was for one member.
func (b *builder) member(m *rebalance.Member) {
	state, from := b.stateOf(m), b.since()
	if state == memberLeft {
		from = b.r.StartedAt
	}
	s := b.child("member/"+m.MemberID, "member", from, b.until(m), b.memberFacts(m, state)...)
	if state == memberReconciled || state == memberWaiting {
		b.waits(s, m)
	}
	if state == memberReconciled {
		s.event(memberReconciled, s.to)
	}
}

func (b *builder) memberFacts(m *rebalance.Member, state string) []attribute.KeyValue {
	out := []attribute.KeyValue{str(memberIDKey, m.MemberID), memberStateKey.String(state)}
	if m.InstanceID != "" {
		out = append(out, str(memberInstanceIDKey, m.InstanceID))
	}
	if m.ClientID != "" {
		out = append(out, str(semconv.MessagingClientIDKey, m.ClientID))
	}
	if host := strings.TrimPrefix(m.ClientHost, "/"); host != "" {
		out = append(out, str(semconv.ClientAddressKey, host))
	}
	if m.Joined {
		out = append(out, memberJoinedKey.Bool(true))
	}
	if b.r.TargetAt > 0 && !m.Left {
		if gained := without(m.After, m.Before); len(gained) > 0 {
			out = append(out, strs(gainedKey, b.names.texts(gained)))
		}
		if released := without(m.Before, m.After); len(released) > 0 {
			out = append(out, strs(releasedKey, b.names.texts(released)))
		}
	}
	if state == memberWaiting || state == memberOpen {
		out = append(out, openKey.Bool(true))
	}
	return out
}

// maxWaits is how many members that one waited for its span has events of.
const maxWaits = 16

// waits adds whom the member waited for, and when that one had released the
// partitions: at the latest when it had reached the epoch itself, or when they
// were taken over. Kafka records no more.
func (b *builder) waits(s *span, m *rebalance.Member) {
	for i := range m.WaitedFor[:min(len(m.WaitedFor), maxWaits)] {
		s.event("waiting for revocation", s.from, b.waitFacts(&m.WaitedFor[i])...)
	}
	var released []wait
	for i := range m.WaitedFor[:min(len(m.WaitedFor), maxWaits)] {
		w := &m.WaitedFor[i]
		if at, ok := b.releasedAt(m, w); ok {
			released = append(released, wait{max(s.from, min(limited(at), s.to)), w})
		}
	}
	slices.SortStableFunc(released, func(x, y wait) int { return cmp.Compare(x.at, y.at) })
	for _, w := range released {
		s.event("released", w.at, b.waitFacts(w.Wait)...)
	}
}

type wait struct {
	at int64
	*rebalance.Wait
}

func (b *builder) waitFacts(w *rebalance.Wait) []attribute.KeyValue {
	return []attribute.KeyValue{str(memberIDKey, w.MemberID), strs(waitedForKey, b.names.texts(w.Partitions))}
}

// releasedAt is when the partitions that a member waited for were released, as
// far as records tell.
func (b *builder) releasedAt(m *rebalance.Member, w *rebalance.Wait) (at int64, known bool) {
	i, there := slices.BinarySearchFunc(b.r.Members, w.MemberID, func(o rebalance.Member, id string) int {
		return strings.Compare(o.MemberID, id)
	})
	if there && b.r.Members[i].ReconciledAt > 0 {
		at = b.r.Members[i].ReconciledAt
	}
	if m.ReconciledAt > 0 && (at == 0 || m.ReconciledAt < at) {
		at = m.ReconciledAt
	}
	return at, at > 0
}
