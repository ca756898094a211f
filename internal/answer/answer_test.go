package answer

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/topichash"
	"github.com/kraftside/kraftside/web/api"
)

func TestWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ms", 317 * time.Millisecond: "317 ms", 1200 * time.Millisecond: "1.2 s", 9 * time.Second: "9 s", 9999 * time.Millisecond: "9.9 s",
		37 * time.Second: "37 s", 252 * time.Second: "4 min 12 s", 3*time.Hour + 5*time.Minute: "3 h 5 min", 51 * time.Hour: "2 d 3 h",
	} {
		require.Equal(t, want, span(d))
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 3_500_000: "3.3 MiB", 1 << 62: "4194304.0 TiB"} {
		require.Equal(t, want, size(n))
	}
	for _, c := range []struct {
		numbers []int32
		want    string
	}{{nil, ""}, {[]int32{5}, "5"}, {[]int32{2, 0, 1}, "0-2"}, {[]int32{0, 2, 3, 7, 9, 10}, "0,2-3,7,9-10"}} {
		require.Equal(t, c.want, ranges(c.numbers))
	}
	many := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
	require.Equal(t, "", either(nil))
	require.Equal(t, "a", either(many[:1]))
	require.Equal(t, `a or "\u001B"`, either([]string{"a", "\x1b"}))
	require.Equal(t, "a, b, c, d, e, f, g, h or 2 others", either(many))
	require.Equal(t, "a b c d e f g h 2 others", few(many))
}

// TestMeanings: every verdict and every reason has words of its own.
func TestMeanings(t *testing.T) {
	seen := make(map[string]bool)
	check := func(v topichash.Verdict, reason *string) {
		means, _ := meaning(&api.MetadataHash{Verdict: v, Reason: reason}, "orders")
		require.NotEmpty(t, means)
		require.False(t, seen[means], "%s %v: %s", v, reason, means)
		seen[means] = true
	}
	for _, v := range []topichash.Verdict{topichash.Match, topichash.Pending, topichash.Stale, topichash.Drift, topichash.Unknown} {
		check(v, nil)
	}
	for _, reason := range []string{
		topichash.OlderThanHistory, topichash.BehindCoordinator, topichash.NotStoredYet, topichash.NoMembers, topichash.TooManyMixes, "aLaterOne",
	} {
		check(topichash.Unknown, &reason)
	}
	require.NotEqual(t, noHash(&api.Group{Type: "consumer"}), noHash(&api.Group{Type: "classic"}))
	require.NotEqual(t, noHash(&api.Group{}), noHash(&api.Group{MetadataHash: api.MetadataHash{Stored: new(api.Hash)}}))
}

func TestConclusions(t *testing.T) {
	some := NewScope(&api.Completeness{Missing: []api.Missing{{Broker: 2}}}, false)
	group := func(v topichash.Verdict) api.Group { return api.Group{MetadataHash: api.MetadataHash{Verdict: v}} }
	type counts = map[topichash.Verdict]int
	for want, v := range map[string]*Verify{
		"all 21 hashes agree": NewVerify(nil, counts{"match": 21}, Scope{}),
		"all 21 hashes that could be seen agree; 2 groups have none": NewVerify(nil, counts{"match": 21, "none": 2, "drift": 7}, some),
		"the one hash agrees; 1 group has none":                      NewVerify(nil, counts{"match": 1, "none": 1}, Scope{}),
		"no group has a hash to compare":                             NewVerify(nil, counts{"none": 4}, Scope{}),
		"no group that could be seen has a hash to compare":          NewVerify(nil, nil, some),
		"0 of 1 hash agrees: 1 drift":                                NewVerify([]api.Group{group("drift")}, nil, Scope{}),
		"1 of 3 hashes agrees: 1 drift, 1 stale; 1 group has none": NewVerify(
			[]api.Group{group("stale"), group("drift")}, counts{"match": 1, "none": 1}, Scope{}),
	} {
		require.Equal(t, want, v.conclusion(cli.NewText(&cli.Output{})))
	}
	v := NewVerify([]api.Group{group("stale")}, counts{"drift": 1}, Scope{})
	require.False(t, v.Has([]topichash.Verdict{"drift"}), "the groups count, not what the other answer said")
	require.True(t, v.Has([]topichash.Verdict{"drift", "stale"}))
	require.False(t, v.Has(nil))
}

func TestLacking(t *testing.T) {
	s := NewScope(new(api.Completeness), false)
	require.NoError(t, s.Lacking())
	require.Nil(t, s.Committed)
	s = NewScope(&api.Completeness{
		Missing: []api.Missing{{Broker: 2, Host: "h", Error: "e"}, {Broker: 3, Error: "f"}, {Broker: kafka.NoNode, Error: "ask x: g"}},
		Loading: []api.Loading{{Percent: 10, RemainingMs: new(int64(4000))}, {Percent: 30, RemainingMs: new(int64(61000))}},
	}, true)
	require.False(t, *s.Committed)
	err := s.Lacking()
	require.Equal(t, cli.Incomplete, cli.ExitCode(err))
	var b bytes.Buffer
	cli.Report(&b, err)
	require.Equal(t, `kraftside: incomplete: broker 2 at h: e
kraftside: incomplete: broker 3: f
kraftside: incomplete: ask x: g
kraftside: incomplete: 2 partitions of __consumer_offsets are loading, 20 % read, about 1 min 1 s left; groups that are in it may not be in the answer; ask again later
`, b.String())
}

// troubled is a status of which everything is in a bad way.
func troubled() *Status {
	problem := &api.GroupsProblem{Message: "m"}
	return NewStatus(&api.Status{
		ClusterID: new("c"), NodeID: new(kafka.NodeID(1)), Version: "v\x1b[2J",
		Reasons: []api.Reason{{What: "it is\x1b[2J", Do: "do"}},
		Metadata: api.MetadataStatus{
			Source: new("dir"), Offset: new(kafka.Offset(4)), BrokerAppliedOffset: new(kafka.Offset(3)),
			Snapshot: &api.SnapshotProgress{ID: "4-1", Bytes: 1 << 20, Size: 1 << 21},
		},
		Groups: api.GroupsStatus{Scope: pipeline.Local, Partitions: []api.OffsetsPartition{
			{Role: api.RoleAnswers, Loading: true, Percent: new(40), RemainingMs: new(int64(1000)), Problem: problem},
			{Role: api.RoleFollows, Loading: true},
		}, Counts: api.Counts{States: map[string]int{"Odd\x1b": 1, "Stable": 2}, Verdicts: map[topichash.Verdict]int{"drift": 1}}},
		Store: &api.StoreStatus{Reason: new("the disk is full")},
		Kafka: api.KafkaStatus{Brokers: 3},
		Peers: []api.PeerStatus{{Broker: kafka.NoNode, Host: "h", Ready: true}, {Broker: 2, Ready: false, Loading: []int32{1}, Answers: []int32{1, 2}}},
		OpenRebalances: []api.OpenRebalance{
			{Group: "g\x1b", Epoch: 12, Members: 6, Done: 5, WaitedFor: []api.WaitedFor{
				{MemberID: "m\x1b", ClientHost: "/10.2.3.4", Partitions: &api.Assignment{"orders": {3}}}, {MemberID: "n"},
			}},
			{Group: "late", Epoch: 3, Members: 2, Done: 1, WaitedFor: []api.WaitedFor{{MemberID: "m"}}},
			{Group: "new", Epoch: 2, Members: 1},
		},
		Missing: []api.Missing{{Broker: 3, Error: "e"}},
	}, false)
}

func TestStatusInABadWay(t *testing.T) {
	s := troubled()
	text := cli.NewText(&cli.Output{})
	text.Now = time.UnixMilli(252_000)
	s.Text(text)
	require.Equal(t, `cluster c   metadata version -   3 brokers registered

3 rebalances are open
  "g\u001B"   epoch 12   open for 4 min 12 s   waits for "m\u001B" (host 10.2.3.4) to release orders 3 and for 1 other; 5 of 6 members are done
  late        epoch 3    open for 4 min 12 s   waits for m; 1 of 2 members are done
  new         epoch 2    open for 4 min 12 s   waits for a target assignment

sidecars       3 of 3 answer
groups         3: 1 "Odd\u001B", 2 Stable
hashes         1 drift
metadata log   offset 4, lag unknown, from dir, the broker has applied offset 3
groups' log    2 partitions followed, 1 answered for, 2 partitions of __consumer_offsets are loading, 20 % read, about 1 s left
               snapshot 4-1: 1.0 MiB of 2.0 MiB downloaded
store          nothing is kept: the disk is full

SIDECAR            HOST   READY   METADATA   LAG   ANSWERS FOR               GROUPS   VERSION
broker 1 (asked)   -      no      4          -     1 partition, 1 loading    0        "v\u001B[2J"
-                  h      yes     -          -     0 partitions              0        ""
broker 2           -      no      -          -     2 partitions, 1 loading   0        ""

it is\u001B[2J
  do
`, string(text.Bytes()))

	s.Groups.Partitions = []api.OffsetsPartition{
		{Role: api.RoleAnswers, Offset: new(kafka.Offset(3)), EndOffset: new(kafka.Offset(9))}, {Role: api.RoleAnswers, EndOffset: new(kafka.Offset(2))},
	}
	require.Equal(t, "2 partitions, 7 records behind", s.groupsTail(text))
	s.Groups.Partitions[0].EndOffset = nil
	require.Equal(t, "2 partitions, lag unknown", s.groupsTail(text))
	s.Groups.Partitions = nil
	require.Equal(t, "0 partitions", s.groupsTail(text))
	require.Equal(t, "none: history ends with the process", storeText(text, nil))
}

func TestColors(t *testing.T) {
	text := cli.NewText(&cli.Output{Color: true})
	troubled().Text(text)
	require.Contains(t, string(text.Bytes()), "\x1b[31mdrift\x1b[0m")
	require.Contains(t, string(text.Bytes()), "\x1b[33mno\x1b[0m")
	require.NotContains(t, string(text.Bytes()), "\x1b[2J")
}

// watchFor watches for some answers, the second of which there is not.
func watchFor(t *testing.T, out *cli.Output, answers int) error {
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	return Watch(ctx, out, 2*time.Second, func(context.Context) (Answer, error) {
		if asked++; asked > answers {
			cancel()
		}
		if asked == 2 {
			return nil, errors.New("nobody is there")
		}
		return troubled(), nil
	})
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var stdout, stderr bytes.Buffer
		out := &cli.Output{Out: &stdout, Err: &stderr, Format: cli.TextFormat, Now: time.Now}
		require.NoError(t, watchFor(t, out, 3))
		require.Equal(t, 6*time.Second, time.Since(start))
		require.Equal(t, 1, bytes.Count(stdout.Bytes(), []byte("00:00:00.000 UTC\ncluster c")))
		require.Equal(t, 1, bytes.Count(stdout.Bytes(), []byte("\n\n00:00:04.000 UTC\ncluster c")), "a blank line between two answers")
		require.Equal(t, 2, bytes.Count(stdout.Bytes(), []byte("cluster c")))
		require.NotContains(t, stdout.String(), "\x1b", "no escape codes in a pipe")
		require.Equal(t, "kraftside: incomplete: broker 3: e\nkraftside: nobody is there\nkraftside: incomplete: broker 3: e\n", stderr.String())

		stdout.Reset()
		stderr.Reset()
		out.Terminal = true
		require.NoError(t, watchFor(t, out, 3))
		require.Empty(t, stderr.String(), "all of it is on the screen")
		require.Equal(t, 1, bytes.Count(stdout.Bytes(), []byte(clearScreen)))
		require.Equal(t, 3, bytes.Count(stdout.Bytes(), []byte(home)))
		require.Contains(t, stdout.String(), home+"kraftside: nobody is there"+clearLine+"\n"+clearRest)

		stdout.Reset()
		out.Format = cli.JSONFormat
		require.NoError(t, watchFor(t, out, 1))
		require.NotContains(t, stdout.String(), clearScreen)
		require.Contains(t, stdout.String(), `"clusterId": "c"`)
	})
}

func TestWatchNobody(t *testing.T) {
	nobody := errors.New("nobody is there")
	err := Watch(t.Context(), &cli.Output{}, time.Second, func(context.Context) (Answer, error) { return nil, nobody })
	require.ErrorIs(t, err, nobody)
	broken := &cli.Output{Out: brokenPipe{}, Now: time.Now, Terminal: true, Format: cli.TextFormat}
	require.ErrorIs(t, watchFor(t, broken, 1), errBroken)
}

// TestWatchChanges: in a pipe nothing is said twice, and on a terminal the ages
// go on.
func TestWatchChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := api.Time(time.Now().UnixMilli())
		watched := func(out *cli.Output) {
			ctx, cancel := context.WithCancel(t.Context())
			asked := 0
			require.NoError(t, WatchChanges(ctx, out, 2*time.Second, func(context.Context) (Answer, error) {
				e := &Explanation{Group: "g", Rebalances: []api.Rebalance{{Group: "g", Epoch: 3, StartedAt: begun}}, Scope: NewScope(new(api.Completeness), false)}
				switch asked++; asked {
				case 4, 5:
					return nil, errors.New("nobody is there")
				case 7:
					e.Missing = []api.Missing{{Broker: 2, Error: "e"}}
				case 8, 9:
					e.Rebalances[0].SupersededBy = new(int32(4))
				case 10:
					cancel()
				}
				return e, nil
			}))
		}
		var stdout, stderr bytes.Buffer
		out := &cli.Output{Out: &stdout, Err: &stderr, Format: cli.TextFormat, Now: time.Now}
		watched(out)
		require.Equal(t, 4, bytes.Count(stdout.Bytes(), []byte("g   the group is gone")), "at first, when somebody was there again, with less, and superseded")
		require.Equal(t, 1, bytes.Count(stdout.Bytes(), []byte("epoch 4 came before it was done")))
		require.Equal(t, "kraftside: nobody is there\nkraftside: incomplete: broker 2: e\n", stderr.String())

		stdout.Reset()
		out.Format = cli.JSONFormat
		watched(out)
		require.Equal(t, 4, bytes.Count(stdout.Bytes(), []byte(`"group": "g",
  "rebalances"`)))

		stdout.Reset()
		out.Format, out.Terminal = cli.TextFormat, true
		begun = api.Time(time.Now().UnixMilli())
		watched(out)
		require.Equal(t, 9, bytes.Count(stdout.Bytes(), []byte(home)))
		require.Contains(t, stdout.String(), "open for 4 s")
	})
}

var errBroken = errors.New("broken pipe")

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errBroken }
