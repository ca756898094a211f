package admin

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Of many complaints some are logged, and how many were not.
func TestComplaints(t *testing.T) {
	c, now := &complaints{}, time.Unix(1_700_000_000, 0)
	told := 0
	for range 100 {
		if tell, untold := c.next(now); tell {
			require.Zero(t, untold)
			told++
		}
	}
	require.Equal(t, complaintsAtOnce, told)
	tell, untold := c.next(now.Add(complaintsEvery))
	require.True(t, tell)
	require.Equal(t, 100-complaintsAtOnce, untold)
}
