package simquorum_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/test/simquorum"
)

// Each file of testdata/scenarios tells one story, in commands to the simulated quorum
// and to an observer of it. The output of a command is what the observer's
// sink saw because of it, at which second of the story.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		synctest.Test(t, func(t *testing.T) {
			w := &world{t: t, dir: t.TempDir(), begin: time.Now()}
			defer w.stop()
			datadriven.RunTest(t, path, w.run)
		})
	})
}

// world is one story.
type world struct {
	t      *testing.T
	dir    string
	begin  time.Time
	quorum *simquorum.Quorum
	cancel context.CancelFunc
	ended  chan error
	sink   *recorder
}

// run carries out one command and lets everything happen that needs no time.
func (w *world) run(t *testing.T, d *datadriven.TestData) string {
	command := commands[d.Cmd]
	require.NotNil(t, command, "%s: unknown command %s", d.Pos, d.Cmd)
	out := command(w, d)
	synctest.Wait()
	if w.sink != nil {
		out += w.sink.take()
	}
	if out == "" {
		return "nothing\n"
	}
	return out
}

func (w *world) stop() {
	if w.cancel != nil {
		w.cancel()
		require.ErrorIs(w.t, <-w.ended, context.Canceled)
		w.cancel = nil
	}
	if w.quorum != nil {
		w.quorum.Close()
	}
}

var commands = map[string]func(*world, *datadriven.TestData) string{
	"quorum":   (*world).startQuorum,
	"observe":  (*world).observe,
	"advance":  (*world).advance,
	"fault":    (*world).fault,
	"requests": (*world).requests,
	"status":   (*world).status,
	"restart": func(w *world, d *datadriven.TestData) string {
		w.cancel()
		require.ErrorIs(w.t, <-w.ended, context.Canceled)
		return w.observe(d)
	},
	"append": func(w *world, d *datadriven.TestData) string {
		n, size := 1, 0
		d.MaybeScanArgs(w.t, "n", &n)
		if d.MaybeScanArgs(w.t, "size", &size); size > 0 {
			return fmt.Sprintf("offset %d\n", w.quorum.Append(make([]byte, size)))
		}
		return fmt.Sprintf("offset %d\n", w.quorum.Append(values(n)...))
	},
	"commit": func(w *world, _ *datadriven.TestData) string { w.quorum.Commit(); return "" },
	"elect": func(w *world, d *datadriven.TestData) string {
		leader, lose := -1, 0
		d.MaybeScanArgs(w.t, "leader", &leader)
		d.MaybeScanArgs(w.t, "lose", &lose)
		w.quorum.Elect(kafka.NodeID(leader), lose)
		return ""
	},
	"rewrite": func(w *world, d *datadriven.TestData) string {
		n, epoch := 1, 1
		d.MaybeScanArgs(w.t, "n", &n)
		d.MaybeScanArgs(w.t, "epoch", &epoch)
		w.quorum.Rewrite(n, kafka.Epoch(epoch))
		return ""
	},
	"snapshot": func(w *world, d *datadriven.TestData) string {
		n := 1
		d.MaybeScanArgs(w.t, "n", &n)
		w.quorum.TakeSnapshot(values(n)...)
		return ""
	},
	"lose-snapshot": func(w *world, _ *datadriven.TestData) string { w.quorum.LoseSnapshot(); return "" },
	"heal": func(w *world, d *datadriven.TestData) string {
		w.quorum.Inject(w.controller(d), simquorum.Fault{})
		return ""
	},
	"disconnect": func(w *world, d *datadriven.TestData) string { w.quorum.Disconnect(w.controller(d)); return "" },
	"advertise": func(w *world, d *datadriven.TestData) string {
		var address string
		d.ScanArgs(w.t, "address", &address)
		w.quorum.Advertise(w.controller(d), address)
		return ""
	},
	"forward": func(w *world, d *datadriven.TestData) string {
		var address string
		d.ScanArgs(w.t, "address", &address)
		w.quorum.Forward(address, w.controller(d))
		return ""
	},
}

func (w *world) controller(d *datadriven.TestData) kafka.NodeID {
	var id int32
	d.ScanArgs(w.t, "controller", &id)
	return kafka.NodeID(id)
}

func (w *world) startQuorum(d *datadriven.TestData) string {
	c := simquorum.Config{Controllers: 3, ClusterID: "simulated", FetchVersion: 18, SnapshotPiece: 64}
	d.MaybeScanArgs(w.t, "controllers", &c.Controllers)
	if version := 0; d.MaybeScanArgs(w.t, "fetch", &version) {
		c.FetchVersion = int16(version)
	}
	w.quorum = simquorum.New(c)
	return ""
}

// observe starts an observer: controllers=(…) where it looks, from=OFFSET and
// epoch=EPOCH where it goes on, cluster=ID what it expects.
func (w *world) observe(d *datadriven.TestData) string {
	config := metadatalog.QuorumConfig{
		Dir:         w.dir,
		Dial:        w.quorum.Dial,
		Jitter:      func() float64 { return 0.5 },
		Controllers: []string{simquorum.Address(1), simquorum.Address(2), simquorum.Address(3)},
	}
	var start metadatalog.Position
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "controllers":
			config.Controllers = arg.Vals
		case "cluster":
			config.ClusterID = arg.Vals[0]
		case "from":
			arg.Scan(w.t, 0, (*int64)(&start.Offset))
		case "epoch":
			arg.Scan(w.t, 0, (*int32)(&start.Epoch))
		}
	}
	source, err := metadatalog.NewQuorum(config)
	require.NoError(w.t, err)
	w.sink = &recorder{begin: w.begin, problem: "no problem"}
	ctx, cancel := context.WithCancel(w.t.Context())
	w.cancel, w.ended = cancel, make(chan error, 1)
	sink, ended := w.sink, w.ended
	go func() { ended <- source.Run(ctx, start, sink) }()
	return ""
}

func (w *world) advance(d *datadriven.TestData) string {
	span, err := time.ParseDuration(d.CmdArgs[0].Key)
	require.NoError(w.t, err)
	time.Sleep(span)
	return ""
}

// fault is: fault controller=ID kind=KIND [api=fetch|snapshot] [code=ERROR]
// [after=REQUESTS].
func (w *world) fault(d *datadriven.TestData) string {
	var kind, api, code string
	d.ScanArgs(w.t, "kind", &kind)
	d.MaybeScanArgs(w.t, "api", &api)
	d.MaybeScanArgs(w.t, "code", &code)
	f := simquorum.Fault{Kind: faultKinds[kind], API: map[string]simquorum.API{
		"fetch": simquorum.FetchOnly, "snapshot": simquorum.FetchSnapshotOnly}[api]}
	require.NotZero(w.t, f.Kind, "%s: unknown fault %s", d.Pos, kind)
	if code != "" {
		f.Code = errorCode(w.t, code)
	}
	d.MaybeScanArgs(w.t, "after", &f.After)
	w.quorum.Inject(w.controller(d), f)
	return ""
}

var faultKinds = map[string]simquorum.FaultKind{
	"refuse": simquorum.RefuseConnections, "drop-packets": simquorum.DropPackets, "close-on-accept": simquorum.CloseOnAccept,
	"close-on-request": simquorum.CloseOnRequest, "stall": simquorum.Stall, "empty-answer": simquorum.EmptyAnswer,
	"top-level-error": simquorum.TopLevelError, "partition-error": simquorum.PartitionError, "answer-as-broker": simquorum.AnswerAsBroker, "no-progress": simquorum.NoProgress,
	"corrupt-records": simquorum.CorruptRecords, "cut-records": simquorum.CutRecords, "foreign-records": simquorum.ForeignRecords,
	"names-itself": simquorum.NamesItself, "garbage": simquorum.Garbage, "always-diverging": simquorum.AlwaysDiverging,
}

// errorCode finds a code by Kafka's name of it.
func errorCode(t *testing.T, name string) int16 {
	for code := int16(-1); code < 200; code++ {
		if e := kerr.TypedErrorForCode(code); e != nil && e.Message == name {
			return code
		}
	}
	require.Fail(t, "unknown error code", name)
	return 0
}

// requests prints the most that each controller saw in any 5 s, since the
// start of the story, and that nothing else was asked of it.
func (w *world) requests(_ *datadriven.TestData) string {
	var out strings.Builder
	for id := kafka.NodeID(1); id <= 3; id++ {
		seen := w.quorum.Seen(id)
		require.Empty(w.t, seen.Foreign)
		fmt.Fprintf(&out, "controller %d: %d requests, %d connections\n", id,
			simquorum.MostIn(seen.Requests, 5*time.Second), simquorum.MostIn(seen.Connections, 5*time.Second))
	}
	return out.String()
}

func (w *world) status(_ *datadriven.TestData) string {
	p := w.sink.progress()
	s := fmt.Sprintf("%s\nposition %v lag %d asked %s\n%s\n", place(&p), p.Delivered, p.Lag(), p.Address, problem(&p))
	if p.Snapshot != nil {
		s += fmt.Sprintf("snapshot: %d of %d bytes\n", p.Snapshot.Position, p.Snapshot.Size)
	}
	if p.Problem != nil {
		s += fmt.Sprintf("since %.1fs, %d times\n", p.Problem.Since.Sub(w.begin).Seconds(), p.Problem.Attempts)
	}
	return s
}

func values(n int) [][]byte {
	v := make([][]byte, n)
	for i := range v {
		v[i] = fmt.Appendf(nil, "value %d", i)
	}
	return v
}

// recorder is a sink that writes down what it is given.
type recorder struct {
	begin time.Time

	mu      sync.Mutex
	events  strings.Builder
	last    metadatalog.Progress
	place   string
	problem string
	decoder recordbatch.Decoder
}

// event writes a line. The lock is held.
func (r *recorder) event(format string, args ...any) {
	fmt.Fprintf(&r.events, "%.1fs %s\n", time.Since(r.begin).Seconds(), fmt.Sprintf(format, args...))
}

// take returns what was written since the last call.
func (r *recorder) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.events.Reset()
	return r.events.String()
}

func (r *recorder) LoadSnapshot(s *metadatalog.SnapshotReader) error {
	n := 0
	for {
		b, err := s.Next()
		if err == io.EOF {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.event("snapshot %v: %d records", s.ID(), n)
			return nil
		}
		if err != nil {
			return err
		}
		n += int(b.Count)
	}
}

func (r *recorder) Append(b *recordbatch.Batch) error {
	if err := r.decoder.Start(b); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	kind := ""
	if b.IsControl() {
		kind = " control"
	}
	if b.BaseOffset == b.LastOffset() {
		r.event("append %d epoch %d%s", b.BaseOffset, b.LeaderEpoch, kind)
	} else {
		r.event("append %d-%d epoch %d%s", b.BaseOffset, b.LastOffset(), b.LeaderEpoch, kind)
	}
	return nil
}

func (r *recorder) Reset(reason error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.event("reset: %v", reason)
	return nil
}

// Progress writes down how far things are, and the problem, when they change.
func (r *recorder) Progress(p metadatalog.Progress) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = p
	if s := place(&p); s != r.place {
		r.place = s
		r.event("%s", s)
	}
	if s := problem(&p); s != r.problem {
		r.problem = s
		r.event("%s", s)
	}
	return nil
}

func (r *recorder) progress() metadatalog.Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

func place(p *metadatalog.Progress) string {
	s := fmt.Sprintf("leader %d epoch %d hw %d delivered %d end %d", p.Leader, p.LeaderEpoch, p.HighWatermark, p.Delivered.Offset, p.EndOffset)
	if p.Snapshot != nil && p.Snapshot.Position > 0 {
		s += fmt.Sprintf(" downloading %v", p.Snapshot.ID)
	}
	return s
}

func problem(p *metadatalog.Progress) string {
	if p.Problem == nil {
		return "no problem"
	}
	return fmt.Sprintf("problem %s: %v", p.Problem.Kind, p.Problem)
}

// A sink's error ends the source, whatever the quorum does.
func TestSinkErrorEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quorum := simquorum.New(simquorum.Config{Controllers: 1, ClusterID: "simulated", FetchVersion: 18})
		defer quorum.Close()
		quorum.Elect(1, 0)
		quorum.Commit()
		source, err := metadatalog.NewQuorum(metadatalog.QuorumConfig{
			Controllers: []string{simquorum.Address(1)}, Dir: t.TempDir(), Dial: quorum.Dial})
		require.NoError(t, err)
		require.ErrorIs(t, source.Run(t.Context(), metadatalog.Position{}, failingSink{}), errSink)
	})
}

var errSink = errors.New("the sink is full")

type failingSink struct{}

func (failingSink) LoadSnapshot(*metadatalog.SnapshotReader) error { return errSink }
func (failingSink) Append(*recordbatch.Batch) error                { return errSink }
func (failingSink) Reset(error) error                              { return errSink }
func (failingSink) Progress(metadatalog.Progress) error            { return nil }
