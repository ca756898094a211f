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

// lists are what of a group is sorted to be listed.
type lists struct {
	topics  []string
	members []*Member
	regexes []*Regex
}

func (s *Shard) freeze(g *group) *Group {
	l := lists{topics: slices.Sorted(maps.Keys(g.subscribed))}
	if g.modern != nil {
		l.members, l.regexes = g.modern.list(), g.modern.sortedRegexes()
	}
	return s.assemble(g, l)
}

func (s *Shard) assemble(g *group, l lists) *Group {
	v := &Group{ID: g.id, Type: g.kind, State: Empty, SubscribedTopics: l.topics}
	if g.anomalies != nil {
		v.Anomalies, v.LastAnomaly = g.anomalies.count, &g.anomalies.last
	}
	switch {
	case g.modern != nil:
		v.Members, v.Regexes = l.members, l.regexes
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
	v.Assignor = preferredAssignor(v.Members)
	v.Subscription = m.subscription
	v.Hash = freezeHash(m)
	v.Share = m.share
	if v.Type == Streams {
		streams := m.streams
		v.Streams = &streams
	}
	v.State = v.state()
}

// list are the members that exist, sorted. Mostly they are those that they were
// the last time, so that their order is known.
func (m *modernGroup) list() []*Member {
	all := make([]*Member, 0, m.size)
	add := func(n *Member) {
		if n != nil && n.rows&rowExists != 0 {
			all = append(all, n)
		}
	}
	if m.order == nil {
		for _, n := range m.members {
			add(n)
		}
	}
	for _, id := range m.order {
		add(m.members[id])
	}
	if m.order != nil && len(all) == len(m.order) && len(m.added) == 0 {
		return all
	}
	sorted := len(all)
	if m.order == nil {
		sorted = 0
	}
	for _, id := range m.added {
		add(m.members[id])
	}
	all = merge(all, sorted)
	m.order, m.added = make([]string, len(all)), nil
	for i, n := range all {
		m.order[i] = n.ID
	}
	return all
}

// merge sorts members of which the first ones are sorted. One may be there
// twice, after it was removed and came back.
func merge(all []*Member, sorted int) []*Member {
	const few = 8
	byID := func(a, b *Member) int { return strings.Compare(a.ID, b.ID) }
	if len(all)-sorted > few {
		slices.SortFunc(all, byID)
		return slices.Compact(all)
	}
	added := slices.Clone(all[sorted:])
	all = all[:sorted]
	for _, n := range added {
		if i, there := slices.BinarySearchFunc(all, n, byID); !there {
			all = slices.Insert(all, i, n)
		}
	}
	return all
}

// appears notes a member that list may not know.
func (m *modernGroup) appears(id string) {
	switch {
	case m.order == nil:
	case len(m.added) > len(m.order):
		m.order, m.added = nil, nil // list is to begin anew
	default:
		m.added = append(m.added, id)
	}
}

func (m *modernGroup) sortedRegexes() (all []*Regex) {
	for _, expression := range slices.Sorted(maps.Keys(m.regexes)) {
		all = append(all, m.regexes[expression])
	}
	return all
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
