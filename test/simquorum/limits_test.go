package simquorum_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/test/simquorum"
)

// What a controller may see of us in any 5 s.
const (
	span           = 5 * time.Second
	maxRequests    = 10
	maxConnections = 5
)

// Every failure that there is, against controller 1 alone and against all
// three: none makes a controller see more than it may, and when it is over the
// observer is back by itself. The table is the golden file.
func TestLimits(t *testing.T) {
	datadriven.RunTest(t, "testdata/limits/failures", func(t *testing.T, _ *datadriven.TestData) string {
		var out strings.Builder
		fmt.Fprintf(&out, "%-54s %13s %13s\n", "", "one controller", "all")
		fmt.Fprintf(&out, "%-54s %7s %6s %7s %6s\n", "failure", "req", "conn", "req", "conn")
		for _, f := range failures() {
			one, all := measure(t, f, 1), measure(t, f, 3)
			fmt.Fprintf(&out, "%-54s %7d %6d %7d %6d\n", f.name, one.requests, one.connections, all.requests, all.connections)
		}
		rest := measureOtherCodes(t)
		fmt.Fprintf(&out, "%-54s %7d %6d\n", "the worst of all other error codes", rest.requests, rest.connections)
		return out.String()
	})
}

// tick is how often something happens in a failure. It is no multiple or
// fraction of any pause of the observer's, so that nothing happens at the same
// instant and the outcome is always the same.
const tick = 97100 * time.Microsecond

// failure is a fault of controllers, or something that happens every tick.
type failure struct {
	name  string
	fault simquorum.Fault
	tick  func(q *simquorum.Quorum, n int)
}

func failures() []failure {
	all := []failure{
		{name: "none: an idle cluster"},
		{name: "no leader", tick: func(q *simquorum.Quorum, n int) {
			if n == 0 {
				q.Elect(kafka.NoNode, 0)
			}
		}},
		{name: "an election every 0.1 s", tick: func(q *simquorum.Quorum, n int) { q.Elect(kafka.NodeID(1+n%3), 0) }},
		{name: "the high watermark stays unknown", tick: func(q *simquorum.Quorum, n int) {
			if n == 0 {
				q.Elect(1, 0)
			}
			q.Append([]byte("uncommitted"))
		}},
		{name: "the log is rewritten every second", tick: func(q *simquorum.Quorum, n int) {
			if n%10 == 0 {
				q.Rewrite(3, kafka.Epoch(10+n))
			}
		}},
		{name: "every connection is lost after 0.1 s", tick: func(q *simquorum.Quorum, _ int) {
			for id := kafka.NodeID(1); id <= 3; id++ {
				q.Disconnect(id)
			}
		}},
		{name: "the snapshot is named and not there", tick: func(q *simquorum.Quorum, n int) {
			if n == 0 {
				q.LoseSnapshot()
			}
		}},
	}
	for _, k := range []string{"refuse", "drop-packets", "close-on-accept"} {
		all = append(all, failure{name: k, fault: simquorum.Fault{Kind: faultKinds[k]}})
	}
	for _, api := range []simquorum.API{simquorum.FetchOnly, simquorum.FetchSnapshotOnly} {
		name := map[simquorum.API]string{simquorum.FetchOnly: "Fetch: ", simquorum.FetchSnapshotOnly: "FetchSnapshot: "}[api]
		for _, k := range []string{"close-on-request", "stall", "empty-answer", "no-progress", "corrupt-records",
			"cut-records", "foreign-records", "names-itself", "garbage", "answer-as-broker", "always-diverging"} {
			if api == simquorum.FetchSnapshotOnly && onlyFetch[k] {
				continue
			}
			all = append(all, failure{name: name + k, fault: simquorum.Fault{Kind: faultKinds[k], API: api}})
		}
		for _, code := range raftCodes {
			f := simquorum.Fault{Kind: simquorum.PartitionError, API: api, Code: code.Code}
			all = append(all, failure{name: name + code.Message, fault: f})
		}
		for _, code := range topLevelCodes {
			f := simquorum.Fault{Kind: simquorum.TopLevelError, API: api, Code: code.Code}
			all = append(all, failure{name: name + "top-level " + code.Message, fault: f})
		}
	}
	return all
}

// onlyFetch are faults that FetchSnapshot does not have. A small piece of a
// snapshot is no fault: it brings us on.
var onlyFetch = map[string]bool{"always-diverging": true, "answer-as-broker": true, "cut-records": true}

// raftCodes are the codes that the raft layer gives for a partition, and
// topLevelCodes those for a whole request.
var (
	raftCodes = []*kerr.Error{kerr.NotLeaderForPartition, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.BrokerNotAvailable,
		kerr.InvalidRequest, kerr.UnknownTopicID, kerr.UnknownTopicOrPartition, kerr.OffsetOutOfRange, kerr.SnapshotNotFound,
		kerr.PositionOutOfRange, kerr.KafkaStorageError}
	topLevelCodes = []*kerr.Error{kerr.UnknownServerError, kerr.InvalidRequest, kerr.InconsistentClusterID,
		kerr.ClusterAuthorizationFailed, kerr.UnsupportedVersion, kerr.RequestTimedOut}
)

// measureOtherCodes tries the codes that nobody expects.
func measureOtherCodes(t *testing.T) most {
	var worst most
	for code := int16(-1); code < 150; code++ {
		if code == 0 {
			continue
		}
		kind := simquorum.PartitionError
		if code%2 == 0 {
			kind = simquorum.TopLevelError
		}
		m := measure(t, failure{name: fmt.Sprint(code), fault: simquorum.Fault{Kind: kind, Code: code}}, 3)
		worst.requests, worst.connections = max(worst.requests, m.requests), max(worst.connections, m.connections)
	}
	return worst
}

type most struct{ requests, connections int }

// measure lets an observer live through a failure twice: it begins while the
// observer is well, and it is there already when the observer starts. It
// returns the most that one controller saw in any 5 s of the failure; the limits
// hold before and after it as well.
func measure(t *testing.T, f failure, controllers kafka.NodeID) (m most) {
	for _, early := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := &sufferer{t: t, failure: f, controllers: controllers}
			s.live(early)
			for id := kafka.NodeID(1); id <= 3; id++ {
				seen := s.quorum.Seen(id)
				require.LessOrEqual(t, simquorum.MostIn(seen.Requests, span), maxRequests, f.name)
				require.LessOrEqual(t, simquorum.MostIn(seen.Connections, span), maxConnections, f.name)
				require.Empty(t, seen.Foreign, "%s: API keys that controllers do not serve", f.name)
				m.requests = max(m.requests, simquorum.MostIn(s.during(seen.Requests), span))
				m.connections = max(m.connections, simquorum.MostIn(s.during(seen.Connections), span))
			}
		})
	}
	return m
}

// sufferer is an observer during a failure.
type sufferer struct {
	t           *testing.T
	failure     failure
	controllers kafka.NodeID
	quorum      *simquorum.Quorum
	sink        *recorder
	from, to    time.Time // of the failure
}

// during are the times within the failure.
func (s *sufferer) during(times []time.Time) (in []time.Time) {
	for _, t := range times {
		if !t.Before(s.from) && t.Before(s.to) {
			in = append(in, t)
		}
	}
	return in
}

// live goes through half a minute of health unless the failure is early, a
// minute of failure, and half a minute of health at the end of which the
// observer must have everything.
func (s *sufferer) live(early bool) {
	s.quorum = simquorum.New(simquorum.Config{Controllers: 3, ClusterID: "simulated", FetchVersion: 18})
	defer s.quorum.Close()
	s.quorum.Elect(1, 0)
	s.quorum.Append(values(3)...)
	s.quorum.Commit()
	if s.failure.fault.API == simquorum.FetchSnapshotOnly || early {
		s.quorum.TakeSnapshot(values(3)...)
	} else {
		s.quorum.Append(values(3)...)
		s.quorum.TakeSnapshot(values(1)...)
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	if early {
		s.begin()
	}
	ended := s.observe(ctx)
	time.Sleep(tick)
	if !early {
		s.idle(30 * time.Second)
		s.begin()
	}
	s.fail(time.Minute)
	s.end()
	s.idle(30 * time.Second)
	cancel()
	<-ended
	p := s.sink.progress()
	require.Nil(s.t, p.Problem, "%s: still a problem after it is over", s.failure.name)
	require.LessOrEqual(s.t, p.Lag(), int64(2), "%s: not caught up after it is over", s.failure.name)
	require.Positive(s.t, p.Delivered.Offset)
}

// observe knows controller 1 by a second address, so that limits by address
// would not be enough.
func (s *sufferer) observe(ctx context.Context) chan error {
	s.quorum.Forward("localhost:19093", 1)
	source, err := metadatalog.NewQuorum(metadatalog.QuorumConfig{
		Controllers: []string{"localhost:19093", simquorum.Address(2), simquorum.Address(3)},
		Dir:         s.t.TempDir(), Dial: s.quorum.Dial, ClusterID: "simulated",
		Jitter: func() float64 { return 0 }, // the shortest pauses
	})
	require.NoError(s.t, err)
	s.sink = &recorder{begin: time.Now()}
	ended := make(chan error, 1)
	go func() { ended <- source.Run(ctx, metadatalog.Position{}, s.sink) }()
	return ended
}

func (s *sufferer) begin() {
	s.from = time.Now()
	for id := kafka.NodeID(1); id <= s.controllers; id++ {
		s.quorum.Inject(id, s.failure.fault)
	}
}

// idle is what an idle cluster does: a record every half second, committed
// soon.
func (s *sufferer) idle(d time.Duration) {
	for range d / (5 * tick) {
		s.quorum.Append([]byte("no-op"))
		time.Sleep(tick / 20)
		s.quorum.Commit()
		time.Sleep(5*tick - tick/20)
	}
}

func (s *sufferer) fail(d time.Duration) {
	if s.failure.tick == nil {
		s.idle(d)
		return
	}
	for n := range int(d / tick) {
		s.failure.tick(s.quorum, n)
		time.Sleep(tick)
	}
}

// end makes the quorum well again, with a leader and a snapshot that is there.
func (s *sufferer) end() {
	s.to = time.Now()
	for id := kafka.NodeID(1); id <= 3; id++ {
		s.quorum.Inject(id, simquorum.Fault{})
	}
	s.quorum.Elect(2, 0)
	s.quorum.Commit()
	s.quorum.TakeSnapshot(values(2)...)
}
