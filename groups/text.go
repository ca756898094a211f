package groups

import (
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Equal says whether two shards have the same state: the same groups, offsets
// and open transactions, from the same records, and the same anomalies. Equal
// shards make the same of every further record.
func (s *Shard) Equal(o *Shard) bool {
	if s.partition != o.partition || s.newGroupEpoch != o.newGroupEpoch || len(s.groups) != len(o.groups) ||
		!reflect.DeepEqual(s.Anomalies(), o.Anomalies()) {
		return false
	}
	for id, g := range s.groups {
		other := o.groups[id]
		if other == nil || !reflect.DeepEqual(s.Freeze(id), o.Freeze(id)) || !slices.Equal(s.Offsets(id), o.Offsets(id)) {
			return false
		}
		// A target assignment of a member that does not exist is not in the view.
		if g.modern != nil && !reflect.DeepEqual(g.modern.members, other.modern.members) {
			return false
		}
	}
	return true
}

// String is the state as text for people and golden files.
func (s *Shard) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "partition %d\n", s.partition)
	for _, id := range slices.Sorted(maps.Keys(s.groups)) {
		if g := s.Freeze(id); g != nil {
			b.WriteString(g.String())
		}
		writeOffsets(&b, id, s.Offsets(id))
	}
	for _, name := range slices.Sorted(maps.Keys(s.topics)) {
		fmt.Fprintf(&b, "topic %s: groups%s\n", name, words(s.GroupsByTopic(name)))
	}
	b.WriteString(s.anomalies.String())
	return b.String()
}

// String lists the anomalies, one a line.
func (a *Anomalies) String() string {
	var b strings.Builder
	for kind, n := range a.Counts {
		if n > 0 {
			fmt.Fprintf(&b, "anomalies %s: %d\n", AnomalyKind(kind), n)
		}
	}
	for i := range a.Recent {
		fmt.Fprintf(&b, "  %s\n", &a.Recent[i])
	}
	return b.String()
}

// String is the group as text, with all its fields.
func (g *Group) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "group %s: %s %s", word(g.ID), g.Type, g.State)
	if g.Classic != nil {
		c := g.Classic
		fmt.Fprintf(&b, " generation=%d protocolType=%s", g.Epoch, word(c.ProtocolType))
		writeFields(&b, "protocol", c.Protocol, "leader", c.Leader)
		fmt.Fprintf(&b, " stateTimestamp=%d", c.StateTimestamp)
	} else if g.Type != Classic {
		fmt.Fprintf(&b, " epoch=%d assignmentEpoch=%d", g.Epoch, g.AssignmentEpoch)
		if g.AssignmentTimestamp != 0 {
			fmt.Fprintf(&b, " assignmentTimestamp=%d", g.AssignmentTimestamp)
		}
		writeFields(&b, "assignor", g.Assignor)
	}
	b.WriteByte('\n')
	g.writeParts(&b)
	for _, m := range g.Members {
		m.write(&b)
	}
	return b.String()
}

func (g *Group) writeParts(b *strings.Builder) {
	if h := g.Hash; h != nil {
		fmt.Fprintf(b, "  hash %d epoch=%d offset=%d timestamp=%d", h.Value, h.Epoch, h.Offset, h.Timestamp)
		if h.None {
			b.WriteString(" none")
		}
		b.WriteByte('\n')
	}
	if len(g.SubscribedTopics) > 0 {
		fmt.Fprintf(b, "  topics%s\n", words(g.SubscribedTopics))
	}
	for _, r := range g.Regexes {
		fmt.Fprintf(b, "  regex %s version=%d timestamp=%d offset=%d:%s\n", word(r.Expression), r.Version, r.Timestamp, r.Offset, words(r.Topics))
	}
	if g.Subscription != nil {
		b.WriteString("  subscription metadata")
		for _, t := range g.Subscription {
			fmt.Fprintf(b, " %s/%s/%d", word(t.Name), t.TopicID, t.Partitions)
		}
		b.WriteByte('\n')
	}
	if g.Share != nil {
		writeAssignment(b, "  initializing", g.Share.Initializing)
		writeAssignment(b, "  initialized", g.Share.Initialized)
		writeAssignment(b, "  deleting", g.Share.Deleting)
	}
	if g.Streams != nil {
		g.Streams.write(b)
	}
	if g.Anomalies > 0 {
		fmt.Fprintf(b, "  anomalies %d, last: %s\n", g.Anomalies, g.LastAnomaly)
	}
}

func (t *StreamsGroup) write(b *strings.Builder) {
	fmt.Fprintf(b, "  validatedTopologyEpoch=%d storedDescriptionEpoch=%d failedDescriptionEpoch=%d",
		t.ValidatedTopologyEpoch, t.StoredDescriptionEpoch, t.FailedDescriptionEpoch)
	if t.AssignmentConfigs != nil {
		fmt.Fprintf(b, " configs=%v", t.AssignmentConfigs)
	}
	b.WriteByte('\n')
	if t.Topology == nil {
		return
	}
	fmt.Fprintf(b, "  topology epoch=%d\n", t.Topology.Epoch)
	for i := range t.Topology.Subtopologies {
		sub := &t.Topology.Subtopologies[i]
		fmt.Fprintf(b, "    subtopology %s: sources%s repartition%s changelogs%s\n",
			word(sub.ID), words(sub.Sources), words(TopicNames(sub.RepartitionSources)), words(TopicNames(sub.Changelogs)))
	}
}

func (m *Member) write(b *strings.Builder) {
	fmt.Fprintf(b, "  member %s epoch=%d previous=%d %s", word(m.ID), m.Epoch, m.PreviousEpoch, m.State)
	if m.Ghost() {
		b.WriteString(" ghost")
	}
	writeFields(b, "instance", m.InstanceID, "rack", m.RackID, "client", m.ClientID, "host", m.ClientHost,
		"regex", m.SubscribedRegex, "assignor", m.Assignor)
	fmt.Fprintf(b, " rebalanceTimeout=%d", m.RebalanceTimeoutMs)
	if m.ClassicProtocol {
		fmt.Fprintf(b, " classicProtocol sessionTimeout=%d", m.SessionTimeoutMs)
	}
	if len(m.SubscribedTopics) > 0 {
		fmt.Fprintf(b, " topics%s", words(m.SubscribedTopics))
	}
	b.WriteByte('\n')
	writeAssignment(b, "    assigned", m.Assigned)
	writeAssignment(b, "    revoking", m.PendingRevocation)
	writeAssignment(b, "    target", m.Target)
	if m.Streams != nil {
		m.Streams.write(b)
	}
}

func (t *StreamsMember) write(b *strings.Builder) {
	fmt.Fprintf(b, "    topologyEpoch=%d", t.TopologyEpoch)
	writeFields(b, "process", t.ProcessID)
	if t.Endpoint != nil {
		fmt.Fprintf(b, " endpoint=%s:%d", word(t.Endpoint.Host), t.Endpoint.Port)
	}
	if len(t.ClientTags) > 0 {
		fmt.Fprintf(b, " tags=%v", t.ClientTags)
	}
	b.WriteByte('\n')
	writeTasks(b, "    assigned", &t.Assigned)
	writeTasks(b, "    revoking", &t.PendingRevocation)
	writeTasks(b, "    target", &t.Target)
}

func writeAssignment(b *strings.Builder, what string, list []TopicPartitions) {
	if len(list) == 0 {
		return
	}
	b.WriteString(what)
	for i := range list {
		t := &list[i]
		b.WriteByte(' ')
		if t.Topic != "" {
			b.WriteString(word(t.Topic))
		}
		if !t.TopicID.IsZero() {
			b.WriteString("/" + t.TopicID.String())
		}
		writePartitions(b, t.Partitions, t.Epochs)
	}
	b.WriteByte('\n')
}

func writeTasks(b *strings.Builder, what string, t *Tasks) {
	for _, kind := range [...]struct {
		name string
		list []TaskIDs
	}{{"active", t.Active}, {"standby", t.Standby}, {"warmup", t.Warmup}} {
		if len(kind.list) == 0 {
			continue
		}
		b.WriteString(what + " " + kind.name)
		for i := range kind.list {
			b.WriteString(" " + word(kind.list[i].Subtopology))
			writePartitions(b, kind.list[i].Partitions, kind.list[i].Epochs)
		}
		b.WriteByte('\n')
	}
}

// writePartitions writes partitions, each with its epoch if there are any.
func writePartitions(b *strings.Builder, partitions, epochs []int32) {
	b.WriteByte('[')
	for i, p := range partitions {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strconv.Itoa(int(p)))
		if epochs != nil {
			b.WriteString("@" + strconv.Itoa(int(epochs[i])))
		}
	}
	b.WriteByte(']')
}

func writeOffsets(b *strings.Builder, id string, list []CommittedOffset) {
	for i := range list {
		o := &list[i]
		fmt.Fprintf(b, "offset %s %s %d: %d", word(id), word(o.Topic), o.Partition, o.Offset)
		if o.ProducerID != noProducer {
			fmt.Fprintf(b, " pending=%d", o.ProducerID)
		}
		fmt.Fprintf(b, " leaderEpoch=%d timestamp=%d", o.LeaderEpoch, o.CommitTimestamp)
		writeFields(b, "metadata", o.Metadata)
		if !o.TopicID.IsZero() {
			fmt.Fprintf(b, " topicId=%s", o.TopicID)
		}
		fmt.Fprintf(b, " record=%d\n", o.RecordOffset)
	}
}

// writeFields writes pairs of a name and a text, those that are empty left out.
func writeFields(w io.Writer, pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fmt.Fprintf(w, " %s=%s", pairs[i], word(pairs[i+1]))
		}
	}
}

// words lists texts, each with a blank before it.
func words(list []string) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString(" " + word(s))
	}
	return b.String()
}

// word quotes a text that would not read as one word. Names come from outside.
func word(s string) string {
	plain := func(r rune) bool { return r > ' ' && r < 0x7f && r != '"' }
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return strconv.QuoteToASCII(s)
	}
	return s
}
