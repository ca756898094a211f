package answer

import (
	"fmt"
	"slices"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/web/api"
)

// How much of what is shown unless all is wanted.
const (
	maxChanges = 10
	maxRows    = 20 // of one change
)

// Text has the newest change first.
func (b *ByCause) Text(t *cli.Text) {
	var all []api.Rebalance
	for i := range b.Changes {
		all = append(all, b.Changes[i].Rebalances...)
	}
	for i := range b.Others {
		all = append(all, b.Others[i].Rebalances...)
	}
	if len(all) == 0 {
		t.Printf("no rebalance %s\n", b.Period)
		return
	}
	t.Printf("%s %s\n", t.Bold(countsText(all)), b.Period)
	shown := b.Changes
	if !t.Wide {
		shown = shown[:min(len(shown), maxChanges)]
	}
	for i := range shown {
		shown[i].text(t)
	}
	if more := len(b.Changes) - len(shown); more > 0 {
		t.Printf("\n%s\n", t.Dim(fmt.Sprintf("and %s, which -o wide shows", count(more, "older change", "older changes"))))
	}
	if len(b.Others) > 0 {
		t.Printf("\n")
		t.Table("", b.otherRows(t))
	}
}

// countsText says how many rebalances there are, of how many groups.
func countsText(list []api.Rebalance) string {
	return count(len(list), "rebalance", "rebalances") + " of " + count(len(groupsOf(list)), "group", "groups")
}

func (c *Change) text(t *cli.Text) {
	t.Printf("\n%s\n", t.Bold(cli.Escape(c.Cause.Summary)))
	if others := c.otherTopics(); len(others) == 1 {
		t.Printf("  also topic %s\n", cli.Name(others[0]))
	} else if len(others) > 1 {
		t.Printf("  also topics %s\n", some(t, others))
	}
	t.Printf("%s\n", t.Dim(evidenceText(t, &c.Cause.Record)))
	t.Printf("%s\n", countsText(c.Rebalances))
	shown := c.Rebalances
	if !t.Wide {
		shown = shown[:min(len(shown), maxRows)]
	}
	var rows [][]string
	for i := range shown {
		rows = append(rows, causedRow(t, &shown[i]))
	}
	t.Table("  ", rows)
	if more := len(c.Rebalances) - len(shown); more > 0 {
		t.Printf("  %s\n", t.Dim(fmt.Sprintf("and %d more", more)))
	}
}

// otherTopics are those that the summary is not about.
func (c *Change) otherTopics() []string {
	i := slices.IndexFunc(c.Rebalances, func(r api.Rebalance) bool { return r.Causes[0].Summary == c.Cause.Summary })
	named := c.Rebalances[i].Causes[0].Topic
	return slices.DeleteFunc(slices.Clone(c.Cause.Topics), func(topic string) bool { return named != nil && topic == *named })
}

// some is a list of names, in wide text all of them.
func some(t *cli.Text, list []string) string {
	if t.Wide {
		return names(list)
	}
	return few(list)
}

// causedRow is one rebalance, without what is said of its cause anyway.
func causedRow(t *cli.Text, r *api.Rebalance) []string {
	first := &r.Causes[0]
	row := []string{cli.Name(r.Group), fmt.Sprintf("%s %d", epochWord(r), r.Epoch), t.Format(int64(r.StartedAt)), outcome(t, r)}
	note := ""
	if first.Confidence == "likely" {
		note = t.Yellow("(likely)")
	}
	if first.Trigger != nil {
		if note != "" {
			note += " "
		}
		note += "set off: " + cli.Escape(first.Trigger.Summary)
	}
	return append(row, note)
}

// otherRows are the causes that are not of the metadata log, a line a kind.
func (b *ByCause) otherRows(t *cli.Text) (rows [][]string) {
	for i := range b.Others {
		o := &b.Others[i]
		kind := cli.Name(o.Kind)
		if o.Kind == Unsettled {
			kind = t.Yellow("not known yet")
		}
		rows = append(rows, []string{kind, countsText(o.Rebalances), some(t, groupsOf(o.Rebalances))})
	}
	return rows
}
