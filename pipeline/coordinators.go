package pipeline

import (
	"encoding/binary"
	"errors"
	"strconv"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
)

// coordinator is what the image says of a partition of __consumer_offsets.
type coordinator struct {
	leader      kafka.NodeID
	leaderEpoch kafka.Epoch
	// loaded is the image with which the leader was elected in its epoch: what
	// it holds in its cache is of that image or a later one. Its offset is
	// kafka.UnknownOffset if the election is older than our history.
	loaded image.Provenance
}

// findCoordinators reads the partitions of __consumer_offsets off the newest
// image, which came with the given record.
func (s *state) findCoordinators(at image.Provenance) {
	topic, ok := s.image().Topics().ByName(kafka.OffsetsTopic)
	if !ok {
		return
	}
	for number, p := range topic.Partitions() {
		s.setCoordinator(number, p, at)
	}
}

func (s *state) image() *image.MetadataImage { return s.cache.Image() }

// answers says whether this sidecar speaks for a partition.
func (s *state) answers(partition int32) bool {
	return s.Scope == All || s.coordinators[partition].leader == s.NodeID
}

// setCoordinator notes an election: the new coordinator starts with an empty
// cache, and every group of the partition is to be assessed anew.
func (s *state) setCoordinator(number int32, p *image.Partition, at image.Provenance) {
	old, known := s.coordinators[number]
	if known && old.leader == p.Leader && old.leaderEpoch == p.LeaderEpoch {
		return
	}
	c := coordinator{leader: p.Leader, leaderEpoch: p.LeaderEpoch, loaded: at}
	if !known {
		c.loaded = image.Provenance{Offset: kafka.UnknownOffset}
	}
	s.coordinators[number] = c
	if s.Store != nil {
		s.Store.Model(coordinatorKey(number), c.append(nil))
	}
	s.applyVersion(number)
	s.markShard(number)
}

// append makes the row of the model that restoreCoordinator reads.
func (c *coordinator) append(b []byte) []byte {
	b = binary.AppendVarint(b, int64(c.leader))
	b = binary.AppendVarint(b, int64(c.leaderEpoch))
	b = binary.AppendVarint(b, int64(c.loaded.Offset))
	b = binary.AppendVarint(b, int64(c.loaded.Epoch))
	return binary.AppendVarint(b, c.loaded.AppendTime)
}

var errBadCoordinator = errors.New("not what was written")

func (s *state) restoreCoordinator(number string, row []byte) error {
	partition, err := strconv.ParseInt(number, 10, 32)
	if err != nil {
		return errBadCoordinator
	}
	var fields [5]int64
	for i := range fields {
		v, n := binary.Varint(row)
		if n <= 0 {
			return errBadCoordinator
		}
		fields[i], row = v, row[n:]
	}
	c := coordinator{
		leader: kafka.NodeID(fields[0]), leaderEpoch: kafka.Epoch(fields[1]),
		loaded: image.Provenance{Offset: kafka.Offset(fields[2]), Epoch: kafka.Epoch(fields[3]), AppendTime: fields[4]},
	}
	// The image is of the same commit as the row, so both agree; the row knows
	// besides when the leader was elected.
	s.coordinators[int32(partition)] = c
	return nil
}
