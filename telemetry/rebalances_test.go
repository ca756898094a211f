package telemetry

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/rebalance"
)

// listener is Rebalances with a log that is read, at second 100 of the story.
type listener struct {
	*Rebalances
	log   bytes.Buffer
	meter *Meter
}

func newListener(t *testing.T) *listener {
	l := new(listener)
	l.meter, _ = newMeter(t, nil)
	handler := slog.NewTextHandler(&l.log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	l.Rebalances = NewRebalances(RebalanceOptions{
		Meter: l.meter, Log: slog.New(handler), MaxAge: time.Hour, SlowAfter: time.Minute,
		Answers: func(partition int32) bool { return partition != 7 },
		Now:     func() time.Time { return time.UnixMilli(second).Add(100 * time.Second) },
	})
	return l
}

// In testdata/lines each block is the states that one rebalance has in turn, as
// words; the output is what is logged.
func TestLines(t *testing.T) {
	datadriven.RunTest(t, filepath.Join("testdata", "lines"), func(t *testing.T, d *datadriven.TestData) string {
		l := newListener(t)
		r := rebalance.Rebalance{ID: rebalance.ID{Offset: 5}, Group: "a\nb", Type: groups.Consumer, Epoch: 3, StartedAt: second}
		for _, state := range strings.Fields(d.Input) {
			switch state {
			case "begun":
			case "settled":
				r.Settled = true
				r.Causes = []rebalance.Cause{
					{Kind: rebalance.Metadata, Summary: "broker 1\x1b is gone", Confidence: rebalance.Certain, Trigger: &rebalance.Trigger{Summary: "the coordinator moved"}},
					{Kind: rebalance.Metadata, Summary: "broker 1\x1b is gone"}, {Kind: rebalance.MemberLeft, Summary: "m left"},
				}
			case "unexplained":
				r.Settled = true
			case "fast":
				r.CompletedAt = second + 59_999
			case "slow":
				r.CompletedAt = second + 60_000
			case "superseded":
				r.SupersededBy = 4
			case "follows":
				r.ID.Partition = 7
			case "old":
				r.StartedAt = second - 3_600_000
			default:
				return "unknown state " + state
			}
			told := r
			l.OnRebalance(&told)
			l.OnRebalance(&told)
		}
		text, _ := scrape(t, l.meter, "")
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "kraftside_rebalances_total") || strings.HasPrefix(line, "kraftside_rebalance_duration_seconds_sum") {
				l.log.WriteString(line)
			}
		}
		return l.log.String()
	})
}

// What was told of is remembered, and what is remembered is bounded.
func TestKnownIsBounded(t *testing.T) {
	l := newListener(t)
	for i := range 2 * maxKnown {
		l.OnRebalance(item(i).Rebalance)
	}
	require.Len(t, l.known, maxKnown)
	require.Len(t, l.order, maxKnown)
}
