package store

import (
	"encoding/binary"

	"github.com/kraftside/kraftside/internal/kafka"
)

// ExportKey names a rebalance that is to be exported, by its bump.
type ExportKey struct {
	Partition int32
	Offset    kafka.Offset
}

// ExportState is what was exported of it.
type ExportState uint8

// The states. The row is removed when all is done.
const (
	ExportDue        ExportState = 1
	ExportIncomplete ExportState = 2 // it was exported while it was open
)

func exportsKey(partition int32) []byte {
	return binary.BigEndian.AppendUint32([]byte{exportsFamily}, uint32(partition))
}

func exportKey(k ExportKey) []byte {
	return binary.BigEndian.AppendUint64(exportsKey(k.Partition), uint64(k.Offset))
}

// Export notes what is to be exported of a rebalance; 0 is nothing any more.
func (s *Store) Export(k ExportKey, state ExportState) {
	switch {
	case s.halt != nil:
	case state == 0:
		s.set(exportKey(k), nil)
	default:
		s.set(exportKey(k), []byte{byte(state)})
	}
}

// LoadExports returns what is to be exported of a partition.
func (s *Store) LoadExports(partition int32) (map[ExportKey]ExportState, error) {
	exports := map[ExportKey]ExportState{}
	if err := s.settled(); err != nil {
		return nil, err
	}
	from, to := beginningWith(exportsKey(partition))
	return exports, s.load("exports", func(e *engine) error {
		return e.scan(from, to, func(key, value []byte) error {
			if len(key) != 13 || len(value) != 1 || value[0] < byte(ExportDue) || value[0] > byte(ExportIncomplete) {
				return damaged("row of an export with a key of %d and a value of %d bytes", len(key), len(value))
			}
			exports[ExportKey{int32(binary.BigEndian.Uint32(key[1:])), kafka.Offset(binary.BigEndian.Uint64(key[5:]))}] = ExportState(value[0])
			return nil
		})
	})
}
