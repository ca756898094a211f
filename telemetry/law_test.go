package telemetry

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/rebalance"
)

// anyRebalance is one that no log may hold, with names and times of any kind.
func anyRebalance(r *rand.Rand) *rebalance.Rebalance {
	const start = 1_700_000_000_000
	time := func() int64 {
		switch r.IntN(10) {
		case 0:
			return 0
		case 1:
			return []int64{math.MinInt64, -1, math.MaxInt64}[r.IntN(3)]
		}
		return start + r.Int64N(200_000) - 100_000
	}
	name := func() string {
		return []string{"", "orders", "a\x1b[2J\r\nb", "\xff\xfe", strings.Repeat("ü", 300), strings.Repeat("\x00", 600)}[r.IntN(6)]
	}
	partitions := func() (out []groups.TopicPartitions) {
		for range r.IntN(3) {
			out = append(out, groups.TopicPartitions{TopicID: kafka.TopicID{byte(r.IntN(3))}, Topic: name(), Partitions: []int32{r.Int32N(3), 3, 4}})
		}
		return out
	}
	evidence := func() (out []rebalance.Evidence) {
		for range r.IntN(4) {
			out = append(out, rebalance.Evidence{Log: []string{rebalance.MetadataLog, "offsets-1"}[r.IntN(2)], Offset: kafka.Offset(r.IntN(5)), Timestamp: time(), Record: name(), Detail: name()})
		}
		return out
	}
	n := &rebalance.Rebalance{
		ID:    rebalance.ID{ClusterID: name(), TopicID: kafka.TopicID{byte(r.Int())}, Partition: r.Int32(), Offset: kafka.Offset(r.Int64())},
		Group: name(), Type: groups.Type(1 + r.IntN(4)), Epoch: r.Int32(), StartedAt: time(), TargetAt: time(), CompletedAt: time(),
		SupersededBy: int32(r.IntN(2)), Settled: r.IntN(2) == 0, MoreCauses: r.IntN(2),
	}
	for range r.IntN(40) {
		c := rebalance.Cause{Kind: rebalance.Metadata, Summary: name(), Topic: name(), TopicID: kafka.TopicID{1}, Partition: r.Int32N(3) - 1, Before: []string{name()}, Evidence: evidence()}
		if r.IntN(2) == 0 {
			c.Trigger = &rebalance.Trigger{Kind: rebalance.TopicTouched, Summary: name(), Evidence: evidence()}
		}
		n.Causes = append(n.Causes, c)
	}
	if r.IntN(2) == 0 {
		n.Hash = &rebalance.Hash{Before: r.Int64(), HadBefore: r.IntN(2) == 0, After: r.Int64()}
	}
	for i := range r.IntN(6) {
		m := rebalance.Member{MemberID: string(rune('a'+i)) + name(), ClientID: name(), ClientHost: name(), Before: partitions(), After: partitions(), Left: r.IntN(3) == 0, ReconciledAt: time()}
		for range r.IntN(20) {
			m.WaitedFor = append(m.WaitedFor, rebalance.Wait{MemberID: name(), Partitions: partitions()})
		}
		n.Members = append(n.Members, m)
	}
	return n
}

// Whatever a rebalance says, its trace is sound, is the same every time, and
// holds no character that acts on a terminal.
func TestEveryTraceIsSound(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	for range 60 {
		one := anyRebalance(r)
		for _, item := range []Item{{Rebalance: one}, {Rebalance: one, Incomplete: true}, {Rebalance: one, Completion: true}} {
			spans := testConverter.spans(item)
			requireSound(t, spans)
			require.Equal(t, spans, testConverter.spans(item))
			require.NotContains(t, spansText(spans), "\x1b")
			require.NotContains(t, spansText(spans), "\x00")
		}
	}
}

// The traces of one rebalance share no span, and the first of them share the
// trace: what explain names is there, complete or not.
func TestIdentities(t *testing.T) {
	one := anyRebalance(rand.New(rand.NewPCG(6, 7)))
	one.SupersededBy = 0
	complete := testConverter.spans(Item{Rebalance: one})
	incomplete := testConverter.spans(Item{Rebalance: one, Incomplete: true})
	completion := testConverter.spans(Item{Rebalance: one, Completion: true})
	require.Equal(t, complete[0].context.TraceID(), incomplete[0].context.TraceID())
	require.NotEqual(t, complete[0].context.TraceID(), completion[0].context.TraceID())
	ids := make(map[string]bool)
	for _, spans := range [][]*span{complete, incomplete, completion} {
		for _, s := range spans {
			require.False(t, ids[s.context.SpanID().String()])
			ids[s.context.SpanID().String()] = true
		}
	}
	other := *one
	other.ID.Offset++
	require.NotEqual(t, complete[0].context.TraceID(), testConverter.spans(Item{Rebalance: &other})[0].context.TraceID())
}

// Of a very large group the members that took longest are shown.
func TestManyMembers(t *testing.T) {
	const all = 3 * maxMembers
	one := &rebalance.Rebalance{StartedAt: second, TargetAt: second, CompletedAt: second + all, Settled: true}
	for i := range all {
		one.Members = append(one.Members, rebalance.Member{MemberID: string(rune('!' + i)), ReconciledAt: second + 1 + int64(i*7%all)})
	}
	spans := testConverter.spans(Item{Rebalance: one})
	requireSound(t, spans)
	var slowest int64 = all
	members := 0
	for _, s := range spans {
		if s.name == "member" {
			members++
			slowest = min(slowest, s.to-second)
		}
	}
	require.Equal(t, maxMembers, members)
	require.EqualValues(t, all-maxMembers+1, slowest)
}
