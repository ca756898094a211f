package vectors

import (
	"iter"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// hostileLengths is the largest value of every form of length: the compact
// one, the int32 and the int16, and a compact one of a size that a careless
// reader could allocate.
var hostileLengths = [][]byte{
	{0xff, 0xff, 0xff, 0xff, 0x0f},
	{0x7f, 0xff, 0xff, 0xff},
	{0x7f, 0xff},
	{0x80, 0x80, 0x80, 0x10},
}

// Hostile yields b with a hostile length over every one of its bytes, that is
// over every length that it has: once in place of as many bytes, once in place
// of one. The slice is valid until the next one.
func Hostile(b []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := range b {
			for _, length := range hostileLengths {
				over := slices.Concat(b[:i], length, b[min(len(b), i+len(length)):])
				inserted := slices.Concat(b[:i], length, b[i+1:])
				if !yield(over) || !yield(inserted) {
					return
				}
			}
		}
	}
}

// HostileLimit bounds what decoding all that Hostile yields may allocate: per
// input a few errors and structs, and a multiple of the input's own size.
func HostileLimit(b []byte) uint64 {
	inputs := 2 * len(hostileLengths) * len(b)
	return uint64(inputs) * uint64(2048+16*len(b))
}

// RequireSmall fails the test if f allocates more than limit bytes.
func RequireSmall(tb testing.TB, limit uint64, what string, f func()) {
	tb.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	require.Less(tb, after.TotalAlloc-before.TotalAlloc, limit, what)
}
