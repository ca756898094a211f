package kafka

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseUUID(t *testing.T) {
	id := UUID{0: 0xfb, 15: 1}
	got, err := ParseUUID(id.String())
	require.NoError(t, err)
	require.Equal(t, id, got)
	for _, bad := range []string{"", "A", id.String() + "A", id.String() + "\n", "\r" + id.String(), id.String()[1:] + "=", "+" + id.String()[1:]} {
		_, err := ParseUUID(bad)
		require.Error(t, err, "%q", bad)
	}
}
