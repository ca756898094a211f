package metadatalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir"
	"github.com/kraftside/kraftside/internal/logdir/logdirtest"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// recorder is a sink that keeps what it is told as text.
type recorder struct {
	mu     sync.Mutex
	events []string
	at     Progress
	fail   error
}

func (r *recorder) note(format string, args ...any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, fmt.Sprintf(format, args...))
	return r.fail
}

// take returns the events since it was last called.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.events
	r.events = nil
	return events
}

func (r *recorder) LoadSnapshot(s *SnapshotReader) error {
	for {
		_, err := s.Next()
		if err == io.EOF {
			return r.note("snapshot %d-%d", s.ID().EndOffset, s.ID().Epoch)
		}
		if err != nil {
			return err
		}
	}
}

func (r *recorder) Append(b *recordbatch.Batch) error {
	return r.note("%d..%d epoch %d", b.BaseOffset, b.LastOffset(), b.LeaderEpoch)
}

func (r *recorder) Reset(error) error { return r.note("reset") }

func (r *recorder) Progress(p Progress) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = p
	return nil
}

// progress is the last Progress.
func (r *recorder) progress() Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at
}

// fakeBound is a Bound that the test moves.
type fakeBound struct {
	end   atomic.Int64
	fails atomic.Bool
	asked atomic.Int64
}

func (b *fakeBound) CommittedEnd(context.Context) (kafka.Offset, error) {
	b.asked.Add(1)
	if b.fails.Load() {
		return kafka.UnknownOffset, errors.New("the broker is away")
	}
	return kafka.Offset(b.end.Load()), nil
}

// dirTest is a Dir at work in a bubble, with everything still between steps.
type dirTest struct {
	*testing.T
	log   *logdirtest.Log
	bound fakeBound
	sink  recorder
	done  chan error
}

func startDir(t *testing.T, log *logdirtest.Log, start Position, end kafka.Offset) *dirTest {
	d := &dirTest{T: t, log: log, done: make(chan error, 1)}
	d.bound.end.Store(int64(end))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		d.done <- NewDir(DirConfig{Dir: log.Dir, Bound: &d.bound, Jitter: func() float64 { return 0 }}).Run(ctx, start, &d.sink)
	}()
	t.Cleanup(func() {
		cancel()
		<-d.done
	})
	return d
}

// after lets time pass, and returns what the sink was told.
func (d *dirTest) after(passed time.Duration) []string {
	time.Sleep(passed) // in a bubble
	synctest.Wait()
	return d.sink.take()
}

// bubble runs a test in simulated time, on a log that starts at offset 0.
func bubble(t *testing.T, test func(t *testing.T, log *logdirtest.Log)) {
	synctest.Test(t, func(t *testing.T) {
		test(t, logdirtest.New(t, filepath.Join(t.TempDir(), "__cluster_metadata-0"), 0))
	})
}

const tick = boundInterval

func TestDirFollowsUpToTheBound(t *testing.T) {
	bubble(t, func(t *testing.T, log *logdirtest.Log) {
		log.Append(1, "a", "b")
		log.Append(1, "lost")
		d := startDir(t, log, Position{}, kafka.UnknownOffset)
		require.Empty(t, d.after(10*tick), "no bound, no reading")
		d.bound.end.Store(1)
		require.Empty(t, d.after(tick), "half a batch is not committed")
		d.bound.end.Store(2)
		require.Equal(t, []string{"0..1 epoch 1"}, d.after(tick))

		log.TruncateTo(2)
		log.Append(2, "c")
		log.Roll()
		log.Append(2, "d")
		require.Empty(t, d.after(10*tick), "the bound stands still, and so does the source")
		d.bound.end.Store(4)
		require.Equal(t, []string{"2..2 epoch 2", "3..3 epoch 2"}, d.after(tick))
		require.Equal(t, Progress{
			Leader: kafka.NoNode, LeaderEpoch: 2, HighWatermark: 4, Delivered: Position{4, 2}, EndOffset: 4,
		}, d.sink.progress())

		d.bound.end.Store(1)
		log.Append(2, "e")
		require.Empty(t, d.after(tick), "a bound that falls is one that restarted")
		require.Equal(t, kafka.Offset(4), d.sink.progress().HighWatermark)
	})
}

func TestDirGoesOnWhileTheBrokerIsAway(t *testing.T) {
	bubble(t, func(t *testing.T, log *logdirtest.Log) {
		log.Append(1, "a")
		log.Append(1, "b")
		d := startDir(t, log, Position{}, 1)
		require.Len(t, d.after(tick), 1)
		d.bound.fails.Store(true)
		asked := d.bound.asked.Load()
		require.Empty(t, d.after(time.Minute))
		require.Less(t, d.bound.asked.Load()-asked, int64(20), "an absent broker is asked ever more seldom")
		p := d.sink.progress().Problem
		require.Equal(t, Unreachable, p.Kind)
		require.ErrorContains(t, p, "the broker is away")
		require.Greater(t, p.Attempts, 5)

		d.bound.fails.Store(false)
		d.bound.end.Store(2)
		require.Equal(t, []string{"1..1 epoch 1"}, d.after(2*maxBackoff))
		require.Nil(t, d.sink.progress().Problem)
	})
}

func TestDirBeginsWithTheNewestSnapshot(t *testing.T) {
	bubble(t, func(t *testing.T, log *logdirtest.Log) {
		content := readKafkaFile(t, kafkaSnapshotName)
		log.Snapshot(0, 0, content) // bootstrap: what was proposed, not committed
		for range 3 {
			log.Append(1, "a", "b", "c")
			log.Roll()
		}
		log.Snapshot(3, 1, content)
		log.Snapshot(4, 1, content)
		log.Snapshot(8, 1, content[:len(content)-10]) // damaged
		require.NoError(t, os.WriteFile(filepath.Join(log.Dir, "00000000000000000009-0000000001-77.checkpoint.part"), content, 0o600))
		d := startDir(t, log, Position{}, 9)
		require.Equal(t, []string{"snapshot 4-1", "3..5 epoch 1", "6..8 epoch 1"}, d.after(tick))
		require.Nil(t, d.sink.progress().Problem)
	})
}

func TestDirReadsTheLogWhereThereIsOnlyABootstrapSnapshot(t *testing.T) {
	bubble(t, func(t *testing.T, log *logdirtest.Log) {
		log.Snapshot(0, 0, readKafkaFile(t, kafkaSnapshotName))
		log.Append(1, "a")
		require.Equal(t, []string{"0..0 epoch 1"}, startDir(t, log, Position{}, 1).after(tick))
	})
}

func TestDirResumes(t *testing.T) {
	bubble(t, func(t *testing.T, log *logdirtest.Log) {
		log.Append(1, "a")
		log.Append(2, "b", "c")
		log.Append(2, "d")
		log.Snapshot(4, 2, readKafkaFile(t, kafkaSnapshotName))
		require.Equal(t, []string{"1..2 epoch 2", "3..3 epoch 2"}, startDir(t, log, Position{2, 2}, 4).after(tick),
			"a log that goes back far enough tells more than a snapshot")
		d := startDir(t, log, Position{2, 1}, 4)
		require.Equal(t, []string{"reset"}, d.after(0))
		require.Equal(t, Diverged, d.sink.progress().Problem.Kind)
		require.Equal(t, []string{"snapshot 4-2"}, d.after(2*tick))
		require.Nil(t, d.sink.progress().Problem)
	})
}

func TestDirLoadsASnapshotWhereTheLogStartPassedIt(t *testing.T) {
	bubble(t, func(t *testing.T, log *logdirtest.Log) {
		log.Append(1, "a")
		log.Roll()
		log.Append(1, "b")
		log.Roll()
		log.Append(1, "c")
		d := startDir(t, log, Position{}, 1)
		require.Len(t, d.after(tick), 1)
		log.DeleteBelow(2)
		d.bound.end.Store(3)
		require.Empty(t, d.after(tick))
		require.ErrorIs(t, d.sink.progress().Problem, errGap)
		log.Snapshot(2, 1, readKafkaFile(t, kafkaSnapshotName))
		require.Equal(t, []string{"snapshot 2-1", "2..2 epoch 1"}, d.after(3*tick))
		require.Nil(t, d.sink.progress().Problem)
	})
}

// A follower that is far behind fetches a snapshot from the leader, and its
// log starts behind it.
func TestDirFollowsAFetchedSnapshot(t *testing.T) {
	bubble(t, func(t *testing.T, log *logdirtest.Log) {
		log.Append(1, "a")
		d := startDir(t, log, Position{}, 1)
		require.Len(t, d.after(tick), 1)
		log.Append(1, "lost")
		log.Snapshot(9, 4, readKafkaFile(t, kafkaSnapshotName))
		log.TruncateFullyAndStartAt(9)
		d.bound.end.Store(9)
		require.Equal(t, []string{"snapshot 9-4"}, d.after(tick))
		log.Append(4, "j")
		d.bound.end.Store(10)
		require.Equal(t, []string{"9..9 epoch 4"}, d.after(tick))
	})
}

func TestDirIsResetWhenItsPastChanges(t *testing.T) {
	bubble(t, func(t *testing.T, log *logdirtest.Log) {
		log.Append(1, "a")
		log.Append(1, "b")
		d := startDir(t, log, Position{}, 2)
		require.Len(t, d.after(tick), 2)
		log.TruncateTo(1)
		log.Append(2, "x")
		log.Append(2, "y")
		d.bound.end.Store(3)
		require.Equal(t, []string{"reset", "0..0 epoch 1", "1..1 epoch 2", "2..2 epoch 2"}, d.after(10*tick))
	})
}

func TestDirSaysWhatIsWrong(t *testing.T) {
	bubble(t, func(t *testing.T, log *logdirtest.Log) {
		a := log.Append(1, "a")
		b := log.Append(1, "bbb")
		log.Append(1, "c")
		file, err := os.OpenFile(log.Path(0), os.O_RDWR, 0)
		require.NoError(t, err)
		defer file.Close()
		last := int64(a.Size + b.Size - 1)
		_, err = file.WriteAt([]byte{1}, last)
		require.NoError(t, err)
		d := startDir(t, log, Position{}, 3)
		require.Equal(t, []string{"0..0 epoch 1"}, d.after(10*tick))
		require.Equal(t, Corrupt, d.sink.progress().Problem.Kind)
		require.ErrorContains(t, d.sink.progress().Problem, fmt.Sprintf("%s at byte %d, offset 1", log.Path(0), a.Size))

		_, err = file.WriteAt(b.Bytes()[b.Size-1:], last)
		require.NoError(t, err)
		require.Equal(t, []string{"1..1 epoch 1", "2..2 epoch 1"}, d.after(2*maxBackoff), "the disk was replaced by its mirror")
		require.Nil(t, d.sink.progress().Problem)

		log.AppendTorn(1, 30, "d")
		d.bound.end.Store(4)
		require.Empty(t, d.after(stallPatience/2))
		require.Nil(t, d.sink.progress().Problem)
		require.Empty(t, d.after(stallPatience))
		require.Equal(t, Unreadable, d.sink.progress().Problem.Kind)
		require.ErrorContains(t, d.sink.progress().Problem, "the log ends at offset 3, and offset 3 is committed: ")
		log.Finish()
		require.Equal(t, []string{"3..3 epoch 1"}, d.after(2*maxBackoff))
	})
}

func TestDirWaitsForItsDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		d := &dirTest{T: t, done: make(chan error, 1)}
		d.bound.end.Store(1)
		ctx, cancel := context.WithCancel(t.Context())
		source := NewDir(DirConfig{Dir: root, ClusterID: "mine", Bound: &d.bound, Jitter: func() float64 { return 0 }})
		go func() { d.done <- source.Run(ctx, Position{}, &d.sink) }()
		d.after(tick)
		require.ErrorIs(t, d.sink.progress().Problem, errNoLog)
		require.Equal(t, Unreadable, d.sink.progress().Problem.Kind)
		require.Zero(t, d.bound.asked.Load())

		meta := filepath.Join(root, "meta.properties")
		logdirtest.Replace(t, meta, "version=1\nnode.id=1\ncluster.id=other\n")
		log := logdirtest.New(t, filepath.Join(root, "__cluster_metadata-0"), 0)
		log.Append(1, "a")
		require.Empty(t, d.after(2*maxBackoff))
		require.Equal(t, WrongCluster, d.sink.progress().Problem.Kind)
		require.ErrorContains(t, d.sink.progress().Problem, "belongs to cluster other, not to mine")

		logdirtest.Replace(t, meta, "version=1\nnode.id=1\ncluster.id=mine\n")
		require.Equal(t, []string{"0..0 epoch 1"}, d.after(2*maxBackoff))
		cancel()
		require.ErrorIs(t, <-d.done, context.Canceled)
	})
}

func TestDirEndsWithItsSink(t *testing.T) {
	bubble(t, func(t *testing.T, log *logdirtest.Log) {
		log.Append(1, "a")
		full := errors.New("the sink is full")
		d := &dirTest{T: t}
		d.bound.end.Store(1)
		d.sink.fail = full
		source := NewDir(DirConfig{Dir: log.Dir, Bound: &d.bound})
		require.ErrorIs(t, source.Run(t.Context(), Position{}, &d.sink), full)
	})
}

func TestFindDir(t *testing.T) {
	root := t.TempDir()
	log := logdirtest.New(t, filepath.Join(root, "__cluster_metadata-0"), 0)
	for _, dir := range []string{root, log.Dir} {
		at, err := FindDir(dir)
		require.NoError(t, err)
		require.Equal(t, Location{Dir: log.Dir, NodeID: kafka.NoNode}, at)
	}
	logdirtest.Replace(t, filepath.Join(root, "meta.properties"), "version=1\nnode.id=0\ncluster.id=c\ndirectory.id=AAAAAAAAAAAAAAAAAAAABQ\n")
	at, err := FindDir(root)
	require.NoError(t, err)
	require.Equal(t, Location{Dir: log.Dir, NodeID: 0, ClusterID: "c", DirectoryID: kafka.UUID{15: 5}}, at)

	copied := filepath.Join(root, "copy")
	require.NoError(t, os.Mkdir(copied, 0o755))
	_, err = FindDir(copied)
	require.ErrorIs(t, err, errNoLog)
	logdirtest.New(t, copied, 0)
	at, err = FindDir(copied)
	require.NoError(t, err)
	require.Equal(t, copied, at.Dir)

	logdirtest.Replace(t, filepath.Join(root, "meta.properties"), "version=0\nbroker.id=0\ncluster.id=c\n")
	_, err = FindDir(root)
	require.ErrorIs(t, err, logdir.ErrFormat)
	_, err = FindDir(filepath.Join(root, "none"))
	require.ErrorIs(t, err, errNoLog)
}

func TestCheckDir(t *testing.T) {
	log := logdirtest.New(t, t.TempDir(), 0)
	log.Append(1, "a")
	require.NoError(t, CheckDir(log.Dir))
	log.Snapshot(1, 1, readKafkaFile(t, kafkaSnapshotName))
	require.NoError(t, CheckDir(log.Dir))
	require.ErrorIs(t, CheckDir(t.TempDir()), errNoLog)
}

func TestReadDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "copy")
	log := logdirtest.New(t, dir, 0)
	content := readKafkaFile(t, kafkaSnapshotName)
	log.Append(1, "a", "b")
	log.Roll()
	log.Append(1, "c")
	log.Append(1, "d", "e")
	log.Snapshot(2, 1, content)
	log.Snapshot(3, 1, content)
	all := []string{"0..1 epoch 1", "2..2 epoch 1", "3..4 epoch 1"}
	for end, want := range map[kafka.Offset][]string{kafka.UnknownOffset: all, 5: all, 4: all[:2], 2: all[:1], 1: nil} {
		var sink recorder
		require.NoError(t, ReadDir(dir, end, &sink))
		require.Equal(t, want, sink.take(), "up to %d", end)
		require.Equal(t, kafka.UnknownOffset, sink.progress().HighWatermark)
	}

	log.DeleteBelow(2)
	for end, want := range map[kafka.Offset][]string{
		kafka.UnknownOffset: {"snapshot 2-1", "2..2 epoch 1", "3..4 epoch 1"},
		2:                   {"snapshot 2-1"},
	} {
		var sink recorder
		require.NoError(t, ReadDir(dir, end, &sink))
		require.Equal(t, want, sink.take(), "up to %d", end)
	}
	require.ErrorIs(t, ReadDir(dir, 1, new(recorder)), errGap)

	log.AppendTorn(1, 70, "f")
	var sink recorder
	require.ErrorIs(t, ReadDir(dir, kafka.UnknownOffset, &sink), recordbatch.ErrPartial)
	require.Equal(t, []string{"snapshot 2-1", "2..2 epoch 1", "3..4 epoch 1"}, sink.take())
	log.Finish()
}

func TestReadDirGoesOnBehindDamage(t *testing.T) {
	log := logdirtest.New(t, t.TempDir(), 0)
	content := readKafkaFile(t, kafkaSnapshotName)
	log.Append(1, "a", "b")
	log.Append(1, "c")
	log.Append(1, "d")
	log.Snapshot(1, 1, content)
	log.Snapshot(4, 1, content)
	require.NoError(t, os.Truncate(log.Path(0), int64(log.Batches()[0].Size+20)))
	log.Roll()
	log.Append(1, "e")
	var sink recorder
	var corrupt *logdir.CorruptError
	require.ErrorAs(t, ReadDir(log.Dir, kafka.UnknownOffset, &sink), &corrupt)
	require.Equal(t, kafka.Offset(2), corrupt.Offset)
	require.Equal(t, []string{"0..1 epoch 1", "snapshot 4-1", "4..4 epoch 1"}, sink.take(), "the snapshot that reaches beyond the damage")
}

func TestProblemsOfADirectorySayWhatToDo(t *testing.T) {
	for kind, err := range map[ProblemKind]error{
		NotAuthorized:  fmt.Errorf("snapshot: %w", &logdir.PermissionError{Path: "x.checkpoint", Owner: 1000, Mode: 0o400}),
		WrongCluster:   wrongCluster{"it belongs", "a", "b"},
		SnapshotFailed: fmt.Errorf("read: %w", ErrIncompleteSnapshot),
		Corrupt:        &logdir.CorruptError{Err: recordbatch.ErrPartial},
		Unreadable:     os.ErrNotExist,
	} {
		got, advice := classifyDir(err)
		require.Equal(t, kind, got)
		p := Problem{Kind: got, Node: kafka.NoNode, Err: err, Advice: advice}
		require.Equal(t, err.Error()+"; "+advice, p.Error())
	}
}
