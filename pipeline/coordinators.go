package pipeline

import (
	"encoding/binary"
	"iter"

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

// unknownElection is the image of an election that is older than our history.
var unknownElection = image.Provenance{Offset: kafka.UnknownOffset}

// is says whether nobody was elected since.
func (c *coordinator) is(p *image.Partition) bool {
	return c.leader == p.Leader && c.leaderEpoch == p.LeaderEpoch
}

// findCoordinators reads the partitions of __consumer_offsets off the newest
// image, which came with the given record.
func (s *state) findCoordinators(at image.Provenance) {
	for number, p := range s.offsetsPartitions() {
		s.setCoordinator(number, p, at)
	}
}

// offsetsPartitions yields the partitions of __consumer_offsets in the newest
// image.
func (s *state) offsetsPartitions() iter.Seq2[int32, *image.Partition] {
	topic, ok := s.image().Topics().ByName(kafka.OffsetsTopic)
	if !ok {
		return func(func(int32, *image.Partition) bool) {}
	}
	return topic.Partitions()
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
	if known && old.is(p) {
		return
	}
	c := coordinator{leader: p.Leader, leaderEpoch: p.LeaderEpoch, loaded: at}
	if !known {
		c.loaded = unknownElection
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

// readCoordinator reads what append made.
func readCoordinator(row []byte) (c coordinator, err error) {
	var fields [5]int64
	for i := range fields {
		v, n := binary.Varint(row)
		if n <= 0 {
			return c, errBadModel
		}
		fields[i], row = v, row[n:]
	}
	c = coordinator{
		leader: kafka.NodeID(fields[0]), leaderEpoch: kafka.Epoch(fields[1]),
		loaded: image.Provenance{Offset: kafka.Offset(fields[2]), Epoch: kafka.Epoch(fields[3]), AppendTime: fields[4]},
	}
	if len(row) > 0 || int64(c.leader) != fields[0] || int64(c.leaderEpoch) != fields[1] || int64(c.loaded.Epoch) != fields[3] {
		return c, errBadModel
	}
	return c, nil
}
