package store

import (
	"encoding/binary"
	"math"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
)

// The first byte of a key says what the row is of. docs/format/store.md is the
// specification.
const (
	metaFamily       = 'M'
	offsetsFamily    = 'O'
	imageFamily      = 'I'
	groupsFamily     = 'G'
	hashFamily       = 'H'
	modelFamily      = 'T'
	rebalancesFamily = 'R'
	exportsFamily    = 'X'
	changesFamily    = 'L'
	chainFamily      = 'C'
)

var (
	clusterKey  = []byte{metaFamily, 'c'}
	createdKey  = []byte{metaFamily, 't'}
	metadataKey = []byte{offsetsFamily, 'm'}
)

// family is all keys that begin with a byte: from, and the end it stays below.
func family(b byte) (from, to []byte) { return []byte{b}, []byte{b + 1} }

const partitionOffsets = 'p'

func partitionKey(b []byte, partition int32) []byte {
	return binary.BigEndian.AppendUint32(append(b, offsetsFamily, partitionOffsets), uint32(partition))
}

// Rows of the image follow the number of the generation.
const (
	directoriesRow = 'd'
	partRow        = 'p'
	topicRow       = 't'
)

func generationKey(b []byte, generation uint32) []byte {
	return binary.BigEndian.AppendUint32(append(b, imageFamily), generation)
}

// imageRange is all rows of a generation.
func imageRange(generation uint32) (from, to []byte) {
	if generation == math.MaxUint32 {
		return generationKey(nil, generation), []byte{imageFamily + 1}
	}
	return generationKey(nil, generation), generationKey(nil, generation+1)
}

func directoriesKey(b []byte, generation uint32, broker kafka.NodeID) []byte {
	b = append(generationKey(b, generation), directoriesRow)
	return binary.BigEndian.AppendUint32(b, uint32(broker))
}

func partKey(b []byte, generation uint32, part image.PartKey) []byte {
	return append(append(generationKey(b, generation), partRow), part...)
}

// chunkKey is the row of a chunk; chunk 0 has the topic's own key, and comes
// first.
func chunkKey(b []byte, generation uint32, id kafka.TopicID, chunk uint32) []byte {
	b = append(append(generationKey(b, generation), topicRow), id[:]...)
	if chunk == 0 {
		return b
	}
	return binary.BigEndian.AppendUint32(b, chunk)
}

// groupsRange is all rows of a partition.
func groupsRange(partition int32) (from, to []byte) {
	from = binary.BigEndian.AppendUint32([]byte{groupsFamily}, uint32(partition))
	if uint32(partition) == math.MaxUint32 {
		return from, []byte{groupsFamily + 1}
	}
	return from, binary.BigEndian.AppendUint32([]byte{groupsFamily}, uint32(partition)+1)
}

func groupRowKey(b []byte, partition int32, row *groups.Row) []byte {
	b = binary.BigEndian.AppendUint32(append(b, groupsFamily), uint32(partition))
	b = append(b, byte(row.Kind))
	if row.Kind == groups.RowPending {
		b = binary.BigEndian.AppendUint64(b, uint64(row.ProducerID))
	}
	return append(b, row.Key...)
}

func hashKey(b []byte, group string) []byte { return append(append(b, hashFamily), group...) }

func modelKey(b []byte, name string) []byte { return append(append(b, modelFamily), name...) }
