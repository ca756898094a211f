package offsetslog

import (
	"math"
	"time"
)

// DefaultBytesPerSecond is how fast partitions are loaded, all together,
// unless told otherwise.
const DefaultBytesPerSecond = 10 << 20

// Pauses after failures: from minBackoff on, half as long again each time.
const (
	minBackoff = 300 * time.Millisecond
	maxBackoff = 10 * time.Second
)

// budget spreads reading over time. What is read of partitions that are at
// their end counts too, but is never held back: it is the partitions that have
// much to read that make room.
type budget struct {
	perSecond float64   // <= 0: no limit
	free      time.Time // when what was read is paid for
}

func newBudget(bytesPerSecond int) budget {
	if bytesPerSecond == 0 {
		bytesPerSecond = DefaultBytesPerSecond
	}
	return budget{perSecond: float64(bytesPerSecond)}
}

// spend counts bytes that were read.
func (b *budget) spend(bytes int, now time.Time) {
	if b.perSecond <= 0 {
		return
	}
	if b.free.Before(now) {
		b.free = now
	}
	b.free = b.free.Add(time.Duration(float64(bytes) / b.perSecond * float64(time.Second)))
}

// most bounds an answer by what may be read in a second: else the first answers
// of a slow load would hold all of it.
func (b *budget) most(bytes int32) int32 {
	if b.perSecond <= 0 {
		return bytes
	}
	return max(1, int32(min(float64(bytes), b.perSecond)))
}

// backoff is the pause after so many failures in a row, the first being 1:
// between 0.8 and 1.2 of the nominal one, so that the sidecars of a cluster do
// not ask in step.
func backoff(failures int, jitter func() float64) time.Duration {
	nominal := min(float64(maxBackoff), float64(minBackoff)*math.Pow(1.5, float64(failures-1)))
	return time.Duration(nominal * (0.8 + 0.4*jitter()))
}

// restartPause is how long the nth start over within restartWindow is put off:
// a log that makes us read it over and over is not read at full speed.
func restartPause(n int) time.Duration {
	if n <= 1 {
		return 0
	}
	return min(10*time.Minute, time.Second<<min(n, 20))
}

// restartWindow is how long starts over are held against a partition.
const restartWindow = time.Hour
