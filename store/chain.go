package store

import "encoding/binary"

// Pebble forgives a log of its own that breaks off: a crash does that. So if a
// record of its manifest is damaged it may open as it was long ago, and then
// apply its last write-ahead log to that, without what came in between. To
// notice it every batch has a number, and its own row with it: the numbers at
// the end have no gap unless a batch is missing.

// chainRows is how many batches are remembered. It is more than Pebble may have
// in its logs alone: two memtables, each with some 47,000 of the smallest.
const chainRows = 1 << 17

func chainKey(b []byte, number uint64) []byte {
	return binary.BigEndian.AppendUint32(append(b, chainFamily), uint32(number%chainRows))
}

// chain is the rows as they are read.
type chain struct {
	numbers []uint64 // by number % chainRows
	last    uint64
}

func newChain() *chain { return &chain{numbers: make([]uint64, chainRows)} }

func (c *chain) add(key, value []byte) error {
	k, v := rowReader{rest: key[1:]}, rowReader{rest: value}
	slot, number := k.fixed32(), v.uint64()
	if k.end("") != nil || v.end("") != nil || uint32(number%chainRows) != slot {
		return damaged("row %q", key)
	}
	c.numbers[slot] = number
	c.last = max(c.last, number)
	return nil
}

// check fails if a batch is missing among the last ones.
func (c *chain) check() error {
	for n := uint64(0); n < min(c.last, chainRows); n++ {
		if number := c.last - n; c.numbers[number%chainRows] != number {
			return damaged("batch %d is missing, and there is batch %d", number, c.last)
		}
	}
	return nil
}
