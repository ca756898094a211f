package pipeline

import (
	"slices"
	"time"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/internal/kafka"
)

// GroupsSink returns the entrance of __consumer_offsets.
func (p *Pipeline) GroupsSink() offsetslog.Sink { return groupsSink{p} }

type groupsSink struct{ p *Pipeline }

// Assigned implements offsetslog.Sink.
func (g groupsSink) Assigned(a offsetslog.Assignment) error {
	return g.p.turn(func(s *state) error {
		s.assign(a)
		return nil
	})
}

// Resume implements offsetslog.Sink. A partition that comes back is read from
// the store. After the store had stopped it lags behind the state: then the
// partition goes back to what the store holds, or to its start, and what was
// known of it is shown until it is there again.
func (g groupsSink) Resume(partition int32) (at offsetslog.Position) {
	// The error is that of the function, which has none.
	_ = g.p.turn(func(s *state) error {
		at = s.resume(partition)
		return nil
	})
	return at
}

// Start implements offsetslog.Sink.
func (g groupsSink) Start(start offsetslog.Start) error {
	return g.p.turn(func(s *state) error {
		s.start(&start)
		return nil
	})
}

// Append implements offsetslog.Sink.
func (g groupsSink) Append(b *offsetslog.Batch) error {
	return g.p.turn(func(s *state) error {
		if sh := s.shards[b.Partition]; sh != nil {
			s.replay(sh, b)
		}
		return nil
	})
}

// Progress implements offsetslog.Sink.
func (g groupsSink) Progress(progress offsetslog.Progress) error {
	return g.p.turn(func(s *state) error {
		if sh := s.shards[progress.Partition]; sh != nil {
			s.follow(sh, progress)
		}
		return nil
	})
}

// Stop implements offsetslog.Sink.
func (g groupsSink) Stop(partition int32) error {
	return g.p.turn(func(s *state) error {
		s.dropShard(partition)
		return nil
	})
}

// assign notes which partitions are followed. The store may have held others,
// which left while nobody was here: nobody would ever say how they stand. That
// there are none at all is no proof, since a broker that has just started knows
// of none.
func (s *state) assign(a offsetslog.Assignment) {
	s.assignment = a
	s.published = false
	if !a.Known || len(a.Partitions) == 0 {
		return
	}
	for number := range s.shards {
		if !slices.Contains(a.Partitions, number) {
			s.dropShard(number)
		}
	}
}

func (s *state) resume(partition int32) offsetslog.Position {
	sh := s.shards[partition]
	if s.Store != nil && (sh == nil || s.lags(partition)) {
		stored, err := s.loadShard(partition)
		switch {
		case err != nil:
			// The store has stopped. What is known stays; what is not, is read
			// from its start.
		case stored != nil:
			known := sh != nil && sh.bumps.Whole()
			sh = s.putShard(stored)
			if !known {
				_ = s.restoreRebalances(sh) // after an error the store has stopped
			}
			s.markShard(partition)
		case sh != nil:
			sh.again = true
			return nowhere
		}
	}
	if sh == nil {
		return nowhere
	}
	at := sh.at
	if !sh.seen.IsZero() {
		at.Age = s.now.Sub(sh.seen)
	}
	return at
}

// lags says whether the store works and does not follow a partition: it had
// stopped.
func (s *state) lags(partition int32) bool {
	return s.Store.Status().Persisting && !s.Store.Live(partition)
}

// start begins a run of a partition: from where the shard stands, or with a
// new one.
func (s *state) start(start *offsetslog.Start) {
	sh := s.shards[start.Partition]
	if sh == nil || start.StartsOver() {
		known := kafka.Offset(0)
		if sh != nil && !sh.again {
			known = s.voidShard(sh, start.Reason)
		}
		whole := sh != nil && sh.bumps.Whole()
		sh = s.startShard(start.Partition)
		sh.explained = max(sh.explained, known)
		if !whole && s.Store != nil {
			_ = s.restoreRebalances(sh) // after an error the store has stopped
		}
	}
	sh.at.TopicID, sh.at.Offset = start.TopicID, start.Offset
	next := start.Offset
	if start.StartsOver() {
		next = sh.explained // what comes before the first record was compacted away
	}
	sh.bumps = s.explainer.Partition(start.TopicID, sh.Shard, next)
	sh.known = s.asOf(sh)
	sh.progress.Loading = true
	s.published = false
}

// startShard begins a partition anew. Nothing of it is shown until its end is
// reached, but for what there was before.
func (s *state) startShard(partition int32) *shard {
	if s.Store != nil {
		s.Store.GroupsStart(partition)
	}
	sh := newShard(groups.NewShard(partition, groups.Options{NewGroupEpoch: s.newGroupEpoch(partition)}))
	sh.hidden = true
	sh.seen = s.now // what was cleaned away before is no loss: nothing was read before
	return s.putShard(sh)
}

// dropShard forgets a partition. The store keeps its rows, for the case that
// it comes back.
func (s *state) dropShard(partition int32) {
	if s.shards[partition] != nil {
		s.removeShard(partition)
		s.explainer.Forget(partition)
	}
}

func (s *state) removeShard(partition int32) {
	s.held = append(s.held, s.shards[partition].SubscribedTopics()...)
	s.markShard(partition)
	delete(s.shards, partition)
	s.published = false
}

// replay applies a batch, but for entries that the shard has already.
func (s *state) replay(sh *shard, b *offsetslog.Batch) {
	var e offsetslog.Entry
	for b.Read(&e) {
		s.unended++
		switch {
		case e.Offset < sh.at.Offset:
		case e.End != offsetslog.NoEnd:
			if e.Offset >= sh.explained {
				sh.bumps.Pass(e.Offset)
			}
			s.note(sh, sh.EndTransaction(e.ProducerID, e.End == offsetslog.Commit))
		default:
			s.stats.GroupRecords++
			if e.Offset >= sh.explained {
				sh.bumps.Before(&e.Record)
			}
			o := sh.Replay(&e.Record)
			s.note(sh, o)
			s.check(sh, &e.Record, o.Group)
		}
	}
	sh.bumps.End()
	sh.at.Offset, sh.at.Epoch = b.Next, b.Epoch
	s.published = false
	s.persistPosition(sh)
	s.goesOn = sh.progress.Loading && s.unended < recordsOfLoad && len(s.states) < statesOfLoad
}

// note takes note of what a record changed.
func (s *state) note(sh *shard, o groups.Outcome) {
	for _, topic := range o.Subscribed {
		s.cache.Subscribe(topic)
	}
	for _, topic := range o.Unsubscribed {
		s.cache.Unsubscribe(topic)
	}
	if o.Change&(groups.GroupCreated|groups.GroupRemoved|groups.GroupChanged) != 0 {
		s.mark(sh.Partition(), o.Group)
	}
	if s.Store != nil && len(o.Effects) > 0 {
		s.Store.Group(sh.Partition(), o.Effects)
	}
}

// follow notes how a partition stands.
func (s *state) follow(sh *shard, progress offsetslog.Progress) {
	loaded := sh.progress.Loading && !progress.Loading
	sh.known = s.asOf(sh)
	sh.progress = progress
	if sh.isRead() {
		s.see(sh)
	}
	if loaded {
		s.markShard(sh.Partition())
		sh.hidden, sh.kept = false, false
		s.markShard(sh.Partition())
	}
	s.published = false
}

// see keeps that a partition was read to its end until now.
func (s *state) see(sh *shard) {
	sh.seen = s.now
	s.persistPosition(sh)
}

// isRead says whether all was read that is there: up to the high watermark, or of
// files, which have none, up to where they end.
func (sh *shard) isRead() bool {
	p := &sh.progress
	return !p.Loading && p.Lag() <= 0 && p.Problem == nil
}

// wasRead says whether all was read that was written until a time that is past.
func (sh *shard) wasRead(until time.Time) bool {
	return !sh.progress.Loading && (sh.seen.After(until) || sh.isRead())
}

// asOf is the newest time of which the groups of a shard are known.
func (s *state) asOf(sh *shard) time.Time {
	if sh.isRead() {
		return s.now
	}
	return sh.known
}

func (s *state) mark(partition int32, group string) {
	s.dirty[groupKey{partition, group}] = struct{}{}
}

// markShard marks every group of a partition.
func (s *state) markShard(partition int32) {
	sh := s.shards[partition]
	switch {
	case sh == nil:
	case sh.kept:
		s.views.Scan(func(id string, v *Group) bool {
			if v.Partition == partition {
				s.mark(partition, id)
			}
			return true
		})
	default:
		for _, id := range sh.GroupIDs() {
			s.mark(partition, id)
		}
	}
}

// markTopic marks the groups that subscribe to a topic, and those of which the
// shard does not say.
func (s *state) markTopic(topic string) {
	for number, sh := range s.shards {
		if sh.kept {
			s.markShard(number)
			continue
		}
		for _, id := range sh.GroupsByTopic(topic) {
			s.mark(number, id)
		}
	}
}
