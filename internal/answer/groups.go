package answer

import (
	"strconv"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/web/api"
)

// Groups is what `groups` prints.
type Groups struct {
	Groups []api.Group `json:"groups"`
	Scope
}

// Text is a table, a line a group.
func (a *Groups) Text(t *cli.Text) {
	if len(a.Groups) == 0 {
		t.Printf("no groups\n")
		return
	}
	head := []string{"GROUP", "TYPE", "STATE", "MEMBERS", "EPOCH", "COORDINATOR", "VERDICT"}
	if t.Wide {
		head = append(head, "STORED", "COMPUTED", "PARTITION", "TOPICS")
	}
	rows := [][]string{bold(t, head)}
	for i := range a.Groups {
		rows = append(rows, groupRow(t, &a.Groups[i]))
	}
	t.Table("", rows)
}

func bold(t *cli.Text, cells []string) []string {
	for i := range cells {
		cells[i] = t.Bold(cells[i])
	}
	return cells
}

func groupRow(t *cli.Text, g *api.Group) []string {
	h := &g.MetadataHash
	row := []string{
		cli.Name(g.Group), cli.Name(g.Type), state(t, g.State), strconv.Itoa(len(g.Members)), strconv.Itoa(int(g.Epoch)),
		broker(g.Coordinator), colored(t, h.Verdict),
	}
	if t.Wide {
		row[6] = short(t, h)
		row = append(row, number(h.Stored), number(h.Computed), strconv.Itoa(int(g.OffsetsPartition)), orDash(names(g.SubscribedTopics)))
	}
	return row
}

// state sets off the states in which a group does not do its work.
func state(t *cli.Text, s string) string {
	switch s {
	case "Stable":
		return s
	case "Empty":
		return t.Dim(s)
	}
	return t.Yellow(cli.Name(s))
}
