package store

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Sizes of Pebble. They bound what an idle sidecar takes: a memtable that is
// being filled, one that is being written, and the block cache. The store is
// read once, at the start.
const (
	memTableBytes   = 4 << 20
	blockCacheBytes = 1 << 20
	openFiles       = 64
	manifestBytes   = 1 << 20 // before it is written anew; Pebble's default is 128 MiB
)

// pebbleFormat is part of Format: a Pebble of another version may read what
// this one wrote only up to here.
const pebbleFormat = pebble.FormatTableFormatV6

// engine is a Pebble database that may stop at any time, and the goroutine
// that calls it. It takes one call at a time.
type engine struct {
	db      *pebble.DB
	guard   *guard
	calls   chan func(*pebble.DB) error
	results chan error
}

// openEngine opens the database in dir, or creates it. After an error the
// engine is one that has failed.
func openEngine(o *Options, dir string, cache *pebble.Cache) (*engine, error) {
	e := &engine{
		guard:   newGuard(o.FS),
		calls:   make(chan func(*pebble.DB) error, 1),
		results: make(chan error, 1),
	}
	options := e.options(cache)
	if o.tune != nil {
		o.tune(options)
	}
	go e.run()
	err := e.do(func(*pebble.DB) (err error) {
		e.db, err = pebble.Open(dir, options)
		return err
	})
	if err != nil {
		e.abandon(err)
		return e, fmt.Errorf("open %s: %w", dir, err)
	}
	return e, nil
}

func (e *engine) options(cache *pebble.Cache) *pebble.Options {
	o := &pebble.Options{
		Cache:               cache,
		FS:                  e.guard,
		FormatMajorVersion:  pebbleFormat,
		MemTableSize:        memTableBytes,
		MaxOpenFiles:        openFiles,
		MaxManifestFileSize: manifestBytes,
		Logger:              fatal{e.guard},
		EventListener: &pebble.EventListener{
			BackgroundError: func(err error) { e.guard.fail(fmt.Errorf("in the background: %w", err)) },
			DataCorruption:  func(info pebble.DataCorruptionInfo) { e.guard.fail(damaged("%s: %v", info.Path, info.Details)) },
		},
	}
	o.Experimental.FileCacheShards = 1
	// The usual scheduler wakes up ten times a second, for as long as the
	// process lives if Pebble fails, to see whether more compactions may run
	// than before. Here it is always one: whoever is told to wait waits for a
	// compaction that is running, and is called when that ends. The name says
	// that the constructor is for tests; it is the same scheduler.
	o.Experimental.CompactionScheduler = pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest()
	return o
}

// fatal is the logger of Pebble, which calls Fatalf where it cannot go on.
type fatal struct{ guard *guard }

// Infof implements pebble.Logger.
func (fatal) Infof(string, ...any) {}

// Errorf implements pebble.Logger. What matters comes by the event listener.
func (fatal) Errorf(string, ...any) {}

// Fatalf implements pebble.Logger. Pebble relies on its not returning.
func (f fatal) Fatalf(format string, args ...any) {
	f.guard.fail(fmt.Errorf("fatal: "+format, args...))
	stop()
}

// run is the goroutine of all calls.
func (e *engine) run() {
	for call := range e.calls {
		e.results <- e.try(call)
	}
}

// try makes an error of a panic; Pebble panics where the log cannot be written.
func (e *engine) try(call func(*pebble.DB) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
			e.guard.fail(err)
		}
	}()
	return call(e.db)
}

// start begins a call. The one before must have ended.
func (e *engine) start(call func(*pebble.DB) error) {
	e.guard.alive()
	e.calls <- call
}

// poll returns the result of the call; false if it is under way. A disk on
// which nothing ends for as long as patience has failed.
func (e *engine) poll(patience time.Duration) (err error, done bool) {
	select {
	case err := <-e.results:
		return err, true
	default:
	}
	if e.guard.silent() > patience {
		e.guard.fail(errLate)
	}
	err = e.guard.err()
	return err, err != nil
}

// wait returns the result of the call, as poll does.
func (e *engine) wait(patience time.Duration) error {
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case err := <-e.results:
			return err
		case <-e.guard.failed:
			return e.guard.err()
		case <-late.C:
			if left := patience - e.guard.silent(); left > 0 {
				late.Reset(left)
				continue
			}
			e.guard.fail(errLate)
		}
	}
}

var errLate = fmt.Errorf("%w: it does not answer", ErrDisk)

// do makes a call, and waits however long it takes. What the call shares with
// the caller it may only write, and the caller only read once the call has
// succeeded: after a failure it may be under way still.
func (e *engine) do(call func(*pebble.DB) error) error {
	e.start(call)
	return e.wait(endless)
}

const endless = time.Duration(math.MaxInt64)

// abandon makes sure that the engine touches nothing any more.
func (e *engine) abandon(cause error) {
	e.guard.fail(cause)
	close(e.calls)
}

// close ends the database in order.
func (e *engine) close() error {
	err := e.do((*pebble.DB).Close)
	e.abandon(errors.New("closed"))
	return err
}
