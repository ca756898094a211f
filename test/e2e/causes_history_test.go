//go:build e2e && unix

package e2e

import (
	"io"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/offline"
	"github.com/kraftside/kraftside/web/api"
)

// requireHistory: what of the metadata a rebalance is explained with is among the
// changes, with the rebalance that it set off; and the files tell the same
// changes as the sidecar.
func (s *stage) requireHistory(t *testing.T) {
	live, err := s.asked.Changes(t.Context(), time.Time{}, "")
	require.NoError(t, err)
	files, err := offline.Open(t.Context(), s.copyLogs(t), "e2e", &cli.Output{Out: io.Discard, Err: io.Discard, Now: time.Now})
	require.NoError(t, err)
	read, err := files.Changes(t.Context(), time.Time{}, "")
	require.NoError(t, err)
	require.Equal(t, encode(t, read.Changes), encode(t, live.Changes))

	causes := 0
	for _, id := range slices.Sorted(maps.Keys(s.ids)) {
		for _, r := range rebalances(t, s.all.Address(), id) {
			for i := range r.Causes {
				if c := &r.Causes[i]; c.Kind == "metadata" {
					require.True(t, isSetOff(live.Changes, c, &r), "no change has what set off:\n%s", encode(t, r))
					causes++
				}
			}
		}
	}
	require.Positive(t, causes)
	t.Logf("%d causes are among %d changes", causes, len(live.Changes))
}

// isSetOff says whether a change has a record of the cause, and set off the
// rebalance.
func isSetOff(changes []api.Change, c *api.Cause, r *api.Rebalance) bool {
	return slices.ContainsFunc(changes, func(change api.Change) bool {
		return slices.ContainsFunc(c.Evidence, func(e api.Evidence) bool {
			return e.Log == "metadata" && change.FromOffset <= e.Offset && e.Offset <= change.Offset
		}) && slices.ContainsFunc(change.Rebalances, func(s api.SetOff) bool { return s.ID == r.ID && s.As == api.AsCause })
	})
}
