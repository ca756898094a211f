package demo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/rebalance"
	"github.com/kraftside/kraftside/topichash"
)

// narrator tells the story, a line for each thing that happens: when it did,
// which record says so, and what it is.
type narrator struct {
	out   *cli.Output // nil: nobody listens
	text  *cli.Text   // not written yet
	lines int         // of the text, a heading for two
	width int         // of the longest name of a group

	groups map[string]told

	// due are the records with a hash that were not told of yet, by partition,
	// and held the checks of some of them: a check may wait for the metadata
	// log, and those after it wait for their turn.
	due  map[int32][]kafka.Offset
	held map[position]pipeline.Check

	// settled are the rebalances whose causes are not told yet, in the order in
	// which they were settled, and known all that were settled.
	settled []*rebalance.Rebalance
	known   map[position]bool
}

// position is a record of __consumer_offsets.
type position struct {
	partition int32
	offset    kafka.Offset
}

// told is what was told of a group last.
type told struct {
	stored  bool
	hash    int64
	epoch   int32
	verdict topichash.Verdict
	stale   bool // and not yet that it is over

	viewed      bool
	coordinator kafka.NodeID // if viewed
}

func newNarrator(r *Recording, out *cli.Output) *narrator {
	n := &narrator{
		out: out, text: cli.NewText(cmp.Or(out, new(cli.Output))), groups: make(map[string]told),
		due: make(map[int32][]kafka.Offset), held: make(map[position]pipeline.Check), known: make(map[position]bool),
	}
	for _, h := range r.Hashes {
		n.due[h.Partition] = append(n.due[h.Partition], h.Offset)
		n.width = max(n.width, utf8.RuneCountInString(cli.Name(h.Group)))
	}
	return n
}

// flush writes what was told since the last time.
func (n *narrator) flush() (lines int, err error) {
	if n.out != nil && len(n.text.Bytes()) > 0 {
		_, err = n.out.Out.Write(n.text.Bytes())
	}
	lines, n.lines = n.lines, 0
	n.text.Reset()
	return lines, err
}

// begin says what it is that is told.
func (n *narrator) begin(r *Recording, at time.Time) {
	zone := cmp.Or(n.text.Zone, time.UTC)
	n.text.Printf("Apache Kafka %s, recorded on %s, times in %s\n", r.KafkaVersion, at.In(zone).Format("2006-01-02"), at.In(zone).Format("MST"))
}

// step is a heading.
func (n *narrator) step(text string) {
	n.text.Printf("\n%s\n", n.text.Bold(cli.Escape(text)))
	n.lines += 2
}

// row is a line under a heading. where is the record that it rests on.
func (n *narrator) row(at int64, where, what string) {
	clock := time.UnixMilli(at).In(cmp.Or(n.text.Zone, time.UTC)).Format("15:04:05.000")
	n.text.Printf("  %s  %s  %s\n", n.text.Dim(clock), n.text.Dim(fmt.Sprintf("%-13s", where)), what)
	n.lines++
}

// group is a line about a group.
func (n *narrator) group(at int64, where, id string, kind groups.Type, what string) {
	name := fmt.Sprintf("%-*s", n.width, cli.Name(id))
	n.row(at, where, fmt.Sprintf("%s  %-8s  %s", n.text.Bold(name), kind, what))
}

// metadata tells what a record of the metadata log, or several, changed.
func (n *narrator) metadata(changes []delta.Change, at image.Provenance) {
	for i := range changes {
		n.row(at.AppendTime, metadataRecord(at.Offset), cli.Escape(changes[i].Summary()))
	}
}

func metadataRecord(offset kafka.Offset) string { return fmt.Sprintf("metadata %d", offset) }

// check takes what is known of a hash that a coordinator stored.
func (n *narrator) check(c pipeline.Check) { n.held[position{c.Partition, c.Offset}] = c }

// explain takes a rebalance; it says whether its causes are settled now and
// were not before.
func (n *narrator) explain(r *rebalance.Rebalance) bool {
	at := positionOf(r)
	if !r.Settled || n.known[at] {
		return false
	}
	n.known[at] = true
	n.settled = append(n.settled, r)
	return true
}

func positionOf(r *rebalance.Rebalance) position { return position{r.ID.Partition, r.ID.Offset} }

// bumps tells of the hashes that are due, each with why the epoch was raised.
func (n *narrator) bumps() {
	for _, partition := range slices.Sorted(maps.Keys(n.due)) {
		for due := n.due[partition]; len(due) > 0; due = due[1:] {
			next := position{partition, due[0]}
			ready, ok := n.held[next]
			if !ok {
				break
			}
			n.hash(&ready)
			if i := slices.IndexFunc(n.settled, func(r *rebalance.Rebalance) bool { return positionOf(r) == next }); i >= 0 {
				n.causes(n.settled[i], "")
				n.settled = slices.Delete(n.settled, i, i+1)
			}
			delete(n.held, next)
			n.due[partition] = due[1:]
		}
	}
}

// late tells the reasons that were found later than the bump was told of, and
// those of groups without a hash.
func (n *narrator) late() {
	for _, r := range n.settled {
		n.causes(r, cli.Name(r.Group))
	}
	n.settled = nil
}

// causes tells why an epoch was raised, and what set it off. Where that comes
// later than the bump it names the group.
func (n *narrator) causes(r *rebalance.Rebalance, group string) {
	word := "because"
	if group != "" {
		word = fmt.Sprintf("%s, epoch %d: because", group, r.Epoch)
		if r.Type == groups.Classic {
			word = fmt.Sprintf("%s, generation %d: because", group, r.Epoch)
		}
	}
	var told []string
	for i := range r.Causes {
		c := &r.Causes[i]
		if slices.Contains(told, c.Summary) { // of another partition
			continue
		}
		told = append(told, c.Summary)
		n.reason(word, c)
		word = "and because"
	}
}

// reason tells a cause, with the last record that it rests on: of the metadata
// log, where there is one.
func (n *narrator) reason(word string, c *rebalance.Cause) {
	text := cli.Escape(c.Summary)
	if c.Confidence == rebalance.Likely {
		text += n.text.Dim(" (likely)")
	}
	n.detail(recordText(c.Evidence), word+" "+text)
	if t := c.Trigger; t != nil {
		n.detail(recordText(t.Evidence), "set off when "+cli.Escape(t.Summary))
	}
}

// detail is a line that belongs to the one before.
func (n *narrator) detail(where, what string) {
	n.text.Printf("  %12s  %s    %s\n", "", n.text.Dim(fmt.Sprintf("%-13s", where)), what)
	n.lines++
}

// hash tells of a stored hash, beside the one before it, and whether the
// images explain it.
func (n *narrator) hash(c *pipeline.Check) {
	t := n.groups[c.Group]
	before, after := "no hash", fmt.Sprintf("-> %-20d", c.Stored)
	if t.stored {
		before = fmt.Sprintf("%d", t.hash)
		if t.hash == c.Stored {
			after = fmt.Sprintf("%-23s", "as before")
		}
	}
	n.group(c.Timestamp, fmt.Sprintf("offsets-%d %d", c.Partition, c.Offset), c.Group, c.Type,
		fmt.Sprintf("epoch %-3d %20s %s  %s", c.Epoch, before, after, n.verdict(&c.Answer)))
	t.stored, t.hash, t.epoch = true, c.Stored, c.Epoch
	t.verdict, t.stale = c.Answer.Verdict, c.Answer.Verdict == topichash.Stale
	n.groups[c.Group] = t
}

func (n *narrator) verdict(a *topichash.Answer) string {
	switch a.Verdict {
	case topichash.Match:
		return n.text.Green("match")
	case topichash.Drift:
		return n.text.Red("mismatch")
	case topichash.Unknown:
		return n.text.Yellow("unknown: " + a.Reason)
	}
	return n.text.Yellow(string(a.Verdict))
}

// view tells what else became of the groups.
func (n *narrator) view(v *pipeline.View, now time.Time) {
	n.bumps()
	moved := make(map[[2]kafka.NodeID][]string)
	for g := range v.GroupsFrom("") {
		t := n.groups[g.ID]
		if t.viewed && t.coordinator != g.Coordinator {
			way := [2]kafka.NodeID{t.coordinator, g.Coordinator}
			moved[way] = append(moved[way], cli.Name(g.ID))
		}
		t.viewed, t.coordinator = true, g.Coordinator
		n.groups[g.ID] = n.transition(t, g, now)
	}
	n.late()
	at := v.Image.Provenance()
	for _, way := range slices.SortedFunc(maps.Keys(moved), func(a, b [2]kafka.NodeID) int { return slices.Compare(a[:], b[:]) }) {
		n.row(at.AppendTime, metadataRecord(at.Offset),
			fmt.Sprintf("coordinator of %s: %s -> %s", list(moved[way], "and"), brokerText(way[0]), brokerText(way[1])))
	}
}

// transition tells of a verdict that lasts: what is pending or unknown is so
// for a few heartbeats.
func (n *narrator) transition(t told, g *pipeline.Group, now time.Time) told {
	at := now.UnixMilli()
	if g.Type == groups.Classic && t.epoch != g.Epoch {
		n.group(at, "", g.ID, g.Type, fmt.Sprintf("generation %d, Kafka stores no hash of a classic group", g.Epoch))
		t.epoch = g.Epoch
	}
	if t.verdict == g.Answer.Verdict {
		return t
	}
	t.verdict = g.Answer.Verdict
	switch {
	case t.verdict == topichash.Stale && !t.stale:
		n.group(at, "", g.ID, g.Type, n.text.Yellow("stale")+": "+staleText(g))
		t.stale = true
	case t.verdict == topichash.Match && t.stale:
		n.group(at, "", g.ID, g.Type, n.text.Green("match")+": the metadata is again what its hash says")
		t.stale = false
	case t.verdict == topichash.Drift:
		n.group(at, "", g.ID, g.Type, n.text.Red("mismatch"))
	}
	return t
}

// end tells how it ends; the summary is the last line.
func (n *narrator) end(s Summary) error {
	var stale []string
	for _, id := range slices.Sorted(maps.Keys(n.groups)) {
		if n.groups[id].stale {
			stale = append(stale, cli.Name(id))
		}
	}
	n.text.Printf("\n")
	if len(stale) > 0 {
		n.text.Printf("Still stale: %s\n", list(stale, "and"))
	}
	n.text.Printf("%s\n", s)
	_, err := n.flush()
	return err
}

// list is "a, b and c".
func list(names []string, conjunction string) string {
	last := len(names) - 1
	if last <= 0 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " " + conjunction + " " + names[last]
}
