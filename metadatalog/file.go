package metadatalog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// ReadFile gives sink one file of a metadata log: a segment, or a snapshot,
// which has to bear its name, END-EPOCH.checkpoint. It calls Progress once, at
// the end.
//
// Nothing says how much of a file is committed. An error names the position;
// of a segment, everything before it was delivered. A segment that ends inside
// a batch gives recordbatch.ErrPartial: it was copied while it was written.
func ReadFile(path string, sink Sink) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	snapshot, err := beginsSnapshot(f)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	switch {
	case err != nil:
	case snapshot:
		err = readSnapshotFile(f, sink)
	default:
		err = readSegment(f, sink)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// beginsSnapshot looks for a snapshot's header. A file that cannot be read is
// taken for a segment, whose reading tells what is wrong.
func beginsSnapshot(f *os.File) (bool, error) {
	b, err := recordbatch.NewReader(f, 0).Next()
	var damage *recordbatch.Error
	if err == io.EOF || errors.As(err, &damage) || err == nil && !b.IsControl() {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var d recordbatch.Decoder
	var r recordbatch.Record
	if d.Start(&b) != nil || !d.Next(&r) {
		return false, nil
	}
	kind, err := recordbatch.ParseControlKey(r.Key)
	return err == nil && kind == recordbatch.SnapshotHeader, nil
}

func readSnapshotFile(f *os.File, sink Sink) error {
	id, err := ParseSnapshotID(filepath.Base(f.Name()))
	if err != nil {
		return err
	}
	s, err := NewSnapshotReader(id, f)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := sink.LoadSnapshot(s); err != nil {
		return err
	}
	return sink.Progress(offlineProgress(id.Position()))
}

func readSegment(f *os.File, sink Sink) error {
	r := recordbatch.ReadAhead(f, 0)
	defer r.Close()
	var t tail
	var failure error
	for first := true; ; first = false {
		b, err := r.Next()
		if err == io.EOF {
			break
		}
		if err == nil && first {
			t.restart(Position{Offset: b.BaseOffset})
		}
		if err == nil {
			err = t.follow(b)
		}
		if err != nil {
			failure = err
			break
		}
		if err := sink.Append(&b); err != nil {
			return err
		}
	}
	return errors.Join(failure, sink.Progress(offlineProgress(t.delivered)))
}

// follow checks that b continues the tail, and moves past it.
func (t *tail) follow(b recordbatch.Batch) error {
	if _, err := t.add(b); err != nil {
		return err
	}
	t.deliver()
	return nil
}

// offlineProgress is the progress at the end of a file.
func offlineProgress(at Position) Progress {
	return Progress{Leader: kafka.NoNode, HighWatermark: kafka.UnknownOffset, Delivered: at, EndOffset: at.Offset}
}
