package topichash

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
)

// story is a cluster with one group and its coordinator. Times are seconds.
type story struct {
	cache *Cache
	q     Question
	now   int64
}

// The files under testdata/verdict are stories. Commands:
//
//	replay at=S         metadata records, one a line, become the next image
//	snapshot at=S       the same, as a snapshot
//	subscribe           names, one a line, that the group subscribes to
//	unsubscribe         the inverse
//	store at=S [hash=N] the coordinator writes the group's hash: that of the
//	      [mix=(I,J)]   newest image, or N, or that of the I-th version of the
//	                    first topic, the J-th of the second
//	move                the coordinator was elected with the last record
//	leave               the group has no members any more
//	assess now=S        the verdict, with a window of 45 seconds
//	topic               what the cache holds of a name
//	restart             the cache is written, and restored by another
func TestVerdicts(t *testing.T) {
	datadriven.Walk(t, "testdata/verdict", func(t *testing.T, path string) {
		s := &story{cache: NewCache(Kafka, image.Empty()), q: Question{Members: true, Loaded: kafka.UnknownOffset, Window: 45_000}}
		datadriven.RunTest(t, path, s.run)
	})
}

func (s *story) run(t *testing.T, c *datadriven.TestData) string {
	s.scanTime(t, c, "at")
	names := strings.Fields(c.Input)
	switch c.Cmd {
	case "replay", "snapshot":
		return s.replay(t, c)
	case "subscribe":
		for _, name := range names {
			s.cache.Subscribe(name)
			s.q.Topics = append(s.q.Topics, name)
		}
	case "unsubscribe":
		for _, name := range names {
			s.cache.Unsubscribe(name)
			s.q.Topics = slices.DeleteFunc(s.q.Topics, func(n string) bool { return n == name })
		}
	case "store":
		s.q.Stored, s.q.Time, s.q.Hash = true, s.now, s.cache.GroupHash(slices.Values(s.q.Topics))
		c.MaybeScanArgs(t, "hash", &s.q.Hash)
		s.storeMix(t, c)
		return fmt.Sprintf("%d\n", s.q.Hash)
	case "move":
		s.q.Loaded, s.q.LoadedAt = s.cache.Image().Provenance().Offset, s.cache.Image().Provenance().AppendTime
	case "leave":
		s.q.Members = false
	case "assess":
		s.scanTime(t, c, "now")
		return s.assess()
	case "topic":
		return s.describe(t, names[0])
	case "restart":
		s.restart(t)
	default:
		return "unknown command\n"
	}
	return "ok\n"
}

func (s *story) storeMix(t *testing.T, c *datadriven.TestData) {
	arg, ok := c.Arg("mix")
	if !ok {
		return
	}
	var named []NamedHash
	for i, name := range s.q.Topics {
		var version int
		arg.Scan(t, i, &version)
		topic, _ := s.cache.Topic(name)
		if v := topic.Versions[version]; v.Exists {
			named = append(named, NamedHash{name, v.Hash})
		}
	}
	s.q.Hash = s.cache.hasher.Group(Kafka, named)
}

func (s *story) scanTime(t *testing.T, c *datadriven.TestData, arg string) {
	if c.HasArg(arg) {
		var seconds int64
		c.ScanArgs(t, arg, &seconds)
		s.now = seconds * 1000
	}
	s.q.Now = s.now
}

func (s *story) replay(t *testing.T, c *datadriven.TestData) string {
	d := delta.New(s.cache.Image())
	if c.Cmd == "snapshot" {
		d = delta.NewSnapshot(s.cache.Image())
	}
	for line := range strings.Lines(c.Input) {
		m, err := delta.ParseRecord(strings.TrimSpace(line))
		require.NoError(t, err)
		require.NoError(t, d.Replay(m))
	}
	d.Apply(image.Provenance{Offset: s.cache.Image().Provenance().Offset + 1, Epoch: 1, AppendTime: s.now})
	return fmt.Sprintf("marked for refresh: %v\n", s.cache.OnMetadataUpdate(d))
}

func (s *story) assess() string {
	a := s.cache.Assess(s.q)
	out := string(a.Verdict)
	if a.Reason != "" {
		out += " " + a.Reason
	}
	if a.Since != 0 {
		out += fmt.Sprintf(" since %d s", a.Since/1000)
	}
	if len(a.Outdated) > 0 {
		out += fmt.Sprintf(" by %v", a.Outdated)
	}
	return fmt.Sprintf("%s, computed %d\n", out, a.Computed)
}

func (s *story) describe(t *testing.T, name string) string {
	topic, ok := s.cache.Topic(name)
	if !ok {
		return "not cached\n"
	}
	// Invariant 5: a cached hash always equals a fresh one.
	hash, exists := s.cache.Hash(Kafka, name)
	require.Equal(t, exists, topic.Newest().Exists)
	require.Equal(t, hash, topic.Newest().Hash)
	var b strings.Builder
	fmt.Fprintf(&b, "since %d, touched %d\n", topic.Since, topic.Touched.Offset)
	for _, v := range topic.Versions {
		fmt.Fprintf(&b, "  from %d: %d %t\n", v.From.Offset, v.Hash, v.Exists)
	}
	return b.String()
}

func (s *story) restart(t *testing.T) {
	next := NewCache(Kafka, s.cache.Image())
	for _, name := range s.q.Topics {
		next.Subscribe(name)
		row, _ := s.cache.Peek(name)
		require.NoError(t, next.Restore(name, row.Append(nil)))
		restored, _ := next.Peek(name)
		require.Equal(t, row.Versions, restored.Versions)
	}
	require.NoError(t, next.Restore("nobody", nil))
	s.cache = next
}

func TestDamagedHistoryIsRefused(t *testing.T) {
	c := NewCache(Kafka, image.Empty())
	c.Subscribe("t")
	topic, _ := c.Topic("t")
	row := topic.Append(nil)
	for n := range row {
		require.ErrorIs(t, c.Restore("t", row[:n]), ErrBadRow)
	}
	require.ErrorIs(t, c.Restore("t", append(row, 0)), ErrBadRow)
	require.NoError(t, c.Restore("t", row))
}

// A group may ask late for the first time, since it was being loaded. It is told
// what one is told that has asked before each change.
func TestAskedLate(t *testing.T) {
	begin := func() *story {
		return &story{cache: NewCache(Kafka, image.Empty()), q: Question{Members: true, Loaded: kafka.UnknownOffset, Window: 45_000}}
	}
	const id = `"topicId":"AAAAAAAAAAAAAAAAAAAAZA"`
	found := `RegisterBrokerRecord {"brokerId":1,"rack":"x"}` + "\n" +
		`TopicRecord {"name":"a",` + id + "}\n" + `PartitionRecord {` + id + `,"partitionId":0,"replicas":[1],"isr":[1],"leader":1}`
	touch := `PartitionChangeRecord {` + id + `,"partitionId":0,"isr":[1]}`
	rack := `RegisterBrokerRecord {"brokerId":1,"rack":"y"}`
	grow := `PartitionRecord {` + id + `,"partitionId":1,"replicas":[1],"isr":[1],"leader":1}`
	remove := `RemoveTopicRecord {` + id + `}`
	for _, changes := range [][]string{{grow}, {rack}, {rack, touch}, {touch, rack}, {remove}, {touch, grow}, {rack, grow, remove}, {}} {
		for _, wait := range []int64{1_000, 100_000} {
			asked, late := begin(), begin()
			for _, s := range []*story{asked, late} {
				s.now = 10_000
				s.replay(t, &datadriven.TestData{Cmd: "replay", Input: found})
				s.cache.Subscribe("a")
				s.q.Topics = []string{"a"}
			}
			asked.q.Stored, asked.q.Time, asked.q.Hash = true, 10_000, asked.cache.GroupHash(slices.Values(asked.q.Topics))
			for i, change := range changes {
				for _, s := range []*story{asked, late} {
					s.now = 20_000 + 1_000*int64(i)
					s.replay(t, &datadriven.TestData{Cmd: "replay", Input: change})
				}
			}
			asked.q.Now = asked.now + wait
			require.Equal(t, asked.cache.Assess(asked.q), late.cache.Assess(asked.q), "%v", changes)
		}
	}
}
