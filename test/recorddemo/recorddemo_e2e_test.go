//go:build e2e && unix

package main

import (
	"archive/zip"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/demo"
)

// What the manifest says of the committed recording is what Kafka's dump tool reads in it.
func TestManifest(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	archive, err := zip.OpenReader(filepath.Join("..", "..", "demo", "recording.zip"))
	require.NoError(t, err)
	defer archive.Close()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, archive))
	recording, err := demo.Open()
	require.NoError(t, err)
	hashes, err := storedHashes(ctx, recording.KafkaVersion, dir)
	require.NoError(t, err)
	require.NotEmpty(t, hashes)
	require.Equal(t, recording.Hashes, hashes)
}
