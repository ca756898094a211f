package pipeline

import (
	"time"

	"github.com/kraftside/kraftside/store"
	"github.com/kraftside/kraftside/topichash"
)

// After so many records of a partition that is loading, or so many states of
// rebalances, at the latest the rebalances are given out, and the store may
// commit. One of many members is given out as a copy, which is a waste for each
// batch: nobody would see it for long while there is more to read already.
const (
	recordsOfLoad = 16 << 10
	statesOfLoad  = 100
)

// endOfSlice brings the verdicts up to date and hands the effects to the store.
// Until the first tick the wall clock is not known, and nothing is committed.
func (s *state) endOfSlice() {
	s.release()
	s.assessDirty()
	changed := s.cache.TakeChanged()
	s.noteTouched(changed)
	if s.Store != nil {
		for _, name := range changed {
			s.Store.Model(topicModel+name, s.topicRow(name))
		}
	}
	if s.goesOn {
		s.goesOn = false
		return
	}
	s.unended = 0
	s.noteNews()
	defer s.tellDurable()
	if s.Store == nil {
		return
	}
	if !s.now.IsZero() {
		s.storeWait = s.Store.MaybeCommit(s.now)
	}
	if s.Store.Recoverable() {
		s.rebuild()
	}
}

// topicRow is the row of a topic's hashes; nil if there is none.
func (s *state) topicRow(name string) []byte {
	if t, ok := s.cache.Peek(name); ok {
		return t.Append(nil)
	}
	return nil
}

// rebuild writes the whole state to a store that had stopped. Its error shows
// in the store's status; it is tried again. What was given up is told once the
// store works.
func (s *state) rebuild() {
	warning, err := s.rewrite()
	if warning != nil {
		s.setAside = warning
	}
	if err == nil && s.OnRebuilt != nil {
		s.OnRebuilt(s.setAside)
		s.setAside = nil
	}
}

func (s *state) rewrite() (*store.Warning, error) {
	var whole []int32 // else there may be rows that nobody has read
	for number, sh := range s.shards {
		if sh.bumps.Whole() {
			whole = append(whole, number)
		}
	}
	return s.Store.Rebuild(store.State{
		Image: s.loader.Image(), Model: s.modelRows, Hashes: s.hashRecords,
		Rebalances: s.explainer.AllRows(), ExportsOf: whole, Exports: s.exportRows,
		Changes: s.history.AllRows(),
	})
}

// giveUp has a store set aside that is damaged, so that the next start finds
// one that can be read. The error is what there is to tell.
func (s *state) giveUp(lost error) error {
	if !s.Store.Recoverable() { // the disk failed, and what is on it may be in order
		return lost
	}
	if warning, _ := s.rewrite(); warning != nil { // an error shows in the status, as in rebuild
		return warning
	}
	return lost
}

func (s *state) modelRows(yield func(string, []byte) bool) {
	for name := range s.cache.Names() {
		if !yield(topicModel+name, s.topicRow(name)) {
			return
		}
	}
	for number, c := range s.coordinators {
		if !yield(coordinatorKey(number), c.append(nil)) {
			return
		}
	}
}

func (s *state) hashRecords(yield func(string, store.HashRecord) bool) {
	s.views.Scan(func(id string, v *Group) bool { return v.Hash == nil || yield(id, s.hashRecord(v)) })
}

func (s *state) hashRecord(v *Group) store.HashRecord {
	return store.HashRecord{
		Type: v.Type, Epoch: v.Hash.Epoch, Scheme: topichash.Kafka,
		Stored: v.Hash.Value, Computed: v.Answer.Computed,
		MetadataOffset: s.image().Provenance().Offset, Verdict: v.Answer.Verdict, Since: v.Answer.Since,
	}
}

func (s *state) persistHash(v *Group) {
	if s.Store != nil && v.Hash != nil {
		s.Store.Hash(v.ID, s.hashRecord(v))
	}
}

// persistPosition keeps how far a partition was read.
func (s *state) persistPosition(sh *shard) {
	if s.Store == nil {
		return
	}
	s.Store.GroupsOffset(sh.Partition(), store.PartitionOffset{
		TopicID: sh.at.TopicID, Next: sh.at.Offset, LeaderEpoch: sh.at.Epoch, SeenAt: milliseconds(sh.seen),
	})
}

// milliseconds is a time as Kafka writes it; 0 for the zero time.
func milliseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
