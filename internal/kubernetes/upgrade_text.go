package kubernetes

import (
	"fmt"
	"strings"

	"github.com/kraftside/kraftside/internal/cli"
)

// Text is the conclusion, a row for each pod, and what is left to do.
func (u *Upgrade) Text(t *cli.Text) {
	var counts []string
	for _, o := range []Outcome{Upgraded, HasIt, PassedOver, PutBack, Unsettled, NotReached} {
		if n := u.count(o); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, o.text(t, u.DryRun)))
		}
	}
	t.Printf("%s   %s in namespace %s   %s\n\n", u.title, cli.Count(len(u.Pods), "broker"), cli.Name(u.Namespace), strings.Join(counts, ", "))
	var rows [][]string
	for _, p := range u.Pods {
		image := p.Image
		if image == "" {
			image = "-"
		}
		rows = append(rows, []string{p.Outcome.text(t, u.DryRun), cli.Name(p.Pod), cli.Escape(image), cli.Escape(p.Why)})
	}
	t.Table("  ", rows)
	t.Printf("\n%s\n", u.rest())
}

// rest is what the command does not do.
func (u *Upgrade) rest() string {
	if u.DryRun {
		return "Nothing was changed: the API server has only checked it."
	}
	return "Set the image of the chart to " + cli.Name(u.Image) + " too: a pod that is made anew has the chart's image, whatever it had before."
}

func (o Outcome) text(t *cli.Text, dry bool) string {
	switch o {
	case Upgraded:
		if dry {
			return t.Green("would be upgraded")
		}
		return t.Green("upgraded")
	case HasIt:
		return t.Green("has it already")
	case PassedOver:
		return t.Yellow("passed over")
	case PutBack:
		return t.Red("put back")
	case Unsettled:
		return t.Red("unsettled")
	}
	return t.Yellow("not reached")
}
