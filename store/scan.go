package store

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

// scanBytes is how much the engine's goroutine reads ahead of who wants it.
const scanBytes = 64 << 10

// block is rows on their way from the engine's goroutine to the caller's.
type block struct {
	data []byte
	rows [][2]int // lengths of the key and of the value
}

// scan calls row with every row of a range, in the order of the keys, on the
// goroutine of the caller: the engine's own may be stopped at any row, and
// must not hold anything of the caller's then. Both slices are valid during the
// call. An error of row ends the scan and is returned.
func (e *engine) scan(from, to []byte, row func(key, value []byte) error) error {
	r := &reading{full: make(chan *block), empty: make(chan *block, 2), enough: make(chan struct{})}
	r.empty <- new(block)
	r.empty <- new(block)
	e.start(func(db *pebble.DB) error { return r.read(db, from, to) })
	for {
		select {
		case b := <-r.full:
			if err := b.each(row); err != nil {
				close(r.enough)
				return errors.Join(err, e.wait(endless))
			}
			r.empty <- b
		case err := <-e.results:
			return err
		case <-e.guard.failed:
			close(r.enough)
			return e.guard.err()
		}
	}
}

func (b *block) each(row func(key, value []byte) error) error {
	data := b.data
	for _, n := range b.rows {
		if err := row(data[:n[0]], data[n[0]:n[0]+n[1]]); err != nil {
			return err
		}
		data = data[n[0]+n[1]:]
	}
	b.data, b.rows = b.data[:0], b.rows[:0]
	return nil
}

// reading is the engine's side of a scan.
type reading struct {
	full, empty chan *block
	enough      chan struct{} // closed when no more is wanted
}

func (r *reading) read(db *pebble.DB, from, to []byte) error {
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return err
	}
	err = r.iterate(it)
	if closing := it.Close(); err == nil {
		err = closing
	}
	return err
}

func (r *reading) iterate(it *pebble.Iterator) error {
	b := <-r.empty
	for valid := it.First(); valid; valid = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		b.data = append(append(b.data, it.Key()...), value...)
		b.rows = append(b.rows, [2]int{len(it.Key()), len(value)})
		if len(b.data) >= scanBytes {
			if b = r.pass(b); b == nil {
				return nil
			}
		}
	}
	if err := it.Error(); err != nil {
		return err
	}
	r.pass(b)
	return nil
}

// pass hands a block over and takes an empty one, or nil if there is enough.
func (r *reading) pass(b *block) *block {
	select {
	case r.full <- b:
	case <-r.enough:
		return nil
	}
	select {
	case b := <-r.empty:
		return b
	case <-r.enough:
		return nil
	}
}
