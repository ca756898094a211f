package whatif

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/topichash"
)

// predict makes one answer of all ways through the plan; false if none of them
// does anything to the group.
func (w *walk) predict() (*Prediction, bool) {
	states, crowded := w.follow()
	out := &Prediction{Min: math.MaxInt}
	ends := make(map[int64]struct{})
	for s, n := range states {
		if w.forgets(&s) {
			n.max++
		}
		out.Min, out.Max = min(out.Min, n.min), max(out.Max, n.max)
		ends[s.stored] = struct{}{}
	}
	if crowded {
		out.Min, out.Max = 0, out.Max+len(w.p.steps)
	}
	later := w.untrue(states)
	switch {
	case out.Min > 0:
		out.Bump = Certain
	case out.Max > 0:
		out.Bump = IfHeartbeatFallsInside
	case later:
		out.Bump, out.Max = AtNextEvent, 1
	default:
		return nil, false
	}
	last := w.eager(out)
	w.conclude(out, last, len(ends) == 1 && !crowded)
	w.explain(out, later)
	return out, true
}

// forgets says whether expressions were left resolved to topics that the plan
// has deleted: the coordinator finds that out for itself some minutes later.
func (w *walk) forgets(s *state) bool {
	return len(w.g.Regexes) > 0 && w.setAt(0) == 0 && w.setAt(len(w.p.images)-1) != s.set
}

// untrue says whether the plan may leave the coordinator with a hash that is
// not the group's any more.
func (w *walk) untrue(states map[state]span) bool {
	first, last := w.fresh(0, 0), w.fresh(len(w.p.images)-1, 0)
	if first.hash == last.hash {
		return false
	}
	for s := range states {
		if w.fresh(len(w.p.images)-1, s.set).hash != s.stored {
			return true
		}
	}
	return false
}

// fresh is the hash that the group has in an image, by a set of its
// subscriptions.
func (w *walk) fresh(image, set int) group {
	versions := make([]int, len(w.names))
	for i := range versions {
		versions[i] = w.lines[i].at[image]
	}
	return w.hash(&state{cached: encode(versions), set: set})
}

// eager adds the bumps if a member heartbeats after every step, and returns
// where that ends.
func (w *walk) eager(out *Prediction) state {
	s := w.begin()[0]
	for number := range w.p.steps {
		if !w.matters(number) || w.p.steps[number].optional {
			continue
		}
		s = w.apply(s, number)
		if leaderOf(w.p.images[number+1], w.g.Partition) < 0 {
			continue
		}
		bumps := 0
		switch {
		case s.resolve:
			s, bumps = w.resolution(s, number+1)
		case s.expired:
			s, bumps = w.compare(s, number+1)
		}
		if bumps > 0 {
			out.Steps = append(out.Steps, Step{After: w.p.steps[number].after, Hash: w.told(w.hash(&s))})
		}
	}
	return s
}

// told is a hash, unless the controller decides on it, or there is none.
func (w *walk) told(g group) *int64 {
	if g.open || w.plain {
		return nil
	}
	return &g.hash
}

// conclude says which hash the group ends with.
func (w *walk) conclude(out *Prediction, last state, same bool) {
	if h := w.g.Hash; h != nil && w.g.Answer.Verdict != topichash.None {
		out.Before = &h.Value
	}
	end := len(w.p.images) - 1
	fresh := w.fresh(end, last.set)
	switch {
	case w.plain:
		out.Reason = "the coordinator stores no hash in this release"
	case out.Bump == AtNextEvent:
		out.After, out.Reason = w.told(fresh), "with the next record that touches the topic, or the next move of the coordinator"
	case w.unclear() != "":
		out.Reason = "which topics its regular expressions match is not known here"
	case fresh.open:
		out.Reason = w.opens(end)
	case w.internal() > 0 && w.resized():
		out.Reason = "the coordinator may create internal topics of the topology again, or find that it does not fit them"
	case same:
		out.After = &last.stored
	default:
		out.Reason = "it depends on when members heartbeat"
	}
	if out.After == nil && out.Reason == "" {
		out.Reason = w.opens(end)
	}
}

// opens says what the controller chooses of the group's topics.
func (w *walk) opens(image int) string {
	for i, name := range w.names {
		l := w.lines[i]
		if v := l.versions[l.at[image]]; v.open && v.exists {
			return w.p.open[name].reason
		}
	}
	return ""
}

// resized says whether topics of the group are created, deleted or get
// partitions.
func (w *walk) resized() bool {
	for _, name := range w.names {
		if len(w.p.line(lineKey{name, true}).versions) > 1 {
			return true
		}
	}
	return false
}

// explain adds why the group is bumped, and what the range depends on.
func (w *walk) explain(out *Prediction, later bool) {
	for number := range w.p.steps {
		for i, name := range w.names {
			if l := w.lines[i]; l.at[number] != l.at[number+1] {
				out.Why = addAll(out.Why, w.p.steps[number].reasons(name))
				w.explainMatch(out, number, name)
			}
		}
	}
	w.explainRegexes(out)
	w.explainHeld(out)
	if out.Bump != AtNextEvent {
		w.explainGroup(out)
	}
	switch {
	case out.Bump == IfHeartbeatFallsInside && w.lazy():
		out.Why = add(out.Why, "all members use the classic protocol, by which the coordinator compares only when one joins")
	case out.Bump == IfHeartbeatFallsInside && out.After != nil && out.Before != nil && *out.After == *out.Before:
		out.Why = add(out.Why, "the hash is the same before and after: the group is bumped only if a member heartbeats in between")
	case out.Bump == IfHeartbeatFallsInside && later:
		out.Why = add(out.Why, "if no member heartbeats in between, it rebalances with the next record that touches "+w.staleTopics()+", or the next move of the coordinator")
	case out.Bump == AtNextEvent:
		out.Why = add(out.Why, "no record touches "+w.staleTopics()+" after that, so that the coordinator does not notice")
	}
}

// explainMatch says that an expression matches a new topic.
func (w *walk) explainMatch(out *Prediction, number int, name string) {
	for _, created := range w.p.steps[number].created {
		for _, r := range w.g.Regexes {
			if created == name && w.p.matches(r.Expression, name) {
				out.Why = add(out.Why, fmt.Sprintf("the regular expression %.300s matches %s, unless members may not see it", r.Expression, name))
			}
		}
	}
}

// explainRegexes says that expressions were, or will be, resolved to topics that
// are gone.
func (w *walk) explainRegexes(out *Prediction) {
	if len(w.g.Regexes) == 0 {
		return
	}
	switch end := w.setAt(len(w.p.images) - 1); {
	case w.setAt(0) != 0:
		out.Why = add(out.Why, "its regular expressions were resolved to topics that are gone; they are resolved again when any topic is created or the coordinator moves")
	case slices.ContainsFunc(w.names, w.isResolved) && !slices.Equal(w.sets[0], w.sets[end]) && !w.createsMatch():
		out.Why = add(out.Why, "its regular expressions are resolved again within 10 minutes, which bumps it once more")
	}
}

// unclear is an expression that may match a new topic, and cannot be read here;
// "" if there is none.
func (w *walk) unclear() string {
	if !slices.ContainsFunc(w.p.steps, func(s step) bool { return len(s.created) > 0 }) {
		return ""
	}
	return w.unreadable()
}

// createsMatch says whether a new topic is matched.
func (w *walk) createsMatch() bool {
	return slices.ContainsFunc(w.p.steps, func(s step) bool { return slices.ContainsFunc(s.created, w.matches) })
}

// explainHeld says what the coordinator holds that is not true before the plan.
func (w *walk) explainHeld(out *Prediction) {
	a := &w.g.Answer
	switch {
	case a.Verdict == topichash.Stale:
		out.Why = add(out.Why, "the coordinator holds an older hash of "+few(a.Outdated)+", which it has not noticed yet")
	case a.Verdict == topichash.Pending:
		out.Why = add(out.Why, "a change of "+few(a.Outdated)+" is still to be noticed with the next heartbeat")
	case a.Verdict == topichash.None && w.p.upgrades():
		out.Why = add(out.Why, "Kafka 4.0 stored no hash, so that the first one is a change")
	case a.Verdict != topichash.Match && a.Verdict != topichash.None:
		out.Why = add(out.Why, strings.TrimSpace(fmt.Sprintf("what the coordinator holds is not known: the verdict on its hash is %s %s", a.Verdict, a.Reason)))
	}
	if r := w.unclear(); r != "" {
		out.Why = add(out.Why, fmt.Sprintf("whether the regular expression %.300s matches a new topic is not known: it cannot be read here", r))
	}
}

// explainGroup says what only groups of its type do.
func (w *walk) explainGroup(out *Prediction) {
	for i := range w.p.steps {
		for _, name := range w.names {
			if _, grown := w.p.steps[i].grown[name]; grown && w.g.Type == groups.Share {
				out.Why = add(out.Why, "a share group is bumped again when the state of new partitions is initialized")
			}
		}
	}
	if w.internal() > 0 && w.resized() {
		out.Why = add(out.Why, "the topology has internal topics: the coordinator creates those that are missing, and may find that they no longer fit")
	}
}

// staleTopics are those of which the coordinator is left with another hash.
func (w *walk) staleTopics() string {
	var names []string
	for i, name := range w.names {
		if l := w.lines[i]; l.at[0] != l.at[len(l.at)-1] {
			names = append(names, name)
		}
	}
	return few(names)
}

// few is a list of names that is not too long.
func few(names []string) string {
	if more := len(names) - maxSaid; more > 0 {
		return fmt.Sprintf("%s and %d others", strings.Join(names[:maxSaid], ", "), more)
	}
	return strings.Join(names, ", ")
}
