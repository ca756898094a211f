package answer

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/topichash"
	"github.com/kraftside/kraftside/web/api"
)

// Status is what `status` prints.
type Status struct {
	*api.Status
	// Committed is as in Scope.
	Committed *bool `json:"committed,omitempty"`
}

// NewStatus is an answer of sidecars, or one from files.
func NewStatus(s *api.Status, files bool) *Status {
	a := &Status{Status: s}
	if s.Missing == nil {
		s.Missing = []api.Missing{}
	}
	if files {
		a.Committed = new(bool)
	}
	return a
}

// Lacking is who did not answer, as an error with the code Incomplete. That
// partitions are loading is part of the answer here.
func (a *Status) Lacking() error { return (&Scope{Missing: a.Missing}).Lacking() }

// Text is one screen: the cluster, its groups, the sidecars, the tails of the
// one that was asked, and what keeps any of them.
func (a *Status) Text(t *cli.Text) {
	a.cluster(t)
	a.open(t)
	a.busiest(t)
	a.recent(t)
	t.Printf("\n")
	var rows [][]string
	if a.Committed == nil {
		rows = append(rows, []string{"sidecars", a.answering(t)})
	}
	counts := a.TotalCounts()
	rows = append(rows, []string{"groups", statesText(t, counts.States)}, []string{"hashes", verdictsText(t, counts.Verdicts)})
	t.Table("", append(rows, a.tails(t)...))
	if a.Committed == nil {
		t.Printf("\n")
		t.Table("", a.sidecars(t))
		a.reasons(t)
	}
}

func (a *Status) cluster(t *cli.Text) {
	name := "cluster " + optional(a.ClusterID)
	if a.Cluster != nil {
		name = t.Bold(cli.Name(*a.Cluster)) + "   " + name
	}
	t.Printf("%s   metadata version %s   %s\n", name, optional(a.Kafka.MetadataVersion), count(a.Kafka.Brokers, "broker registered", "brokers registered"))
}

// open are the rebalances that are not over: for how long, and who is waited for.
func (a *Status) open(t *cli.Text) {
	if len(a.OpenRebalances) == 0 {
		return
	}
	t.Printf("\n%s\n", t.Yellow(count(len(a.OpenRebalances), "rebalance is open", "rebalances are open")))
	var rows [][]string
	for i := range a.OpenRebalances[:min(len(a.OpenRebalances), maxNamed)] {
		r := &a.OpenRebalances[i]
		rows = append(rows, []string{t.Bold(cli.Name(r.Group)), fmt.Sprintf("epoch %d", r.Epoch), "open for " + span(t.Now.Sub(time.UnixMilli(int64(r.StartedAt)))), waitedText(r)})
	}
	t.Table("  ", rows)
	if more := len(a.OpenRebalances) - maxNamed; more > 0 {
		t.Printf("  and %d more\n", more)
	}
}

// waitedText says whom a rebalance waits for, by the first of them.
func waitedText(r *api.OpenRebalance) string {
	if len(r.WaitedFor) == 0 {
		return "waits for a target assignment"
	}
	w := &r.WaitedFor[0]
	text := "waits for " + cli.Name(w.MemberID)
	if strings.Trim(w.ClientHost, "/") != "" {
		text += " (host " + host(w.ClientHost) + ")"
	}
	if w.Partitions != nil {
		text += " to release " + partitions(*w.Partitions)
	}
	if more := len(r.WaitedFor) - 1; more > 0 {
		text += fmt.Sprintf(" and for %s", count(more, "other", "others"))
	}
	return text + fmt.Sprintf("; %d of %d members are done", r.Done, r.Members)
}

// busiest are the groups that rebalanced again and again.
func (a *Status) busiest(t *cli.Text) {
	if len(a.Busiest) == 0 {
		return
	}
	t.Printf("\nmost rebalances in 15 minutes\n")
	var rows [][]string
	for _, g := range a.Busiest[:min(len(a.Busiest), maxNamed)] {
		rows = append(rows, []string{t.Bold(cli.Name(g.Group)), g.Type, fmt.Sprint(g.Bumps)})
	}
	t.Table("  ", rows)
}

// recent are the last changes of the metadata, and what they set off.
func (a *Status) recent(t *cli.Text) {
	if len(a.RecentChanges) == 0 {
		return
	}
	t.Printf("\nlast changes of the metadata\n")
	var rows [][]string
	for i := range a.RecentChanges {
		c := &a.RecentChanges[i]
		text := cli.Escape(c.Summary)
		if c.More > 0 {
			text += fmt.Sprintf(" and %d more", c.More)
		}
		off := "set off no group"
		if c.Groups > 0 {
			off = t.Yellow("set off " + count(c.Groups, "group", "groups"))
		}
		rows = append(rows, []string{t.Format(int64(c.Timestamp)), text, off, t.Dim(fmt.Sprintf("metadata %d", c.Offset))})
	}
	t.Table("  ", rows)
}

// all says whether one sidecar answers for every group.
func (a *Status) all() bool { return a.Groups.Scope == pipeline.All }

func (a *Status) answering(t *cli.Text) string {
	if a.all() {
		return "one answers for all groups"
	}
	answering := 1 + len(a.Peers)
	text := fmt.Sprintf("%d of %d answer", answering, max(a.Kafka.Brokers, answering))
	if len(a.Missing) > 0 {
		return t.Yellow(text)
	}
	return text
}

// statesText counts groups by their state.
func statesText(t *cli.Text, counts map[string]int) string {
	if len(counts) == 0 {
		return "none"
	}
	total := 0
	var parts []string
	for _, s := range sortedKeys(counts) {
		total += counts[s]
		parts = append(parts, fmt.Sprintf("%d %s", counts[s], state(t, s)))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return fmt.Sprintf("%d: %s", total, strings.Join(parts, ", "))
}

// verdictsText counts groups by their verdict, the worst first.
func verdictsText(t *cli.Text, counts map[topichash.Verdict]int) string {
	var parts []string
	for _, v := range severity {
		if n := counts[v]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, colored(t, v)))
		}
	}
	return orDash(strings.Join(parts, ", "))
}

// tails are how the asked sidecar stands with both logs, and its store.
func (a *Status) tails(t *cli.Text) [][]string {
	m := &a.Metadata
	if a.Committed != nil {
		line := fmt.Sprintf("offset %s; the last records may not be committed", number(m.Offset))
		return [][]string{{"metadata log", line}, {"groups' log", count(len(a.Groups.Partitions), "partition", "partitions")}}
	}
	line := "offset " + number(m.Offset)
	if m.HighWatermark != nil {
		line += fmt.Sprintf(" of %d", *m.HighWatermark-1)
	}
	line += ", " + lagText(m.LagMs)
	if m.Source != nil {
		line += ", from " + cli.Name(*m.Source)
	}
	if m.Leader != nil {
		line += fmt.Sprintf(", led by controller %d", *m.Leader)
	}
	if m.BrokerAppliedOffset != nil {
		line += fmt.Sprintf(", the broker has applied offset %d", *m.BrokerAppliedOffset)
	}
	rows := [][]string{{"metadata log", line}, {"groups' log", a.groupsTail(t)}}
	if s := m.Snapshot; s != nil {
		rows = append(rows, []string{"", t.Yellow(fmt.Sprintf("snapshot %s: %s of %s downloaded", cli.Name(s.ID), size(s.Bytes), size(s.Size)))})
	}
	return append(rows, []string{"store", storeText(t, a.Store)})
}

func lagText(ms *int64) string {
	switch {
	case ms == nil:
		return "lag unknown"
	case *ms == 0:
		return "no lag"
	}
	return span(time.Duration(*ms)*time.Millisecond) + " behind"
}

func (a *Status) groupsTail(t *cli.Text) string {
	answers, loading, behind, unknown := 0, []api.Loading{}, kafka.Offset(0), false
	for _, p := range a.Groups.Partitions {
		if p.Role == api.RoleAnswers {
			answers++
		}
		switch {
		case p.Loading:
			loading = append(loading, api.Loading{Percent: *percent(&p), RemainingMs: p.RemainingMs})
		case p.EndOffset == nil:
			unknown = true
		case p.Offset == nil:
			behind += *p.EndOffset
		default:
			behind += max(0, *p.EndOffset-1-*p.Offset)
		}
	}
	text := count(len(a.Groups.Partitions), "partition", "partitions")
	if answers < len(a.Groups.Partitions) {
		text += fmt.Sprintf(" followed, %d answered for", answers)
	}
	switch {
	case len(loading) > 0:
		text += ", " + t.Yellow(loadingText(loading))
	case unknown:
		text += ", lag unknown"
	case behind > 0:
		text += ", " + count(int(behind), "record behind", "records behind")
	case len(a.Groups.Partitions) > 0:
		text += ", no lag"
	}
	return text
}

func percent(p *api.OffsetsPartition) *int {
	if p.Percent == nil {
		return new(int)
	}
	return p.Percent
}

func storeText(t *cli.Text, s *api.StoreStatus) string {
	switch {
	case s == nil:
		return "none: history ends with the process"
	case !s.Persisting:
		return t.Red("nothing is kept: " + cli.Escape(deref(s.Reason)))
	}
	return fmt.Sprintf("%s, format %d", size(s.Bytes), s.Format)
}

func deref(s *string) string {
	if s == nil {
		return "no reason is known"
	}
	return *s
}

// sidecars is a table, a line each.
func (a *Status) sidecars(t *cli.Text) [][]string {
	own := a.Peer(kafka.NoNode, "")
	rows := [][]string{
		bold(t, []string{"SIDECAR", "HOST", "READY", "METADATA", "LAG", "ANSWERS FOR", "GROUPS", "VERSION"}),
		peerRow(t, broker(a.NodeID)+" (asked)", &own),
	}
	if a.NodeID == nil {
		rows[1][0] = "(asked)"
	}
	for i := range a.Peers {
		p := &a.Peers[i]
		name := broker(&p.Broker)
		if p.Broker == kafka.NoNode {
			name = "-"
		}
		rows = append(rows, peerRow(t, name, p))
	}
	return rows
}

func peerRow(t *cli.Text, name string, p *api.PeerStatus) []string {
	ready := "yes"
	if !p.Ready {
		ready = t.Yellow("no")
	}
	answers := count(len(p.Answers), "partition", "partitions")
	if len(p.Loading) > 0 {
		answers += ", " + t.Yellow(strconv.Itoa(len(p.Loading))+" loading")
	}
	lag := "-"
	if p.LagMs != nil {
		lag = span(time.Duration(*p.LagMs) * time.Millisecond)
	}
	host := "-"
	if p.Host != "" {
		host = cli.Name(p.Host)
	}
	return []string{name, host, ready, number(p.MetadataOffset), lag, answers, strconv.Itoa(p.Counts.Groups), cli.Name(p.Version)}
}

// reasons are why sidecars are not ready, and what to do.
func (a *Status) reasons(t *cli.Text) {
	a.reasonsOf(t, "", a.Reasons)
	for i := range a.Peers {
		p := &a.Peers[i]
		who := broker(&p.Broker)
		if p.Broker == kafka.NoNode {
			who = cli.Name(p.Host)
		}
		a.reasonsOf(t, who+": ", p.Reasons)
	}
}

func (a *Status) reasonsOf(t *cli.Text, who string, reasons []api.Reason) {
	for _, r := range reasons {
		t.Printf("\n%s%s\n  %s\n", who, t.Yellow(cli.Escape(r.What)), cli.Escape(r.Do))
	}
}
