//go:build e2e && unix

package e2e

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/test/realkafka"
)

// controllerLog is what a directory of the metadata log holds.
type controllerLog struct {
	start, end kafka.Offset // of the batches in segments
	segments   []string     // ascending
	snapshots  []metadatalog.SnapshotID
}

// readControllerLog looks at a directory that a server may be writing to.
func readControllerLog(dir string) (*controllerLog, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	l := &controllerLog{start: kafka.UnknownOffset}
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case ".log":
			l.segments = append(l.segments, filepath.Join(dir, e.Name()))
		case ".checkpoint":
			if id, err := metadatalog.ParseSnapshotID(e.Name()); err == nil && !id.Bootstrap() {
				l.snapshots = append(l.snapshots, id)
			}
		}
	}
	slices.Sort(l.segments)
	slices.SortFunc(l.snapshots, func(a, b metadatalog.SnapshotID) int { return int(a.EndOffset - b.EndOffset) })
	for _, s := range l.segments {
		b, err := os.ReadFile(s)
		if err != nil {
			return nil, err
		}
		if err := l.read(bytes.NewReader(b)); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *controllerLog) read(segment io.Reader) error {
	r := recordbatch.NewReader(segment, 0)
	for {
		b, err := r.Next()
		if err == io.EOF || errors.Is(err, recordbatch.ErrPartial) {
			return nil
		}
		if err != nil {
			return err
		}
		if l.start < 0 {
			l.start = b.BaseOffset
		}
		l.end = b.NextOffset()
	}
}

// copyDir copies a partition's directory as it is now, under its own name, into
// a log directory with the same meta.properties. Snapshots become readable.
func copyDir(t testing.TB, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(dir))
	require.NoError(t, realkafka.CopyDir(dir, to))
	properties, err := os.ReadFile(filepath.Join(filepath.Dir(dir), "meta.properties"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(to), "meta.properties"), properties, 0o644))
	return to
}
