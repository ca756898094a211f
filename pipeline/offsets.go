package pipeline

import (
	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/internal/kafka"
)

// Offsets are those that a group has committed, those of open transactions
// among them (groups.Shard.Offsets); nil if its partition is not followed.
// They are no part of a View, which would cost a commit more than replaying it
// does: they are copied here, and waiting for the writer's turn to end makes
// them as new as the next view, or newer than one that was taken before.
func (p *Pipeline) Offsets(group string) []groups.CommittedOffset {
	p.mu.Lock()
	defer p.mu.Unlock()
	topic, ok := p.state.loader.Image().Topics().ByName(kafka.OffsetsTopic)
	if !ok || topic.NumPartitions() == 0 {
		return nil
	}
	sh := p.state.shards[groups.PartitionFor(group, int32(topic.NumPartitions()))]
	if sh == nil {
		return nil
	}
	return sh.Offsets(group)
}
