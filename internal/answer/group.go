package answer

import (
	"fmt"
	"strings"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/topichash"
	"github.com/kraftside/kraftside/web/api"
)

// Details is the text of one group: how it stands, its hash, its members.
func (a *Groups) Details(t *cli.Text) {
	for i := range a.Groups {
		details(t, &a.Groups[i])
	}
}

func details(t *cli.Text, g *api.Group) {
	head(t, g)
	t.Printf("\n")
	t.Table("", facts(t, g))
	members(t, g)
}

// facts are the lines between the head and the members.
func facts(t *cli.Text, g *api.Group) (rows [][]string) {
	add := func(label string, lines ...string) {
		for i, line := range lines {
			if i > 0 {
				label = ""
			}
			rows = append(rows, []string{label, line})
		}
	}
	add("hash", hashLines(g)...)
	add("verdict", verdictLines(t, g)...)
	if len(g.SubscribedTopics) > 0 {
		add("topics", names(g.SubscribedTopics))
	}
	for i := range g.Regexes {
		r := &g.Regexes[i]
		add("regex", fmt.Sprintf("%s  ->  %s   resolved at metadata offset %s", cli.Name(r.Expression), orDash(names(r.Topics)), number(r.MetadataOffset)))
	}
	if g.AssignmentEpoch != g.Epoch && g.AssignmentEpoch >= 0 {
		add("assignment", fmt.Sprintf("of epoch %d, that of epoch %d is not made yet", g.AssignmentEpoch, g.Epoch))
	}
	add("assignor", assignor(g)...)
	if label, line := ofType(g); label != "" {
		add(label, line)
	}
	if a := g.Anomalies; a != nil {
		add("anomalies", t.Yellow(fmt.Sprintf("%d; last one at offset %s: %s", a.Count, number(a.Last.Offset), cli.Escape(a.Last.Reason))))
	}
	add("read up to", fmt.Sprintf("metadata offset %s, offset %s of partition %d of %s",
		number(g.ReadAt.MetadataOffset), number(g.ReadAt.Offset), g.OffsetsPartition, kafka.OffsetsTopic))
	return rows
}

func verdictLines(t *cli.Text, g *api.Group) []string {
	h := &g.MetadataHash
	if h.Verdict == topichash.None {
		return []string{dated(t, h) + ": " + noHash(g)}
	}
	means, outcome := meaning(h, either(g.SubscribedTopics))
	lines := []string{dated(t, h) + ": " + means}
	if outcome != "" {
		lines = append(lines, outcome)
	}
	return lines
}

func hashLines(g *api.Group) []string {
	h := &g.MetadataHash
	switch {
	case h.Stored == nil && h.Computed == nil:
		return []string{"none"}
	case h.Stored == nil:
		return []string{"none stored", computed(h)}
	case h.Computed == nil:
		return []string{stored(h)}
	case *h.Stored == *h.Computed:
		return []string{stored(h) + " (we compute the same)"}
	}
	return []string{stored(h), computed(h)}
}

func stored(h *api.MetadataHash) string {
	return fmt.Sprintf("%s stored at epoch %s", number(h.Stored), number(h.StoredAtEpoch))
}

func computed(h *api.MetadataHash) string {
	return fmt.Sprintf("%s computed at metadata offset %s", number(h.Computed), number(h.ComputedAtOffset))
}

func assignor(g *api.Group) []string {
	if g.Assignor == nil {
		return nil
	}
	return []string{cli.Name(*g.Assignor)}
}

// ofType is what only groups of a type have, with its label.
func ofType(g *api.Group) (label, line string) {
	switch {
	case g.Classic != nil:
		line = "type " + cli.Name(g.Classic.ProtocolType)
		if g.Classic.Leader != nil {
			line += ", led by " + cli.Name(*g.Classic.Leader)
		}
		return "protocol", line
	case g.Share != nil:
		line = "initialized " + orDash(partitions(g.Share.Initialized))
		if len(g.Share.Initializing) > 0 {
			line += "; initializing " + partitions(g.Share.Initializing)
		}
		if len(g.Share.Deleting) > 0 {
			line += "; deleting " + names(g.Share.Deleting)
		}
		return "share state", line
	case g.Streams != nil:
		return "topology", fmt.Sprintf("epoch %s, validated %s, %s", number(g.Streams.TopologyEpoch), number(g.Streams.ValidatedTopologyEpoch),
			count(len(g.Streams.Subtopologies), "subtopology", "subtopologies"))
	}
	return "", ""
}

// partitions are those of an assignment, by topic.
func partitions(a api.Assignment) string {
	var parts []string
	for _, topic := range sortedKeys(a) {
		parts = append(parts, cli.Name(topic)+" "+ranges(a[topic]))
	}
	return strings.Join(parts, ", ")
}
