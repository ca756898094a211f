package groups

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
)

// play replays events into a shard.
func play(s *Shard, events []event) {
	r := &replica{s, mirror{}}
	for i := range events {
		r.step(&events[i])
	}
}

// logsOf are what a coordinator wrote, and what becomes of that.
func logsOf(t *testing.T, seed uint64) [][]event {
	log := newCoordinator(t, seed).run(historyLength)
	rng := rand.New(rand.NewPCG(seed, 3))
	return [][]event{log, compact(log, rng), damage(log, rng)}
}

// Past is what Freeze was when Remember was called, whatever came since.
func TestPast(t *testing.T) {
	for seed := range uint64(60) {
		for _, log := range logsOf(t, seed) {
			requirePast(t, log, rand.New(rand.NewPCG(seed, 4)))
		}
	}
}

func requirePast(t *testing.T, log []event, rng *rand.Rand) {
	one, two := NewShard(0, Options{}), NewShard(0, Options{})
	ids := []string{"nobody"}
	for len(log) > 0 {
		if all := one.GroupIDs(); len(all) > 0 {
			ids = all
		}
		id := ids[rng.IntN(len(ids))] // it may be gone
		want := one.Freeze(id)
		two.Remember(id)
		n := 1 + rng.IntN(min(20, len(log)))
		play(one, log[:n])
		play(two, log[:n])
		log = log[n:]
		if rng.IntN(2) == 0 {
			two.Freeze(id)
		}
		require.Equal(t, want, two.Past())
		if rng.IntN(2) == 0 {
			two.Forget()
			require.Nil(t, two.Past())
		}
	}
}

// What costs less than to look for it in all there is, is what is found there.
func TestListsAndLookups(t *testing.T) {
	for seed := range uint64(40) {
		for _, log := range logsOf(t, seed) {
			s, rng := NewShard(0, Options{}), rand.New(rand.NewPCG(seed, 5))
			for len(log) > 0 {
				n := 1 + rng.IntN(min(20, len(log)))
				play(s, log[:n])
				log = log[n:]
				for _, id := range s.GroupIDs() {
					requireLookups(t, s, id)
				}
			}
		}
	}
}

func requireLookups(t *testing.T, s *Shard, id string) {
	g := s.Freeze(id)
	if m := s.groups[id].modern; m != nil {
		var all []*Member
		for _, n := range m.members {
			if n.rows&rowExists != 0 {
				all = append(all, n)
			}
		}
		slices.SortFunc(all, func(a, b *Member) int { return strings.Compare(a.ID, b.ID) })
		require.True(t, slices.Equal(all, g.Members), id)
	}
	for _, m := range g.Members {
		var offsets, found []CommittedOffset
		for _, o := range s.Offsets(id) {
			if !o.TopicID.IsZero() && has(m.Assigned, o.TopicID, o.Partition) {
				offsets = append(offsets, o)
			}
		}
		for o := range s.OffsetsOf(id, m.Assigned) {
			found = append(found, o)
		}
		require.ElementsMatch(t, offsets, found)
		if g.Type == Consumer {
			requireOwners(t, g, m, s.Owners(id, m.Target))
		}
	}
}

// requireOwners looks for those who own something that a member is to get.
func requireOwners(t *testing.T, g *Group, m *Member, found []*Member) {
	var owners []*Member
	for _, o := range g.Members {
		for p := range o.owned() {
			if has(m.Target, p.topic, p.partition) {
				owners = append(owners, o)
				break
			}
		}
	}
	require.True(t, slices.Equal(owners, found), "%s: %v, not %v", m.ID, found, owners)
}

func has(list []TopicPartitions, topic kafka.TopicID, partition int32) bool {
	return slices.ContainsFunc(list, func(t TopicPartitions) bool {
		return t.TopicID == topic && slices.Contains(t.Partitions, partition)
	})
}
