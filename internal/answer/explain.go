package answer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/web/api"
)

// Explanation is why a group rebalanced.
type Explanation struct {
	Group      string          `json:"group"`
	Rebalances []api.Rebalance `json:"rebalances"` // newest first
	Gaps       []api.Gap       `json:"gaps"`
	Scope
	// Now is the group as it is; nil if it is gone.
	Now *api.Group `json:"-"`
}

// Text has the newest rebalance first.
func (e *Explanation) Text(t *cli.Text) {
	if e.Now != nil {
		head(t, e.Now)
	} else {
		t.Printf("%s   the group is gone\n", t.Bold(cli.Name(e.Group)))
	}
	if len(e.Rebalances) == 0 {
		t.Printf("\nno rebalance of it is known here\n")
	}
	for i := range e.Rebalances {
		r := &e.Rebalances[i]
		t.Printf("\n%s\n", rebalanceHead(t, r))
		t.Table("  ", rebalanceFacts(t, r))
	}
	for _, g := range e.Gaps {
		t.Printf("\n%s\n", gapText(t, &g))
	}
}

func gapText(t *cli.Text, g *api.Gap) string {
	return t.Yellow(fmt.Sprintf("epochs %d to %d were not seen", g.FromEpoch, g.ToEpoch))
}

// head is the first line about a group.
func head(t *cli.Text, g *api.Group) {
	coordinator := "no coordinator"
	if g.Coordinator != nil {
		coordinator = "coordinator: " + broker(g.Coordinator)
	}
	t.Printf("%s   %s group   %s   epoch %d   %s, %s\n", t.Bold(cli.Name(g.Group)), cli.Name(g.Type), coordinator, g.Epoch,
		state(t, g.State), count(len(g.Members), "member", "members"))
}

// epochWord is what Kafka calls the number that a rebalance raises.
func epochWord(r *api.Rebalance) string {
	if r.Type == "classic" {
		return "generation"
	}
	return "epoch"
}

func rebalanceHead(t *cli.Text, r *api.Rebalance) string {
	at := t.Format(int64(r.StartedAt))
	if ago := age(t, r); ago >= 0 {
		at += " (" + span(ago) + " ago)"
	}
	line := fmt.Sprintf("%s   %s", t.Bold(fmt.Sprintf("%s %d", epochWord(r), r.Epoch)), at)
	if text := outcome(t, r); text != "" {
		line += "   " + text
	}
	if r.TargetAt == nil {
		return line
	}
	if r.Moved == 0 {
		return line + "   no partition moved"
	}
	return line + "   " + count(r.Moved, "partition", "partitions") + " moved"
}

// age is negative if the clock that a rebalance is timed by is ahead.
func age(t *cli.Text, r *api.Rebalance) time.Duration {
	return t.Now.Sub(time.UnixMilli(int64(r.StartedAt)))
}

// outcome says how long a rebalance took, or that it is not over. Of a classic
// group, whose log tells its end alone, it says nothing.
func outcome(t *cli.Text, r *api.Rebalance) string {
	switch {
	case r.SupersededBy != nil:
		return fmt.Sprintf("%s %d came before it was done", epochWord(r), *r.SupersededBy)
	case r.CompletedAt == nil && age(t, r) >= 0:
		return t.Yellow("open for " + span(age(t, r)))
	case r.CompletedAt == nil:
		return t.Yellow("open")
	case r.Type == "classic" || r.DurationMs == nil:
		return ""
	}
	return "took " + span(time.Duration(*r.DurationMs)*time.Millisecond)
}

// rows are lines with a label in front of the first of them.
type rows [][]string

func (r *rows) add(label string, lines ...string) {
	for i, line := range lines {
		if i > 0 {
			label = ""
		}
		*r = append(*r, []string{label, line})
	}
}

func rebalanceFacts(t *cli.Text, r *api.Rebalance) [][]string {
	var out rows
	if r.CompletedAt == nil && r.SupersededBy == nil {
		out.add("waiting", waitingLines(r)...)
	}
	if !r.Settled {
		out.add("why", t.Yellow("not known yet: the metadata log has to be read further"))
	}
	for i := 0; i < len(r.Causes); {
		alike := alike(r.Causes[i:])
		label := "why"
		if i > 0 {
			label = "and"
		}
		out.add(label, causeLines(t, alike)...)
		if trigger := alike[0].Trigger; trigger != nil {
			out.add("set off", triggerLines(t, trigger)...)
		}
		i += len(alike)
	}
	if r.MoreCauses > 0 {
		out.add("and", count(r.MoreCauses, "more cause", "more causes"))
	}
	if h := r.Hash; h != nil {
		out.add("hash", hashText(h))
	}
	if line := membersText(r); line != "" {
		out.add("members", line)
	}
	if r.TraceID != nil {
		out.add("trace", cli.Name(*r.TraceID))
	}
	return out
}

// alike are the first causes that say the same of several partitions.
func alike(causes []api.Cause) []api.Cause {
	n := 1
	for n < len(causes) && causes[n].Partition != nil && causes[n].Summary == causes[0].Summary {
		n++
	}
	return causes[:n]
}

// causeLines are the sentence, what changed, and the records.
func causeLines(t *cli.Text, causes []api.Cause) []string {
	first := &causes[0]
	sentence := cli.Escape(first.Summary)
	if first.Confidence == "likely" {
		sentence += " " + t.Yellow("(likely)")
	}
	lines := []string{sentence}
	if first.Reason != nil {
		lines = append(lines, "  "+cli.Escape(*first.Reason))
	}
	for i := range causes[:min(len(causes), maxNamed)] {
		if change := changeText(&causes[i]); change != "" {
			lines = append(lines, "  "+change)
		}
	}
	if more := len(causes) - maxNamed; more > 0 {
		lines = append(lines, fmt.Sprintf("  and %s", count(more, "more partition", "more partitions")))
	}
	return append(lines, evidenceLines(t, first.Evidence)...)
}

func changeText(c *api.Cause) string {
	if len(c.Before)+len(c.After) == 0 || c.Kind == "metadata" && c.Partition == nil {
		return "" // the sentence says it
	}
	change := orDash(few(c.Before)) + "  ->  " + orDash(few(c.After))
	if c.Partition != nil {
		return fmt.Sprintf("partition %d   %s", *c.Partition, change)
	}
	return change
}

// maxRecords is how many records are shown of a cause, unless all are wanted.
const maxRecords = 3

// evidenceLines are the records: those of the metadata log, where there are
// any, and else the first ones; in wide text all of them.
func evidenceLines(t *cli.Text, all []api.Evidence) (lines []string) {
	shown := slices.Clone(all)
	if !t.Wide {
		shown = slices.DeleteFunc(shown, func(e api.Evidence) bool { return e.Log != "metadata" })
		if len(shown) == 0 {
			shown = all[:min(len(all), 1)]
		}
	}
	for i := range shown {
		if i == maxRecords && !t.Wide {
			lines = append(lines, t.Dim(fmt.Sprintf("and %s", count(len(shown)-i, "more record", "more records"))))
			break
		}
		lines = append(lines, t.Dim(evidenceText(t, &shown[i])))
	}
	return lines
}

func evidenceText(t *cli.Text, e *api.Evidence) string {
	s := fmt.Sprintf("%s, %s offset %d", cli.Name(e.Record), cli.Name(e.Log), e.Offset)
	if e.Timestamp != nil {
		s += ", " + t.Format(int64(*e.Timestamp))
	}
	return s
}

func triggerLines(t *cli.Text, trigger *api.Trigger) []string {
	return append([]string{cli.Escape(trigger.Summary)}, evidenceLines(t, trigger.Evidence)...)
}

func hashText(h *api.HashChange) string {
	before := "none"
	if h.Before != nil {
		before = number(h.Before)
	}
	text := fmt.Sprintf("%s  ->  %s", before, number(&h.After))
	if h.Before != nil && *h.Before == h.After {
		text = number(&h.After) + ", as before"
	}
	switch {
	case h.Computed == nil:
		return text
	case *h.Computed == h.After:
		return text + " (we compute the same)"
	}
	text += fmt.Sprintf(" (we compute %s: %s", number(h.Computed), cli.Name(string(h.Verdict)))
	if h.Reason != nil {
		text += ", " + cli.Name(*h.Reason)
	}
	return text + ")"
}

// membersText sums up what the rebalance brought to whom.
func membersText(r *api.Rebalance) string {
	if r.TargetAt == nil || r.Type == "classic" {
		return ""
	}
	staying, kept := 0, 0
	var slowest *api.RebalanceMember
	for i := range r.Members {
		m := &r.Members[i]
		if m.After == nil {
			continue
		}
		staying++
		if m.Before != nil && partitions(*m.Before) == partitions(*m.After) {
			kept++
		}
		if m.DurationMs != nil && (slowest == nil || *m.DurationMs > *slowest.DurationMs) {
			slowest = m
		}
	}
	var text string
	switch {
	case staying == 0:
		return "none is left"
	case staying == 1 && kept == 1:
		text = "its member kept its partitions"
	case staying == 1:
		text = "its member got other partitions"
	case staying == 2 && kept == 2:
		text = "both kept their partitions"
	case kept == staying:
		text = fmt.Sprintf("all %d kept their partitions", staying)
	default:
		text = fmt.Sprintf("%d of %d got other partitions", staying-kept, staying)
	}
	if slowest != nil && *slowest.DurationMs > 0 {
		text += fmt.Sprintf("; slowest %s after %s", cli.Name(slowest.MemberID), span(time.Duration(*slowest.DurationMs)*time.Millisecond))
	}
	return text
}

// waitingLines say who has yet to do what.
func waitingLines(r *api.Rebalance) []string {
	if r.TargetAt == nil {
		return []string{"for a target assignment"}
	}
	done, staying := 0, 0
	var lines []string
	for i := range r.Members {
		m := &r.Members[i]
		switch {
		case m.After == nil:
			continue
		case m.ReconciledAt != nil:
			done++
		case len(m.WaitedFor) > 0:
			for _, w := range m.WaitedFor {
				lines = append(lines, fmt.Sprintf("for %s to release %s, which %s is to get",
					memberText(r, w.MemberID), partitions(w.Partitions), cli.Name(m.MemberID)))
			}
		}
		staying++
	}
	if len(lines) == 0 {
		for i := range r.Members {
			if m := &r.Members[i]; m.After != nil && m.ReconciledAt == nil {
				lines = append(lines, "for "+memberText(r, m.MemberID))
			}
		}
	}
	if more := len(lines) - maxNamed; more > 0 {
		lines = append(lines[:maxNamed], fmt.Sprintf("and for %d others", more))
	}
	if len(lines) > 0 {
		lines[len(lines)-1] += fmt.Sprintf("; %d of %d members are done", done, staying)
	}
	return lines
}

// memberText is a member with the host that it is on.
func memberText(r *api.Rebalance, id string) string {
	for i := range r.Members {
		if m := &r.Members[i]; m.MemberID == id && strings.Trim(m.ClientHost, "/") != "" {
			return fmt.Sprintf("%s (host %s)", cli.Name(id), host(m.ClientHost))
		}
	}
	return cli.Name(id)
}
