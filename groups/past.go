package groups

import (
	"maps"
	"slices"
	"strings"
)

// past is a group as it was when it was remembered. Its maps go on changing:
// what is replaced in them is kept until somebody asks for the group.
type past struct {
	group   *group // nil: there was none
	was     group
	modern  modernGroup // that of was
	members []replaced
	topics  []string
	regexes []*Regex
	// Whether topics, and regexes, are kept: they have changed.
	keptTopics, keptRegexes bool
}

// replaced is what was known of a member; nil is nothing.
type replaced struct {
	id     string
	member *Member
}

// Remember keeps what a group is now for Past. It costs next to nothing, as
// does each record of the group from then on, until Forget. Only one group is
// remembered at a time.
func (s *Shard) Remember(id string) {
	s.Forget()
	g := s.groups[id]
	if g == nil || g.kind == noType {
		return
	}
	p := &s.past
	p.group, p.was = g, *g
	if g.modern != nil {
		p.modern = *g.modern
	}
}

// Past returns the group as it was when Remember was called, nil if there was
// none. It costs what Freeze does.
func (s *Shard) Past() *Group {
	p := &s.past
	if p.group == nil {
		return nil
	}
	if p.was.view == nil {
		p.was.view = s.freezePast(p)
	}
	return p.was.view
}

// Forget ends what Remember began.
func (s *Shard) Forget() {
	if s.past.group == nil {
		return
	}
	clear(s.past.members)
	s.past = past{members: s.past.members[:0]}
}

func (s *Shard) freezePast(p *past) *Group {
	was, l := p.was, lists{topics: p.topics, regexes: p.regexes}
	if !p.keptTopics {
		l.topics = slices.Sorted(maps.Keys(was.subscribed))
	}
	if m := was.modern; m != nil {
		l.members = p.list(m)
		if !p.keptRegexes {
			l.regexes = m.sortedRegexes()
		}
		was.modern = &p.modern
	}
	return s.assemble(&was, l)
}

// list takes back, in the members that there are, what was replaced.
func (p *past) list(m *modernGroup) []*Member {
	var all []*Member
	if v := p.group.view; v != nil && p.group.modern == m {
		all = slices.Clone(v.Members)
	} else {
		all = m.list()
	}
	for _, r := range slices.Backward(p.members) {
		i, there := slices.BinarySearchFunc(all, r.id, func(m *Member, id string) int { return strings.Compare(m.ID, id) })
		switch existed := r.member != nil && r.member.rows&rowExists != 0; {
		case existed && there:
			all[i] = r.member
		case existed:
			all = slices.Insert(all, i, r.member)
		case there:
			all = slices.Delete(all, i, i+1)
		}
	}
	return all
}

// keepMember, keepTopics and keepRegexes are called before something of a group
// changes.

func (p *past) keepMember(m *modernGroup, id string, old *Member) {
	if p.was.modern == m {
		p.members = append(p.members, replaced{id, old})
	}
}

func (p *past) keepTopics(g *group) {
	if p.group == g && !p.keptTopics {
		p.topics, p.keptTopics = slices.Sorted(maps.Keys(g.subscribed)), true
	}
}

func (p *past) keepRegexes(m *modernGroup) {
	if p.was.modern == m && !p.keptRegexes {
		p.regexes, p.keptRegexes = m.sortedRegexes(), true
	}
}
