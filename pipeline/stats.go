package pipeline

import (
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/image/loader"
	"github.com/kraftside/kraftside/topichash"
)

// Stats counts what the pipeline did since it was made.
type Stats struct {
	// MetadataRecords are data records that are in the image, those of loaded
	// snapshots included; SkippedRecords are metadata records left out of it.
	MetadataRecords, SkippedRecords int64
	// GroupRecords are records of __consumer_offsets.
	GroupRecords int64
	// UnknownTags are tagged fields of metadata records that were not known
	// here, and left out of the image.
	UnknownTags int64
	// Cache is what the cache of topic hashes did, CachedTopics how many
	// topics are in it.
	Cache        topichash.Stats
	CachedTopics int
}

// Stats counts what was done so far. It waits for the writer's turn to end.
func (p *Pipeline) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.state
	stats := s.stats
	stats.UnknownTags = int64(s.loader.UnknownTags())
	stats.Cache, stats.CachedTopics = s.cache.Stats(), s.cache.Len()
	return stats
}

// skipped implements loader.Options.OnSkip.
func (s *state) skipped(e *loader.ReplayError) {
	s.stats.SkippedRecords++
	if s.OnSkip != nil {
		s.OnSkip(e)
	}
}

// noteTouched keeps when topics were last named by a record, for views.
func (s *state) noteTouched(topics []string) {
	for _, name := range topics {
		if t, ok := s.cache.Peek(name); ok && t.Touched.Offset >= 0 {
			s.touched.Set(name, t.Touched)
		} else {
			s.touched.Delete(name)
		}
	}
}

// TopicTouched is the last metadata record that named a topic; false if no
// group subscribes to it, or if that was before our history of it.
func (v *View) TopicTouched(name string) (image.Provenance, bool) { return v.touched.Get(name) }
