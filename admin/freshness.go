package admin

import (
	"sync"
	"time"

	"github.com/kraftside/kraftside/pipeline"
)

// freshness says of one view what of it is young enough to be answered from.
type freshness struct {
	metadata bool
	now      time.Time
	of       *tracker
}

// partition says whether all of a partition of __consumer_offsets is here.
func (f *freshness) partition(p *pipeline.Partition) bool {
	if p.Loading || p.Hidden {
		return false
	}
	return currentPartition(p) || f.of.partitionFresh(p.Partition, f.now)
}

// tracker remembers when the tails were last at the end of what brokers have.
// It may be used from any goroutine.
type tracker struct {
	most time.Duration // how old an answer may be

	mu         sync.Mutex
	metadata   time.Time
	partitions map[int32]time.Time
}

func newTracker(most time.Duration) *tracker {
	return &tracker{most: most, partitions: map[int32]time.Time{}}
}

// observe looks at a view.
func (t *tracker) observe(v *pipeline.View, now time.Time) freshness {
	t.mu.Lock()
	defer t.mu.Unlock()
	if currentMetadata(v) {
		t.metadata = now
	}
	for i := range v.Partitions {
		if p := &v.Partitions[i]; currentPartition(p) {
			t.partitions[p.Partition] = now
		}
	}
	return freshness{metadata: now.Sub(t.metadata) <= t.most, now: now, of: t}
}

func (t *tracker) partitionFresh(number int32, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return now.Sub(t.partitions[number]) <= t.most
}

func currentMetadata(v *pipeline.View) bool {
	at := &v.Metadata
	return v.Refused == nil && at.Problem == nil && at.HighWatermark >= 0 && at.Delivered.Offset >= at.HighWatermark
}

func currentPartition(p *pipeline.Partition) bool {
	return !p.Loading && p.Problem == nil && p.End >= 0 && p.Next >= p.End
}
