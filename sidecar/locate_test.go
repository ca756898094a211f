package sidecar

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/config"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir/logdirtest"
)

// lines is a log that is read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.b.String(), text)
}

// A broker that starts for the first time formats its disk after the sidecar has
// started. Whose disk it is is known then, too.
func TestLogDirectoryThatComesLater(t *testing.T) {
	dir := t.TempDir()
	c := reachable(t, freeAddress(t))
	c.Metadata.Source, c.Metadata.Dir = config.SourceDir, dir
	ctx, cancel := context.WithCancel(t.Context())
	var log lines
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, c, "test", slog.New(slog.NewTextHandler(&log, nil))) }()
	require.Eventually(t, func() bool { return readiness(c.HTTP.Listen) != nil }, 10*time.Second, 10*time.Millisecond)
	logdirtest.Replace(t, filepath.Join(dir, "meta.properties"), "version=1\ncluster.id=4L6g3nShT-eMCtK--X86sw\nnode.id=7\ndirectory.id=PPPPPPPPPPPPPPPPPPPPPQ\n")
	logdirtest.New(t, filepath.Join(dir, "__cluster_metadata-0"), 0).Append(1, "x")
	require.Eventually(t, func() bool { return log.has("the log directory is there now, starting over") }, 10*time.Second, 10*time.Millisecond)
	cancel()
	require.NoError(t, <-ended)

	s, err := Start(c, "", "test", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.Equal(t, kafka.NodeID(7), s.node)
	require.NoError(t, s.unlocated)
	require.NoError(t, s.close())
}
