package rebalance

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What was encoded comes back as it was; what is damaged is an error.
func TestEncode(t *testing.T) {
	s := restoredStory(t)
	p := newPlayer(s.limits)
	for _, e := range s.events {
		p.play(t, &e, false)
	}
	members := 0
	for r := range p.e.Rebalances(0) {
		members += len(r.Members)
		b := r.Encode()
		got, err := Decode(r.ID, b)
		require.NoError(t, err)
		require.Equal(t, r, got)
		require.Equal(t, b, got.Encode())
		_, err = Decode(r.ID, b[:len(b)-1])
		require.ErrorIs(t, err, ErrRow)
	}
	require.Positive(t, members)
}
