package pipeline

import (
	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/image/loader"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/metadatalog"
)

// MetadataPosition is where a source of the metadata log has to go on.
func (p *Pipeline) MetadataPosition() metadatalog.Position {
	at := p.View().Image.Provenance()
	return metadatalog.Position{Offset: at.Offset + 1, Epoch: max(at.Epoch, 0)}
}

// MetadataSink returns the entrance of the metadata log.
func (p *Pipeline) MetadataSink() metadatalog.Sink { return metadataSink{p} }

type metadataSink struct{ p *Pipeline }

// LoadSnapshot implements metadatalog.Sink.
func (m metadataSink) LoadSnapshot(r *metadatalog.SnapshotReader) error {
	return m.p.turn(func(s *state) error {
		return s.refuse(s.loader.LoadSnapshot(r.ID().EndOffset, r.ID().Epoch, r.LastContainedLogTimestamp(), r.Next))
	})
}

// Append implements metadatalog.Sink.
func (m metadataSink) Append(b *recordbatch.Batch) error {
	return m.p.turn(func(s *state) error { return s.refuse(s.loader.Append(b)) })
}

// Reset implements metadatalog.Sink: the log was replaced under us, and with
// it all that we know of its history.
func (m metadataSink) Reset(error) error {
	return m.p.turn(func(s *state) error {
		s.loader.Reset()
		return nil
	})
}

// Progress implements metadatalog.Sink.
func (m metadataSink) Progress(progress metadatalog.Progress) error {
	return m.p.turn(func(s *state) error {
		s.progress = progress
		s.published = false
		return nil
	})
}

// refuse notes a record that stops the tail.
func (s *state) refuse(err error) error {
	s.refused = err
	if err != nil {
		s.published = false
	}
	return err
}

// OnMetadataUpdate implements loader.Publisher: the hashes follow the image
// first, then the groups that are to look at them, then what explains their
// rebalances, then the store.
func (s *state) OnMetadataUpdate(d *delta.Delta, m loader.Manifest) {
	s.published = false
	s.stats.MetadataRecords += int64(m.Records)
	s.cache.OnMetadataUpdate(d)
	s.followOffsetsTopic(d, m.Provenance)
	s.followVersions(d)
	for topic := range s.cache.Changed() {
		s.markTopic(topic)
	}
	s.followHistory(d)
	s.settleAll()
	s.explainer.OnMetadataUpdate(d)
	if s.Store != nil {
		s.Store.Metadata(d)
	}
	if s.OnMetadata != nil {
		s.OnMetadata(d, m)
	}
}

// followOffsetsTopic notes elections and moves of __consumer_offsets.
func (s *state) followOffsetsTopic(d *delta.Delta, at image.Provenance) {
	touched := d.IsSnapshot()
	for t := range d.TouchedTopics() {
		if touched {
			break
		}
		touched = t.Name() == kafka.OffsetsTopic
	}
	for _, t := range d.DeletedTopics() {
		touched = touched || t.Name == kafka.OffsetsTopic
	}
	if d.IsSnapshot() {
		at = unknownElection // it was at any time since the image before
	}
	if touched {
		s.findCoordinators(at)
	}
}
