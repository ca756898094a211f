package answer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/web/api"
)

const minute = api.Time(60_000)

// metadataCause rests on records of the metadata log.
func metadataCause(topic, summary string, records ...api.Evidence) api.Cause {
	return api.Cause{Kind: "metadata", Summary: summary, Confidence: "certain", Topic: &topic, Field: new("topic"), Evidence: records}
}

func metadataRecord(name string, offset kafka.Offset, at api.Time) api.Evidence {
	return api.Evidence{Log: "metadata", Record: name, Offset: offset, Timestamp: &at}
}

// caused is a rebalance that took a second.
func caused(group string, epoch int32, causes ...api.Cause) api.Rebalance {
	return api.Rebalance{
		ID: fmt.Sprintf("%s/%d", group, epoch), Group: group, Type: "consumer", Epoch: epoch, StartedAt: api.Time(epoch) * minute,
		CompletedAt: new(api.Time(epoch)*minute + 1000), DurationMs: new(int64(1000)), Settled: true, Causes: causes,
	}
}

func textOf(b *ByCause, wide bool) string {
	out := &cli.Output{Format: cli.TextFormat}
	if wide {
		out.Format = cli.WideFormat
	}
	t := cli.NewText(out)
	b.Text(t)
	return string(t.Bytes())
}

// TestByCause: two topics of one request, a third one of a later request, a
// regular expression that matches one of them, and what no record is known for.
func TestByCause(t *testing.T) {
	created := func(topic string, offset kafka.Offset, at api.Time) api.Cause {
		return metadataCause(topic, "topic "+topic+" was created", metadataRecord("TopicRecord", offset, at))
	}
	deleted := created("c", 102, minute)
	deleted.Evidence[0].Record = "RemoveTopicRecord"
	pattern := created("a", 100, minute)
	pattern.Kind, pattern.Summary, pattern.Field = "regexResolved", "the regular expression a.* matches topic a, which was created", nil
	pattern.Evidence = append([]api.Evidence{{Log: "offsets-1", Record: "ConsumerGroupRegularExpression", Offset: 900}}, pattern.Evidence...)
	guess := created("b", 101, minute)
	guess.Confidence = "likely"
	guess.Trigger = &api.Trigger{Kind: "coordinatorMoved", Summary: "the coordinator moved\x1b"}
	old := metadataCause("d", "the racks of topic d changed")
	open := caused("late", 2, created("e", 200, 2*minute))
	open.CompletedAt, open.DurationMs = nil, nil
	unsettled := caused("new", 3)
	unsettled.Settled = false
	joined := api.Cause{Kind: "memberJoined", Summary: "member m joined", Evidence: []api.Evidence{{Log: "offsets-3", Offset: 7}}}

	b := NewByCause([]api.Rebalance{
		unsettled, open, caused("pattern", 2, pattern), caused("g", 2, guess), caused("h", 2, created("a", 100, minute), created("b", 101, minute)),
		caused("h", 1, joined), caused("g", 1, joined), caused("i", 1, old), caused("j", 1, deleted),
	}, "in the last hour", NewScope(new(api.Completeness), false))
	require.Equal(t, `9 rebalances of 7 groups in the last hour

topic e was created
TopicRecord, metadata offset 200, 1970-01-01 00:02:00.000 UTC
1 rebalance of 1 group
  late   epoch 2   1970-01-01 00:02:00.000 UTC   open

topic c was created
RemoveTopicRecord, metadata offset 102, 1970-01-01 00:01:00.000 UTC
1 rebalance of 1 group
  j   epoch 1   1970-01-01 00:01:00.000 UTC   took 1 s

topic a was created
  also topic b
TopicRecord, metadata offset 100, 1970-01-01 00:01:00.000 UTC
3 rebalances of 3 groups
  pattern   epoch 2   1970-01-01 00:02:00.000 UTC   took 1 s
  g         epoch 2   1970-01-01 00:02:00.000 UTC   took 1 s   (likely) set off: the coordinator moved\u001B
  h         epoch 2   1970-01-01 00:02:00.000 UTC   took 1 s

memberJoined    2 rebalances of 2 groups   h g
metadata        1 rebalance of 1 group     i
not known yet   1 rebalance of 1 group     new
`, textOf(b, false))
	require.Equal(t, "no rebalance since noon\n", textOf(NewByCause(nil, "since noon", Scope{}), false))
	require.Equal(t, []string{"a", "b"}, b.Changes[2].Cause.Topics)
}

// TestByCauseIsOneScreen: text is bounded, and says what it leaves out.
func TestByCauseIsOneScreen(t *testing.T) {
	var list []api.Rebalance
	for change := range kafka.Offset(15) {
		for group := range 50 {
			topic := fmt.Sprintf("topic-%02d", group)
			list = append(list, caused(fmt.Sprintf("group-%02d", group), int32(change),
				metadataCause(topic, topic+" changed", metadataRecord("PartitionChangeRecord", change, api.Time(change)*minute))))
		}
	}
	b := NewByCause(list, "today", Scope{})
	text, wide := textOf(b, false), textOf(b, true)
	require.Equal(t, maxChanges, strings.Count(text, "50 rebalances of 50 groups\n"))
	require.Equal(t, maxChanges*maxRows, strings.Count(text, "took 1 s"))
	require.Equal(t, maxChanges, strings.Count(text, "  and 30 more\n"))
	require.Equal(t, maxChanges, strings.Count(text, "also topics topic-01 topic-02 topic-03 topic-04 topic-05 topic-06 topic-07 topic-08 41 others\n"))
	require.True(t, strings.HasSuffix(text, "\nand 5 older changes, which -o wide shows\n"))
	require.Equal(t, 15*50, strings.Count(wide, "took 1 s"))
	require.NotContains(t, wide, " more")
	require.NotContains(t, wide, "others")
}

// anyRebalances are newest first, of few groups, with few records of few types.
func anyRebalances(r *rand.Rand) (list []api.Rebalance) {
	anyRecord := func() api.Evidence {
		e := metadataRecord([]string{"TopicRecord", "UnregisterBrokerRecord"}[r.IntN(2)], kafka.Offset(r.IntN(12)), 0)
		e.Timestamp = new(api.Time(e.Offset / 4))
		switch r.IntN(8) {
		case 0:
			e.Timestamp = nil
		case 1:
			e.Detail = new("broker 1 is gone")
		case 2:
			e.Log = "offsets-1"
		}
		return e
	}
	for n := range r.IntN(30) {
		one := caused(fmt.Sprintf("g%d", r.IntN(5)), int32(100-n))
		for range r.IntN(4) {
			c := metadataCause(fmt.Sprintf("t%d", r.IntN(3)), "s")
			for range r.IntN(3) {
				c.Evidence = append(c.Evidence, anyRecord())
			}
			if r.IntN(4) == 0 {
				c.Kind, c.Topic = "regexResolved", nil
			}
			one.Causes = append(one.Causes, c)
		}
		one.Settled = r.IntN(5) > 0
		list = append(list, one)
	}
	return list
}

// TestByCauseLosesNothing: each rebalance is in one place, in the order of the
// list; changes are newest first; and a record is of one change, whatever the
// list's order.
func TestByCauseLosesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 4))
	for range 500 {
		list := anyRebalances(r)
		b := NewByCause(list, "", Scope{})
		places, last := map[string]int{}, kafka.Offset(1000)
		changeOf := map[kafka.Offset]int{}
		place := func(n int, part []api.Rebalance) {
			require.True(t, slices.IsSortedFunc(part, func(a, b api.Rebalance) int { return api.NewestFirst(&a, &b) }))
			for i := range part {
				require.NotContains(t, places, part[i].ID)
				places[part[i].ID] = n
			}
		}
		for n, c := range b.Changes {
			require.Less(t, c.Cause.Record.Offset, last)
			last = c.Cause.Record.Offset
			place(n, c.Rebalances)
			for i := range c.Rebalances {
				offset := changing(&c.Rebalances[i].Causes[0]).Offset
				other, ok := changeOf[offset]
				require.True(t, !ok || other == n)
				changeOf[offset] = n
			}
		}
		for n, o := range b.Others {
			place(-1-n, o.Rebalances)
		}
		require.Len(t, places, len(list))
		_ = textOf(b, false)

		slices.Reverse(list)
		again := NewByCause(list, "", Scope{})
		require.Len(t, again.Changes, len(b.Changes))
		for n, c := range again.Changes {
			for i := range c.Rebalances {
				require.Equal(t, n, places[c.Rebalances[i].ID])
			}
		}
	}
}
