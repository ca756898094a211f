package offsetslog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir"
	"github.com/kraftside/kraftside/internal/logdir/logdirtest"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// disk is a broker's log directory in a bubble, and a Dir at work on it.
type disk struct {
	*testing.T
	path  string
	logs  map[int32]*logdirtest.Log
	marks map[int32]kafka.Offset
	sink  *recorder
}

func onDisk(t *testing.T, test func(t *testing.T, d *disk)) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{
			T: t, path: t.TempDir(), logs: map[int32]*logdirtest.Log{}, marks: map[int32]kafka.Offset{}, sink: newRecorder(),
		}
		logdirtest.Replace(t, filepath.Join(d.path, "meta.properties"), "version=1\nnode.id=1\ncluster.id=c\n")
		test(t, d)
	})
}

// create makes a partition's directory.
func (d *disk) create(id int32, topic byte) *logdirtest.Log {
	dir := filepath.Join(d.path, logdir.PartitionName(kafka.OffsetsTopic, id))
	d.logs[id] = logdirtest.New(d, dir, 0)
	logdirtest.Replace(d, filepath.Join(dir, "partition.metadata"), fmt.Sprintf("version: 0\ntopic_id: %v", kafka.UUID{15: topic}))
	return d.logs[id]
}

// commit lets the broker note how far a partition is committed.
func (d *disk) commit(id int32, end kafka.Offset) {
	d.marks[id] = end
	logdirtest.WriteHighWatermarks(d, d.path, kafka.OffsetsTopic, d.marks)
}

func (d *disk) start(change func(*DirConfig)) (stop func()) {
	c := DirConfig{LogDirs: []string{d.path}, ClusterID: "c", Jitter: func() float64 { return 0.5 }}
	if change != nil {
		change(&c)
	}
	ctx, cancel := context.WithCancel(d.Context())
	done := make(chan error, 1)
	go func() { done <- NewDir(c).Run(ctx, d.sink) }()
	stop = func() {
		cancel()
		if err, ok := <-done; ok {
			close(done)
			require.ErrorIs(d, err, context.Canceled)
		}
	}
	d.Cleanup(stop)
	return stop
}

// after lets time pass, and returns what the sink was told of partition 0.
func (d *disk) after(passed time.Duration) []string {
	time.Sleep(passed) // in a bubble
	synctest.Wait()
	return d.sink.take(0)
}

func TestDirFollowsUpToTheHighWatermark(t *testing.T) {
	onDisk(t, func(t *testing.T, d *disk) {
		log := d.create(0, 9)
		d.create(7, 9)
		log.Append(1, "a")
		log.Append(1, "lost")
		d.start(nil)
		require.Empty(t, d.after(soon), "not a partition yet that the broker has a high watermark of")
		require.Equal(t, Assignment{Known: true}, d.sink.assignment())
		d.commit(0, 1)
		d.commit(7, 0)
		require.Equal(t, []string{"fresh at 0", "0 =a"}, d.after(soon))
		require.Equal(t, []string{"fresh at 0"}, d.sink.take(7))
		require.Equal(t, []int32{0, 7}, d.sink.assignment().Partitions)
		require.False(t, d.sink.progress(0).Loading)
		require.False(t, d.sink.progress(7).Loading)

		log.TruncateTo(1)
		log.Append(2, "b", "c")
		require.Empty(t, d.after(time.Minute), "while the broker is away its marks stand still")
		d.commit(0, 3)
		require.Equal(t, []string{"1 =b", "2 =c"}, d.after(soon))
		p := d.sink.progress(0)
		require.Equal(t, Position{Offset: 3, Epoch: 2}, Position{Offset: p.Next, Epoch: p.Epoch})
	})
}

func TestDirTransactions(t *testing.T) {
	onDisk(t, func(t *testing.T, d *disk) {
		log := d.create(0, 9)
		transaction := recordbatch.Header{LeaderEpoch: 1, ProducerID: 5, Attributes: recordbatch.Transactional}
		log.AppendBatch(transaction, []recordbatch.Record{{Key: []byte("k"), Value: []byte("v")}})
		log.AppendBatch(recordbatch.Header{LeaderEpoch: 1, ProducerID: 6}, []recordbatch.Record{{Key: []byte("k")}})
		transaction.Attributes |= recordbatch.Control
		log.AppendBatch(transaction, []recordbatch.Record{{Key: []byte{0, 0, 0, 1}}})
		log.AppendBatch(transaction, []recordbatch.Record{{Key: []byte{0, 0, 0, 0}}})
		log.AppendBatch(transaction, []recordbatch.Record{{Key: []byte{0, 0, 0, 9}}})
		d.commit(0, log.End())
		d.start(nil)
		require.Equal(t, []string{
			"fresh at 0", "0 k=v in transaction", "1 k tombstone", "2 commit in transaction", "3 abort in transaction",
		}, d.after(soon))
		require.Zero(t, d.sink.progress(0).Unreadable, "a control record of another kind is none of our business")
	})
}

func TestDirResumes(t *testing.T) {
	for name, c := range map[string]struct {
		at   Position
		want []string
	}{
		"in the middle":    {Position{Offset: 2, Epoch: 1}, []string{"resumed at 2", "2 =c"}},
		"at the end":       {Position{Offset: 3, Epoch: 2}, []string{"resumed at 3"}},
		"another epoch":    {Position{Offset: 2, Epoch: 2}, []string{"diverged at 1", "1 =b", "2 =c"}},
		"below the start":  {Position{Offset: 0, Epoch: 1}, []string{"log-start-passed at 1", "1 =b", "2 =c"}},
		"of another topic": {Position{Offset: 2, Epoch: 1, TopicID: kafka.UUID{15: 8}}, []string{"recreated at 1", "1 =b", "2 =c"}},
		"too old":          {Position{Offset: 2, Epoch: 1, Age: 25 * time.Hour}, []string{"away-too-long at 1", "1 =b", "2 =c"}},
	} {
		t.Run(name, func(t *testing.T) {
			onDisk(t, func(t *testing.T, d *disk) {
				log := d.create(0, 9)
				log.Append(1, "a")
				log.Roll()
				log.Append(1, "b")
				log.Append(2, "c")
				log.DeleteBelow(1)
				d.commit(0, 3)
				d.sink.resume[0] = c.at
				d.start(func(c *DirConfig) { c.DeleteRetention = func() time.Duration { return 24 * time.Hour } })
				require.Equal(t, c.want, d.after(soon))
				require.False(t, d.sink.progress(0).Loading)
			})
		})
	}
}

func TestDirFollowsACompactedLog(t *testing.T) {
	onDisk(t, func(t *testing.T, d *disk) {
		log := d.create(0, 9)
		for i := range 3 {
			log.Append(1, fmt.Sprint("old", i))
			log.Roll()
		}
		log.Clean(3, func(recordbatch.Record) bool { return false })
		d.commit(0, 3)
		d.start(nil)
		require.Equal(t, []string{"fresh at 0"}, d.after(soon))
		p := d.sink.progress(0)
		require.False(t, p.Loading, "nothing is left to load")
		require.Equal(t, Position{Offset: 3, Epoch: kafka.UnknownEpoch}, Position{Offset: p.Next, Epoch: p.Epoch})
		log.Append(1, "new")
		d.commit(0, 4)
		require.Equal(t, []string{"3 =new"}, d.after(soon))
	})
}

func TestDirPartitionsComeAndGo(t *testing.T) {
	onDisk(t, func(t *testing.T, d *disk) {
		log := d.create(0, 9)
		log.Append(1, "a")
		log.Append(1, "b")
		d.commit(0, 2)
		d.start(nil)
		require.Len(t, d.after(soon), 3)

		require.NoError(t, os.Rename(log.Dir, log.Dir+".0123-delete"))
		require.Empty(t, d.after(soon), "the marks still have it")
		delete(d.marks, 0)
		d.commit(1, 0)
		require.Equal(t, []string{"stop"}, d.after(soon))

		d.sink.resume[0] = Position{Offset: 2, Epoch: 1, TopicID: kafka.UUID{15: 9}}
		d.create(0, 9).Append(4, "x")
		d.commit(0, 1)
		require.Equal(t, []string{"resumed at 2"}, d.after(soon), "it has not come as far again")
		d.logs[0].Append(4, "y")
		d.logs[0].Append(4, "z")
		d.commit(0, 3)
		require.Equal(t, []string{"diverged at 0", "0 =x", "1 =y", "2 =z"}, d.after(soon))
	})
}

func TestDirSeesThatTheTopicIsAnother(t *testing.T) {
	onDisk(t, func(t *testing.T, d *disk) {
		log := d.create(0, 9)
		log.Append(1, "a")
		d.commit(0, 1)
		d.start(nil)
		require.Len(t, d.after(soon), 2)
		require.NoError(t, os.Rename(log.Dir, log.Dir+".0123-delete"))
		d.create(0, 10).Append(0, "x", "y")
		d.commit(0, 2)
		require.Equal(t, []string{"recreated at 0", "0 =x", "1 =y"}, d.after(2*maxBackoff))
	})
}

func TestDirReadsSeveralLogDirs(t *testing.T) {
	onDisk(t, func(t *testing.T, d *disk) {
		d.create(0, 9).Append(1, "a")
		d.commit(0, 1)
		other := t.TempDir()
		logdirtest.Replace(t, filepath.Join(other, "meta.properties"), "version=1\nnode.id=1\ncluster.id=c\n")
		logdirtest.New(t, filepath.Join(other, "__consumer_offsets-3"), 0).Append(1, "b")
		logdirtest.WriteHighWatermarks(t, other, kafka.OffsetsTopic, map[int32]kafka.Offset{3: 1})
		d.start(func(c *DirConfig) { c.LogDirs = append(c.LogDirs, other) })
		require.Equal(t, []string{"fresh at 0", "0 =a"}, d.after(soon))
		require.Equal(t, []string{"fresh at 0", "0 =b"}, d.sink.take(3))
		require.Equal(t, []int32{0, 3}, d.sink.assignment().Partitions)
	})
}

func TestDirSaysWhatIsWrong(t *testing.T) {
	onDisk(t, func(t *testing.T, d *disk) {
		a := d.create(0, 9).Append(1, "a")
		log := d.logs[0]
		b := log.Append(1, "bbb")
		log.Append(1, "c")
		d.create(1, 9).Append(1, "x")
		d.commit(0, 3)
		d.commit(1, 1)
		file, err := os.OpenFile(log.Path(0), os.O_RDWR, 0)
		require.NoError(t, err)
		defer file.Close()
		_, err = file.WriteAt([]byte{1}, int64(a.Size+b.Size-1))
		require.NoError(t, err)
		d.start(nil)
		require.Equal(t, []string{"fresh at 0", "0 =a"}, d.after(time.Minute))
		require.Equal(t, Corrupt, d.sink.progress(0).Problem.Kind)
		require.ErrorContains(t, d.sink.progress(0).Problem, fmt.Sprintf("%s at byte %d, offset 1", log.Path(0), a.Size))
		require.Equal(t, []string{"fresh at 0", "0 =x"}, d.sink.take(1), "the others go on")
		_, err = file.WriteAt(b.Bytes()[b.Size-1:], int64(a.Size+b.Size-1))
		require.NoError(t, err)
		require.Equal(t, []string{"1 =bbb", "2 =c"}, d.after(time.Minute))
		require.Nil(t, d.sink.progress(0).Problem)

		log.AppendTorn(1, 30, "d")
		d.commit(0, 4)
		require.Empty(t, d.after(time.Minute))
		require.ErrorContains(t, d.sink.progress(0).Problem, "the log ends at offset 3, and its high watermark is 4")

		logdirtest.Replace(t, filepath.Join(d.path, "replication-offset-checkpoint"), "1\n")
		d.after(soon)
		require.Equal(t, Corrupt, d.sink.assignment().Problem.Kind)
		require.Equal(t, []int32{0, 1}, d.sink.assignment().Partitions)
		d.commit(1, 1)
		d.after(soon)
		require.Nil(t, d.sink.assignment().Problem)
	})
}

func TestDirWaitsForItsDirectory(t *testing.T) {
	onDisk(t, func(t *testing.T, d *disk) {
		meta := filepath.Join(d.path, "meta.properties")
		require.NoError(t, os.Remove(meta))
		d.create(0, 9).Append(1, "a")
		d.commit(0, 1)
		d.start(nil)
		require.Empty(t, d.after(soon))
		require.Equal(t, Unreadable, d.sink.assignment().Problem.Kind)
		require.False(t, d.sink.assignment().Known)
		logdirtest.Replace(t, meta, "version=1\nnode.id=1\ncluster.id=other\n")
		require.Empty(t, d.after(soon))
		require.Equal(t, WrongCluster, d.sink.assignment().Problem.Kind)
		logdirtest.Replace(t, meta, "version=1\nnode.id=1\ncluster.id=c\n")
		require.Equal(t, []string{"fresh at 0", "0 =a"}, d.after(soon))
	})
}

func TestDirKeepsToItsBudget(t *testing.T) {
	onDisk(t, func(t *testing.T, d *disk) {
		value := strings.Repeat("v", 100<<10)
		for id := range int32(2) {
			log := d.create(id, 9)
			for range 50 {
				log.Append(1, value)
			}
			d.commit(id, log.End())
		}
		d.sink.quiet = true
		d.start(func(c *DirConfig) { c.BytesPerSecond = 1 << 20 })
		for range 8 {
			d.after(time.Second)
			bytes := d.sink.progress(0).Bytes + d.sink.progress(1).Bytes
			passed := time.Since(d.sink.progress(0).Since)
			require.LessOrEqual(t, float64(bytes), passed.Seconds()*(1<<20)+2*turnBytes)
		}
		require.True(t, d.sink.progress(1).Loading)
		d.after(5 * time.Second)
		require.False(t, d.sink.progress(0).Loading)
		require.False(t, d.sink.progress(1).Loading)
	})
}

func TestDirEndsWithItsSink(t *testing.T) {
	onDisk(t, func(t *testing.T, d *disk) {
		d.sink.fail = errors.New("the sink is full")
		require.ErrorIs(t, NewDir(DirConfig{LogDirs: []string{d.path}}).Run(t.Context(), d.sink), d.sink.fail)
	})
}

func TestReadFiles(t *testing.T) {
	root := t.TempDir()
	log := logdirtest.New(t, filepath.Join(root, "__consumer_offsets-2"), 0)
	log.Append(1, "a")
	log.Roll()
	log.Append(1, "b")
	other := logdirtest.New(t, filepath.Join(root, "__consumer_offsets-1"), 5)
	other.Append(1, "x")
	read := func(paths ...string) (*recorder, error) {
		sink := newRecorder()
		return sink, ReadFiles(t.Context(), paths, sink)
	}

	sink, err := read(root)
	require.NoError(t, err)
	require.Equal(t, Assignment{Known: true, Partitions: []int32{1, 2}}, sink.assignment())
	require.Equal(t, []string{"fresh at 5", "5 =x"}, sink.take(1))
	require.Equal(t, []string{"fresh at 0", "0 =a", "1 =b"}, sink.take(2))
	require.Equal(t, kafka.Offset(2), sink.progress(2).Next)
	require.False(t, sink.progress(2).Loading)
	require.Zero(t, sink.topics[2], "of a directory that does not say it")

	id := kafka.UUID{15: 7}
	logdirtest.Replace(t, filepath.Join(log.Dir, "partition.metadata"), fmt.Sprintf("version: 0\ntopic_id: %v", id))
	for _, path := range []string{log.Dir, log.Path(1)} {
		sink, err = read(path)
		require.NoError(t, err)
		require.Equal(t, id, sink.topics[2], path)
	}

	sink, err = read(other.Dir)
	require.NoError(t, err)
	require.Equal(t, []string{"fresh at 5", "5 =x"}, sink.take(1))

	sink, err = read(log.Path(1))
	require.NoError(t, err)
	require.Equal(t, []string{"fresh at 1", "1 =b"}, sink.take(2))

	alone := filepath.Join(t.TempDir(), filepath.Base(log.Path(1)))
	content, err := os.ReadFile(log.Path(1))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(alone, content, 0o600))
	sink, err = read(alone)
	require.NoError(t, err)
	require.Equal(t, []string{"fresh at 1", "1 =b"}, sink.take(NoPartition))

	_, err = read(t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "no partition of __consumer_offsets")
}

func TestReadFilesThatAreDamaged(t *testing.T) {
	root := t.TempDir()
	whole := logdirtest.New(t, filepath.Join(root, "__consumer_offsets-3"), 0)
	whole.Append(1, "x")
	cut := logdirtest.New(t, filepath.Join(root, "__consumer_offsets-1"), 0)
	a := cut.Append(1, "a")
	cut.AppendTorn(1, 70, "b")
	flipped := logdirtest.New(t, filepath.Join(root, "__consumer_offsets-2"), 0)
	flipped.Append(1, "a")
	flipped.Append(1, "b")
	content, err := os.ReadFile(flipped.Path(0))
	require.NoError(t, err)
	content[a.Size+a.Size-1] ^= 1
	require.NoError(t, os.WriteFile(flipped.Path(0), content, 0o600))

	sink := newRecorder()
	err = ReadFiles(t.Context(), []string{root, filepath.Join(root, "missing")}, sink)
	require.ErrorIs(t, err, recordbatch.ErrPartial)
	require.ErrorIs(t, err, recordbatch.ErrCorrupt)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, fmt.Sprintf("%s at byte %d, offset 1", flipped.Path(0), a.Size))
	require.False(t, sink.assignment().Known)
	for _, id := range []int32{1, 2} {
		require.Equal(t, []string{"fresh at 0", "0 =a"}, sink.take(id))
	}
	require.Equal(t, []string{"fresh at 0", "0 =x"}, sink.take(3))

	err = ReadFiles(t.Context(), []string{flipped.Path(0), cut.Path(0)}, sink)
	require.ErrorIs(t, err, recordbatch.ErrPartial)
	require.ErrorIs(t, err, recordbatch.ErrCorrupt)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, ReadFiles(ended, []string{root}, sink), context.Canceled)
	sink.fail = errors.New("the sink is full")
	require.ErrorIs(t, ReadFiles(t.Context(), []string{root}, sink), sink.fail)
}
