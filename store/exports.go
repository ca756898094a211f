package store

import (
	"encoding/binary"
	"slices"

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
	ExportOpen       ExportState = 3 // it is being exported while it is open
)

// ExportRow is what is to be exported of a rebalance.
type ExportRow struct {
	State ExportState
	// Open is, with ExportOpen, what is exported however often that is tried,
	// as rebalance.Encode has it; else it is empty.
	Open []byte
}

func exportsKey(partition int32) []byte {
	return binary.BigEndian.AppendUint32([]byte{exportsFamily}, uint32(partition))
}

func exportKey(k ExportKey) []byte {
	return binary.BigEndian.AppendUint64(exportsKey(k.Partition), uint64(k.Offset))
}

// Export notes what is to be exported of a rebalance; the zero row is nothing
// any more.
func (s *Store) Export(k ExportKey, row ExportRow) {
	switch {
	case s.halt != nil:
	case row.State == 0:
		s.set(exportKey(k), nil)
	default:
		s.set(exportKey(k), append([]byte{byte(row.State)}, row.Open...))
	}
}

// LoadExports returns what is to be exported of a partition.
func (s *Store) LoadExports(partition int32) (map[ExportKey]ExportRow, error) {
	exports := map[ExportKey]ExportRow{}
	if err := s.settled(); err != nil {
		return nil, err
	}
	from, to := beginningWith(exportsKey(partition))
	return exports, s.load("exports", func(e *engine) error {
		return e.scan(from, to, func(key, value []byte) error {
			row, ok := readExportRow(value)
			if !ok || len(key) != 13 {
				return damaged("row of an export with a key of %d and a value of %d bytes", len(key), len(value))
			}
			exports[ExportKey{int32(binary.BigEndian.Uint32(key[1:])), kafka.Offset(binary.BigEndian.Uint64(key[5:]))}] = row
			return nil
		})
	})
}

func readExportRow(value []byte) (row ExportRow, ok bool) {
	if len(value) == 0 || value[0] < byte(ExportDue) || value[0] > byte(ExportOpen) {
		return row, false
	}
	row.State = ExportState(value[0])
	if row.State != ExportOpen {
		return row, len(value) == 1
	}
	row.Open = slices.Clone(value[1:]) // the value is the engine's
	return row, len(value) > 1
}
