package api

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/rebalance"
)

// BusyGroup is a group that rebalanced lately.
type BusyGroup struct {
	Group string `json:"group"`
	Type  string `json:"type"`
	Bumps int    `json:"bumps"`
}

// RecentChange is a change of the metadata in short.
type RecentChange struct {
	Offset    kafka.Offset `json:"offset"`
	Timestamp Time         `json:"timestamp"`
	Summary   string       `json:"summary"`     // of the first thing that changed
	More      int          `json:"moreChanges"` // other things
	Groups    int          `json:"groups"`      // that it set off
}

const (
	// BusyPeriod is what Status.Busiest is about.
	BusyPeriod = 15 * time.Minute

	maxBusy   = 10
	maxRecent = 5
)

// NewBusiest are the groups that v speaks for with most bumps, if they had more
// than one in the last 15 minutes.
func NewBusiest(v *pipeline.View, now time.Time) []BusyGroup {
	since, bumps, list := now.Add(-BusyPeriod).UnixMilli(), map[string]int{}, []BusyGroup{}
	for r := range v.AllRebalances() {
		if r.StartedAt >= since && answers(v, r) {
			bumps[r.Group]++
		}
	}
	for r := range v.NewestRebalances() {
		if n := bumps[r.Group]; n > 1 {
			list = append(list, BusyGroup{r.Group, r.Type.String(), n})
		}
	}
	return JoinBusiest(list)
}

// answers says whether v speaks for the group of a rebalance.
func answers(v *pipeline.View, r *rebalance.Rebalance) bool {
	p, followed := v.Partition(r.ID.Partition)
	return followed && p.Answers
}

// JoinBusiest makes one list of what several sidecars say, most bumps first.
func JoinBusiest(lists ...[]BusyGroup) []BusyGroup {
	all, seen := append([]BusyGroup{}, slices.Concat(lists...)...), map[string]bool{}
	slices.SortFunc(all, func(a, b BusyGroup) int { return cmp.Or(cmp.Compare(b.Bumps, a.Bumps), cmp.Compare(a.Group, b.Group)) })
	all = slices.DeleteFunc(all, func(g BusyGroup) bool { // while a coordinator moves two may answer
		again := seen[g.Group]
		seen[g.Group] = true
		return again
	})
	return all[:min(len(all), maxBusy)]
}

// NewRecentChanges are the newest changes, with the groups that v speaks for.
func NewRecentChanges(v *pipeline.View) []RecentChange {
	setOffs, list := NewSetOffs(v, func(r *rebalance.Rebalance) bool { return answers(v, r) }), []RecentChange{}
	for e := range v.Changes(math.MaxInt64) {
		if len(list) == maxRecent {
			break
		}
		list = append(list, RecentChange{
			Offset: e.Offset, Timestamp: Time(e.Time), Summary: e.Changes[0].Summary(), More: len(e.Changes) + e.More - 1, Groups: setOffs.Groups(e),
		})
	}
	return list
}

// joinRecentChanges makes one list of what two sidecars say, newest first. join
// says how many groups there are if each has counted some.
func joinRecentChanges(a, b []RecentChange, join func(a, b int) int) []RecentChange {
	all := append([]RecentChange{}, slices.Concat(a, b)...)
	slices.SortStableFunc(all, func(a, b RecentChange) int { return cmp.Compare(b.Offset, a.Offset) })
	out := all[:0]
	for _, c := range all {
		if last := len(out) - 1; last >= 0 && out[last].Offset == c.Offset {
			out[last].Groups = join(out[last].Groups, c.Groups)
			continue
		}
		out = append(out, c)
	}
	return out[:min(len(out), maxRecent)]
}
