package logdir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir/logdirtest"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// drain calls Next until it has nothing, and returns the base offsets of what
// it yielded.
func drain(t testing.TB, f *Follower, end kafka.Offset) (bases []kafka.Offset) {
	bases, err := read(f, end)
	require.ErrorIs(t, err, ErrWait)
	return bases
}

func read(f *Follower, end kafka.Offset) (bases []kafka.Offset, err error) {
	for {
		b, err := f.Next(end)
		if err != nil {
			return bases, err
		}
		bases = append(bases, b.BaseOffset)
	}
}

// follow follows a log from its start, or from an offset without an epoch.
func follow(t testing.TB, l *logdirtest.Log, from kafka.Offset, o Options) *Follower {
	f := Follow(l.Dir, from, kafka.UnknownEpoch, o)
	t.Cleanup(f.Close)
	return f
}

func offsets(o ...kafka.Offset) []kafka.Offset { return o }

func TestFollowNeverPassesTheCommittedEnd(t *testing.T) {
	l := logdirtest.New(t, t.TempDir(), 0)
	l.Append(1, "a")
	l.Append(1, "b", "c")
	l.Append(1, "d")
	f := follow(t, l, 0, Options{})
	require.Empty(t, drain(t, f, 0))
	require.Equal(t, offsets(0), drain(t, f, 1))
	require.Empty(t, drain(t, f, 2), "half a batch is none")
	require.Equal(t, offsets(1), drain(t, f, 3))
	require.Equal(t, offsets(3), drain(t, f, math.MaxInt64))
	require.Equal(t, kafka.Offset(4), f.Offset())
	require.Equal(t, kafka.Epoch(1), f.Epoch())
}

// What lies above the committed end may be read along with what lies below.
// When it turns out not to be what gets committed, the Follower must not
// yield it out of its buffer.
func TestFollowForgetsATailThatWasTruncated(t *testing.T) {
	l := logdirtest.New(t, t.TempDir(), 0)
	l.Append(1, "a")
	l.Append(1, "lost", "lost")
	l.Append(1, "lost")
	f := follow(t, l, 0, Options{})
	require.Equal(t, offsets(0), drain(t, f, 1))

	l.TruncateTo(1)
	l.Append(2, "b")
	l.Append(2, "c", "d", "e")
	b, err := f.Next(5)
	require.NoError(t, err)
	require.Equal(t, kafka.Offset(1), b.BaseOffset)
	require.Equal(t, kafka.Epoch(2), b.LeaderEpoch)
	require.Equal(t, offsets(2), drain(t, f, 5))
}

// The same in the middle of a buffer: the committed end moves on between two
// batches that were read at once.
func TestFollowReadsAnewWhenTheCommittedEndMoves(t *testing.T) {
	l := logdirtest.New(t, t.TempDir(), 0)
	l.Append(1, "a")
	l.Append(1, "b")
	l.Append(1, "lost")
	f := follow(t, l, 0, Options{})
	_, err := f.Next(2)
	require.NoError(t, err)
	l.TruncateTo(2)
	l.Append(2, "won")
	require.Equal(t, offsets(1), drain(t, f, 2))
	b, err := f.Next(3)
	require.NoError(t, err)
	require.Equal(t, kafka.Epoch(2), b.LeaderEpoch)
}

func TestFollowThroughRollsAndRenames(t *testing.T) {
	l := logdirtest.New(t, t.TempDir(), 0)
	l.Append(1, "a")
	l.Append(1, "b")
	f := follow(t, l, 0, Options{})
	_, err := f.Next(2)
	require.NoError(t, err)
	l.Roll()
	l.Append(1, "c")
	l.DeleteBelow(2)
	require.Equal(t, offsets(1, 2), drain(t, f, 3), "the renamed segment is read to its end")
	l.RemoveDeleted()
	l.Roll()
	l.Append(1, "d")
	l.Roll()
	l.Append(1, "e")
	require.Equal(t, offsets(3, 4), drain(t, f, 5))
}

func TestFollowSaysThatTheLogStartPassed(t *testing.T) {
	l := logdirtest.New(t, t.TempDir(), 0)
	for range 3 {
		l.Append(1, "a")
		l.Roll()
	}
	f := follow(t, l, 0, Options{})
	require.Equal(t, offsets(0), drain(t, f, 1))
	l.DeleteBelow(2)
	_, err := f.Next(3)
	var passed *LogStartError
	require.ErrorAs(t, err, &passed)
	require.Equal(t, LogStartError{Dir: l.Dir, Next: 1, Start: 2}, *passed)

	f = follow(t, l, passed.Start, Options{})
	require.Equal(t, offsets(2), drain(t, f, 3))
	require.Equal(t, offsets(2), drain(t, follow(t, l, kafka.UnknownOffset, Options{}), 3))
}

// A follower that is too far behind for its leader's log deletes its own and
// starts at a snapshot. What the old segment held after the offset that was
// read may never have been committed.
func TestFollowDistrustsADetachedSegment(t *testing.T) {
	l := logdirtest.New(t, t.TempDir(), 0)
	l.Append(1, "a")
	l.Append(1, "lost")
	f := follow(t, l, 0, Options{})
	require.Equal(t, offsets(0), drain(t, f, 1))
	l.TruncateFullyAndStartAt(7)
	l.Append(3, "h")
	_, err := f.Next(8)
	var passed *LogStartError
	require.ErrorAs(t, err, &passed)
	require.Equal(t, kafka.Offset(7), passed.Start)
}

func TestFollowWaitsForAPartialBatch(t *testing.T) {
	for _, bytes := range []int{1, 8, 11, 12, 17, 60, 61, 68} {
		l := logdirtest.New(t, t.TempDir(), 0)
		l.Append(1, "a")
		l.AppendTorn(1, bytes, "b")
		f := follow(t, l, 0, Options{})
		require.Equal(t, offsets(0), drain(t, f, 2))
		for range 2 * confirmations {
			_, err := f.Next(2)
			require.ErrorIs(t, err, ErrWait)
			if bytes > 1 { // the first byte is a zero, as in a tail of zeros
				require.ErrorIs(t, err, recordbatch.ErrPartial)
			}
		}
		l.Finish()
		require.Equal(t, offsets(1), drain(t, f, 2))
	}
}

func TestFollowWaitsForATornBatch(t *testing.T) {
	l := logdirtest.New(t, t.TempDir(), 0)
	l.Append(1, "a")
	b := l.Append(1, "bbbbbbbb")
	at := int64(l.Batches()[0].Size + b.Size - 5)
	overwrite(t, l.Path(0), at, 0, 0, 0)
	f := follow(t, l, 0, Options{})
	require.Equal(t, offsets(0), drain(t, f, 2))
	for range 2 * confirmations {
		_, err := f.Next(2)
		require.ErrorIs(t, err, ErrWait)
		require.ErrorIs(t, err, recordbatch.ErrCorrupt)
	}
	overwrite(t, l.Path(0), at, b.Bytes()[b.Size-5:b.Size-2]...)
	require.Equal(t, offsets(1), drain(t, f, 2))
}

func TestFollowWaitsAtAZeroTail(t *testing.T) {
	l := logdirtest.New(t, t.TempDir(), 0)
	l.Append(1, "a")
	l.Preallocate(5 << 20)
	f := follow(t, l, 0, Options{})
	require.Equal(t, offsets(0), drain(t, f, 2))
	l.Append(1, "b")
	require.Equal(t, offsets(1), drain(t, f, 2))
}

func overwrite(t testing.TB, path string, at int64, b ...byte) {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer file.Close()
	_, err = file.WriteAt(b, at)
	require.NoError(t, err)
}

// eventually calls Next until it stops asking for patience, and returns its
// error.
func eventually(t testing.TB, f *Follower, end kafka.Offset) error {
	for range confirmations {
		if _, err := read(f, end); !errors.Is(err, ErrWait) {
			return err
		}
	}
	t.Fatal("damage was not reported")
	return nil
}

func TestFollowNamesDamageOnceItIsSure(t *testing.T) {
	l := logdirtest.New(t, t.TempDir(), 0)
	a := l.Append(1, "a")
	b := l.Append(1, "bbb")
	l.Append(1, "c")
	overwrite(t, l.Path(0), int64(a.Size+b.Size-1), 1)
	f := follow(t, l, 0, Options{})
	require.Equal(t, offsets(0), drain(t, f, 3), "the first sight of damage may be a write in progress")

	overwrite(t, l.Path(0), int64(a.Size+b.Size-1), b.Bytes()[b.Size-1])
	require.Equal(t, offsets(1, 2), drain(t, f, 3), "it was")

	overwrite(t, l.Path(0), int64(a.Size+b.Size-1), 1)
	f = follow(t, l, 0, Options{})
	var corrupt *CorruptError
	require.ErrorAs(t, eventually(t, f, 3), &corrupt)
	require.ErrorIs(t, corrupt, recordbatch.ErrCorrupt)
	require.Equal(t, int64(a.Size), corrupt.Position)
	require.Equal(t, kafka.Offset(1), corrupt.Offset)
	require.Equal(t, l.Path(0), corrupt.Path)

	_, err := read(follow(t, l, 0, Options{Static: true}), math.MaxInt64)
	require.ErrorAs(t, err, &corrupt, "nobody writes: there is nothing to wait for")
}

func TestFollowMissesOffsets(t *testing.T) {
	l := logdirtest.New(t, t.TempDir(), 0)
	l.Append(1, "a")
	l.Roll()
	l.Append(1, "b")
	l.Roll()
	l.Append(1, "c")
	require.NoError(t, os.Remove(l.Path(1)))
	err := eventually(t, follow(t, l, 0, Options{}), 3)
	require.ErrorIs(t, err, recordbatch.ErrCorrupt)
	require.ErrorContains(t, err, "offsets 1 to 1 are missing")

	f := follow(t, l, 0, Options{Compacted: true})
	require.Equal(t, offsets(0, 2), drain(t, f, 3), "the cleaner may have emptied a segment")
}

func TestFollowSeesEpochsGoBack(t *testing.T) {
	l := logdirtest.New(t, t.TempDir(), 0)
	l.Append(5, "a")
	l.Append(4, "b")
	require.ErrorContains(t, eventually(t, follow(t, l, 0, Options{}), 2), "leader epoch goes back from 5 to 4")
}

func TestFollowSeesThatItsPastChanged(t *testing.T) {
	l := logdirtest.New(t, t.TempDir(), 0)
	l.Append(1, "a")
	l.Append(1, "b")
	f := follow(t, l, 0, Options{})
	require.Equal(t, offsets(0, 1), drain(t, f, 2))
	l.TruncateTo(1)
	l.Append(2, "x")
	l.Append(2, "y")
	var diverged *DivergedError
	require.ErrorAs(t, eventually(t, f, 3), &diverged)
	require.Equal(t, kafka.Offset(2), diverged.Next)
}

func TestFollowSeesThatTheLogIsShorter(t *testing.T) {
	l := logdirtest.New(t, t.TempDir(), 0)
	l.Append(1, "a")
	f := follow(t, l, 10, Options{})
	var diverged *DivergedError
	require.ErrorAs(t, eventually(t, f, 12), &diverged)
	require.ErrorContains(t, diverged, "it ends at offset 1")
}

func TestFollowChecksTheEpochItGoesOnFrom(t *testing.T) {
	l := logdirtest.New(t, t.TempDir(), 0)
	l.Append(1, "a")
	l.Append(3, "b")
	l.Append(3, "c")
	for epoch, want := range map[kafka.Epoch]bool{3: true, 2: false, 1: false, 4: false, kafka.UnknownEpoch: true} {
		f := Follow(l.Dir, 2, epoch, Options{})
		_, err := f.Next(3)
		f.Close()
		var diverged *DivergedError
		require.Equal(t, !want, errors.As(err, &diverged), "epoch %d: %v", epoch, err)
	}
}

// A partition that left this broker and came back is another log.
func TestFollowSeesThatTheDirectoryWasReplaced(t *testing.T) {
	root := t.TempDir()
	l := logdirtest.New(t, filepath.Join(root, "p-0"), 0)
	l.Append(1, "a")
	f := follow(t, l, 0, Options{})
	require.Equal(t, offsets(0), drain(t, f, 1))

	require.NoError(t, os.Rename(l.Dir, l.Dir+".x-delete"))
	_, err := f.Next(2)
	require.ErrorIs(t, err, fs.ErrNotExist)

	l = logdirtest.New(t, filepath.Join(root, "p-0"), 0)
	l.Append(7, "x")
	l.Append(7, "y")
	var diverged *DivergedError
	require.ErrorAs(t, eventually(t, f, 2), &diverged)
}

func TestFollowCompactedLogs(t *testing.T) {
	l := logdirtest.New(t, t.TempDir(), 0)
	for i := range 4 {
		l.Append(1, fmt.Sprint("even", i))
		l.Append(1, fmt.Sprint("odd", i))
		l.Roll()
	}
	l.Append(1, "z")
	f := follow(t, l, 0, Options{Compacted: true})
	_, err := f.Next(9)
	require.NoError(t, err)
	l.Clean(3, func(r recordbatch.Record) bool { return strings.HasPrefix(string(r.Value), "odd") })
	// 1 comes out of the segment that was open, the rest out of the new one.
	require.Equal(t, offsets(1, 3, 5, 6, 7, 8), drain(t, f, 9))

	l.Roll()
	l.Clean(3, func(r recordbatch.Record) bool { return false })
	f = follow(t, l, 0, Options{Compacted: true})
	require.Empty(t, drain(t, f, 9))
	require.Equal(t, kafka.Offset(9), f.Offset(), "nothing is left, but the end is reached")
	require.Equal(t, kafka.UnknownEpoch, f.Epoch())
	l.Append(1, "new")
	require.Equal(t, offsets(9), drain(t, f, 10))
}

func TestFollowEmptyBatches(t *testing.T) {
	l := logdirtest.New(t, t.TempDir(), 0)
	l.AppendBatch(recordbatch.Header{LeaderEpoch: 1, ProducerID: 7}, []recordbatch.Record{{Value: []byte("a")}, {Value: []byte("b")}})
	l.Roll()
	l.Clean(1, func(recordbatch.Record) bool { return false })
	f := follow(t, l, 0, Options{Compacted: true})
	b, err := f.Next(2)
	require.NoError(t, err)
	require.Zero(t, b.Count)
	require.Equal(t, kafka.Offset(2), b.NextOffset())
}

func TestFollowADirectoryInTheMaking(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "p-0")
	f := Follow(dir, 0, kafka.UnknownEpoch, Options{})
	defer f.Close()
	_, err := f.Next(1)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, os.Mkdir(dir, 0o755))
	_, err = f.Next(1)
	require.ErrorIs(t, err, ErrWait)
	logdirtest.New(t, dir, 0).Append(1, "a")
	require.Equal(t, offsets(0), drain(t, f, 1))
}

func TestFollowStartsInsideABatch(t *testing.T) {
	l := logdirtest.New(t, t.TempDir(), 0)
	l.Append(1, "a")
	l.Append(1, "b", "c", "d")
	l.Append(1, "e")
	require.Equal(t, offsets(1, 4), drain(t, follow(t, l, 2, Options{}), 5))
	require.Equal(t, offsets(4), drain(t, follow(t, l, 4, Options{}), 5))
}

func TestFollowAllocatesNothingPerBatch(t *testing.T) {
	l := logdirtest.New(t, t.TempDir(), 0)
	const batches = 3000
	for range batches {
		l.Append(1, "a")
	}
	f := follow(t, l, 0, Options{})
	_, err := f.Next(batches)
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(batches/2, func() {
		if _, err := f.Next(batches); err != nil {
			t.Fatal(err)
		}
	}))
	require.Zero(t, testing.AllocsPerRun(10, func() { f.Next(0) }), "a caller whose committed end stands still costs nothing")
}

// A segment may grow between its end being read and its successor being seen.
func TestFollowReadsWhatCameBeforeARoll(t *testing.T) {
	l := logdirtest.New(t, t.TempDir(), 0)
	l.Append(1, "a")
	f := follow(t, l, 0, Options{Compacted: true})
	require.Equal(t, offsets(0), drain(t, f, math.MaxInt64))
	_, err := f.open(math.MaxInt64)
	require.NoError(t, err)
	_, err = f.reader.Next()
	require.ErrorIs(t, err, io.EOF)

	l.Append(1, "b")
	l.Roll()
	l.Append(1, "c")
	again, err := f.ended(io.EOF)
	require.True(t, again)
	require.NoError(t, err)
	require.Equal(t, offsets(1, 2), drain(t, f, math.MaxInt64))
}
