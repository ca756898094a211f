package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kraftside/kraftside/internal/cli"
)

// Result is what a check came to.
type Result string

// The results, the worst first.
const (
	Fail    Result = "fail"
	Unknown Result = "unknown" // it could not be told
	Pass    Result = "pass"
)

// Check is a row of the report: what was seen of one or several brokers.
type Check struct {
	Check  string `json:"check"`
	Result Result `json:"result"`
	// Pods are the brokers' that it holds for; empty if it is not about some of them.
	Pods []string `json:"pods"`
	Seen string   `json:"seen"`
	// Todo is what to do about it; empty if nothing.
	Todo string `json:"todo,omitempty"`
}

// Preflight is what `preflight` prints.
type Preflight struct {
	Namespace string `json:"namespace"`
	Cluster   string `json:"cluster"`
	Flavour   string `json:"flavour"`
	// Brokers are the pods that were looked at.
	Brokers []string `json:"brokers"`
	// Checks has at least one row of each check, in a fixed order.
	Checks []Check `json:"checks"`

	title string
}

// finding is what one check says of one broker, or of all.
type finding struct {
	result Result
	seen   string
	todo   string
}

func passed(format string, args ...any) finding {
	return finding{Pass, fmt.Sprintf(format, args...), ""}
}

func refused(todo, format string, args ...any) finding {
	return finding{Fail, fmt.Sprintf(format, args...), todo}
}

func untold(todo, format string, args ...any) finding {
	return finding{Unknown, fmt.Sprintf(format, args...), todo}
}

// add adds what is not about single brokers.
func (p *Preflight) add(check string, f finding) {
	p.Checks = append(p.Checks, Check{Check: check, Result: f.result, Pods: []string{}, Seen: f.seen, Todo: f.todo})
}

// addEach adds what holds for each broker. Brokers of which the same is said share a row; the worst
// come first.
func (p *Preflight) addEach(check string, of func(i int) finding) {
	var rows []Check
	var keys []finding
	for i, name := range p.Brokers {
		f := of(i)
		key := f
		key.seen = strings.ReplaceAll(f.seen, name, "")
		at := slices.Index(keys, key)
		if at < 0 {
			keys = append(keys, key)
			rows = append(rows, Check{Check: check, Result: f.result, Seen: f.seen, Todo: f.todo})
			at = len(rows) - 1
		}
		rows[at].Pods = append(rows[at].Pods, name)
	}
	slices.SortStableFunc(rows, func(a, b Check) int {
		return slices.Index(worstFirst, a.Result) - slices.Index(worstFirst, b.Result)
	})
	p.Checks = append(p.Checks, rows...)
}

var worstFirst = []Result{Fail, Unknown, Pass}

// Worst is the worst result of all checks.
func (p *Preflight) Worst() Result {
	for _, r := range worstFirst {
		if p.count(r) > 0 {
			return r
		}
	}
	return Pass
}

func (p *Preflight) count(r Result) (n int) {
	for _, c := range p.Checks {
		if c.Result == r {
			n++
		}
	}
	return n
}

// Text is the conclusion, and a row for each check with what to do under it.
func (p *Preflight) Text(t *cli.Text) {
	var counts []string
	for _, r := range worstFirst {
		if n := p.count(r); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, r.text(t)))
		}
	}
	t.Printf("%s   %s in namespace %s   flavour %s   %s\n\n", p.title, cli.Count(len(p.Brokers), "broker"), cli.Name(p.Namespace), p.Flavour, strings.Join(counts, ", "))
	var rows [][]string
	for i := 0; i < len(p.Checks); i++ {
		c := p.Checks[i]
		seen := c.Seen
		if n := p.alike(i); n > 1 {
			var names []string
			for _, other := range p.Checks[i : i+n] {
				names = append(names, other.Check)
			}
			c.Check, seen = cli.Count(n, "check"), seen+": "+strings.Join(names, ", ")
			i += n - 1
		}
		if n := len(c.Pods); n > 0 && n < len(p.Brokers) {
			seen = some(c.Pods) + ": " + seen
		}
		rows = append(rows, []string{c.Result.text(t), c.Check, cli.Escape(seen)})
		if c.Todo != "" {
			rows = append(rows, []string{"", "", t.Dim("-> ") + cli.Escape(c.Todo)})
		}
	}
	t.Table("  ", rows)
}

// alike is how many checks, from one on, were not made for the same reason.
func (p *Preflight) alike(from int) int {
	n := 1
	for _, c := range p.Checks[from+1:] {
		first := p.Checks[from]
		if first.Result != Unknown || first.Todo != "" || c.Result != Unknown || c.Seen != first.Seen || !slices.Equal(c.Pods, first.Pods) {
			break
		}
		n++
	}
	return n
}

func (r Result) text(t *cli.Text) string {
	switch r {
	case Fail:
		return t.Red(string(r))
	case Unknown:
		return t.Yellow(string(r))
	}
	return t.Green(string(r))
}
