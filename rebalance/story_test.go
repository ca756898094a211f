package rebalance

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	metadatarecord "github.com/kraftside/kraftside/metadatalog/record"
	"github.com/kraftside/kraftside/topichash"
)

// event is a batch of one of the two logs.
type event struct {
	metadata bool
	snapshot bool
	at       int64 // when it was written
	first    kafka.Offset
	messages []metadatarecord.Message
	records  []groups.Record // of partition 0 of __consumer_offsets
}

// story is a cluster, its groups and what is explained of them.
type story struct {
	player
	images  []*image.MetadataImage
	events  []event
	next    kafka.Offset // of the metadata log
	offsets kafka.Offset // of __consumer_offsets
	now     int64
	limits  Limits
}

// player feeds an Explainer.
type player struct {
	e         *Explainer
	shard     *groups.Shard
	partition *Partition
	image     *image.MetadataImage
}

func newPlayer(l Limits) player {
	p := player{image: image.Empty(), shard: groups.NewShard(0, groups.Options{})}
	p.e = New(p.image, Options{ClusterID: "c", Limits: l, Stored: true})
	p.partition = p.e.Partition(topicID(9), p.shard, 0)
	return p
}

// play takes a batch; with hold the end of a batch of groups is not told.
func (p *player) play(tb testing.TB, e *event, hold bool) {
	if !e.metadata {
		for i := range e.records {
			p.partition.Before(&e.records[i])
			p.shard.Replay(&e.records[i])
		}
		if !hold {
			p.partition.End()
		}
		return
	}
	d := delta.New(p.image)
	if e.snapshot {
		d = delta.NewSnapshot(p.image)
	}
	for i, m := range e.messages {
		require.NoError(tb, d.ReplayAt(e.first+kafka.Offset(i), m))
	}
	p.image = d.Apply(image.Provenance{Offset: e.first + kafka.Offset(len(e.messages)) - 1, Epoch: 1, AppendTime: e.at})
	p.e.OnMetadataUpdate(d)
}

// The files under testdata tell a cause each. Commands, with times in seconds:
//
//	metadata at=S [offset=N] [snapshot]  metadata records, one a line, in one batch
//	groups at=S                          records of one partition, one a line, in one batch
//	explain G [last]                     what is known of the rebalances of a group, oldest first
//	finish                               no more of the metadata log follows
//	limit images=N touches=N undecided=N begins anew with other limits
//
// A record of a group is its type, the fields of its key, and the value as
// JSON, or null. "$1" is a topic id, "$hash orders@8 returns" the hash of a
// group over topics, as they are or as they were at a metadata offset.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := newStory()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.command(t, d) })
		s.requireLaw(t)
		s.requireLessCertain(t)
		s.requireRestarts(t)
		s.requireExpiry(t)
	})
}

func newStory() *story { return &story{player: newPlayer(DefaultLimits), limits: DefaultLimits} }

func (s *story) command(t *testing.T, d *datadriven.TestData) string {
	var at float64
	if d.HasArg("at") {
		text := ""
		d.ScanArgs(t, "at", &text)
		var err error
		at, err = strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		s.now = int64(at * 1000)
	}
	switch d.Cmd {
	case "metadata":
		if d.HasArg("offset") {
			var n int
			d.ScanArgs(t, "offset", &n)
			s.next = kafka.Offset(n)
		}
		s.metadata(t, d.HasArg("snapshot"), d.Input)
	case "groups":
		s.groups(t, d.Input)
	case "explain":
		return s.explain(d.CmdArgs[0].Key, d.HasArg("last"))
	case "finish":
		s.e.Finish()
	case "limit":
		for name, limit := range map[string]*int{"images": &s.limits.Images, "touches": &s.limits.Touches, "undecided": &s.limits.Undecided} {
			d.MaybeScanArgs(t, name, limit)
		}
		s.player = newPlayer(s.limits)
	default:
		return "unknown command\n"
	}
	return ""
}

func (s *story) metadata(t testing.TB, snapshot bool, lines string) {
	e := event{metadata: true, snapshot: snapshot, at: s.now, first: s.next}
	for line := range strings.Lines(lines) {
		m, err := delta.ParseRecord(strings.TrimSpace(expandIDs(line)))
		require.NoError(t, err, line)
		e.messages = append(e.messages, m)
	}
	s.next += kafka.Offset(len(e.messages))
	s.events = append(s.events, e)
	s.play(t, &e, false)
	s.images = append(s.images, s.image)
}

func (s *story) groups(t testing.TB, lines string) {
	e := event{at: s.now}
	for line := range strings.Lines(lines) {
		r := groups.Record{Offset: s.offsets, Timestamp: s.now, ProducerID: -1}
		r.Key, r.Value = parseRecord(t, s.expandHashes(t, expandIDs(strings.TrimSpace(line))))
		e.records = append(e.records, r)
		s.offsets++
	}
	s.events = append(s.events, e)
	s.play(t, &e, false)
}

func topicID(n int) kafka.TopicID { return kafka.NewUUID(0, uint64(n)) }

var (
	idPattern   = regexp.MustCompile(`"\$(\d+)"`)
	hashPattern = regexp.MustCompile(`"\$hash([^"]*)"`)
)

func expandIDs(line string) string {
	return idPattern.ReplaceAllStringFunc(line, func(short string) string {
		n, _ := strconv.Atoi(strings.Trim(short, `"$`)) // the pattern has checked it
		return strconv.Quote(topicID(n).String())
	})
}

// expandHashes computes the hash of topics, each in the newest image or in
// that of an offset.
func (s *story) expandHashes(t testing.TB, line string) string {
	return hashPattern.ReplaceAllStringFunc(line, func(text string) string {
		var named []topichash.NamedHash
		for _, word := range strings.Fields(hashPattern.FindStringSubmatch(text)[1]) {
			name, at, old := strings.Cut(word, "@")
			m := s.image
			if old {
				n, err := strconv.Atoi(at)
				require.NoError(t, err)
				i := slices.IndexFunc(s.images, func(m *image.MetadataImage) bool { return m.Provenance().Offset >= kafka.Offset(n) })
				m = s.images[i]
			}
			if hash, ok := topichash.NewCache(topichash.Kafka, m).Hash(topichash.Kafka, name); ok {
				named = append(named, topichash.NamedHash{Name: name, Hash: hash})
			}
		}
		return strconv.FormatInt(topichash.NewHasher().Group(topichash.Kafka, named), 10)
	})
}

// explain is what is known of a group's rebalances.
func (p *player) explain(group string, last bool) string {
	list := p.e.Group(group)
	slices.Reverse(list)
	if last && len(list) > 0 {
		list = list[len(list)-1:]
	}
	var b strings.Builder
	for _, r := range list {
		write(&b, r)
	}
	if b.Len() == 0 {
		return "no rebalance\n"
	}
	return b.String()
}

func write(b *strings.Builder, r *Rebalance) {
	fmt.Fprintf(b, "%s epoch %d after %d at %s, offset %d: ", r.Type, r.Epoch, r.PreviousEpoch, clock(r.StartedAt), r.ID.Offset)
	switch {
	case r.SupersededBy > 0:
		fmt.Fprintf(b, "superseded by %d", r.SupersededBy)
	case r.Open() && r.TargetAt == 0:
		b.WriteString("open, no target assignment")
	case r.Open():
		b.WriteString("open")
	default:
		fmt.Fprintf(b, "took %s, %d moved", seconds(r.CompletedAt-r.StartedAt), r.Moved)
	}
	if r.TargetAt > r.StartedAt {
		fmt.Fprintf(b, ", target at %s", clock(r.TargetAt))
	}
	b.WriteByte('\n')
	if !r.Settled {
		b.WriteString("  not settled\n")
	}
	for i := range r.Causes {
		writeCause(b, &r.Causes[i])
	}
	if r.MoreCauses > 0 {
		fmt.Fprintf(b, "  and %d more\n", r.MoreCauses)
	}
	if h := r.Hash; h != nil && r.Settled {
		fmt.Fprintf(b, "  hash %s: %s %s\n", hashChange(h), h.Verdict, h.Reason)
	}
	for i := range r.Members {
		writeMember(b, r, &r.Members[i])
	}
}

// hashChange hides the numbers, which only other tests can check.
func hashChange(h *Hash) string {
	s := "first"
	if h.HadBefore {
		s = "changed"
		if h.Before == h.After {
			s = "unchanged"
		}
	}
	if h.Verdict != topichash.None && h.Computed != h.After {
		s += ", other than computed"
	}
	return s
}

func clock(ms int64) string { return strconv.FormatFloat(float64(ms)/1000, 'f', -1, 64) }

func writeCause(b *strings.Builder, c *Cause) {
	fmt.Fprintf(b, "  %s %s", c.Confidence, c.Kind)
	if c.Field != "" {
		fmt.Fprintf(b, " %s of %s", c.Field, c.Topic)
	}
	if c.Partition >= 0 {
		fmt.Fprintf(b, " partition %d", c.Partition)
	}
	if len(c.Before)+len(c.After) > 0 {
		fmt.Fprintf(b, " %v -> %v", c.Before, c.After)
	}
	fmt.Fprintf(b, "\n    %s\n", c.Summary)
	if c.Reason != "" {
		fmt.Fprintf(b, "    because %s\n", c.Reason)
	}
	writeEvidence(b, c.Evidence)
	if c.Trigger != nil {
		fmt.Fprintf(b, "    set off by %s: %s\n", c.Trigger.Kind, c.Trigger.Summary)
		writeEvidence(b, c.Trigger.Evidence)
	}
}

func writeEvidence(b *strings.Builder, list []Evidence) {
	for _, e := range list {
		fmt.Fprintf(b, "      %s %d at %s %s", e.Log, e.Offset, clock(e.Timestamp), e.Record)
		if e.Detail != "" {
			fmt.Fprintf(b, ", %s", e.Detail)
		}
		b.WriteByte('\n')
	}
}

func writeMember(b *strings.Builder, r *Rebalance, m *Member) {
	fmt.Fprintf(b, "  %s %s", m.MemberID, assignment(m.Before))
	switch {
	case m.Left:
		b.WriteString(" -> gone")
	case r.TargetAt > 0:
		fmt.Fprintf(b, " -> %s", assignment(m.After))
	}
	if m.ReconciledAt > 0 {
		fmt.Fprintf(b, " after %s", seconds(m.ReconciledAt-r.StartedAt))
	}
	for _, w := range m.WaitedFor {
		fmt.Fprintf(b, ", waited for %s to release %s", w.MemberID, assignment(w.Partitions))
	}
	b.WriteByte('\n')
}

func assignment(list []groups.TopicPartitions) string {
	if len(list) == 0 {
		return "nothing"
	}
	var words []string
	for i := range list {
		name := list[i].Topic
		if name == "" {
			_, n := list[i].TopicID.Halves()
			name = fmt.Sprintf("$%d", n)
		}
		words = append(words, fmt.Sprintf("%s%v", name, list[i].Partitions))
	}
	return strings.Join(words, " ")
}

// everything is what is known of all groups.
func (p *player) everything() string {
	var b strings.Builder
	for _, group := range slices.Sorted(maps.Keys(p.e.groups)) {
		fmt.Fprintf(&b, "group %s\n%s", group, p.explain(group, false))
	}
	return b.String()
}
