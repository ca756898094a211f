package check

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/image/loader"
	"github.com/kraftside/kraftside/internal/imagediff"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir"
	"github.com/kraftside/kraftside/internal/logfile"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// metadata replays the metadata log into an image, and compares it with each
// snapshot when it comes to where that stands.
type metadata struct {
	log    *partition
	loader *loader.Loader
	at     place // of the batch that is replayed
	// pending are the snapshots that are still to be compared, by end offset.
	pending []*logfile.File
	failed  bool // a record was not applied, so that the image is not the log's
}

// newMetadata loads the snapshots that the log cannot be compared with, and
// begins at one of them if the log does not begin at offset 0.
func newMetadata(log *partition, snapshots, segments []*logfile.File) (replayer, error) {
	m := &metadata{log: log}
	m.loader = loader.New(image.Empty(), loader.Options{Unknown: loader.Skip, OnSkip: m.skipped, Publishers: []loader.Publisher{m}})
	start := kafka.UnknownOffset // where the segments begin
	if len(segments) > 0 {
		start = segments[0].Base
	}
	begun := start == 0
	for _, f := range snapshots {
		var err error
		switch {
		case f.EndOffset <= 0: // bootstrap, or a name that says nothing
			m.alone(f)
		case begun:
			m.pending = append(m.pending, f)
		case len(segments) == 0:
			err = m.load(m.loader, f)
		case f.EndOffset >= start && start > 0:
			begun = true
			err = m.load(m.loader, f)
		default:
			m.alone(f)
		}
		if err != nil {
			return nil, err
		}
	}
	if !begun && len(segments) > 0 {
		log.report.note(Note, "", "the log begins at offset %d and no snapshot reaches it: its records were decoded, not replayed", max(0, start))
		return &records{log: log}, nil
	}
	return m, nil
}

// load reads a snapshot into a loader. What is wrong with it is a finding.
func (m *metadata) load(l *loader.Loader, f *logfile.File) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	m.at = place{file: f}
	next := kafka.Offset(0)
	err = l.LoadSnapshot(f.EndOffset, f.Epoch, 0, func() (recordbatch.Batch, error) {
		m.at.position = r.Position()
		b, err := r.Next()
		m.log.progress.Add(r.Position()-m.at.position, filepath.Base(f.Path))
		if err == nil {
			m.frame(f, &b, next)
			next = b.NextOffset()
			m.log.report.Batches++
			m.log.report.Records += int64(b.Count)
		}
		return b, err
	})
	var damage *logdir.CorruptError
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return nil
	case errors.As(err, &damage):
		err = damage.Err
	case !isReplay(err):
		return err
	}
	m.log.report.add(m.at.finding(Damage, kafka.UnknownOffset, err.Error()))
	return nil
}

// isReplay tells what is wrong with a record or a batch from a failure to
// read.
func isReplay(err error) bool {
	var refused *loader.ReplayError
	return errors.As(err, &refused) || errors.Is(err, recordbatch.ErrCorrupt) || errors.Is(err, recordbatch.ErrTooLarge)
}

// frame checks a batch of a snapshot: its offsets count from 0, and its epoch
// is the snapshot's.
func (m *metadata) frame(f *logfile.File, b *recordbatch.Batch, next kafka.Offset) {
	if b.BaseOffset != next {
		m.log.report.add(m.at.finding(Damage, b.BaseOffset, fmt.Sprintf("record %d comes where record %d should", b.BaseOffset, next)))
	}
	if f.Epoch >= 0 && b.LeaderEpoch != f.Epoch {
		m.log.report.add(m.at.finding(Damage, b.BaseOffset, fmt.Sprintf("its leader epoch is %d, the snapshot's name says %d", b.LeaderEpoch, f.Epoch)))
	}
}

func (m *metadata) skipped(e *loader.ReplayError) {
	m.failed = true
	kind := Damage
	if errors.Is(e, record.ErrUnknownType) || errors.Is(e, record.ErrUnknownVersion) {
		kind = Unchecked // and so is all that depends on it
	}
	m.log.report.add(m.at.finding(kind, e.Offset, e.Error()))
}

// batch implements replayer.
func (m *metadata) batch(b *recordbatch.Batch, at place) {
	m.at = at
	err := m.loader.Append(b)
	if err == nil {
		return
	}
	m.failed = true
	offset := b.BaseOffset
	var refused *loader.ReplayError
	if errors.As(err, &refused) {
		offset = refused.Offset
	}
	m.log.report.add(at.finding(Damage, offset, err.Error()))
}

// OnMetadataUpdate implements loader.Publisher: it compares the snapshots that
// stand for this image, and gives up those that stand for none.
func (m *metadata) OnMetadataUpdate(d *delta.Delta, manifest loader.Manifest) {
	before := m.at
	for len(m.pending) > 0 && m.pending[0].EndOffset-1 <= manifest.Provenance.Offset {
		f := m.pending[0]
		m.pending = m.pending[1:]
		if f.EndOffset-1 == manifest.Provenance.Offset {
			m.compare(f, d.Image())
			continue
		}
		m.alone(f)
		m.log.report.note(Unchecked, f.Path, "it ends at offset %d, inside a batch or a transaction of the log, and was not compared", f.EndOffset-1)
	}
	m.at = before
}

// alone verifies a snapshot without comparing it.
func (m *metadata) alone(f *logfile.File) *image.MetadataImage {
	findings := len(m.log.report.Findings)
	failed := m.failed
	l := loader.New(image.Empty(), loader.Options{Unknown: loader.Skip, OnSkip: m.skipped})
	if err := m.load(l, f); err != nil {
		m.log.report.note(Unchecked, f.Path, "%v", err)
	}
	m.failed = failed
	if len(m.log.report.Findings) > findings {
		return nil
	}
	return l.Image()
}

// compare tells what differs between a snapshot and the log.
func (m *metadata) compare(f *logfile.File, fromLog *image.MetadataImage) {
	snapshot := m.alone(f)
	switch {
	case snapshot == nil: // said
		return
	case m.failed:
		m.log.report.note(Unchecked, f.Path, "it was not compared with the log, of which not all could be applied")
		return
	case !snapshot.Equal(fromLog):
		fromLog = written(fromLog)
	}
	var serious []imagediff.Change
	left := 0
	for _, c := range imagediff.Images(fromLog, snapshot) {
		if leftOut(&c, snapshot) {
			left++
			continue
		}
		serious = append(serious, c)
	}
	if left > 0 {
		m.log.report.note(Note, f.Path, "%d configurations are only in it or only in the log, which Kafka allows: from 4.2 on it leaves out names that it does not know", left)
	}
	if len(serious) == 0 {
		m.log.report.SnapshotsEqual++
		return
	}
	var first []string
	for _, c := range serious[:min(len(serious), 3)] {
		first = append(first, c.Summary)
	}
	m.log.report.note(Damage, f.Path, "it is not what the log says at offset %d; from log to snapshot, the first of %d differences: %s",
		f.EndOffset-1, len(serious), strings.Join(first, "; "))
}

// written is the image that is left of m after a snapshot was written of it
// and loaded: an older metadata.version cannot say all.
func written(m *image.MetadataImage) *image.MetadataImage {
	d := delta.New(image.Empty())
	if err := m.Write(func(r record.Message, _ int16) error { return d.Replay(r) }); err != nil {
		return m // the difference stands
	}
	return d.Apply(m.Provenance())
}

// leftOut says whether a configuration may differ: a broker from 4.2 on drops
// those it does not know, and one that is left of a topic that was created and
// deleted at once depends on how the log was read.
func leftOut(c *imagediff.Change, snapshot *image.MetadataImage) bool {
	if c.Part != imagediff.Configs {
		return false
	}
	if c.Action == imagediff.Removed {
		return true
	}
	_, exists := snapshot.Topics().ByName(c.Resource)
	return c.Action == imagediff.Added && !exists
}

// end implements replayer.
func (m *metadata) end() {
	for _, f := range m.pending {
		if !m.log.broken {
			m.log.report.note(Note, f.Path, "the log ends before offset %d, so that it was not compared", f.EndOffset-1)
		}
		m.alone(f)
	}
	if m.loader.InTransaction() {
		m.log.report.note(Note, "", "a transaction is open at the end of the log; what it holds is not in effect")
	}
	if n := m.loader.UnknownTags(); n > 0 {
		m.log.report.note(Note, "", "%d tagged fields of records are not known and were passed over", n)
	}
	if m.log.broken || m.failed {
		return
	}
	now := m.loader.Image()
	m.log.report.Image = &Image{
		Brokers: now.Cluster().NumBrokers(), Topics: now.Topics().NumTopics(), Partitions: now.Topics().NumPartitions(),
	}
}
