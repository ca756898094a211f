package metadatalog

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir"
	"github.com/kraftside/kraftside/internal/pause"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// Bound tells how much of the log in a directory is committed, which the
// directory itself does not: its tail may be truncated, and replaced by what
// another leader wrote.
type Bound interface {
	// CommittedEnd is an offset, exclusive, up to which the records that the
	// directory holds, or is about to hold, are committed. It may be behind,
	// and must not be ahead: that some other replica has a committed record at
	// an offset does not make the record that is here committed.
	CommittedEnd(ctx context.Context) (kafka.Offset, error)
}

// DirConfig is what a Dir needs to know.
type DirConfig struct {
	// Dir is the directory of the metadata log, __cluster_metadata-0, or the
	// broker's metadata log directory, which holds it.
	Dir string
	// ClusterID is the cluster that is expected; empty takes any.
	ClusterID string
	Bound     Bound
	// Jitter spreads retries; it returns numbers in [0, 1). nil is random.
	Jitter func() float64
}

const (
	// boundInterval is how often the bound is asked for. Brokers apply a
	// record every 500 ms when nothing happens. A bound may be had from the
	// active controller, by a DescribeQuorum that the broker forwards: this is
	// less than 10 of them in 5 s.
	boundInterval = 600 * time.Millisecond
	boundTimeout  = 10 * time.Second

	// publishBytes is how much is appended before Progress says so.
	publishBytes = 1 << 20

	// stallPatience is how long the log may end below the bound, or inside a
	// batch, before that is a problem.
	stallPatience = 10 * time.Second
)

// Unreadable is the kind of a problem with the log directory: it is not there,
// or may not be read, or its log ends where it should not.
const Unreadable ProblemKind = "unreadable"

// Dir reads the copy of the log that a broker or a controller keeps, beside it
// and read-only, up to what a Bound says is committed. While the bound cannot
// be had it stands still, and so does Dir. Before there has been one nothing
// is read.
//
// The log is read on from where it was left, and from the newest snapshot
// where it no longer goes back that far.
type Dir struct {
	config DirConfig
	sink   Sink

	dir      string // of the partition, once it is found
	offline  bool   // nobody writes to it, and end is where to stop
	follower *logdir.Follower
	// snapshotDue says that what comes next is a snapshot, or the start of
	// the log.
	snapshotDue bool
	delivered   Position
	end         kafka.Offset // the bound; it never falls
	unpublished int          // bytes

	problem  *Problem
	stalled  time.Time // since when the log has ended below the bound
	failures int
}

// NewDir returns a source. It does no I/O: the directory may yet have to come
// into being.
func NewDir(c DirConfig) *Dir {
	if c.Jitter == nil {
		c.Jitter = rand.Float64
	}
	return &Dir{config: c, end: kafka.UnknownOffset}
}

// Run reads the log from start on, which is the zero Position or one that was
// delivered before, until ctx ends or the sink fails. It is called once.
func (d *Dir) Run(ctx context.Context, start Position, sink Sink) error {
	defer d.leave()
	d.sink, d.delivered, d.snapshotDue = sink, start, start == Position{}
	for {
		before := d.failures
		if err := d.round(ctx); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if d.failures == before {
			d.problem, d.failures = nil, 0
		}
		if err := d.publish(); err != nil {
			return err
		}
		if err := pause.For(ctx, d.pause()); err != nil {
			return err
		}
	}
}

// pause is until the next round: longer the more rounds have failed in a row.
func (d *Dir) pause() time.Duration {
	nominal := boundInterval
	for range d.failures {
		nominal = min(nominal*3/2, maxBackoff)
	}
	return time.Duration(float64(nominal) * (1 + 0.2*d.config.Jitter()))
}

// round reads what is committed. Its error is the sink's.
func (d *Dir) round(ctx context.Context) error {
	if d.dir == "" {
		if err := d.find(); err != nil {
			d.fail(err)
			return nil
		}
	}
	asking, cancel := context.WithTimeout(ctx, boundTimeout)
	end, err := d.config.Bound.CommittedEnd(asking)
	cancel()
	if err != nil {
		kind, advice := classifyBound(err)
		d.note(kind, err, "nothing new is read without knowing how much of the log is committed: "+advice)
	}
	d.end = max(d.end, end)
	if d.end < 0 {
		return nil
	}
	return d.read(ctx)
}

// find looks for the directory and checks whose it is.
func (d *Dir) find() error {
	at, err := FindDir(d.config.Dir)
	if err != nil {
		return err
	}
	if want := d.config.ClusterID; want != "" && at.ClusterID != "" && at.ClusterID != want {
		return wrongCluster{at.Dir + " belongs", at.ClusterID, want}
	}
	d.dir = at.Dir
	return nil
}

// read delivers what lies below the bound.
func (d *Dir) read(ctx context.Context) error {
	for ctx.Err() == nil {
		if d.follower == nil {
			if ok, err := d.begin(); !ok || err != nil {
				return err
			}
		}
		b, err := d.follower.Next(d.end)
		if err != nil {
			if again, err := d.stopped(err); !again || err != nil {
				return err
			}
			continue
		}
		if err := d.deliver(&b); err != nil {
			return err
		}
	}
	return nil
}

func (d *Dir) deliver(b *recordbatch.Batch) error {
	if err := d.sink.Append(b); err != nil {
		return err
	}
	d.delivered, d.stalled = after(b), time.Time{}
	if d.unpublished += b.Size; d.unpublished >= publishBytes {
		return d.publish()
	}
	return nil
}

// begin makes the follower. It says false if that is not possible now.
func (d *Dir) begin() (ok bool, err error) {
	if d.snapshotDue {
		if ok, err := d.loadSnapshot(); !ok || err != nil {
			return false, err
		}
		d.snapshotDue = false
	}
	d.follow()
	return true, nil
}

// follow makes the follower that goes on after what was delivered.
func (d *Dir) follow() {
	epoch := d.delivered.Epoch
	if d.delivered.Offset == 0 {
		epoch = kafka.UnknownEpoch // there is no record before it
	}
	d.leave()
	d.follower = logdir.Follow(d.dir, d.delivered.Offset, epoch, logdir.Options{Static: d.offline})
}

// stopped acts on why there is no next batch. It says whether to go on
// reading at once.
func (d *Dir) stopped(err error) (again bool, _ error) {
	var passed *logdir.LogStartError
	var diverged *logdir.DivergedError
	switch {
	case errors.Is(err, logdir.ErrWait):
		d.wait(err)
		return false, nil
	case errors.As(err, &passed):
		d.leave()
		d.snapshotDue = true
		return true, nil
	case errors.As(err, &diverged):
		d.leave()
		d.delivered, d.snapshotDue = Position{}, true
		d.note(Diverged, err, "the log is read anew; if the broker lost its disk, that is why")
		return false, d.sink.Reset(err)
	}
	d.fail(err)
	return false, nil
}

// wait notes how long the log has ended short of the bound. For a moment it
// may: what is committed need not have arrived here.
func (d *Dir) wait(why error) {
	switch {
	case d.delivered.Offset >= d.end:
		d.stalled = time.Time{}
	case d.stalled.IsZero():
		d.stalled = time.Now()
	case time.Since(d.stalled) >= stallPatience:
		d.note(Unreadable, fmt.Errorf("the log ends at offset %d, and offset %d is committed: %w", d.delivered.Offset, d.end-1, why),
			"check the broker's log for trouble with its metadata log")
	}
}

func (d *Dir) leave() {
	if d.follower != nil {
		d.follower.Close()
		d.follower = nil
	}
}

func (d *Dir) publish() error {
	d.unpublished = 0
	p := offlineProgress(d.delivered)
	if !d.offline {
		p.HighWatermark, p.LeaderEpoch, p.Problem = d.end, d.delivered.Epoch, d.problem
	}
	return d.sink.Progress(p)
}

// fail notes why the directory cannot be read.
func (d *Dir) fail(err error) {
	kind, advice := classifyDir(err)
	d.note(kind, err, advice)
}

// note notes a problem. It is over with the first round that has none.
func (d *Dir) note(kind ProblemKind, err error, advice string) {
	d.failures++
	p := &Problem{Kind: kind, Node: kafka.NoNode, Err: err, Advice: advice, Since: time.Now(), Attempts: 1}
	if old := d.problem; old != nil && old.Kind == kind {
		p.Since, p.Attempts = old.Since, old.Attempts+1
	}
	d.problem = p
}

// Location is where a metadata log lies, and whose it is.
type Location struct {
	Dir string // of the partition
	// NodeID and ClusterID are those of meta.properties: kafka.NoNode and ""
	// where there is none, as in a copy of the partition's directory alone.
	NodeID    kafka.NodeID
	ClusterID string
	// DirectoryID is the log directory's own, or zero.
	DirectoryID kafka.UUID
}

// FindDir finds the directory of the metadata log, given that or the log
// directory that holds it.
func FindDir(dir string) (Location, error) {
	at := Location{NodeID: kafka.NoNode}
	name := logdir.PartitionName(kafka.MetadataTopic, 0)
	for _, candidate := range []string{filepath.Join(dir, name), dir} {
		l, err := logdir.List(candidate)
		if err != nil && !isMissing(err) {
			return at, err
		}
		if err == nil && (filepath.Base(candidate) == name || len(l.Segments)+len(l.Snapshots) > 0) {
			at.Dir = candidate
			break
		}
	}
	if at.Dir == "" {
		return at, fmt.Errorf("%s: %w", dir, errNoLog)
	}
	meta, err := logdir.ReadMeta(filepath.Dir(at.Dir))
	switch {
	case err == nil:
		at.NodeID, at.ClusterID, at.DirectoryID = meta.NodeID, meta.ClusterID, meta.DirectoryID
	case !isMissing(err):
		return at, err
	}
	return at, nil
}
