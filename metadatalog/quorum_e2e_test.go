//go:build e2e && unix

package metadatalog_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/test/jvm"
	"github.com/kraftside/kraftside/test/realkafka"
)

// Real quorums, the oldest and the newest: an observer reads the log byte for
// byte as the broker has it on disk, through the loss of the active
// controller; another one starts from a snapshot; and no controller has an
// error to log about either.
func TestRealQuorum(t *testing.T) {
	versions := jvm.Versions()
	for _, version := range []string{versions[len(versions)-1], versions[0]} {
		t.Run(version, func(t *testing.T) { quorumStory(t, version) })
	}
}

func quorumStory(t *testing.T, version string) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := realkafka.Start(t, realkafka.Config{Version: version, Brokers: 1, Properties: map[string]string{
		"metadata.log.max.record.bytes.between.snapshots": "3000",
	}})
	first := observe(t, c.ControllerBootstrap(), c.ID)
	_, err := c.Admin().CreateTopic(ctx, 3, 1, nil, "before")
	require.NoError(t, err)
	first.await(ctx, "the first topic", func() bool { return first.mentions("before") })

	leader, err := c.ActiveController(ctx)
	require.NoError(t, err)
	require.NoError(t, c.KillController(leader))
	_, err = c.Admin().CreateTopic(ctx, 3, 1, nil, "after")
	require.NoError(t, err)
	begin := time.Now()
	first.await(ctx, "a topic that another leader wrote", func() bool { return first.mentions("after") })
	t.Logf("seen %.1f s after it was created at the new leader", time.Since(begin).Seconds())
	require.NotEqual(t, kafka.NodeID(leader), first.progress().Leader)

	// Only a leader that has a snapshot refers to it.
	first.await(ctx, "a snapshot of the new leader", func() bool { return hasSnapshot(t, c.MetadataDir(int32(first.progress().Leader))) })
	second := observe(t, c.ControllerBootstrap(), "")
	second.await(ctx, "the log after a snapshot", func() bool {
		p := second.progress()
		return second.snapshots() > 0 && p.Lag() == 0 && p.Delivered.Offset >= first.progress().Delivered.Offset
	})
	require.NoError(t, c.StartController(leader))
	first.stop()
	second.stop()
	require.Equal(t, 0, first.snapshots(), "the first observer read the log from its start")
	first.requireSameAs(t, c.MetadataDir(1))
	requireNoErrors(t, c)

	requireProblem(t, c.ControllerBootstrap(), "another-cluster-id", metadatalog.WrongCluster)
	requireProblem(t, c.Bootstrap(), "", metadatalog.NotController)
}

func hasSnapshot(t *testing.T, dir string) bool {
	files, err := filepath.Glob(filepath.Join(dir, "*.checkpoint"))
	require.NoError(t, err)
	for _, f := range files {
		if id, err := metadatalog.ParseSnapshotID(filepath.Base(f)); err == nil && !id.Bootstrap() {
			return true
		}
	}
	return false
}

// requireNoErrors looks for what a controller logs about requests that it does
// not serve or cannot answer.
func requireNoErrors(t *testing.T, c *realkafka.Cluster) {
	for _, id := range c.ControllerIDs() {
		log, err := os.ReadFile(filepath.Join(filepath.Dir(c.LogDir(id)), "server.log"))
		require.NoError(t, err)
		for line := range strings.Lines(string(log)) {
			if strings.Contains(line, " ERROR ") && strings.Contains(line, "equest") {
				t.Errorf("controller %d: %s", id, line)
			}
		}
	}
}

func requireProblem(t *testing.T, controllers []string, cluster string, want metadatalog.ProblemKind) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o := observe(t, controllers, cluster)
	defer o.stop()
	o.await(ctx, string(want), func() bool { p := o.progress().Problem; return p != nil && p.Kind == want })
}

// observer is a running source, and what it delivered.
type observer struct {
	t      *testing.T
	cancel context.CancelFunc
	ended  chan error

	mu      sync.Mutex
	batches map[kafka.Offset][]byte
	next    kafka.Offset
	loaded  int
	last    metadatalog.Progress
	text    strings.Builder // of all record values
	decoder recordbatch.Decoder
}

func observe(t *testing.T, controllers []string, cluster string) *observer {
	source, err := metadatalog.NewQuorum(metadatalog.QuorumConfig{Controllers: controllers, ClusterID: cluster, Dir: t.TempDir()})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	o := &observer{t: t, cancel: cancel, ended: make(chan error, 1), batches: map[kafka.Offset][]byte{}}
	go func() { o.ended <- source.Run(ctx, metadatalog.Position{}, o) }()
	return o
}

func (o *observer) stop() {
	o.cancel()
	require.ErrorIs(o.t, <-o.ended, context.Canceled)
}

// await polls until ok.
func (o *observer) await(ctx context.Context, what string, ok func() bool) {
	o.t.Helper()
	for !ok() {
		select {
		case err := <-o.ended:
			o.ended <- err
			require.NoError(o.t, err, "the observer ended while the test waited for %s", what)
		case <-ctx.Done():
			p := o.progress()
			require.Fail(o.t, "timed out", "waiting for %s: %+v, problem %v", what, p, p.Problem)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (o *observer) progress() metadatalog.Progress {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

func (o *observer) snapshots() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.loaded
}

func (o *observer) mentions(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Contains(o.text.String(), name)
}

func (o *observer) LoadSnapshot(s *metadatalog.SnapshotReader) error {
	for {
		b, err := s.Next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = o.read(&b)
		}
		if err != nil {
			return err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.loaded++
	o.next = s.ID().EndOffset
	return nil
}

func (o *observer) Append(b *recordbatch.Batch) error {
	if b.BaseOffset != o.next {
		return fmt.Errorf("batch at %d where %d is next", b.BaseOffset, o.next)
	}
	o.next = b.NextOffset()
	if err := o.read(b); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.batches[b.BaseOffset] = append([]byte(nil), b.Bytes()...)
	return nil
}

func (o *observer) read(b *recordbatch.Batch) error {
	if err := o.decoder.Start(b); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var r recordbatch.Record
	for o.decoder.Next(&r) {
		o.text.Write(r.Value)
	}
	return o.decoder.Err()
}

func (o *observer) Reset(reason error) error { return errors.Join(errors.New("reset"), reason) }

func (o *observer) Progress(p metadatalog.Progress) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = p
	return nil
}

// requireSameAs compares what was delivered with the segments in dir.
func (o *observer) requireSameAs(t *testing.T, dir string) {
	segments, err := filepath.Glob(filepath.Join(dir, "*.log"))
	require.NoError(t, err)
	same := 0
	for _, path := range segments {
		f, err := os.Open(path)
		require.NoError(t, err)
		r := recordbatch.NewReader(f, 0)
		for {
			b, err := r.Next()
			if err == io.EOF || errors.Is(err, recordbatch.ErrPartial) {
				break
			}
			require.NoError(t, err)
			if delivered := o.batches[b.BaseOffset]; delivered != nil {
				require.Equal(t, b.Bytes(), delivered, "batch at offset %d", b.BaseOffset)
				same++
			}
		}
		require.NoError(t, f.Close())
	}
	require.Equal(t, len(o.batches), same, "batches that the broker has too")
}
