package logdir

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir/logdirtest"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// Whatever bytes a segment has: no panic, an end, and one error that says
// where. What is yielded before it is sound.
func FuzzDamagedSegment(f *testing.F) {
	f.Add(uint8(0), uint16(3), []byte{0xff}, false)
	f.Add(uint8(1), uint16(8), []byte{0, 0, 0, 200}, true)
	f.Add(uint8(2), uint16(70), []byte{}, false)
	f.Add(uint8(0), uint16(150), []byte{0xff, 0xff, 0xff, 0xff}, true)
	f.Fuzz(func(t *testing.T, segment uint8, at uint16, damage []byte, static bool) {
		l := logdirtest.New(t, t.TempDir(), 0)
		for range 3 {
			l.Append(1, "a", "bb")
			l.Append(2, "ccc")
			l.Roll()
		}
		whole := l.Batches()
		path := l.Path(int(segment) % l.Segments())
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		if at := int(at); at < len(raw) {
			if len(damage) == 0 {
				raw = raw[:at]
			} else {
				copy(raw[at:], damage)
			}
			require.NoError(t, os.WriteFile(path, raw, 0o644))
		}
		follower := Follow(l.Dir, 0, kafka.UnknownEpoch, Options{Static: static})
		defer follower.Close()
		waits := 0
		for next := kafka.Offset(0); ; {
			b, err := follower.Next(math.MaxInt64)
			if err == nil {
				require.Equal(t, next, b.BaseOffset)
				require.LessOrEqual(t, b.NextOffset(), whole[len(whole)-1].NextOffset())
				next = b.NextOffset()
				waits = 0
				continue
			}
			if errors.Is(err, ErrWait) && waits < confirmations {
				waits++
				continue
			}
			corrupt, ok := errors.AsType[*CorruptError](err)
			require.True(t, ok || errors.Is(err, ErrWait), "%v", err)
			if ok {
				require.True(t, errors.Is(err, recordbatch.ErrCorrupt) || errors.Is(err, recordbatch.ErrPartial) || errors.Is(err, recordbatch.ErrTooLarge), "%v", err)
				require.Equal(t, next, corrupt.Offset)
			}
			return
		}
	})
}

// Small files of any content give a value or one error.
func FuzzSmallFiles(f *testing.F) {
	f.Add("0\n1\nt 0 1\n")
	f.Add("version=1\nnode.id=1\ncluster.id=\\u0041\\")
	f.Add("version: 0\ntopic_id: Q9PnpeIYTmCVFwmhM8GfuA")
	f.Fuzz(func(t *testing.T, content string) {
		dir := t.TempDir()
		for _, name := range []string{"meta.properties", "partition.metadata", leaderEpochFile, highWatermarkFile} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
		}
		_, meta := ReadMeta(dir)
		_, id := ReadTopicID(dir)
		_, epochs := EpochStarts(dir)
		_, marks := HighWatermarks(dir, "t")
		for _, err := range []error{meta, id, epochs, marks} {
			require.True(t, err == nil || errors.Is(err, ErrFormat), "%v", err)
		}
	})
}
