package rebalance

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	metadatarecord "github.com/kraftside/kraftside/metadatalog/record"
)

// requireExpiry plays the story and forgets, between its batches, what has
// happened by then: what is said of later rebalances is the same, but for whether
// a member left or timed out. That is told by when it was last alive, and matters
// for minutes, while rebalances are kept for hours at least.
func (s *story) requireExpiry(t *testing.T) {
	if s.limits != DefaultLimits {
		return // what was dropped depends on what was read
	}
	want := make(map[ID]*Rebalance)
	for _, r := range s.kept(t, func(*player, int64) {}) {
		want[r.ID] = r
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		for _, got := range s.kept(t, func(p *player, at int64) {
			if r.IntN(3) == 0 {
				p.e.Expire(at + 1)
			}
		}) {
			require.Equal(t, withoutDepartures(want[got.ID]), withoutDepartures(got))
		}
	}
}

func withoutDepartures(r *Rebalance) *Rebalance {
	n := *r
	n.Causes = slices.Clone(r.Causes)
	for i := range n.Causes {
		if c := &n.Causes[i]; c.Kind == MemberLeft || c.Kind == MemberTimedOut {
			c.Kind, c.Summary, c.Reason = MemberLeft, "", ""
		}
	}
	return &n
}

// kept are the rebalances of all groups after the story.
func (s *story) kept(t *testing.T, between func(*player, int64)) (all []*Rebalance) {
	p := newPlayer(s.limits)
	for i := range s.events {
		p.play(t, &s.events[i], false)
		between(&p, s.events[i].at)
	}
	p.play(t, &event{metadata: true, at: s.now + 3_600_000, first: s.next, messages: []metadatarecord.Message{&metadatarecord.NoOpRecord{}}}, false)
	for group := range p.e.groups {
		all = append(all, p.e.Group(group)...)
	}
	return all
}

// With its last rebalance a group is forgotten if it is gone, and only then.
func TestExpiredGroups(t *testing.T) {
	s := newStory()
	s.now = 1000
	s.groups(t, `3 there {"epoch":1}`+"\n"+`3 gone {"epoch":1}`)
	s.groups(t, `3 gone null`)
	s.e.Finish()
	s.e.Expire(1001)
	require.Contains(t, s.e.groups, "there")
	require.NotContains(t, s.e.groups, "gone")
	require.Empty(t, s.e.Group("there"))
	require.Empty(t, s.e.kept)
}
