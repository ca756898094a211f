package store

import (
	"encoding/binary"
	"errors"
	"iter"

	"github.com/kraftside/kraftside/rebalance"
)

// rebalancesKey is the key of a row of a partition, or what all of them begin
// with.
func rebalancesKey(b []byte, partition int32, key []byte) []byte {
	return append(binary.BigEndian.AppendUint32(append(b, rebalancesFamily), uint32(partition)), key...)
}

// beginningWith is all keys with a prefix, which does not consist of 0xff alone.
func beginningWith(prefix []byte) (from, to []byte) {
	to = append(to, prefix...)
	for to[len(to)-1] == 0xff {
		to = to[:len(to)-1]
	}
	to[len(to)-1]++
	return prefix, to
}

// Rebalance takes a row of an Explainer. Unlike those of the groups, rows of a
// partition are kept when it is started over: what happened has happened.
func (s *Store) Rebalance(r rebalance.Row) {
	if s.halt != nil {
		return
	}
	key := rebalancesKey(nil, r.Partition, r.Key)
	if r.Members {
		s.pending.batch.removeRange(beginningWith(key))
		return
	}
	s.set(key, r.Value)
}

// LoadRebalances hands restore the rows of a partition, in the order of their
// keys. They are valid during each step.
func (s *Store) LoadRebalances(partition int32, restore func(iter.Seq2[[]byte, []byte]) error) error {
	if err := s.settled(); err != nil {
		return err
	}
	return s.load("rebalances", func(e *engine) error {
		var failed error
		err := restore(func(yield func(key, value []byte) bool) { failed = e.scanRebalances(partition, yield) })
		if failed != nil {
			return failed
		}
		return err
	})
}

// settled makes sure that the rows of what was taken can be read.
func (s *Store) settled() error {
	if s.halt != nil || !s.pending.any() {
		return nil
	}
	return s.Flush()
}

// scanRebalances yields rows until the end, or until yield has enough.
func (e *engine) scanRebalances(partition int32, yield func(key, value []byte) bool) error {
	from, to := beginningWith(rebalancesKey(nil, partition, nil))
	err := e.scan(from, to, func(key, value []byte) error {
		if !yield(key[len(from):], value) {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// Commit is the number of the commit that effects belong to which are taken now,
// and Committed that of the last one that is durable. Numbers only grow. What is
// taken while nothing is persisted belongs to none.
func (s *Store) Commit() uint64 { return s.commits + 1 }

// Committed is the number of the last commit that is durable: see Commit.
func (s *Store) Committed() uint64 { return s.committed }
