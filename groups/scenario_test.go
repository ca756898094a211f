package groups

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups/record"
)

// event is a record, or the end of a transaction.
type event struct {
	Record
	end, commit bool
}

// rowID identifies a row, as a store's key does.
type rowID struct {
	kind RowKind
	pid  int64
	key  string
}

// mirror keeps the rows of a shard as a store would: as copies.
type mirror map[rowID]Row

func (m mirror) apply(effects []Effect) {
	for i := range effects {
		e := effects[i]
		id := rowID{e.Kind, e.ProducerID, string(e.Key)}
		if e.Delete {
			delete(m, id)
			continue
		}
		e.Key, e.Value = slices.Clone(e.Key), slices.Clone(e.Value)
		m[id] = e.Row
	}
}

// rows are the rows in order of their offsets, or in reverse.
func (m mirror) rows(reverse bool) []Row {
	rows := slices.Collect(maps.Values(m))
	slices.SortFunc(rows, func(a, b Row) int {
		n := int(a.Offset - b.Offset)
		if n == 0 {
			n = strings.Compare(string(a.Key), string(b.Key))
		}
		if reverse {
			return -n
		}
		return n
	})
	return rows
}

// replica is a shard with its rows.
type replica struct {
	*Shard
	mirror mirror
}

func newReplica(o Options) *replica { return &replica{NewShard(0, o), mirror{}} }

func (r *replica) step(e *event) Outcome {
	var out Outcome
	if e.end {
		out = r.EndTransaction(e.ProducerID, e.commit)
	} else {
		out = r.Replay(&e.Record)
	}
	r.mirror.apply(out.Effects)
	return out
}

// restored is the shard that the rows make.
func (r *replica) restored(tb testing.TB, reverse bool) *replica {
	s, err := Restore(r.partition, Options{NewGroupEpoch: r.newGroupEpoch}, slices.Values(r.mirror.rows(reverse)))
	require.NoError(tb, err)
	return &replica{s, maps.Clone(r.mirror)}
}

// requireRestorable fails the test unless the rows make the shard again, in
// whatever order they come.
func (r *replica) requireRestorable(tb testing.TB) {
	for _, reverse := range []bool{false, true} {
		s := r.restored(tb, reverse)
		if !r.Equal(s.Shard) {
			require.Equal(tb, r.String(), s.String())
			require.FailNow(tb, "shards differ in what their text does not show")
		}
		requireSound(tb, s.Shard)
	}
	requireSound(tb, r.Shard)
}

// TestScenarios plays the stories in testdata. After every command the shard
// is restored from its rows and must be the same.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		r, lines := newReplica(Options{}), lineReader{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out := r.command(t, d, &lines)
			r.requireRestorable(t)
			return out
		})
	})
}

// command runs a command of a scenario:
//
//	new [epoch=N]        begins with an empty shard
//	replay [outcome]     replays the records below; prints anomalies, or all
//	epoch N              changes Options.NewGroupEpoch
//	restore              goes on with the restored shard
//	shard, group G, groups, offsets G, topics, anomalies, rows: prints it
func (r *replica) command(t *testing.T, d *datadriven.TestData, lines *lineReader) string {
	switch d.Cmd {
	case "new":
		epoch := 0
		d.MaybeScanArgs(t, "epoch", &epoch)
		*r, *lines = *newReplica(Options{NewGroupEpoch: int32(epoch)}), lineReader{}
		return ""
	case "replay":
		return r.replayLines(t, d, lines)
	case "epoch":
		n, err := strconv.Atoi(d.CmdArgs[0].Key)
		require.NoError(t, err)
		return fmt.Sprintf("%d groups changed\n", r.SetNewGroupEpoch(int32(n)))
	case "restore":
		*r = *r.restored(t, false)
		return ""
	case "shard":
		return r.String()
	case "group":
		g := r.Freeze(d.CmdArgs[0].Key)
		if g == nil {
			return "no such group\n"
		}
		return g.String()
	case "groups":
		return r.listGroups()
	case "offsets":
		var b strings.Builder
		writeOffsets(&b, d.CmdArgs[0].Key, r.Offsets(d.CmdArgs[0].Key))
		return b.String()
	case "topics":
		return r.listTopics()
	case "anomalies":
		a := r.Anomalies()
		return a.String()
	case "rows":
		return r.listRows(t)
	}
	d.Fatalf(t, "unknown command %s", d.Cmd)
	return ""
}

func (r *replica) replayLines(t *testing.T, d *datadriven.TestData, lines *lineReader) string {
	var b strings.Builder
	for line := range strings.Lines(d.Input) {
		if line, _, _ = strings.Cut(line, "#"); strings.TrimSpace(line) == "" {
			continue
		}
		e := lines.read(t, line)
		out := r.step(&e)
		if d.HasArg("outcome") {
			writeOutcome(t, &b, &e, &out)
		} else if out.Anomaly != nil {
			fmt.Fprintln(&b, out.Anomaly)
		}
	}
	return b.String()
}

func writeOutcome(t *testing.T, b *strings.Builder, e *event, out *Outcome) {
	what := "end"
	if !e.end {
		what = strconv.Itoa(int(e.Offset))
	}
	fmt.Fprintf(b, "%s %s:", what, out.Group)
	for i, name := range []string{"created", "removed", "changed", "offsets"} {
		if out.Change&(1<<i) != 0 {
			b.WriteString(" " + name)
		}
	}
	for _, topic := range out.Subscribed {
		b.WriteString(" +" + topic)
	}
	for _, topic := range out.Unsubscribed {
		b.WriteString(" -" + topic)
	}
	b.WriteByte('\n')
	for i := range out.Effects {
		verb := "put"
		if out.Effects[i].Delete {
			verb = "delete"
		}
		fmt.Fprintf(b, "  %s %s\n", verb, rowText(t, &out.Effects[i].Row))
	}
	if out.Anomaly != nil {
		fmt.Fprintf(b, "  %s\n", out.Anomaly)
	}
}

func rowText(t *testing.T, row *Row) string {
	switch row.Kind {
	case RowShard:
		return "anomalies"
	case RowGroup:
		return "group " + string(row.Key)
	}
	var d record.Decoder
	key, err := d.Key(row.Key)
	require.NoError(t, err)
	text := fmt.Sprintf("%d %s", key.Type(), key.AppendJSON(nil))
	if row.Kind == RowPending {
		text = fmt.Sprintf("pending %d ", row.ProducerID) + text
	}
	return text
}

func (r *replica) listRows(t *testing.T) string {
	var b strings.Builder
	for _, row := range r.mirror.rows(false) {
		fmt.Fprintf(&b, "%d %s", row.Offset, rowText(t, &row))
		if row.Kind == RowRecord && len(row.Value) == 0 {
			b.WriteString(" tombstone")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (r *replica) listGroups() string {
	var b strings.Builder
	for _, id := range r.GroupIDs() {
		g := r.Freeze(id)
		fmt.Fprintf(&b, "%s %s %s epoch=%d members=%d\n", id, g.Type, g.State, g.Epoch, len(g.Members))
	}
	return b.String()
}

func (r *replica) listTopics() string {
	var b strings.Builder
	hashed := r.SubscribedTopics()
	for _, name := range slices.Sorted(maps.Keys(r.topics)) {
		fmt.Fprintf(&b, "%s:%s", name, words(r.GroupsByTopic(name)))
		if !slices.Contains(hashed, name) {
			b.WriteString(" (classic only)")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// requireSound checks what a shard keeps twice: the indexes against the groups.
func requireSound(tb testing.TB, s *Shard) {
	pending := map[*group]int{}
	for _, tx := range s.transactions {
		require.NotEmpty(tb, tx)
		for k := range tx {
			require.Same(tb, s.groups[k.group.id], k.group)
			pending[k.group]++
		}
	}
	wantTopics := map[string][]string{}
	for _, id := range slices.Sorted(maps.Keys(s.groups)) {
		g := s.groups[id]
		require.True(tb, g.kind != noType || g.pending > 0 || len(g.offsets) > 0, "empty slot %q", id)
		require.Equal(tb, pending[g], g.pending)
		for _, t := range g.offsets {
			require.Positive(tb, t.size)
			n := 0
			t.all(func(int32, committed) { n++ })
			require.Equal(tb, n, t.size)
		}
		for topic, n := range requireReasons(tb, g) {
			require.Equal(tb, n, g.subscribed[topic])
			wantTopics[topic] = append(wantTopics[topic], id)
		}
	}
	require.Len(tb, s.topics, len(wantTopics))
	for topic, ids := range wantTopics {
		require.Equal(tb, ids, s.GroupsByTopic(topic))
	}
}

// requireReasons counts anew for what a group subscribes to its topics, and
// checks the counts of its members and the owners of partitions.
func requireReasons(tb testing.TB, g *group) map[string]int32 {
	reasons := map[string]int32{}
	add := func(topics []string) {
		for _, topic := range topics {
			reasons[topic]++
		}
	}
	if g.classic != nil {
		var all []string
		for _, m := range g.classic.members {
			all = append(all, m.SubscribedTopics...)
		}
		slices.Sort(all)
		add(slices.Compact(all))
	}
	if m := g.modern; m != nil {
		size, targets, owners := 0, 0, 0
		for id, n := range m.members {
			require.Equal(tb, id, n.ID)
			require.NotZero(tb, n.rows)
			size += count(n.rows & rowExists)
			targets += count(n.rows & rowTarget)
			add(n.SubscribedTopics)
			seen := map[ownedPartition]bool{}
			for p := range n.owned() {
				if g.kind == Consumer && !seen[p] {
					require.True(tb, m.owned.by[p] == id || slices.Contains(m.owned.more[p], id))
					owners++
				}
				seen[p] = true
			}
		}
		for _, r := range m.regexes {
			add(r.Topics)
		}
		if t := m.streams.Topology; t != nil {
			var all []string
			for _, sub := range t.Subtopologies {
				all = append(slices.Concat(all, sub.Sources, TopicNames(sub.RepartitionSources)), TopicNames(sub.Changelogs)...)
			}
			slices.Sort(all)
			add(slices.Compact(all))
		}
		require.Equal(tb, size, m.size)
		require.Equal(tb, targets, m.targets)
		for p, more := range m.owned.more {
			require.NotEmpty(tb, more)
			require.Contains(tb, m.owned.by, p)
			owners -= len(more)
		}
		require.Len(tb, m.owned.by, owners)
	}
	require.Len(tb, g.subscribed, len(reasons))
	return reasons
}
