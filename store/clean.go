package store

import (
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"
)

// clean removes the rows that no commit has named: an image that was written
// ahead when the process ended, and rows of partitions without an offset. Doing
// it again does no harm, so it need not be synced.
func (e *engine) clean(generation uint32, partitions map[int32]*partition) error {
	known := make(map[int32]bool, len(partitions))
	for number, p := range partitions {
		known[number] = p.known
	}
	return e.do(func(db *pebble.DB) error { return clean(db, generation, known) })
}

func clean(db *pebble.DB, generation uint32, known map[int32]bool) error {
	b := batch{db.NewBatch()}
	if err := cleanImages(db, b, generation); err != nil {
		return err
	}
	if err := cleanGroups(db, b, known); err != nil {
		return err
	}
	if b.Count() > 0 {
		return b.Commit(pebble.NoSync)
	}
	return b.Close()
}

func cleanImages(db *pebble.DB, b batch, generation uint32) error {
	from, to := family(imageFamily)
	if generation == 0 {
		return cleanRange(db, b, from, to)
	}
	current, next := imageRange(generation)
	if err := cleanRange(db, b, from, current); err != nil {
		return err
	}
	return cleanRange(db, b, next, to)
}

// cleanRange removes a range if there is anything in it.
func cleanRange(db *pebble.DB, b batch, from, to []byte) error {
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return err
	}
	if it.First() {
		b.removeRange(from, to)
	}
	return it.Close()
}

func cleanGroups(db *pebble.DB, b batch, known map[int32]bool) error {
	from, to := family(groupsFamily)
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return err
	}
	for valid := it.First(); valid; {
		if len(it.Key()) < 5 {
			b.put(it.Key(), nil)
			valid = it.Next()
			continue
		}
		number := int32(binary.BigEndian.Uint32(it.Key()[1:]))
		from, next := groupsRange(number)
		if !known[number] {
			b.removeRange(from, next)
		}
		valid = it.SeekGE(next)
	}
	return it.Close()
}
