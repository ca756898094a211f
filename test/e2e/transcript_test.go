//go:build e2e && unix

package e2e

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/kraftside/kraftside/web/api"
)

// transcript is what must be the same of rebalances each time that a scene is
// played: no offsets, times and ids that Kafka makes up.
func (s *scene) transcript(all []api.Rebalance) string {
	if len(all) == 0 {
		return "no rebalance\n"
	}
	var b strings.Builder
	for i := range all {
		s.tell(&b, &all[i])
	}
	return b.String()
}

func (s *scene) tell(b *strings.Builder, r *api.Rebalance) {
	fmt.Fprintf(b, "%s epoch %d after %d\n", r.Type, r.Epoch, r.PreviousEpoch)
	names := s.labels(r)
	for i := range r.Causes {
		s.tellCause(b, &r.Causes[i], names)
	}
	if h := r.Hash; h != nil {
		change := "first"
		switch {
		case h.Before != nil && *h.Before == h.After:
			change = "kept"
		case h.Before != nil:
			change = "changed"
		}
		fmt.Fprintf(b, "  hash %s, %s\n", change, h.Verdict)
	}
	if r.CompletedAt == nil && r.SupersededBy == nil {
		b.WriteString("  open\n")
		for _, m := range r.Members {
			for _, w := range m.WaitedFor {
				fmt.Fprintf(b, "    %s waits for %s: %s\n", names.Replace(m.MemberID), names.Replace(w.MemberID), s.anonymous(fmt.Sprint(w.Partitions)))
			}
		}
	}
}

func (s *scene) tellCause(b *strings.Builder, c *api.Cause, names *strings.Replacer) {
	fmt.Fprintf(b, "  %s %s", c.Confidence, c.Kind)
	if c.Field != nil {
		fmt.Fprintf(b, " %s", *c.Field)
	}
	if c.Topic != nil {
		fmt.Fprintf(b, " of %s", *c.Topic)
	}
	if c.Partition != nil {
		fmt.Fprintf(b, " partition %d", *c.Partition)
	}
	if c.MemberID != nil {
		fmt.Fprintf(b, " of member %s", *c.MemberID)
	}
	switch {
	case c.Field != nil && *c.Field == "id": // they are made up by Kafka
	case len(c.Before)+len(c.After) > 0:
		fmt.Fprintf(b, ": %v -> %v", c.Before, c.After)
	}
	b.WriteString("\n")
	if c.Reason != nil {
		fmt.Fprintf(b, "    because %s\n", measured.ReplaceAllString(*c.Reason, "$1 some"))
	}
	fmt.Fprintf(b, "    by %s\n", records(c.Evidence))
	if t := c.Trigger; t != nil {
		fmt.Fprintf(b, "    set off by %s: %s\n", t.Kind, records(t.Evidence))
	}
	text := names.Replace(b.String())
	b.Reset()
	b.WriteString(s.anonymous(text))
}

// measured is a time that differs from run to run.
var measured = regexp.MustCompile(`(was alive|sign of it is|its partitions for|coordinator moved) [0-9.]+`)

func records(all []api.Evidence) string {
	var names []string
	for _, e := range all {
		name := e.Record
		if e.Detail != nil && *e.Detail == "tombstone" {
			name += " (tombstone)"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// labels gives members the ids of their clients: those of real clients are
// random.
func (s *scene) labels(r *api.Rebalance) *strings.Replacer {
	var pairs []string
	for _, m := range r.Members {
		if len(m.MemberID) > 20 {
			pairs = append(pairs, m.MemberID, m.ClientID)
		}
	}
	return strings.NewReplacer(pairs...)
}

// anonymous leaves out the scene's name.
func (s *scene) anonymous(text string) string { return strings.ReplaceAll(text, s.name+"-", "") }
