package metadatalog

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Whatever the verdicts, at most maxRequests that count go in any window.
func TestPaceHoldsItsLimit(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			p := newPace(r.Float64)
			var counted []time.Time
			for range 300 {
				require.NoError(t, p.wait(t.Context()))
				sent := time.Now()
				time.Sleep(time.Duration(r.IntN(200)) * time.Millisecond)
				v, free := verdict(r.IntN(int(stuck)+1)), r.IntN(2) == 0
				if v != again || !free {
					counted = append(counted, sent)
				}
				p.settle(v, free, r.IntN(2) == 0)
			}
			for i := maxRequests; i < len(counted); i++ {
				require.GreaterOrEqual(t, counted[i].Sub(counted[i-maxRequests]), paceWindow)
			}
		})
	}
}

func TestPaceFollowsProgressAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace(func() float64 { return 0.5 })
		begin := time.Now()
		for range 1000 {
			require.NoError(t, p.wait(t.Context()))
			p.settle(again, true, false)
		}
		require.Zero(t, time.Since(begin))
	})
}

func TestPaceBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace(func() float64 { return 0.5 })
		var pauses []time.Duration
		last := time.Now()
		for range 8 {
			require.NoError(t, p.wait(t.Context()))
			pauses = append(pauses, time.Since(last).Round(100*time.Millisecond))
			last = time.Now()
			p.settle(stuck, false, false)
		}
		ms := time.Millisecond
		require.Equal(t, []time.Duration{0, 600 * ms, 900 * ms, 1400 * ms, 2000 * ms, 3000 * ms, 4600 * ms, 5000 * ms}, pauses)
		require.NoError(t, p.wait(t.Context()))
		p.settle(caughtUp, false, false)
		require.NoError(t, p.wait(t.Context()))
		p.settle(stuck, false, false)
		last = time.Now()
		require.NoError(t, p.wait(t.Context()))
		require.Equal(t, minBackoff, time.Since(last), "being caught up forgives")
	})
}

func TestPaceEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := newPace(func() float64 { return 0 })
	p.notBefore = time.Now().Add(time.Hour)
	require.ErrorIs(t, p.wait(ctx), context.Canceled)
}

func TestMarkOnlyRises(t *testing.T) {
	var k mark
	require.True(t, k.advance(mark{10, 0}))
	require.False(t, k.advance(mark{10, 0}))
	require.True(t, k.advance(mark{20, 64}), "a piece of a snapshot that ends further")
	require.False(t, k.advance(mark{20, 0}), "the same snapshot from its start")
	require.False(t, k.advance(mark{10, 1 << 20}))
	require.True(t, k.advance(mark{21, 0}))
}
