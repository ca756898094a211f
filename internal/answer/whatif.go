package answer

import (
	"fmt"
	"slices"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/web/api"
	"github.com/kraftside/kraftside/whatif"
)

// Whatif is which groups a planned change will rebalance.
type Whatif struct {
	Groups []api.Prediction `json:"groups"` // that the plan concerns, by id
	// Unaffected is the number of the others.
	Unaffected int `json:"unaffected"`
	Scope
}

// NewWhatif is the answer of sidecars, or one from files.
func NewWhatif(a *api.Whatif[api.Prediction], files bool) *Whatif {
	w := &Whatif{Groups: a.Groups, Scope: NewScope(&a.Completeness, files)}
	for _, e := range a.Examined {
		w.Unaffected += e.Groups
	}
	w.Unaffected = max(w.Unaffected-len(w.Groups), 0)
	return w
}

// Found says whether some group may rebalance, now or later.
func (w *Whatif) Found() bool {
	return slices.ContainsFunc(w.Groups, func(p api.Prediction) bool { return p.Bump != whatif.No })
}

// of are the groups of which that was predicted.
func (w *Whatif) of(bump whatif.Bump) (groups []*api.Prediction) {
	for i := range w.Groups {
		if w.Groups[i].Bump == bump {
			groups = append(groups, &w.Groups[i])
		}
	}
	return groups
}

// Text has the groups that rebalance for certain first.
func (w *Whatif) Text(t *cli.Text) {
	total := count(len(w.Groups)+w.Unaffected, "group", "groups")
	if certain := w.of(whatif.Certain); len(certain) > 0 {
		t.Printf("%s\n", t.Bold(fmt.Sprintf("%d of %s will rebalance:", len(certain), total)))
		t.Table("  ", predictionRows(t, certain))
	} else if w.Found() {
		t.Printf("%s\n", t.Bold("none of "+total+" is certain to rebalance"))
	} else {
		t.Printf("%s\n", t.Bold("none of "+total+" will rebalance"))
	}
	w.possible(t)
	if later := w.of(whatif.AtNextEvent); len(later) > 0 {
		t.Printf("\n%s\n", t.Yellow(fmt.Sprintf("%s later, when something else touches their topics or moves their coordinator:",
			count(len(later), "group will rebalance", "groups will rebalance"))))
		t.Table("  ", predictionRows(t, later))
	}
	if not := w.of(whatif.No); len(not) > 0 {
		t.Printf("\n%s, although the plan changes their topics:\n", count(len(not), "group will not rebalance", "groups will not rebalance"))
		t.Table("  ", predictionRows(t, not))
	}
	if w.Unaffected > 0 {
		t.Printf("\n%s not affected\n", count(w.Unaffected, "group is", "groups are"))
	}
}

// possible shows those that depend on when members heartbeat. Where many end as
// they began, they are summed up.
func (w *Whatif) possible(t *cli.Text) {
	groups := w.of(whatif.IfHeartbeatFallsInside)
	var back []*api.Prediction
	if !t.Wide {
		back = slices.DeleteFunc(slices.Clone(groups), func(p *api.Prediction) bool { return !endsAsItBegan(p) })
	}
	if len(back) > maxNamed {
		groups = slices.DeleteFunc(groups, endsAsItBegan)
	} else {
		back = nil
	}
	if len(groups) > 0 {
		t.Printf("\n%s a member heartbeats while it happens:\n", count(len(groups), "group will rebalance if", "groups will rebalance if"))
		t.Table("  ", predictionRows(t, groups))
	}
	if len(back) == 0 {
		return
	}
	most := 0
	var names []string
	for _, p := range back {
		most, names = max(most, p.Bumps.Max), append(names, p.Group)
	}
	t.Printf("\n%d groups read a topic in the plan and end with the hash they have, but rebalance %s if members heartbeat while it happens:\n  %s\n",
		len(back), times(api.Bumps{Max: most}), few(names))
}

func endsAsItBegan(p *api.Prediction) bool {
	return p.Final.Before != nil && p.Final.After != nil && *p.Final.Before == *p.Final.After
}

// predictionRows have a group, and a line for each reason.
func predictionRows(t *cli.Text, groups []*api.Prediction) (rows [][]string) {
	for _, p := range groups {
		why := p.Why
		if !t.Wide && len(why) > maxReasons {
			why = append(slices.Clone(why[:maxReasons]), fmt.Sprintf("and %s", count(len(p.Why)-maxReasons, "more reason", "more reasons")))
		}
		row := []string{cli.Name(p.Group), p.Type, times(p.Bumps), outcomeText(p), ""}
		for i, line := range why {
			if i > 0 {
				row = []string{"", "", "", "", ""}
			}
			row[4] = cli.Escape(line)
			rows = append(rows, row)
		}
		if len(why) == 0 {
			rows = append(rows, row)
		}
		if t.Wide {
			rows = append(rows, stepRows(p)...)
		}
	}
	return rows
}

// maxReasons is how many reasons are shown of a group, unless all are wanted.
const maxReasons = 3

// stepRows are the hashes on the way.
func stepRows(p *api.Prediction) (rows [][]string) {
	if p.Final.Reason != nil {
		rows = append(rows, []string{"", "", "", "", cli.Escape(*p.Final.Reason)})
	}
	for _, s := range p.Steps {
		rows = append(rows, []string{"", "", "", number(s.Hash), "after " + cli.Escape(s.After)})
	}
	return rows
}

// times says how often a group rebalances.
func times(b api.Bumps) string {
	switch {
	case b.Max == 0:
		return "never"
	case b.Min == 0 && b.Max == 1:
		return "once at most"
	case b.Min == 0 && b.Max == 2:
		return "up to twice"
	case b.Min == 0:
		return fmt.Sprintf("up to %d times", b.Max)
	case b.Min == b.Max && b.Max == 1:
		return "once"
	case b.Min == b.Max && b.Max == 2:
		return "twice"
	case b.Min == b.Max:
		return fmt.Sprintf("%d times", b.Max)
	}
	return fmt.Sprintf("%d–%d times", b.Min, b.Max)
}

// outcomeText says with which hash a group ends.
func outcomeText(p *api.Prediction) string {
	switch f := &p.Final; {
	case p.Bump == whatif.No:
		return "-"
	case f.After == nil && f.Before == nil:
		return "ends with a hash that is not known"
	case f.After == nil && p.Bump == whatif.Certain:
		return "ends with another hash, not known yet"
	case f.After == nil:
		return "may end with another hash"
	case endsAsItBegan(p):
		return "ends with the hash it has"
	}
	return "ends with another hash"
}
