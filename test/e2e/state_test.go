//go:build e2e && unix

package e2e

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/image/loader"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/pipeline"
)

// requireSameState waits until a sidecar has the same image and the same groups
// as the one that was there all the time.
func (w *world) requireSameState(t testing.TB, b *beside) {
	t.Helper()
	eventually(t, "the sidecar "+b.name+" has the same state", func() error { return sameState(b.View(), w.all.View()) })
}

func sameState(v, want *pipeline.View) error {
	if !v.Image.Equal(want.Image) {
		return fmt.Errorf("images differ at offsets %d and %d:\n%s\n%s",
			v.Image.Provenance().Offset, want.Image.Provenance().Offset, v.Image, want.Image)
	}
	for g := range want.GroupsFrom("") {
		other, ok := v.Group(g.ID)
		if !ok {
			return fmt.Errorf("group %s is missing", g.ID)
		}
		if a, b := other.Group.String(), g.Group.String(); a != b {
			return fmt.Errorf("groups differ:\n%s\n%s", a, b)
		}
		if other.Answer.Computed != g.Answer.Computed || other.Coordinator != g.Coordinator {
			return fmt.Errorf("group %s: computed %d and %d, coordinators %d and %d",
				g.ID, other.Answer.Computed, g.Answer.Computed, other.Coordinator, g.Coordinator)
		}
	}
	for g := range v.GroupsFrom("") {
		if _, ok := want.Group(g.ID); !ok {
			return fmt.Errorf("group %s is no more", g.ID)
		}
	}
	return nil
}

// images is a sink that keeps the image of every offset.
type images struct {
	loader *loader.Loader

	mu sync.Mutex
	at map[kafka.Offset]*image.MetadataImage
}

func newImages() *images {
	s := &images{at: map[kafka.Offset]*image.MetadataImage{}}
	s.loader = loader.New(image.Empty(), loader.Options{Publishers: []loader.Publisher{s}})
	return s
}

func (s *images) OnMetadataUpdate(d *delta.Delta, m loader.Manifest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at[m.Provenance.Offset] = d.Image()
}

func (s *images) LoadSnapshot(r *metadatalog.SnapshotReader) error {
	return s.loader.LoadSnapshot(r.ID().EndOffset, r.ID().Epoch, r.LastContainedLogTimestamp(), r.Next)
}

func (s *images) Append(b *recordbatch.Batch) error { return s.loader.Append(b) }

func (s *images) Reset(reason error) error {
	return errors.Join(errors.New("the log was replaced"), reason)
}

func (s *images) Progress(metadatalog.Progress) error { return nil }

// same says what differs from an image, of the same offset.
func (s *images) same(want *image.MetadataImage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	offset := want.Provenance().Offset
	got := s.at[offset]
	switch {
	case got == nil:
		return fmt.Errorf("no image of offset %d", offset)
	case got.Provenance() != want.Provenance():
		return fmt.Errorf("%v, not %v", got.Provenance(), want.Provenance())
	case !got.Equal(want):
		return fmt.Errorf("images of offset %d differ:\n%s\n%s", offset, got, want)
	}
	return nil
}

// The quorum, the log directories of brokers and of controllers, copies of
// them, and one file after the other give the same image at the same offset.
func (w *world) sameImages(t *testing.T) {
	client, err := kgo.NewClient(kgo.SeedBrokers(w.Bootstrap()...), kgo.RequestRetries(0))
	require.NoError(t, err)
	defer client.Close()
	bounds := map[int32]metadatalog.Bound{}
	for _, id := range w.BrokerIDs() {
		bounds[id] = &metadatalog.AppliedBound{Client: client, Node: kafka.NodeID(id), ClusterID: w.ID}
	}
	for _, id := range w.ControllerIDs() {
		bounds[id] = &metadatalog.QuorumBound{Client: client, Node: kafka.NodeID(id)}
	}
	for id, bound := range bounds {
		w.sameLive(t, id, bound)
		eventually(t, fmt.Sprintf("copies of the log of server %d give the same image", id), func() error { return w.sameCopy(t, id) })
	}
}

// sameLive reads a directory that a server writes to, until it has given an
// image that the quorum gave as well.
func (w *world) sameLive(t *testing.T, id int32, bound metadatalog.Bound) {
	ctx, cancel := context.WithCancel(t.Context())
	s, ended := newImages(), make(chan error, 1)
	source := metadatalog.NewDir(metadatalog.DirConfig{Dir: w.LogDir(id), ClusterID: w.ID, Bound: bound})
	go func() { ended <- source.Run(ctx, metadatalog.Position{}, s) }()
	eventually(t, fmt.Sprintf("the directory of server %d gives the same image", id), func() error { return s.same(w.all.View().Image) })
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

// sameCopy copies a directory and reads the copy, as a directory and file by
// file. A server may clean away what is needed just then.
func (w *world) sameCopy(t *testing.T, id int32) error {
	want := w.all.View().Image
	offset := want.Provenance().Offset
	dir := copyDir(t, w.MetadataDir(id))
	whole := newImages()
	if err := metadatalog.ReadDir(dir, offset+1, whole); err != nil && !errors.Is(err, recordbatch.ErrPartial) {
		return err
	}
	if err := whole.same(want); err != nil {
		return err
	}
	log, err := readControllerLog(dir)
	if err != nil {
		return err
	}
	var files []string
	for _, id := range log.snapshots {
		if id.EndOffset <= offset {
			files = []string{filepath.Join(dir, id.String()+".checkpoint")} // the newest
		}
	}
	single := newImages()
	for _, f := range append(files, log.segments...) {
		if err := metadatalog.ReadFile(f, &past{single}); err != nil && !errors.Is(err, recordbatch.ErrPartial) {
			return err
		}
	}
	return single.same(want)
}

// past leaves out batches that a snapshot has already.
type past struct{ *images }

func (p *past) Append(b *recordbatch.Batch) error {
	if b.LastOffset() <= p.loader.Image().Provenance().Offset {
		return nil
	}
	return p.images.Append(b)
}
