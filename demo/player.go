// Package demo plays a recorded cluster through the pipeline, so that anybody
// can watch what kraftside makes of one, without Kafka and without a network.
//
// A recording is what released Kafka wrote while a story was played on it:
// the segments of the metadata log and of __consumer_offsets, from the first
// record on, with a Manifest. test/recorddemo makes it, and it is part of the
// program. The player gives the batches to the pipeline as the sources of a
// live cluster do, in the order of their times, with a store on disk and with
// the time of the recording as the clock.
package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/image/loader"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/pause"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/rebalance"
	"github.com/kraftside/kraftside/store"
	"github.com/kraftside/kraftside/topichash"
)

// Options configure a Player.
type Options struct {
	// Out is told the story; nil tells it to nobody.
	Out *cli.Output
	// Speed is how many times faster than it happened the story is played. At
	// 0, the player rests after each line instead: for Pause, and for twice as
	// long after a heading.
	Speed float64
	Pause time.Duration
	// StoreDir is where the store is, and stays. Empty: it is in a temporary
	// directory, which Close removes.
	StoreDir string

	// Tests look at each stored hash, and at each view that is told of.
	onCheck func(pipeline.Check)
	onView  func(*pipeline.View)
}

// Summary counts what was played.
type Summary struct {
	// MetadataChanges are the changes that can move a hash: of topics, their
	// partitions, replicas and racks, and of brokers and their racks.
	MetadataChanges int `json:"metadataChanges"`
	// RebalancesExplained are those of which the cause is known, certain or
	// likely.
	RebalancesExplained int `json:"rebalancesExplained"`
	// HashesCompared are the records that store a hash, and Mismatches those
	// of them that no image explains (topichash.Drift).
	HashesCompared int `json:"hashesCompared"`
	Mismatches     int `json:"mismatches"`
}

func (s Summary) String() string {
	return fmt.Sprintf("%d metadata changes, %d rebalances explained, %d hashes compared, %d mismatches",
		s.MetadataChanges, s.RebalancesExplained, s.HashesCompared, s.Mismatches)
}

// Player plays a recording, once. View, Now and StoreStatus may be called from
// any goroutine, the other methods from one.
type Player struct {
	o         Options
	recording *Recording
	temporary string // directory that Close removes
	store     *store.Store
	pipeline  *pipeline.Pipeline
	narrator  *narrator
	summary   Summary
	decoder   recordbatch.Decoder

	now     time.Time
	shown   atomic.Int64 // now, in milliseconds since 1970
	started bool         // the partitions of __consumer_offsets are there
}

// New opens the store and the pipeline.
func New(r *Recording, o Options) (*Player, error) {
	p := &Player{o: o, recording: r, now: time.UnixMilli(r.events[0].at)}
	dir := o.StoreDir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "kraftside-demo-"); err != nil {
			return nil, err
		}
		p.temporary = dir
	}
	var err error
	if p.store, _, err = store.Open(dir, store.Options{ClusterID: r.ClusterID, Now: p.now}); err != nil {
		return nil, errors.Join(fmt.Errorf("open the store: %w", err), p.removeTemporary())
	}
	if p.pipeline, err = pipeline.New(pipeline.Options{
		NodeID: kafka.NoNode, Scope: pipeline.All, Store: p.store,
		OnMetadata: p.onMetadata, OnCheck: p.onCheck, OnRebalance: p.onRebalance,
	}); err != nil {
		return nil, errors.Join(fmt.Errorf("read the store: %w", err), p.Close())
	}
	p.shown.Store(p.now.UnixMilli())
	p.narrator = newNarrator(r, o.Out)
	return p, nil
}

// View is the newest state.
func (p *Player) View() *pipeline.View { return p.pipeline.View() }

// Offsets are those that a group has committed.
func (p *Player) Offsets(group string) []groups.CommittedOffset { return p.pipeline.Offsets(group) }

// Now is how far the story is, in the time of the recording.
func (p *Player) Now() time.Time { return time.UnixMilli(p.shown.Load()) }

// StoreStatus says how the store stands.
func (p *Player) StoreStatus() store.Status { return p.store.Status() }

// Close closes the store, and removes it if it is a temporary one.
func (p *Player) Close() error {
	return errors.Join(p.store.Close(), p.removeTemporary())
}

func (p *Player) removeTemporary() error {
	if p.temporary == "" {
		return nil
	}
	return os.RemoveAll(p.temporary)
}

// Play plays the recording to its end, or until ctx ends. That a stored hash
// was not compared is an error.
func (p *Player) Play(ctx context.Context) (Summary, error) {
	p.narrator.begin(p.recording, p.now)
	for i := range p.recording.events {
		e := &p.recording.events[i]
		if err := p.advance(ctx, time.UnixMilli(e.at)); err != nil {
			return p.summary, err
		}
		if err := p.event(e); err != nil {
			return p.summary, err
		}
		// A rebalance is told once it is durable. When that is must not show.
		if err := p.pipeline.Flush(); err != nil {
			return p.summary, err
		}
		if err := p.tell(ctx); err != nil {
			return p.summary, err
		}
	}
	if n := len(p.recording.Hashes); p.summary.HashesCompared != n {
		return p.summary, fmt.Errorf("compared %d of the %d stored hashes that the recording has", p.summary.HashesCompared, n)
	}
	if err := p.stand(); err != nil {
		return p.summary, err
	}
	return p.summary, p.narrator.end(p.summary)
}

// tick is how often the pipeline is told the time. What it asks for depends on
// how fast the disk is, and what is told must not.
const tick = 100 * time.Millisecond

// advance lets the time of the recording pass.
func (p *Player) advance(ctx context.Context, to time.Time) error {
	for p.now.Before(to) {
		next := p.now.Add(tick)
		if next.After(to) {
			next = to
		}
		if p.o.Speed > 0 {
			if err := pause.For(ctx, time.Duration(float64(next.Sub(p.now))/p.o.Speed)); err != nil {
				return err
			}
		}
		p.now = next
		p.shown.Store(next.UnixMilli())
		p.pipeline.Tick(next)
		if err := p.tell(ctx); err != nil {
			return err
		}
	}
	return nil
}

// tell tells what is new, and gives time to read it.
func (p *Player) tell(ctx context.Context) error {
	v := p.View()
	p.narrator.view(v, p.now)
	if p.o.onView != nil {
		p.o.onView(v)
	}
	lines, err := p.narrator.flush()
	if err != nil || p.o.Speed > 0 {
		return err
	}
	return pause.For(ctx, time.Duration(lines)*p.o.Pause)
}

func (p *Player) event(e *event) error {
	switch e.partition {
	case none:
		p.narrator.step(e.step)
		return nil
	case metadata:
		return p.metadata(&e.batch)
	}
	return p.groups(e.partition, &e.batch)
}

// metadata takes the next batch of the metadata log, which is committed.
func (p *Player) metadata(b *recordbatch.Batch) error {
	sink := p.pipeline.MetadataSink()
	if err := sink.Append(b); err != nil {
		return err
	}
	at := metadatalog.Position{Offset: b.NextOffset(), Epoch: b.LeaderEpoch}
	err := sink.Progress(metadatalog.Progress{
		Leader: kafka.NoNode, LeaderEpoch: at.Epoch, HighWatermark: at.Offset, Delivered: at, EndOffset: at.Offset,
	})
	if err != nil || p.started {
		return err
	}
	if topic, ok := p.View().Image.Topics().ByName(kafka.OffsetsTopic); ok {
		p.started = true
		return p.startGroups(topic.ID())
	}
	return nil
}

// startGroups begins with the partitions of __consumer_offsets, which is new.
func (p *Player) startGroups(id kafka.TopicID) error {
	sink, partitions := p.pipeline.GroupsSink(), p.recording.partitions()
	if err := sink.Assigned(offsetslog.Assignment{Known: true, Partitions: partitions}); err != nil {
		return err
	}
	for _, number := range partitions {
		sink.Resume(number)
		err := sink.Start(offsetslog.Start{Partition: number, TopicID: id, Reason: offsetslog.Fresh})
		if err == nil {
			err = p.progress(number, 0, kafka.UnknownEpoch)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// groups takes the next batch of a partition of __consumer_offsets.
func (p *Player) groups(partition int32, raw *recordbatch.Batch) error {
	b := offsetslog.NewBatch(partition, raw, &p.decoder)
	if err := p.pipeline.GroupsSink().Append(b); err != nil {
		return err
	}
	if err := b.Err(); err != nil {
		return fmt.Errorf("partition %d of %s: %w", partition, kafka.OffsetsTopic, err)
	}
	return p.progress(partition, b.Next, b.Epoch)
}

// progress says that a partition was read to its end.
func (p *Player) progress(partition int32, next kafka.Offset, epoch kafka.Epoch) error {
	return p.pipeline.GroupsSink().Progress(offsetslog.Progress{
		Partition: partition, Leader: kafka.NoNode, LeaderEpoch: epoch, Next: next, Epoch: epoch, End: next,
	})
}

// stand says that the recording ends with all partitions read to their end.
func (p *Player) stand() error {
	for _, at := range p.View().Partitions {
		if err := p.progress(at.Partition, at.Next, at.Epoch); err != nil {
			return err
		}
	}
	return nil
}

// onMetadata is the pipeline's.
func (p *Player) onMetadata(d *delta.Delta, m loader.Manifest) {
	changes := slices.Collect(d.Changes())
	p.summary.MetadataChanges += len(changes)
	p.narrator.metadata(changes, m.Provenance)
}

// onRebalance is the pipeline's.
func (p *Player) onRebalance(r *rebalance.Rebalance) {
	if p.narrator.explain(r) && r.Explained() {
		p.summary.RebalancesExplained++
	}
}

// onCheck is the pipeline's.
func (p *Player) onCheck(c pipeline.Check) {
	p.summary.HashesCompared++
	if c.Answer.Verdict == topichash.Drift {
		p.summary.Mismatches++
	}
	p.narrator.check(c)
	if p.o.onCheck != nil {
		p.o.onCheck(c)
	}
}
