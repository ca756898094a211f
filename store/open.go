package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Warning says that a database was set aside, and why. It is an error to whom
// the state in the database matters.
type Warning struct {
	Cause error
	// SetAside is where it is now. The next one that is set aside takes its
	// place.
	SetAside string
}

func (w *Warning) Error() string {
	return fmt.Sprintf("%v; it was set aside as %s: its history is lost, the state is rebuilt from the logs", w.Cause, w.SetAside)
}

// Unwrap gives errors.Is the cause.
func (w *Warning) Unwrap() error { return w.Cause }

// Open opens the store in dir, which it makes if need be.
//
// A store that does not fit is set aside, or makes Open fail with a
// *MismatchError, as the options say; a damaged one is set aside. Of that the
// Warning tells. Where the disk does not work or is full, Open succeeds with a
// store that persists nothing; see Status. The error ErrLocked means that
// somebody else has the store open.
func Open(dir string, o Options) (*Store, *Warning, error) {
	if err := o.Validate(); err != nil {
		return nil, nil, err
	}
	s := &Store{o: o.withDefaults(), wanted: o.ClusterID, now: o.Now}
	var err error
	if s.directory, err = openDirectory(s.o.FS, dir); err != nil {
		return nil, nil, err
	}
	s.cache = pebble.NewCache(blockCacheBytes)
	s.forget()
	s.status.Store(&Status{Persisting: true})
	warning, err := s.open(nil)
	if err != nil {
		s.cache.Unref()
		return nil, nil, errors.Join(err, s.directory.lock.Close())
	}
	return s, warning, nil
}

// open opens the database, or sets it aside and makes a new one. damage is what
// is known to be wrong with it, or nil. The error is one that Open returns; any
// other stops persisting.
func (s *Store) open(damage error) (warning *Warning, err error) {
	cause := damage
	if cause == nil {
		cause = s.openDatabase()
	}
	mismatch := errors.Is(cause, ErrMismatch)
	switch {
	case cause == nil:
		return nil, nil
	case mismatch && s.o.OnMismatch == Fail:
		return nil, cause
	case !mismatch && isDisk(cause):
		s.stop(cause)
		return nil, nil
	case !mismatch:
		cause = asDamage(cause)
	}
	aside, err := s.startAnew()
	if aside {
		warning = &Warning{cause, s.directory.setAside()}
	}
	if err != nil {
		s.stop(err)
	}
	return warning, nil
}

// startAnew sets the database aside, which it says, and makes a new one of the
// same cluster.
func (s *Store) startAnew() (aside bool, err error) {
	if !s.atRest() {
		return false, errLate
	}
	aside, err = s.directory.moveAside()
	if aside {
		if s.wanted == "" {
			s.wanted = s.cluster
		}
		s.forget()
	}
	if err == nil {
		err = s.openDatabase()
	}
	return aside, err
}

// openDatabase opens what is in the directory and reads what must be known of
// it at once. After an error there is no engine.
func (s *Store) openDatabase() error {
	if err := s.directory.prepare(); err != nil {
		return err
	}
	e, err := openEngine(&s.o, s.directory.db(), s.cache)
	if err != nil {
		s.dead = e
		return err
	}
	var c contents
	err = c.read(e, s.o.Now)
	if err == nil && c.cluster != "" && s.wanted != "" && c.cluster != s.wanted {
		err = &MismatchError{Dir: s.directory.path, Cluster: c.cluster, WantCluster: s.wanted}
	}
	if err != nil {
		s.dead = e
		return errors.Join(err, e.close())
	}
	s.engine = e
	s.cluster, s.metadata, s.stored, s.partitions = c.cluster, c.metadata, c.metadata, c.partitions
	s.generation, s.batches = c.generation, c.batches
	s.durable.Store(s.offsets())
	s.pending = s.newPending()
	if s.wanted != "" {
		return s.SetClusterID(s.wanted)
	}
	return nil
}

// contents is what Open reads of a database.
type contents struct {
	cluster    string
	metadata   metadataRow
	partitions map[int32]*partition
	generation uint32
	batches    uint64
}

// read reads the contents, and removes rows that no commit has named.
func (c *contents) read(e *engine, now time.Time) error {
	c.partitions = map[int32]*partition{}
	fresh, err := e.isFresh()
	if err != nil {
		return err
	}
	if fresh {
		created := binary.AppendVarint(nil, now.UnixMilli())
		return e.do(func(db *pebble.DB) error { return db.Set(createdKey, created, pebble.Sync) })
	}
	numbers := newChain()
	from, to := family(chainFamily)
	if err := errors.Join(e.scan(from, to, numbers.add), numbers.check()); err != nil {
		return err
	}
	c.batches = numbers.last
	from, to = family(metaFamily)
	if err := e.scan(from, to, c.meta); err != nil {
		return err
	}
	from, to = family(offsetsFamily)
	if err := e.scan(from, to, c.offset); err != nil {
		return err
	}
	last, err := e.lastGeneration()
	if err != nil {
		return err
	}
	c.generation = max(last, c.metadata.generation)
	return e.clean(c.metadata.generation, c.partitions)
}

// isFresh says whether nothing was ever written. A database that was made has
// a row that says when.
func (e *engine) isFresh() (bool, error) {
	var created, any bool
	err := e.do(func(db *pebble.DB) error {
		_, closer, err := db.Get(createdKey)
		if created = err == nil; created {
			return closer.Close()
		}
		if !errors.Is(err, pebble.ErrNotFound) {
			return err
		}
		it, err := db.NewIter(nil)
		if err != nil {
			return err
		}
		any = it.First()
		return it.Close()
	})
	switch {
	case err != nil:
		return false, err
	case any:
		return false, damaged("there are rows and not the one that comes first")
	}
	return !created, nil
}

func (c *contents) meta(key, value []byte) error {
	switch string(key) {
	case string(clusterKey):
		c.cluster = string(value)
	case string(createdKey):
		r := rowReader{rest: value}
		r.int64()
		return r.end("time of creation")
	default:
		return damaged("row %q", key)
	}
	return nil
}

func (c *contents) offset(key, value []byte) (err error) {
	if string(key) == string(metadataKey) {
		c.metadata, err = readMetadataRow(value)
		return err
	}
	r := rowReader{rest: key[1:]}
	if kind, number := r.byte(), int32(r.fixed32()); kind == partitionOffsets && r.end("") == nil {
		p := &partition{known: true}
		c.partitions[number] = p
		p.at, err = readPartitionOffset(value)
		return err
	}
	return damaged("row %q", key)
}

// lastGeneration is the highest generation that has rows.
func (e *engine) lastGeneration() (uint32, error) {
	var last uint32
	err := e.do(func(db *pebble.DB) error {
		from, to := family(imageFamily)
		it, err := db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
		if err != nil {
			return err
		}
		if it.Last() {
			r := rowReader{rest: it.Key()[1:]}
			last = r.fixed32()
		}
		return it.Close()
	})
	if err != nil {
		return 0, err
	}
	return last, nil
}
