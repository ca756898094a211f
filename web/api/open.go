package api

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/rebalance"
)

// OpenRebalance is a rebalance that is not over, in short.
type OpenRebalance struct {
	ID        string `json:"id"`
	Group     string `json:"group"`
	Type      string `json:"type"`
	Epoch     int32  `json:"epoch"`
	StartedAt Time   `json:"startedAt"`
	// Cause is the sentence of the deciding one, null until it is known.
	Cause *string `json:"cause"`
	// Members are those that are to have a target, Done those that have it.
	Members int `json:"members"`
	Done    int `json:"done"`
	// WaitedFor are the members that others wait for, and where there are none,
	// those that have yet to reach the epoch. It is empty as long as there is no
	// target assignment.
	WaitedFor []WaitedFor `json:"waitedFor"`
}

// WaitedFor is a member that keeps a rebalance open. Partitions are those that
// it is to release, null if others wait for nothing of it.
type WaitedFor struct {
	MemberID   string      `json:"memberId"`
	ClientHost string      `json:"clientHost"`
	Partitions *Assignment `json:"partitions"`
}

// maxOpen and maxWaitedFor bound what a status has of open rebalances.
const (
	maxOpen      = 50
	maxWaitedFor = 20
)

// NewOpenRebalances are those that v speaks for, the oldest first, at most 50.
func NewOpenRebalances(v *pipeline.View) []OpenRebalance {
	var open []*rebalance.Rebalance
	for r := range v.NewestRebalances() {
		if answers(v, r) && r.Open() {
			open = append(open, r)
		}
	}
	slices.SortFunc(open, func(a, b *rebalance.Rebalance) int {
		return cmp.Or(cmp.Compare(a.StartedAt, b.StartedAt), cmp.Compare(a.Group, b.Group))
	})
	list := []OpenRebalance{}
	for _, r := range open[:min(len(open), maxOpen)] {
		list = append(list, newOpenRebalance(v, r))
	}
	return list
}

func newOpenRebalance(v *pipeline.View, r *rebalance.Rebalance) OpenRebalance {
	o := OpenRebalance{ID: r.ID.String(), Group: r.Group, Type: r.Type.String(), Epoch: r.Epoch, StartedAt: Time(r.StartedAt), WaitedFor: []WaitedFor{}}
	if r.Settled && len(r.Causes) > 0 {
		o.Cause = &r.Causes[0].Summary
	}
	holders := make(map[string][]rebalance.Wait)
	var late []string
	for i := range r.Members {
		m := &r.Members[i]
		switch {
		case m.Left:
			continue
		case m.ReconciledAt > 0:
			o.Done++
		default:
			late = append(late, m.MemberID)
			for _, w := range m.WaitedFor {
				holders[w.MemberID] = append(holders[w.MemberID], w)
			}
		}
		o.Members++
	}
	n := names{v.Image.Topics()}
	for _, id := range slices.Sorted(maps.Keys(holders)) {
		w := WaitedFor{MemberID: id, ClientHost: hostOf(r, id), Partitions: &Assignment{}}
		for _, wait := range holders[id] {
			for topic, partitions := range n.assignment(wait.Partitions) {
				(*w.Partitions)[topic] = append((*w.Partitions)[topic], partitions...)
			}
		}
		o.WaitedFor = append(o.WaitedFor, w)
	}
	if len(holders) == 0 && r.TargetAt > 0 {
		for _, id := range late {
			o.WaitedFor = append(o.WaitedFor, WaitedFor{MemberID: id, ClientHost: hostOf(r, id)})
		}
	}
	o.WaitedFor = o.WaitedFor[:min(len(o.WaitedFor), maxWaitedFor)]
	return o
}

func hostOf(r *rebalance.Rebalance, member string) string {
	for i := range r.Members {
		if r.Members[i].MemberID == member {
			return r.Members[i].ClientHost
		}
	}
	return ""
}

// JoinOpen makes one list of what several sidecars say, the oldest first.
func JoinOpen(lists ...[]OpenRebalance) []OpenRebalance {
	out := slices.Concat(lists...)
	slices.SortFunc(out, func(a, b OpenRebalance) int {
		return cmp.Or(cmp.Compare(a.StartedAt, b.StartedAt), cmp.Compare(a.Group, b.Group), cmp.Compare(a.ID, b.ID))
	})
	out = slices.CompactFunc(out, func(a, b OpenRebalance) bool { return a.ID == b.ID })
	return out[:min(len(out), maxOpen)]
}
