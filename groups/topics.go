package groups

import "slices"

// topicGroups are the groups that subscribe to a topic.
type topicGroups struct {
	name   string
	groups map[*group]struct{}
	hashed int // how many of the groups are evaluated by a hash
}

// subscribe makes the group one that subscribes to the topic. Every group
// counts the reasons for which it does.
func (s *Shard) subscribe(g *group, topic string) {
	if g.subscribed == nil {
		g.subscribed = make(map[string]int32)
	}
	if s.past.group == g && g.subscribed[topic] == 0 {
		s.past.keepTopics(g)
	}
	g.subscribed[topic]++
	if g.subscribed[topic] > 1 {
		return
	}
	t := s.topics[topic]
	if t == nil {
		t = &topicGroups{name: topic, groups: make(map[*group]struct{}, 1)}
		s.topics[topic] = t
	}
	t.groups[g] = struct{}{}
	if g.kind == Classic {
		return
	}
	t.hashed++
	if t.hashed == 1 {
		s.out.Subscribed = append(s.out.Subscribed, t.name)
	}
}

// unsubscribe takes back one subscribe.
func (s *Shard) unsubscribe(g *group, topic string) {
	g.subscribed[topic]--
	if g.subscribed[topic] > 0 {
		return
	}
	s.past.keepTopics(g)
	delete(g.subscribed, topic)
	t := s.topics[topic]
	delete(t.groups, g)
	if g.kind != Classic {
		t.hashed--
		if t.hashed == 0 {
			s.out.Unsubscribed = append(s.out.Unsubscribed, t.name)
		}
	}
	if len(t.groups) == 0 {
		delete(s.topics, topic)
	}
}

// resubscribe replaces one reason to subscribe by another. The new topics go
// first, so that a topic in both is never without a group.
func (s *Shard) resubscribe(g *group, before, after []string) {
	if same(before, after) {
		return
	}
	for _, topic := range after {
		s.subscribe(g, topic)
	}
	for _, topic := range before {
		s.unsubscribe(g, topic)
	}
}

// names copies a list of topics: sorted, each once, with strings that are
// shared with the rest of the shard. The members of a group mostly have the
// same list, which is shared too.
func (s *Shard) names(lists ...[]string) []string {
	var all []string
	for i, list := range lists {
		if i == 0 || !same(list, lists[i-1]) {
			all = append(all, list...)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	switch {
	case len(all) == 0:
		return nil
	case slices.Equal(all, s.lastTopics):
		return s.lastTopics
	}
	for i, name := range all {
		if t := s.topics[name]; t != nil {
			all[i] = t.name
		}
	}
	s.lastTopics = all
	return all
}

// same says whether two lists are one.
func same(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
