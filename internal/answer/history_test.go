package answer

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/web/api"
)

func changed(offset kafka.Offset, at api.Time, summaries ...string) api.Change {
	c := api.Change{Offset: offset, Timestamp: at}
	for _, s := range summaries {
		c.Changes = append(c.Changes, api.MetadataChange{Summary: s})
	}
	return c
}

func historyText(h *History, wide bool) string {
	out := &cli.Output{Format: cli.TextFormat}
	if wide {
		out.Format = cli.WideFormat
	}
	t := cli.NewText(out)
	h.Text(t)
	return string(t.Bytes())
}

// A change comes before what it set off at the same time, and names that are not
// to be trusted are escaped.
func TestHistory(t *testing.T) {
	snapshot := changed(90, minute, "topic a is deleted\x1b", "b", "c", "d", "e")
	snapshot.Snapshot, snapshot.FromOffset, snapshot.MoreChanges = true, 70, 5
	off := changed(91, 2*minute, "x")
	off.Rebalances = []api.SetOff{{Group: "g"}, {Group: "h"}, {Group: "g"}}
	guess := caused("g", 2, api.Cause{Summary: "left", Confidence: "likely"}, api.Cause{Summary: "left"})
	guess.ID = "c/t/3/44"
	h := NewHistory([]api.Change{off, snapshot}, []api.Rebalance{guess}, "", Scope{})
	h.Gaps = []api.Gap{{FromEpoch: 3, ToEpoch: 4}}
	require.Equal(t, `1970-01-01 00:01:00.000 UTC  metadata 90       at some time since offset 70: topic a is deleted\u001B
                                                 b
                                                 c
                                                 and 7 more
1970-01-01 00:02:00.000 UTC  metadata 91       x
                                                 set off 2 groups: g h
1970-01-01 00:02:00.000 UTC  offsets-3 44      g  epoch 2  took 1 s
                                                 left (likely)
epochs 3 to 4 were not seen
`, historyText(h, false))
	require.Contains(t, historyText(h, true), " e\n")
	require.Equal(t, "nothing happened today\n", historyText(NewHistory(nil, nil, "today", Scope{}), false))
}

// Text is bounded, and says what it leaves out: the oldest.
func TestHistoryIsBounded(t *testing.T) {
	var list []api.Change
	for n := range kafka.Offset(maxEvents + 7) {
		list = append(list, changed(n, api.Time(n), "x"))
	}
	h := NewHistory(list, nil, "", Scope{})
	text := historyText(h, false)
	require.True(t, strings.HasPrefix(text, "7 events before, which -o wide shows\n"))
	require.NotContains(t, text, "metadata 6 ")
	require.Equal(t, maxEvents, strings.Count(text, "metadata"))
	require.Equal(t, maxEvents+7, strings.Count(historyText(h, true), "metadata"))
}

// Followed tells everything once: a change, a rebalance when it is known why it
// came, and again when it is over.
func TestFollowed(t *testing.T) {
	var stdout bytes.Buffer
	out := &cli.Output{Out: &stdout, Format: cli.TextFormat, Now: func() time.Time { return time.UnixMilli(int64(2 * minute)) }}
	var followed Followed
	shown := func(changes []api.Change, rebalances ...api.Rebalance) string {
		stdout.Reset()
		require.NoError(t, followed.Show(out, NewHistory(changes, rebalances, "", Scope{})))
		return stdout.String()
	}
	open := caused("g", 1, api.Cause{Summary: "m joined"})
	open.CompletedAt, open.DurationMs = nil, nil
	first := []api.Change{changed(1, minute, "first")}
	require.Contains(t, shown(first), "first")
	require.Empty(t, shown(first))
	unsettled := open
	unsettled.Settled = false
	require.Empty(t, shown(first, unsettled))
	text := shown(first, open)
	require.Contains(t, text, "open for 1 min")
	require.Contains(t, text, "m joined")
	require.NotContains(t, text, "first")
	require.Empty(t, shown(first, open))
	require.Contains(t, shown(first, caused("g", 1, api.Cause{Summary: "m joined"})), "took 1 s")
	require.Contains(t, shown(append(first, changed(2, 2*minute, "second"))), "second")
}
