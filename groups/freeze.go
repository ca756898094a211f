package groups

import (
	"maps"
	"slices"
	"strings"
)

// Freeze returns the group as it is now, nil if there is none. As long as the
// group does not change it is the same one. It costs what it takes to list
// and sort the members: they are shared, not copied.
func (s *Shard) Freeze(id string) *Group {
	g := s.groups[id]
	if g == nil || g.kind == noType {
		return nil
	}
	if g.view == nil {
		g.view = s.freeze(g)
	}
	return g.view
}

// Member returns a member of a group that is not classic, nil if there is none.
// It costs less than Freeze.
func (s *Shard) Member(group, id string) *Member {
	g := s.groups[group]
	if g == nil || g.modern == nil {
		return nil
	}
	if m := g.modern.members[id]; m != nil && m.rows&rowExists != 0 {
		return m
	}
	return nil
}

func (s *Shard) freeze(g *group) *Group {
	v := &Group{ID: g.id, Type: g.kind, State: Empty, SubscribedTopics: slices.Sorted(maps.Keys(g.subscribed))}
	if g.anomalies != nil {
		v.Anomalies, v.LastAnomaly = g.anomalies.count, &g.anomalies.last
	}
	switch {
	case g.modern != nil:
		s.freezeModern(v, g.modern)
	case g.classic != nil:
		freezeClassic(v, g.classic)
	}
	return v
}

func freezeClassic(v *Group, c *classicGroup) {
	v.Epoch, v.AssignmentEpoch = c.generation, c.generation
	v.Assignor = c.Protocol
	v.Members = c.members
	v.Classic = &c.ClassicGroup
	if len(c.members) > 0 {
		v.State = Stable
	}
}

func (s *Shard) freezeModern(v *Group, m *modernGroup) {
	v.Epoch, v.AssignmentEpoch = s.groupEpoch(m), s.assignmentEpoch(m)
	v.AssignmentTimestamp = m.target.timestamp
	v.Members = make([]*Member, 0, m.size)
	for _, n := range m.members {
		if n.rows&rowExists != 0 {
			v.Members = append(v.Members, n)
		}
	}
	slices.SortFunc(v.Members, func(a, b *Member) int { return strings.Compare(a.ID, b.ID) })
	v.Assignor = preferredAssignor(v.Members)
	v.Subscription = m.subscription
	v.Hash = freezeHash(m)
	for _, expression := range slices.Sorted(maps.Keys(m.regexes)) {
		v.Regexes = append(v.Regexes, m.regexes[expression])
	}
	v.Share = m.share
	if v.Type == Streams {
		streams := m.streams
		v.Streams = &streams
	}
	v.State = v.state()
}

func freezeHash(m *modernGroup) *StoredHash {
	if m.hash == nil {
		return nil
	}
	h := *m.hash
	h.None = h.None || h.Value == 0 && m.subscription != nil
	return &h
}

// preferredAssignor is the one that most members prefer. Kafka
// (ConsumerGroup.preferredServerAssignor) does not say which of several with
// the same number.
func preferredAssignor(members []*Member) (name string) {
	votes := make(map[string]int)
	for _, m := range members {
		if m.Assignor != "" {
			votes[m.Assignor]++
		}
	}
	for _, candidate := range slices.Sorted(maps.Keys(votes)) {
		if votes[candidate] > votes[name] {
			name = candidate
		}
	}
	return name
}

// state derives the state of a group that is not classic
// (ConsumerGroup.maybeUpdateGroupState and its likes).
func (v *Group) state() State {
	switch {
	case len(v.Members) == 0:
		return Empty
	case v.Type == Share:
		return Stable
	case v.Type == Streams && !v.ready():
		return NotReady
	case v.Epoch > v.AssignmentEpoch:
		return Assigning
	}
	for _, m := range v.Members {
		if m.State != MemberStable || m.Epoch != v.AssignmentEpoch {
			return Reconciling
		}
	}
	return Stable
}

// ready says whether the coordinator has found the topology valid. Kafka 4.1
// does not record it, nor AssignmentConfigs; there, a coordinator gives tasks
// to nobody before it has.
func (v *Group) ready() bool {
	t := v.Streams
	switch {
	case t.Topology == nil:
		return false
	case t.ValidatedTopologyEpoch == -1 && len(t.AssignmentConfigs) == 0:
		return slices.ContainsFunc(v.Members, func(m *Member) bool {
			return len(m.Streams.Target.Active) > 0
		})
	}
	return t.ValidatedTopologyEpoch == t.Topology.Epoch
}
