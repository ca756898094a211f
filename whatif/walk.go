package whatif

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/topichash"
)

// walk follows one group through a plan.
type walk struct {
	p *Plan
	g Group
	// plain: the coordinator is one of Kafka 4.0.
	plain bool
	// names are the topics that change, or that the coordinator may hold an
	// older hash of. named says which of them members name, expected which an
	// expression matches.
	names           []string
	named, expected []bool
	lines           []*line // of names; with what is held added
	held            []int   // index of the line's versions; none: that of the first image
	fixed           []topichash.NamedHash
	sets            [][]bool // subscriptions to names, by their number
	memo            map[string]group
}

// group is the hash of the group for what is held of its topics.
type group struct {
	hash int64
	open bool
}

// state is what a coordinator has of the group.
type state struct {
	cached  string // of each name: 0, or 1 + the index of its line's versions
	expired bool   // the next heartbeat compares
	resolve bool   // expressions are to be resolved again
	set     int    // what they were resolved to
	stored  int64
}

// span is how often the group was bumped on the way to a state.
type span struct{ min, max int }

// cachedAt is the version that a state has of a name; false if it has none.
func (s *state) cachedAt(i int) (int, bool) {
	v := binary.BigEndian.Uint16([]byte(s.cached[2*i:]))
	return int(v) - 1, v > 0
}

func encode(versions []int) string {
	b := make([]byte, 0, 2*len(versions))
	for _, v := range versions {
		b = binary.BigEndian.AppendUint16(b, uint16(v+1))
	}
	return string(b)
}

// absent is a cached version that is not there.
const absent = -1

func (w *walk) decode(s *state) []int {
	versions := make([]int, len(w.names))
	for i := range versions {
		versions[i] = absent
		if v, ok := s.cachedAt(i); ok {
			versions[i] = v
		}
	}
	return versions
}

// begin are the states that the coordinator may be in, the likely one first.
func (w *walk) begin() []state {
	stored := int64(0)
	if h := w.g.Hash; h != nil && w.g.Answer.Verdict != topichash.None {
		stored = h.Value
	}
	empty, now := make([]int, len(w.names)), make([]int, len(w.names))
	for i := range empty {
		empty[i] = absent
	}
	held := state{cached: encode(w.held), stored: stored}
	fresh := held
	fresh.cached = encode(now)
	fresh.stored = w.hash(&fresh).hash
	switch {
	case w.plain:
		return []state{fresh}
	case w.p.upgrades():
		return []state{held}
	case w.g.Answer.Verdict == topichash.Match, w.g.Answer.Verdict == topichash.Stale:
		return []state{held}
	case w.g.Answer.Verdict == topichash.Pending:
		// A heartbeat is due, or it was the wrong topic that was dropped.
		due := held
		due.expired = true
		for i, name := range w.names {
			if slices.Contains(w.g.Answer.Outdated, name) {
				now[i] = absent
			}
		}
		due.cached = encode(now)
		return []state{due, held}
	}
	// What is held is not known: what is fresh, or something that what was
	// stored came of.
	other := held
	other.cached = encode(empty)
	return []state{fresh, other}
}

// hash is that of the group by what a state holds; every topic that the group
// subscribes to must be held.
func (w *walk) hash(s *state) group {
	key := s.cached + string(rune(s.set))
	if g, ok := w.memo[key]; ok {
		return g
	}
	named, g := slices.Clone(w.fixed), group{}
	for i, name := range w.names {
		v, ok := s.cachedAt(i)
		if !ok || !w.sets[s.set][i] {
			continue
		}
		if v := w.lines[i].versions[v]; v.exists {
			named = append(named, topichash.NamedHash{Name: name, Hash: v.hash})
			g.open = g.open || v.open
		}
	}
	g.hash = w.p.hasher.Group(topichash.Kafka, named)
	w.memo[key] = g
	return g
}

// fill computes what the coordinator does not hold, in an image.
func (w *walk) fill(s state, image int) state {
	versions := w.decode(&s)
	for i := range versions {
		if versions[i] == absent && w.sets[s.set][i] {
			versions[i] = w.lines[i].at[image]
		}
	}
	s.cached = encode(versions)
	return s
}

// compare is what a heartbeat does that has the coordinator compare.
func (w *walk) compare(s state, image int) (state, int) {
	s = w.fill(s, image)
	s.expired = false
	hash := w.hash(&s).hash
	if hash == s.stored {
		return s, 0
	}
	s.stored = hash
	return s, 1
}

// resolution is what comes of resolving expressions again: a bump if they match
// other topics, or else if the hash is another one.
func (w *walk) resolution(s state, image int) (state, int) {
	s.resolve = false
	set := w.setAt(image)
	if set == s.set {
		return w.compare(s, image)
	}
	s.set = set
	s, _ = w.compare(s, image)
	return s, 1
}

// setAt is the number of the subscription that expressions are resolved to.
func (w *walk) setAt(image int) int {
	set := make([]bool, len(w.names))
	for i := range set {
		l := w.lines[i]
		set[i] = w.named[i] || w.expected[i] && l.versions[l.at[image]].exists
	}
	if i := slices.IndexFunc(w.sets, func(other []bool) bool { return slices.Equal(other, set) }); i >= 0 {
		return i
	}
	w.sets = append(w.sets, set)
	return len(w.sets) - 1
}

// apply is what a step does to what the coordinator holds, before anybody
// heartbeats.
func (w *walk) apply(s state, number int) state {
	step := &w.p.steps[number]
	versions := w.decode(&s)
	moved := step.moves(w.g.Partition)
	for i, name := range w.names {
		if !moved && !step.touches(name) {
			continue
		}
		versions[i] = absent
		s.expired = s.expired || moved || w.sets[s.set][i]
	}
	s.expired = s.expired || moved
	s.resolve = s.resolve || len(w.g.Regexes) > 0 && (moved || len(step.created) > 0)
	s.cached = encode(versions)
	return s
}

// extra is how many more bumps than one a step may bring, because its records
// come one after the other, or because something follows them.
func (w *walk) extra(s *state, number int) (more int) {
	step := &w.p.steps[number]
	moments := 0
	for i, name := range w.names {
		if !w.sets[s.set][i] && !w.expected[i] {
			continue
		}
		l := w.lines[i]
		changes := l.at[number] != l.at[number+1]
		cached, ok := s.cachedAt(i)
		switch {
		case step.spread && step.parts[name] > 0:
			moments += step.parts[name]
		case step.spread && step.touches(name) && (changes || ok && cached != l.at[number+1]):
			moments++
		}
		if _, grown := step.grown[name]; grown && w.g.Type == groups.Share {
			more++ // the state of the partitions is initialized, and bumps again
		}
		if w.resizes(name, number) {
			more += w.internal()
		}
		if step.racks && l.versions[l.at[number]].open {
			more++ // where its replicas are is not known
		}
	}
	if len(step.created) > 0 && w.unreadable() != "" {
		more++
	}
	return more + max(moments-1, 0)
}

// resizes says whether a step creates or deletes a topic or gives it partitions.
func (w *walk) resizes(name string, number int) bool {
	l := w.p.line(lineKey{name, true})
	return l.at[number] != l.at[number+1]
}

// internal is the number of internal topics of a streams group, which the
// coordinator creates again when its topology needs it.
func (w *walk) internal() (n int) {
	if w.g.Streams == nil || w.g.Streams.Topology == nil {
		return 0
	}
	for i := range w.g.Streams.Topology.Subtopologies {
		sub := &w.g.Streams.Topology.Subtopologies[i]
		n += len(sub.RepartitionSources) + len(sub.Changelogs)
	}
	return n
}

// maxStates bounds what is followed of one group. Beyond it the range of its
// bumps is as wide as it can be.
const maxStates = 128

// follow walks all ways through the plan. crowded says that not all were
// followed.
func (w *walk) follow() (states map[state]span, crowded bool) {
	states = make(map[state]span)
	for _, s := range w.begin() {
		states[s] = span{}
	}
	states = w.beats(states, 0)
	for number := range w.p.steps {
		if !w.matters(number) {
			continue
		}
		next := make(map[state]span)
		for s, n := range states {
			if w.p.steps[number].optional {
				join(next, s, n)
			}
			n.max += w.extra(&s, number)
			join(next, w.apply(s, number), n)
		}
		states = w.beats(next, number+1)
		if len(states) > maxStates {
			return states, true
		}
	}
	return w.settle(states), false
}

// matters says whether a step can change anything for the group.
func (w *walk) matters(number int) bool {
	step := &w.p.steps[number]
	if step.moves(w.g.Partition) || len(step.created) > 0 && len(w.g.Regexes) > 0 {
		return true
	}
	for i, name := range w.names {
		if step.touches(name) || w.lines[i].at[number] != w.lines[i].at[number+1] {
			return true
		}
	}
	return false
}

func join(states map[state]span, s state, n span) {
	if old, ok := states[s]; ok {
		n = span{min(n.min, old.min), max(n.max, old.max)}
	}
	states[s] = n
}

// beats adds what becomes of states if a member heartbeats, while the group has
// a coordinator.
func (w *walk) beats(states map[state]span, image int) map[state]span {
	if leaderOf(w.p.images[image], w.g.Partition) == kafka.NoNode {
		return states
	}
	all := maps.Clone(states)
	for s, n := range states {
		for after, more := range w.beat(s, image) {
			join(all, after, span{n.min + more, n.max + more})
		}
	}
	return all
}

// beat are the states after a heartbeat, with the number of bumps.
func (w *walk) beat(s state, image int) map[state]int {
	out := make(map[state]int)
	if s.expired {
		after, n := w.compare(s, image)
		out[after] = n
		if s.resolve {
			last, more := w.resolution(after, image)
			out[last] = max(out[last], n+more)
		}
	}
	if s.resolve {
		after, n := w.resolution(s, image)
		out[after] = max(out[after], n)
	}
	return out
}

// settle is what becomes of states in the end: members heartbeat, unless they
// are ones that only join.
func (w *walk) settle(states map[state]span) map[state]span {
	last := len(w.p.images) - 1
	if leaderOf(w.p.images[last], w.g.Partition) == kafka.NoNode || w.lazy() {
		return states
	}
	settled := make(map[state]span)
	for s, n := range w.beats(states, last) {
		if !s.expired && !s.resolve {
			join(settled, s, n)
		}
	}
	return settled
}
