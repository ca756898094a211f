// Package pipeline is the one writer of all state: it takes the two logs, the
// metadata log and __consumer_offsets, in bounded slices and one at a time,
// and makes of them the view that everybody reads.
//
// Whatever it knows is a function of a sequence of events: a metadata batch or
// snapshot, a batch of group records, a tick of the clock. The two logs are
// never ordered against each other. A mutex makes the writers take turns; a
// slice is one batch, so that neither log keeps the other waiting for long.
// Readers take a View, which never changes, and hold no lock.
package pipeline

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/history"
	"github.com/kraftside/kraftside/image/loader"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/rebalance"
	"github.com/kraftside/kraftside/store"
)

// Scope says which groups a sidecar is responsible for.
type Scope string

const (
	// Local: the partitions of __consumer_offsets that the neighbour broker is
	// a replica of are followed, those that it leads are answered for.
	Local Scope = "local"
	// All: every partition is followed and answered for.
	All Scope = "all"
)

// Options configure a Pipeline.
type Options struct {
	// NodeID is the neighbour broker; kafka.NoNode if there is none.
	NodeID kafka.NodeID
	Scope  Scope
	// ClusterID is the cluster's, empty while it is not known: see SetClusterID.
	// A store may know it.
	ClusterID string
	// Unknown says what happens at a metadata record that cannot be replayed;
	// OnSkip is told of each that is left out. It may be nil.
	Unknown loader.UnknownPolicy
	OnSkip  func(*loader.ReplayError)
	// Store keeps the state; nil keeps nothing. The pipeline becomes its
	// writer, and the caller closes it after the last call of the pipeline,
	// which is to be Tick or Flush: a partition that is loading is handed over
	// in larger slices than its batches are.
	Store *store.Store
	// OnMetadata is told of every new image, under the writer's turn, after
	// the state has followed it. It may be nil.
	OnMetadata func(*delta.Delta, loader.Manifest)
	// OnCheck is told, under the writer's turn, of each record that stores a
	// hash, once the metadata log is as far as the record. A record that is
	// read again since the store had stopped is not told again. It may be nil.
	OnCheck func(Check)
	// OnRebalance is told, under the writer's turn, of every new state of a
	// rebalance: that it began, that its causes are settled, how far its
	// members are. With a store, each is told once it is durable. It may be
	// nil.
	OnRebalance func(*rebalance.Rebalance)
	// OnChange is told, likewise, of every change of the metadata that is kept.
	// It may be nil.
	OnChange func(*history.Entry)
	// MaxAge is how long changes and rebalances are kept; 0 is no limit but the
	// number of them.
	MaxAge time.Duration
	// Exports say which rebalances Pending returns; nil: none.
	Exports *Exports
	// OnRebuilt is told, under the writer's turn, that the store holds the
	// state again after it had stopped, and what it had to give up: the
	// sources of groups must be started again, since the store lags behind
	// them. It may be nil.
	OnRebuilt func(*store.Warning)
}

// Pipeline is the writer. Its methods may be called from any goroutine.
type Pipeline struct {
	mu    sync.Mutex // held by whose turn it is to write
	state *state
	view  atomic.Pointer[View]
	wake  chan struct{}
}

// New returns a pipeline that goes on from what the store holds. Where that
// cannot be read, lost says why, and the pipeline begins with the empty state.
// A damaged store was set aside then, and lost is the *store.Warning of it.
func New(o Options) (p *Pipeline, lost error) {
	s, lost := restoredState(o)
	if lost != nil {
		s = emptyState(o)
		lost = s.giveUp(lost)
	}
	p = &Pipeline{state: s, wake: make(chan struct{}, 1)}
	s.assessAll()
	s.noteTouched(slices.Collect(s.cache.Names()))
	p.publish()
	return p, lost
}

// View is the newest state.
func (p *Pipeline) View() *View { return p.view.Load() }

// turn runs f as the writer and publishes what came of it.
func (p *Pipeline) turn(f func(s *state) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	waited := len(p.state.untold) > 0
	err := f(p.state)
	p.state.endOfSlice()
	p.publish()
	if !waited && len(p.state.untold) > 0 {
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
	return err
}

// Wake receives when Tick is to be called sooner than it said: something was
// read that is to be told once it is durable.
func (p *Pipeline) Wake() <-chan struct{} { return p.wake }

// commitPoll is how often Tick wants to be called while a commit is under way
// that somebody waits for.
const commitPoll = 5 * time.Millisecond

func (p *Pipeline) publish() {
	if v := p.state.newView(); v != nil {
		p.view.Store(v)
	}
}

// Tick tells the time. It moves verdicts that wait for something that did not
// happen, and lets the store commit. It returns after how long it is to be
// called again at the latest.
func (p *Pipeline) Tick(now time.Time) (again time.Duration) {
	// The error is that of the function, which has none.
	_ = p.turn(func(s *state) error {
		s.tick(now)
		return nil
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	switch s := p.state; {
	case s.storeWait > 0:
		return min(time.Second, s.storeWait)
	case len(s.untold) > 0:
		return commitPoll
	}
	return time.Second
}

// SetClusterID tells which cluster the logs are of: it is part of the identity
// of rebalances, and the store keeps it. The error is a *store.MismatchError if
// the store is of another one.
func (p *Pipeline) SetClusterID(id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.explainer.SetClusterID(id)
	p.state.noteNews()
	p.state.tellDurable()
	p.publish()
	if p.state.Store == nil {
		return nil
	}
	return p.state.Store.SetClusterID(id)
}

// Finish says that no more follows, as at the end of files: rebalances that wait
// for the metadata log are explained with what is known.
func (p *Pipeline) Finish() {
	// The error is that of the function, which has none.
	_ = p.turn(func(s *state) error {
		s.explainer.Finish()
		return nil
	})
}

// Flush makes everything so far durable, and tells what waited for that.
func (p *Pipeline) Flush() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state.Store == nil {
		return nil
	}
	p.state.noteNews()
	err := p.state.Store.Flush()
	p.state.tellDurable()
	p.publish()
	return err
}
