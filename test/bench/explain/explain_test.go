package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// small is a mix of everything.
var small = mix{name: "small", records: 5000, groups: 10, largest: 50, ofGroups: 0.5}

func TestLogsAreTheSameInEveryRun(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	require.NoError(t, write(one, small))
	require.NoError(t, write(two, small))
	for _, partition := range []string{offsetsPartition, metadataPartition} {
		name := filepath.Join(partition, "00000000000000000000.log")
		a, err := os.ReadFile(filepath.Join(one, name))
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(two, name))
		require.NoError(t, err)
		require.NotEmpty(t, a)
		require.Equal(t, a, b)
	}
}

// Kafka would replay all that is written, and what is measured is done with, and
// not done without.
func TestReplay(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, write(dir, small))
	with, err := replay(t.Context(), dir, true)
	require.NoError(t, err)
	without, err := replay(t.Context(), dir, false)
	require.NoError(t, err)

	require.GreaterOrEqual(t, with.records, int64(small.records))
	require.Equal(t, with.records, without.records)
	require.Zero(t, with.anomalies)
	require.Zero(t, without.anomalies)
	require.Greater(t, with.rebalances, 10)
	require.Equal(t, with.rebalances, with.explained)
	require.Zero(t, without.rebalances)
}
