package pipeline

import (
	"encoding/binary"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/topichash"
)

// Check is one record that stores a group's hash, held against the images that
// may explain it.
type Check struct {
	Group     string
	Type      groups.Type
	Epoch     int32
	Stored    int64
	Partition int32
	Offset    kafka.Offset
	Timestamp int64 // milliseconds since 1970
	Answer    topichash.Answer
}

// maxUnsettled bounds the checks that wait for the metadata log.
const maxUnsettled = 10_000

// unsettled is a check of a record that is newer than our image.
type unsettled struct {
	check    Check
	question topichash.Question
}

// check looks at a record that was just replayed, if it stores a hash. All
// records of the operation that precede it, among them those that change what
// the group subscribes to, were replayed before.
func (s *state) check(sh *shard, r *groups.Record, group string) {
	if s.OnCheck == nil || r.Offset < sh.checked || !storesHash(r) {
		return
	}
	g := sh.Freeze(group)
	if g == nil || g.Hash == nil || g.Hash.Offset != r.Offset {
		return
	}
	u := unsettled{
		check: Check{
			Group: g.ID, Type: g.Type, Epoch: g.Epoch, Stored: g.Hash.Value,
			Partition: sh.Partition(), Offset: r.Offset, Timestamp: r.Timestamp,
		},
		question: s.question(sh, g),
	}
	// A group that its last member leaves is compared as well, and its log is not
	// read beyond the record.
	u.question.Members, u.question.Now = true, r.Timestamp
	s.settle(u)
}

// storesHash says whether a record is one of the types 3, 11 and 17, and no
// tombstone.
func storesHash(r *groups.Record) bool {
	if len(r.Key) < 2 || r.Value == nil {
		return false
	}
	switch record.Type(binary.BigEndian.Uint16(r.Key)) {
	case record.TypeConsumerGroupMetadata, record.TypeShareGroupMetadata, record.TypeStreamsGroupMetadata:
		return true
	}
	return false
}

// settle answers a check, or keeps it until the metadata log is as far.
func (s *state) settle(u unsettled) {
	u.check.Answer = s.cache.Assess(u.question)
	if u.check.Answer.Reason == topichash.BehindCoordinator && len(s.unsettled) < maxUnsettled {
		s.unsettled = append(s.unsettled, u)
		return
	}
	s.OnCheck(u.check)
}

// settleAll tries again what waited for the metadata log.
func (s *state) settleAll() {
	waiting := s.unsettled
	s.unsettled = nil
	for _, u := range waiting {
		s.settle(u)
	}
}
