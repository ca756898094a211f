package main

import (
	"errors"
	"os"
	"time"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/metadatalog/record"
	"github.com/kraftside/kraftside/store"
)

// storeRoundTrip writes the image to an empty store and opens it again.
func (b *bench) storeRoundTrip() error {
	dir, err := os.MkdirTemp("", "kraftside-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	d, err := snapshotDelta(b.image)
	if err != nil {
		return err
	}
	start := time.Now()
	if b.StoreBytes, err = writeStore(dir, d); err != nil {
		return err
	}
	b.StoreWriteMs = milliseconds(time.Since(start))
	d = nil
	var times []time.Duration
	for range b.runs {
		start = time.Now()
		restored, err := openStore(dir)
		if err != nil {
			return err
		}
		times = append(times, time.Since(start))
		if !restored.Equal(b.image) {
			return errors.New("the store gives back another image")
		}
	}
	b.StoreOpenMs = milliseconds(median(times))
	return nil
}

// snapshotDelta is the delta by which a snapshot becomes the image.
func snapshotDelta(m *image.MetadataImage) (*delta.Delta, error) {
	d := delta.NewSnapshot(image.Empty())
	err := m.Write(func(r record.Message, _ int16) error { return d.Replay(r) })
	d.Apply(m.Provenance())
	return d, err
}

// writeStore returns how many bytes the files take.
func writeStore(dir string, d *delta.Delta) (int64, error) {
	s, _, err := store.Open(dir, store.Options{Now: time.Now()})
	if err != nil {
		return 0, err
	}
	s.Metadata(d)
	err = s.Flush()
	bytes := s.Status().Bytes
	return bytes, errors.Join(err, s.Close())
}

func openStore(dir string) (*image.MetadataImage, error) {
	s, _, err := store.Open(dir, store.Options{Now: time.Now()})
	if err != nil {
		return nil, err
	}
	m, err := s.LoadImage()
	return m, errors.Join(err, s.Close())
}
