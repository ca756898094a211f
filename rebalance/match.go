package rebalance

import (
	"slices"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/topichash"
)

// evaluation is which hashes of its topics a coordinator last used for a
// group.
type evaluation struct {
	At     kafka.Offset // the image that explained it
	Topics map[string]held
}

// held is a version, kept by value: its image need not be there any more.
type held struct {
	From   kafka.Offset
	Exists bool
	Hash   int64
}

// question is a stored hash that an image is to explain.
type question struct {
	Topics    []string // sorted
	Hash      int64
	Time      int64
	Partition int32
	after     *evaluation // nil: the first one that is known
}

// match is how images explain a hash.
type match struct {
	at       kafka.Offset
	chosen   []int // of each topic's versions
	versions [][]version
	computed int64 // by the image at
}

// finding says how a search ended.
type finding int

const (
	found         finding = iota
	undecided             // the image may not have been read yet
	beforeHistory         // it is older than the first image
	tooMany               // not every mix was tried
	unexplained           // no image gives the hash
	brokenOff             // likewise, but records of the group are missing
)

const (
	maxMixes         = 1 << 12 // tried for one hash
	maxMixesPerImage = 1 << 8
)

// search looks for the images that explain a hash.
type search struct {
	h        *history
	q        question
	versions [][]version
	low      []int // the first version that may be chosen, of each topic
	fresh    []int // the versions of the image that is tried
	trial    []int
	named    []topichash.NamedHash
	tries    int
}

// explain finds the earliest image, not before the previous evaluation, that
// gives the hash: by itself, or with older hashes of some topics. Nothing that
// is read later can be earlier, so that what is found is final.
func (h *history) explain(q question) (match, finding) {
	if h.image.Provenance().Offset < 0 {
		return match{}, undecided // nothing was read, and it may begin with a snapshot
	}
	s := &search{h: h, q: q, low: make([]int, len(q.Topics)), fresh: make([]int, len(q.Topics)), trial: make([]int, len(q.Topics))}
	for _, name := range q.Topics {
		s.versions = append(s.versions, h.versionsOf(name))
	}
	base, known := s.placeBase()
	if known {
		copy(s.trial, s.low)
		if s.hits() {
			s.freshAt(base)
			return s.match(base), found
		}
	}
	for _, at := range s.candidates(base) {
		s.freshAt(at)
		if s.try(at) {
			return s.match(at), found
		}
	}
	return match{}, s.missed(known)
}

// placeBase finds the versions of the previous evaluation. A topic that the
// group did not subscribe to may be of any age: others may have had the
// coordinator keep it.
func (s *search) placeBase() (at kafka.Offset, known bool) {
	at = s.h.start().Offset
	if s.q.after == nil {
		return at, false
	}
	at, known = max(at, s.q.after.At), true
	for i, name := range s.q.Topics {
		was, ok := s.q.after.Topics[name]
		if !ok {
			s.low[i] = inEffect(s.versions[i], at)
			continue
		}
		s.low[i], ok = locate(s.versions[i], was)
		known = known && ok
	}
	return at, known
}

// locate finds a version again; false if the history does not reach back to it.
// A version that is older than the history is its first one.
func locate(versions []version, was held) (int, bool) {
	for i := range versions {
		v := &versions[i]
		there := v.from.Offset == was.From || i == 0 && v.from.Offset > was.From
		if there && v.exists == was.Exists && v.hash == was.Hash {
			return i, true
		}
	}
	return 0, false
}

// candidates are the offsets of the images from base on in which some topic
// has another hash than before, up to the time of the bump.
func (s *search) candidates(base kafka.Offset) []kafka.Offset {
	at := []kafka.Offset{base}
	for _, versions := range s.versions {
		for i := range versions {
			from := versions[i].from
			if from.Offset > base && from.AppendTime <= s.q.Time+Skew {
				at = append(at, from.Offset)
			}
		}
	}
	slices.Sort(at)
	return slices.Compact(at)
}

func (s *search) freshAt(at kafka.Offset) {
	for i, versions := range s.versions {
		s.fresh[i] = max(inEffect(versions, at), s.low[i])
	}
}

// try tries the mixes whose newest part is of one image: all of it, all as the
// coordinator's cache should have it, one topic older, and a few others.
func (s *search) try(at kafka.Offset) bool {
	copy(s.trial, s.fresh)
	if s.hits() || s.tryCached(at) {
		return true
	}
	for i := range s.trial {
		copy(s.trial, s.fresh)
		for s.trial[i] = s.oldest(i); s.trial[i] < s.fresh[i]; s.trial[i]++ {
			if s.hits() {
				return true
			}
		}
	}
	return s.tryOthers()
}

// oldest is the first version that a mix may have of a topic. Of a topic that
// the group was not evaluated with, any may be cached.
func (s *search) oldest(i int) int {
	if s.q.after != nil {
		if _, ok := s.q.after.Topics[s.q.Topics[i]]; ok {
			return s.low[i]
		}
	}
	return 0
}

// tryCached tries the versions of when each topic was last dropped from the
// cache.
func (s *search) tryCached(at kafka.Offset) bool {
	for i, name := range s.q.Topics {
		dropped := s.h.dropped(name, s.q.Partition, at)
		s.trial[i] = min(max(inEffect(s.versions[i], dropped), s.low[i]), s.fresh[i])
	}
	return s.hits()
}

// tryOthers counts through the mixes, a few of them.
func (s *search) tryOthers() bool {
	for i := range s.trial {
		s.trial[i] = s.oldest(i)
	}
	for range maxMixesPerImage {
		if s.hits() {
			return true
		}
		if !s.next() {
			return false
		}
	}
	return false
}

func (s *search) next() bool {
	for i := range s.trial {
		if s.trial[i]++; s.trial[i] <= s.fresh[i] {
			return true
		}
		s.trial[i] = s.oldest(i)
	}
	return false
}

func (s *search) hits() bool {
	s.tries++
	return s.tries <= maxMixes && s.groupHash(s.trial) == s.q.Hash
}

func (s *search) groupHash(chosen []int) int64 {
	s.named = s.named[:0]
	for i, versions := range s.versions {
		if v := &versions[chosen[i]]; v.exists {
			s.named = append(s.named, topichash.NamedHash{Name: s.q.Topics[i], Hash: v.hash})
		}
	}
	return s.h.hasher.Group(topichash.Kafka, s.named)
}

func (s *search) match(at kafka.Offset) match {
	return match{at: at, chosen: slices.Clone(s.trial), versions: s.versions, computed: s.groupHash(s.fresh)}
}

// missed says why nothing was found.
func (s *search) missed(known bool) finding {
	switch {
	case !s.h.passed(s.q.Time):
		return undecided
	case s.tries > maxMixes:
		return tooMany
	case s.q.Time < s.h.start().AppendTime, s.q.after != nil && !known:
		return beforeHistory
	}
	return unexplained
}

// dropped is where a coordinator last lost its hash of a topic, not after an
// offset: a record named the topic, or the coordinator was elected.
func (h *history) dropped(name string, partition int32, at kafka.Offset) kafka.Offset {
	last := kafka.UnknownOffset
	for _, t := range h.topic(name).touches {
		if t.offset <= at {
			last = max(last, t.offset)
		}
	}
	for _, e := range h.elections[partition] {
		if e.offset <= at {
			last = max(last, e.offset)
		}
	}
	return last
}

// evaluation is what the match says of the coordinator's cache.
func (m *match) evaluation(topics []string) *evaluation {
	e := &evaluation{At: m.at, Topics: make(map[string]held, len(topics))}
	for i, name := range topics {
		v := &m.versions[i][m.chosen[i]]
		e.Topics[name] = held{From: v.from.Offset, Exists: v.exists, Hash: v.hash}
	}
	return e
}
