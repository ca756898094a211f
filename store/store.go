package store

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Store is an open store, or one that could not be opened and persists nothing.
// See the package's comment for who may call it.
type Store struct {
	o         Options
	wanted    string // the cluster that the logs are of; empty if it is not known
	directory *directory
	cache     *pebble.Cache

	engine *engine // nil if there is none that works
	dead   *engine // the last one that failed, until its last operation ended
	halt   error   // why nothing is persisted, or nil
	now    time.Time
	resume schedule

	// What the database holds once pending is committed, and the metadata row
	// as it is committed.
	cluster    string
	metadata   metadataRow
	stored     metadataRow
	partitions map[int32]*partition
	generation uint32 // the highest that was used
	batches    uint64 // the number of the last one that was written
	commits    uint64 // that were begun since the store was opened
	committed  uint64 // the last of them that is durable

	ahead    *ahead // to be written before pending, or nil
	pending  pending
	flight   *flight
	key      []byte    // scratch
	value    []byte    // scratch
	progress time.Time // when offsets were last committed

	status  atomic.Pointer[Status]
	used    atomic.Int64 // bytes
	durable atomic.Pointer[Offsets]
}

// partition is a partition of __consumer_offsets in the store.
type partition struct {
	at PartitionOffset
	// known says that there is an offset, and so something to load. Without it
	// there may still be rows of a partition that was only started.
	known bool
	// live says that the caller's state is that of the store: it loaded the
	// partition, or started it. Effects on others do not fit, and are dropped.
	live bool
}

// Status is what a store says of itself.
type Status struct {
	Persisting bool
	// Reason says why nothing is persisted and what can be done.
	Reason string
	// Bytes is what the files took when they were last measured, which every
	// commit does.
	Bytes int64
}

// Status may be called by any goroutine.
func (s *Store) Status() Status {
	status := *s.status.Load()
	status.Bytes = s.used.Load()
	return status
}

// Durable says which prefix of each log survives a crash now. It may be called
// by any goroutine.
func (s *Store) Durable() Offsets { return *s.durable.Load() }

// ClusterID is the cluster that the store is of; empty if that was never said.
func (s *Store) ClusterID() string { return s.cluster }

// SetClusterID says which cluster the logs are of, for a store that was opened
// without. If the store is of another cluster the error is a *MismatchError;
// then it is of no use, and must be closed and opened anew with the id.
func (s *Store) SetClusterID(id string) error {
	if s.cluster == "" {
		s.cluster = id
		if s.halt == nil {
			s.set(clusterKey, []byte(id))
		}
	}
	s.wanted = id
	if s.cluster != id {
		return &MismatchError{Dir: s.directory.path, Cluster: s.cluster, WantCluster: id}
	}
	return nil
}

// Close commits what is pending and closes the store. Without an error all is
// durable that came before persisting stopped, if it did. Where Pebble was
// stopped in the middle of an operation the directory stays locked, so that
// nobody else opens it.
func (s *Store) Close() error {
	var err error
	if s.halt == nil {
		err = s.Flush()
	}
	if s.engine != nil {
		err = errors.Join(err, s.engine.close())
		s.dead, s.engine = s.engine, nil
		s.cache.Unref()
	}
	if !s.atRest() {
		return errors.Join(err, fmt.Errorf("close the store in %s: %w", s.directory.path, errLate))
	}
	return errors.Join(err, s.directory.lock.Close())
}

// offsets is what is in the store once pending is committed.
func (s *Store) offsets() *Offsets {
	o := &Offsets{Metadata: s.metadata.provenance(), Partitions: make(map[int32]PartitionOffset, len(s.partitions))}
	for number, p := range s.partitions {
		if p.known {
			o.Partitions[number] = p.at
		}
	}
	return o
}

// forget makes the store one with nothing in it.
func (s *Store) forget() {
	s.cluster, s.metadata, s.stored, s.generation, s.batches = "", metadataRow{}, metadataRow{}, 0, 0
	s.partitions = map[int32]*partition{}
	s.durable.Store(s.offsets())
}

// rollBack makes the store what is committed. The caller has to load or start
// every partition again.
func (s *Store) rollBack() {
	s.ahead, s.pending, s.metadata = nil, pending{}, s.stored
	durable := s.durable.Load().Partitions
	for number := range s.partitions {
		at, known := durable[number]
		s.partitions[number] = &partition{at: at, known: known}
	}
	for number, at := range durable {
		s.partitions[number] = &partition{at: at, known: true}
	}
}
