package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/topichash"
	"github.com/kraftside/kraftside/web/api"
)

// Verify is what `verify` prints.
type Verify struct {
	// Groups are those whose verdict is neither match nor none.
	Groups []api.Group `json:"groups"`
	// Verdicts counts the groups by verdict, those with match and none too.
	Verdicts map[topichash.Verdict]int `json:"verdicts"`
	Scope
}

// NewVerify makes it of the groups that disagree and of the counts of all. The
// two may be of different moments; of those that disagree the groups count.
func NewVerify(groups []api.Group, counts map[topichash.Verdict]int, s Scope) *Verify {
	v := &Verify{Groups: groups, Verdicts: make(map[topichash.Verdict]int), Scope: s}
	for _, agrees := range []topichash.Verdict{topichash.Match, topichash.None} {
		if n := counts[agrees]; n > 0 {
			v.Verdicts[agrees] = n
		}
	}
	for i := range groups {
		v.Verdicts[groups[i].MetadataHash.Verdict]++
	}
	return v
}

// Has says whether a group has one of the verdicts.
func (v *Verify) Has(verdicts []topichash.Verdict) bool {
	return slices.ContainsFunc(verdicts, func(one topichash.Verdict) bool { return v.Verdicts[one] > 0 })
}

// severity is the order in which verdicts are listed.
var severity = []topichash.Verdict{topichash.Drift, topichash.Stale, topichash.Pending, topichash.Unknown, topichash.Match, topichash.None}

// Text is the conclusion, then what disagrees: what it means, and which groups
// it is about, the worst first.
func (v *Verify) Text(t *cli.Text) {
	t.Printf("%s\n", v.conclusion(t))
	groups := make([]*api.Group, len(v.Groups))
	for i := range v.Groups {
		groups[i] = &v.Groups[i]
	}
	slices.SortStableFunc(groups, func(a, b *api.Group) int {
		return cmp.Or(
			cmp.Compare(slices.Index(severity, a.MetadataHash.Verdict), slices.Index(severity, b.MetadataHash.Verdict)),
			strings.Compare(reason(a), reason(b)),
		)
	})
	for len(groups) > 0 {
		n := 1
		for n < len(groups) && groups[n].MetadataHash.Verdict == groups[0].MetadataHash.Verdict && reason(groups[n]) == reason(groups[0]) {
			n++
		}
		section(t, groups[:n])
		groups = groups[n:]
	}
}

func reason(g *api.Group) string {
	if r := g.MetadataHash.Reason; r != nil {
		return *r
	}
	return ""
}

// section is about the groups with the same verdict, for the same reason.
func section(t *cli.Text, groups []*api.Group) {
	h := &groups[0].MetadataHash
	means, outcome := meaning(h, "one of its topics")
	t.Printf("\n%s: %s\n", colored(t, h.Verdict), means)
	if outcome != "" {
		t.Printf("%s\n", outcome)
	}
	head := []string{"GROUP", "TYPE", "COORDINATOR", "EPOCH", "STORED", "COMPUTED"}
	if h.Since != nil {
		head = append(head, "SINCE")
	}
	rows := [][]string{bold(t, append(head, "TOPICS"))}
	for _, g := range groups {
		own := &g.MetadataHash
		row := []string{
			cli.Name(g.Group), cli.Name(g.Type), broker(g.Coordinator), strconv.Itoa(int(g.Epoch)), number(own.Stored), number(own.Computed),
		}
		if h.Since != nil {
			row = append(row, sinceText(t, own.Since))
		}
		rows = append(rows, append(row, orDash(few(g.SubscribedTopics))))
	}
	t.Table("  ", rows)
}

func sinceText(t *cli.Text, since *api.Time) string {
	if since == nil {
		return "-"
	}
	return t.Format(int64(*since))
}

func (v *Verify) conclusion(t *cli.Text) string {
	agree, all := v.Verdicts[topichash.Match], v.Verdicts[topichash.Match]+len(v.Groups)
	without := ""
	if n := v.Verdicts[topichash.None]; n > 0 {
		without = "; " + count(n, "group has none", "groups have none")
	}
	partial := ""
	if len(v.Missing)+len(v.Loading) > 0 {
		partial = " that could be seen"
	}
	switch {
	case all == 0:
		return "no group" + partial + " has a hash to compare"
	case len(v.Groups) == 0 && all == 1:
		return t.Green("the one hash" + partial + " agrees" + without)
	case len(v.Groups) == 0:
		return t.Green(fmt.Sprintf("all %d hashes%s agree%s", all, partial, without))
	}
	var found []string
	for _, verdict := range severity[:4] {
		if n := v.Verdicts[verdict]; n > 0 {
			found = append(found, fmt.Sprintf("%d %s", n, colored(t, verdict)))
		}
	}
	verb := "agree"
	if agree == 1 || all == 1 {
		verb = "agrees"
	}
	return fmt.Sprintf("%d of %s%s %s: %s%s", agree, count(all, "hash", "hashes"), partial, verb, strings.Join(found, ", "), without)
}
