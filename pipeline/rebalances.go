package pipeline

import (
	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/history"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/rebalance"
)

// untold is what became of rebalances, and of the metadata, in a slice, until it
// is durable.
type untold struct {
	commit  uint64 // of the store
	groups  map[string][]*rebalance.Rebalance
	states  []*rebalance.Rebalance // for OnRebalance
	entries []*history.Entry
}

// noteNews hands what is new to the store. It is told once the store has it
// (invariant 4).
func (s *state) noteNews() {
	changed := s.explainer.TakeChanged()
	u := untold{states: s.states, entries: s.entries}
	s.states, s.entries = nil, nil
	s.noteHistory()
	if s.Store != nil {
		s.explainer.TakeRows(changed, s.Store.Rebalance)
		u.commit = s.Store.Commit()
	}
	if len(changed)+len(u.states)+len(u.entries) == 0 {
		return
	}
	u.groups = make(map[string][]*rebalance.Rebalance, len(changed))
	for _, group := range changed {
		u.groups[group] = s.explainer.Group(group)
	}
	s.untold = append(s.untold, u)
}

// tellDurable tells what is durable by now. While the store does not work all is
// told at once: there is nothing to wait for, and somebody may need to know.
func (s *state) tellDurable() {
	for len(s.untold) > 0 && s.durable(s.untold[0].commit) {
		s.tell(&s.untold[0])
		s.untold = s.untold[1:]
	}
}

func (s *state) durable(commit uint64) bool {
	return s.Store == nil || commit <= s.Store.Committed() || !s.Store.Status().Persisting
}

func (s *state) tell(u *untold) {
	s.tellHistory(u.entries)
	for group, list := range u.groups {
		s.published = false
		if len(list) > 0 {
			s.rebalances.Set(group, list)
		} else {
			s.rebalances.Delete(group)
		}
	}
	if s.OnRebalance != nil {
		for _, r := range u.states {
			s.OnRebalance(r)
		}
	}
}

// restoreRebalances takes what the store has of the rebalances of a partition in
// the place of what is known. That may be ahead of its groups, after the store
// was rebuilt. After an error the store has stopped, and it is to be tried again
// when the store works.
func (s *state) restoreRebalances(sh *shard) error {
	s.noteNews() // before the store commits what is pending, so as to read it
	err := s.Store.LoadRebalances(sh.Partition(), sh.bumps.Restore)
	if err == nil {
		err = s.restoreOutbox(sh.Partition())
	}
	if err != nil {
		sh.bumps.Lost()
		return err
	}
	sh.explained = max(sh.explained, sh.bumps.Known())
	return nil
}

// showRestored has views show what was restored: it is durable.
func (s *state) showRestored() {
	for _, group := range s.explainer.TakeChanged() {
		if list := s.explainer.Group(group); len(list) > 0 {
			s.rebalances.Set(group, list)
		}
	}
}

// voidShard forgets a partition that is read from its start again, and returns
// the offset up to which its rebalances are known all the same. Where the log is
// another one than was read, they are forgotten, too.
func (s *state) voidShard(sh *shard, why offsetslog.Reason) (known kafka.Offset) {
	number := sh.Partition()
	s.removeShard(number)
	if why != offsetslog.Diverged && why != offsetslog.Recreated {
		return sh.at.Offset
	}
	s.explainer.Forget(number)
	if s.Store != nil {
		s.Store.Rebalance(rebalance.Row{Partition: number, Members: true})
	}
	return 0
}
