package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/web/api"
)

// History is how the metadata changed and which groups rebalanced, in the order
// of time.
type History struct {
	Events []Event   `json:"events"` // oldest first
	Gaps   []api.Gap `json:"gaps"`   // of one group, if it is about one
	Scope
	// Period says of which time they are, as the end of a sentence.
	Period string `json:"-"`
}

// Event is a change or a rebalance.
type Event struct {
	At        api.Time       `json:"at"`
	Change    *api.Change    `json:"change,omitempty"`
	Rebalance *api.Rebalance `json:"rebalance,omitempty"`
}

// NewHistory puts changes and rebalances in order.
func NewHistory(changes []api.Change, rebalances []api.Rebalance, period string, s Scope) *History {
	h := &History{Events: []Event{}, Gaps: []api.Gap{}, Scope: s, Period: period}
	for i := range changes {
		h.Events = append(h.Events, Event{At: changes[i].Timestamp, Change: &changes[i]})
	}
	for i := range rebalances {
		h.Events = append(h.Events, Event{At: rebalances[i].StartedAt, Rebalance: &rebalances[i]})
	}
	slices.SortFunc(h.Events, compareEvents)
	return h
}

// compareEvents orders them by time. Clocks differ, and of what seems to have
// happened at once a change comes before what it set off.
func compareEvents(a, b Event) int {
	if order := cmp.Compare(a.At, b.At); order != 0 {
		return order
	}
	switch {
	case a.Change != nil && b.Change != nil:
		return cmp.Compare(a.Change.Offset, b.Change.Offset)
	case a.Rebalance != nil && b.Rebalance != nil:
		return -api.NewestFirst(a.Rebalance, b.Rebalance)
	case a.Change != nil:
		return -1
	}
	return 1
}

// How much is shown unless all is wanted.
const (
	maxEvents = 100
	maxThings = 3 // of one change
)

// Text has a line for each event, and beneath it what belongs to it; the newest
// is the last one.
func (h *History) Text(t *cli.Text) {
	if len(h.Events) == 0 {
		t.Printf("nothing happened %s\n", h.Period)
		return
	}
	shown := h.Events
	if most := maxEvents; !t.Wide && len(shown) > most {
		shown = shown[len(shown)-most:]
		t.Printf("%s\n", t.Dim(fmt.Sprintf("%s before, which -o wide shows", count(len(h.Events)-most, "event", "events"))))
	}
	h.lines(t, shown)
	for _, g := range h.Gaps {
		t.Printf("%s\n", gapText(t, &g))
	}
}

func (h *History) lines(t *cli.Text, events []Event) {
	for i := range events {
		if e := &events[i]; e.Change != nil {
			changeLines(t, e.Change)
		} else {
			rebalanceLine(t, e.Rebalance)
		}
	}
}

// line is one of the timeline: when, which record says so, and what it is.
func line(t *cli.Text, at api.Time, where, what string) {
	t.Printf("%s  %s  %s\n", t.Format(int64(at)), t.Dim(fmt.Sprintf("%-16s", where)), what)
}

// beneath is a line that belongs to the one before.
func beneath(t *cli.Text, at api.Time, what string) {
	t.Printf("%*s  %16s    %s\n", len(t.Format(int64(at))), "", "", what)
}

func changeLines(t *cli.Text, c *api.Change) {
	shown := c.Changes
	if !t.Wide {
		shown = shown[:min(len(shown), maxThings)]
	}
	for i := range shown {
		text := cli.Escape(shown[i].Summary)
		if i > 0 {
			beneath(t, c.Timestamp, text)
			continue
		}
		if c.Snapshot {
			text = fmt.Sprintf("at some time since offset %d: %s", c.FromOffset, text)
		}
		line(t, c.Timestamp, fmt.Sprintf("metadata %d", c.Offset), text)
	}
	if more := len(c.Changes) - len(shown) + c.MoreChanges; more > 0 {
		beneath(t, c.Timestamp, t.Dim(fmt.Sprintf("and %d more", more)))
	}
	if text := setOffText(t, c.Rebalances); text != "" {
		beneath(t, c.Timestamp, t.Yellow("set off")+" "+text)
	}
}

// setOffText names the groups that a change set off.
func setOffText(t *cli.Text, list []api.SetOff) string {
	var groups []string
	for i := range list {
		if !slices.Contains(groups, list[i].Group) {
			groups = append(groups, list[i].Group)
		}
	}
	if len(groups) == 0 {
		return ""
	}
	return count(len(groups), "group", "groups") + ": " + some(t, groups)
}

func rebalanceLine(t *cli.Text, r *api.Rebalance) {
	what := fmt.Sprintf("%s  %s %d", t.Bold(cli.Name(r.Group)), epochWord(r), r.Epoch)
	if text := outcome(t, r); text != "" {
		what += "  " + text
	}
	line(t, r.StartedAt, whereText(r), what)
	if !r.Settled {
		beneath(t, r.StartedAt, t.Yellow("not known yet why"))
		return
	}
	var told []string
	for i := range r.Causes {
		c := &r.Causes[i]
		if slices.Contains(told, c.Summary) || len(told) == maxThings && !t.Wide {
			continue // it is told, of another partition
		}
		told = append(told, c.Summary)
		text := cli.Escape(c.Summary)
		if c.Confidence == "likely" {
			text += t.Yellow(" (likely)")
		}
		beneath(t, r.StartedAt, text)
		if c.Trigger != nil {
			beneath(t, r.StartedAt, "  set off when "+cli.Escape(c.Trigger.Summary))
		}
	}
}

// whereText is the record of a bump, which its id ends in.
func whereText(r *api.Rebalance) string {
	parts := strings.Split(r.ID, "/")
	if len(parts) < 2 {
		return ""
	}
	return cli.Escape("offsets-" + strings.Join(parts[len(parts)-2:], " "))
}

// Followed tells what of a history is new, each time that it was asked for. It
// belongs to one goroutine.
type Followed struct{ seen map[string]bool }

// New is what was not told before: changes, rebalances once it is known why
// they came, and again when they are over.
func (f *Followed) New(h *History) *History {
	now, fresh := make(map[string]bool), *h
	fresh.Events, fresh.Gaps = []Event{}, []api.Gap{}
	for _, e := range h.Events {
		key := eventKey(&e)
		now[key] = true
		if f.seen == nil || key != "" && !f.seen[key] {
			fresh.Events = append(fresh.Events, e)
		}
	}
	f.seen = now
	return &fresh
}

// eventKey is empty for what is to be told later.
func eventKey(e *Event) string {
	r := e.Rebalance
	switch {
	case r == nil:
		return fmt.Sprint(e.Change.Offset)
	case !r.Settled:
		return ""
	}
	return fmt.Sprint(r.ID, r.CompletedAt != nil || r.SupersededBy != nil)
}

// Show prints what is new of a history, if anything is.
func (f *Followed) Show(out *cli.Output, h *History) error {
	fresh := f.New(h)
	if len(fresh.Events) == 0 {
		return nil
	}
	out.Clock.Now = out.Now()
	return out.Print(fresh, func(t *cli.Text) { fresh.lines(t, fresh.Events) })
}
