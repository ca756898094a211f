package whatif

import (
	"slices"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/topichash"
)

// topics are the names that the group subscribes to, and those of new topics
// that its expressions match.
func (w *walk) topics() []string {
	all := slices.Clone(w.g.SubscribedTopics)
	for i := range w.p.steps {
		for _, name := range w.p.steps[i].created {
			if w.matches(name) {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (p *Plan) newWalk(g Group) *walk {
	hashless := g.Answer.Verdict == topichash.None && g.Type == groups.Consumer
	return &walk{p: p, g: g, plain: hashless && !p.upgrades(), memo: make(map[string]group)}
}

func (w *walk) key(name string) lineKey { return lineKey{name, w.plain} }

// concerned says whether the plan can matter to the group, and finds out which
// of its topics do.
func (w *walk) concerned() bool {
	if w.g.Streams != nil && w.g.Streams.Topology == nil {
		return false
	}
	moves, creates := false, false
	for i := range w.p.steps {
		moves = moves || w.p.steps[i].moves(w.g.Partition)
		creates = creates || len(w.p.steps[i].created) > 0
	}
	reresolves := len(w.g.Regexes) > 0 && (moves || creates)
	outdated := w.g.Answer.Outdated
	var rest []string
	for _, name := range w.topics() {
		if slices.Contains(outdated, name) || w.p.concerns(w.key(name)) || reresolves && !w.p.line(w.key(name)).versions[0].exists {
			w.names = append(w.names, name)
		} else {
			rest = append(rest, name)
		}
	}
	if len(w.names) == 0 && !(moves && !w.agrees()) && !(creates && w.unreadable() != "") {
		return false
	}
	for _, name := range rest {
		if v := w.p.line(w.key(name)).versions[0]; v.exists {
			w.fixed = append(w.fixed, topichash.NamedHash{Name: name, Hash: v.hash})
		}
	}
	w.prepare()
	for number := range w.p.steps {
		if w.matters(number) {
			return true
		}
	}
	return false
}

// agrees says whether what is stored is what a coordinator computes.
func (w *walk) agrees() bool {
	return w.g.Answer.Verdict == topichash.Match || w.plain
}

func (p *Plan) upgrades() bool {
	return slices.ContainsFunc(p.steps, func(s step) bool { return s.upgrade })
}

// concerns says whether a step touches a topic, or changes its hash.
func (p *Plan) concerns(key lineKey) bool {
	racks := false
	for i := range p.steps {
		if p.steps[i].touches(key.topic) {
			return true
		}
		racks = racks || p.steps[i].racks
	}
	return racks && len(p.line(key).versions) > 1
}

// prepare finds the subscriptions and what is held at first.
func (w *walk) prepare() {
	held := make(map[string]int64)
	for _, h := range w.g.Answer.Held {
		held[h.Name] = h.Hash
	}
	for _, name := range w.names {
		l := w.p.line(w.key(name))
		at := 0
		if slices.Contains(w.g.Answer.Outdated, name) {
			hash, exists := held[name]
			l = &line{versions: slices.Clone(l.versions), at: l.at}
			at = l.add(version{exists: exists, hash: hash})
		}
		w.lines, w.held = append(w.lines, l), append(w.held, at)
		w.named = append(w.named, w.isNamed(name))
		w.expected = append(w.expected, w.isResolved(name) || w.matches(name))
	}
	first := make([]bool, len(w.names))
	for i, name := range w.names {
		first[i] = w.named[i] || w.isResolved(name)
	}
	w.sets = [][]bool{first}
}

// isNamed says whether members name a topic: whatever no expression was
// resolved to.
func (w *walk) isNamed(name string) bool {
	_, subscribed := slices.BinarySearch(w.g.SubscribedTopics, name)
	if !subscribed || !w.isResolved(name) {
		return subscribed
	}
	return slices.ContainsFunc(w.g.Members, func(m *groups.Member) bool { return slices.Contains(m.SubscribedTopics, name) })
}

func (w *walk) isResolved(name string) bool {
	return slices.ContainsFunc(w.g.Regexes, func(r *groups.Regex) bool { return slices.Contains(r.Topics, name) })
}

// matches says whether an expression of the group matches a new topic.
func (w *walk) matches(name string) bool {
	return slices.ContainsFunc(w.g.Regexes, func(r *groups.Regex) bool { return w.p.matches(r.Expression, name) })
}

// unreadable is an expression of the group of which it is not known what it
// matches; "" if there is none.
func (w *walk) unreadable() string {
	for _, r := range w.g.Regexes {
		if w.p.expression(r.Expression) == nil {
			return r.Expression
		}
	}
	return ""
}

// hasMembers says whether somebody heartbeats: a static member that is away
// does not.
func (w *walk) hasMembers() bool {
	return slices.ContainsFunc(w.g.Members, func(m *groups.Member) bool { return m.Epoch != staticAway })
}

const staticAway = -2

// lazy says that members make the coordinator compare only when they join.
func (w *walk) lazy() bool {
	return !slices.ContainsFunc(w.g.Members, func(m *groups.Member) bool { return m.Epoch != staticAway && !m.ClassicProtocol })
}
