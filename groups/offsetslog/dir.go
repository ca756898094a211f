package offsetslog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir"
	"github.com/kraftside/kraftside/internal/pause"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// DirConfig is what a Dir needs to know.
type DirConfig struct {
	// LogDirs are the broker's log.dirs.
	LogDirs []string
	// ClusterID is the cluster that is expected; empty takes any.
	ClusterID string
	// BytesPerSecond and DeleteRetention are as in KafkaConfig.
	BytesPerSecond  int
	DeleteRetention func() time.Duration
	// Jitter spreads retries; it returns numbers in [0, 1). nil is random.
	Jitter func() float64
}

const (
	// markInterval is how often the high watermarks are looked at. The broker
	// writes them every 5 s.
	markInterval = time.Second
	// listInterval is how often log directories are listed when nothing hints
	// at a change.
	listInterval = 30 * time.Second
	// stallPatience is how long a log may end below its high watermark, or
	// inside a batch, before that is a problem.
	stallPatience = 10 * time.Second
	// turnBytes is how much of one partition is read before it is another's
	// turn.
	turnBytes = 1 << 20
)

// Dir reads the partitions that a broker has a replica of from the broker's
// own disk, up to the high watermarks that it notes there: that is some 5 s
// late, and needs neither a connection nor a credential. While the broker is
// down the marks stand still.
type Dir struct {
	reader
	config     DirConfig
	logDirs    []logDir
	partitions map[int32]*dirPartition
	assignment Assignment
	told       bool
}

// dirPartition is a partition and its directory.
type dirPartition struct {
	partition
	dir      string
	follower *logdir.Follower
	end      kafka.Offset // the high watermark that the broker noted last
	stalled  time.Time    // since when the log has ended below it
}

// NewDir returns a source. It does no I/O: the directories may yet have to
// come into being.
func NewDir(c DirConfig) *Dir {
	if c.Jitter == nil {
		c.Jitter = rand.Float64
	}
	d := &Dir{
		reader:     reader{deleteRetention: c.DeleteRetention, budget: newBudget(c.BytesPerSecond)},
		config:     c,
		partitions: make(map[int32]*dirPartition),
	}
	for _, path := range c.LogDirs {
		d.logDirs = append(d.logDirs, logDir{path: path})
	}
	return d
}

// Run reads until ctx ends or the sink fails. It is called once.
func (d *Dir) Run(ctx context.Context, sink Sink) error {
	d.sink = sink
	defer func() {
		for _, p := range d.partitions {
			p.leave()
		}
	}()
	var looked time.Time
	for {
		if time.Since(looked) >= markInterval {
			looked = time.Now()
			if err := d.look(); err != nil {
				return err
			}
		}
		busy, err := d.readAll(ctx)
		if err != nil {
			return err
		}
		rest := time.Until(looked.Add(markInterval))
		if busy {
			rest = min(rest, time.Until(d.budget.free))
		}
		if err := pause.For(ctx, rest); err != nil {
			return err
		}
	}
}

// readAll gives each partition that has something to read a turn. busy says
// that more is left.
func (d *Dir) readAll(ctx context.Context) (busy bool, err error) {
	for _, id := range slices.Sorted(maps.Keys(d.partitions)) {
		p := d.partitions[id]
		now := time.Now()
		if p.notBefore.After(now) {
			continue
		}
		left, err := d.turn(ctx, p)
		if err != nil {
			return false, err
		}
		busy = busy || left
		if wait := time.Until(d.budget.free); left && wait > 0 {
			if err := pause.For(ctx, wait); err != nil {
				return false, err
			}
		}
	}
	return busy, ctx.Err()
}

// turn reads some of a partition. left says that there is more.
func (d *Dir) turn(ctx context.Context, p *dirPartition) (left bool, err error) {
	if err := d.open(p); err != nil {
		return false, d.stopped(p, err)
	}
	for bytes := 0; bytes < turnBytes && ctx.Err() == nil; {
		b, err := p.follower.Next(p.end)
		if err != nil {
			return false, d.stopped(p, err)
		}
		if err := d.ready(p); err != nil {
			return false, err
		}
		if err := d.deliver(&p.partition, &b); err != nil {
			return false, err
		}
		bytes += b.Size
		d.budget.spend(b.Size, time.Now())
	}
	p.stalled = time.Time{}
	return p.next < p.end, d.settle(&p.partition, p.end)
}

// ready sees to it that the sink was told where reading begins, once the log
// has turned out to be there.
func (d *Dir) ready(p *dirPartition) error {
	if p.started {
		return nil
	}
	return d.begin(&p.partition, p.end)
}

// open makes the follower, which finds the start of the log if need be.
func (d *Dir) open(p *dirPartition) error {
	if p.follower != nil {
		return nil
	}
	topic := topicID(p.dir)
	if !p.topic.IsZero() && !topic.IsZero() && p.topic != topic {
		p.startOver(Recreated)
	}
	p.topic = topic
	if p.startDue {
		start, err := logdir.Start(p.dir)
		if err != nil {
			return err
		}
		p.startsAt(start)
	}
	p.follower = logdir.Follow(p.dir, p.next, p.epoch, logdir.Options{Compacted: true})
	return nil
}

// topicID is the id of the topic that a directory is of, or zero.
func topicID(dir string) kafka.TopicID {
	id, err := logdir.ReadTopicID(dir)
	if err != nil {
		return kafka.TopicID{} // the id is a help; without it we can do
	}
	return id
}

// stopped acts on why there is no next batch.
func (d *Dir) stopped(p *dirPartition, err error) error {
	var passed *logdir.LogStartError
	var diverged *logdir.DivergedError
	switch {
	case errors.Is(err, logdir.ErrWait):
		return d.wait(p, err)
	case errors.As(err, &passed):
		p.leave()
		p.startOver(LogStartPassed)
		return d.report(&p.partition)
	case errors.As(err, &diverged):
		p.leave()
		p.startOver(Diverged)
		return d.report(&p.partition)
	}
	p.leave() // it may have been moved to another log directory
	p.fail(problemOfDir(err), d.config.Jitter)
	return d.report(&p.partition)
}

// wait is for a log that has no more, which should be at its high watermark.
func (d *Dir) wait(p *dirPartition, why error) error {
	reached := p.next
	if p.follower != nil {
		reached = p.follower.Offset() // beyond next where the cleaner has left nothing
	}
	switch {
	case reached >= p.end:
		p.stalled = time.Time{}
		if err := d.ready(p); err != nil {
			return err
		}
		if reached > p.next {
			p.next, p.epoch = reached, p.follower.Epoch()
		}
		return d.settle(&p.partition, p.end)
	case p.stalled.IsZero():
		p.stalled = time.Now()
	case time.Since(p.stalled) >= stallPatience:
		p.fail(problemOfDir(fmt.Errorf("the log ends at offset %d, and its high watermark is %d: %w", reached, p.end, why)), d.config.Jitter)
		return d.report(&p.partition)
	}
	return nil
}

func (p *dirPartition) leave() {
	if p.follower != nil {
		p.follower.Close()
		p.follower = nil
	}
}

// logDir is a log directory as it was last listed.
type logDir struct {
	path   string
	listed time.Time
	dirs   map[int32]string // of the topic's partitions
}

// look reads how far each partition is committed, and which ones there are.
func (d *Dir) look() error {
	var failed error
	seen := make(map[int32]bool)
	for i := range d.logDirs {
		l := &d.logDirs[i]
		marks, err := d.marks(l)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		for id, end := range marks {
			if dir, ok := l.dirs[id]; ok {
				seen[id] = true
				d.found(id, dir, end)
			}
		}
	}
	for id, p := range d.partitions {
		if !seen[id] && failed == nil {
			p.leave()
			delete(d.partitions, id)
			if err := d.sink.Stop(id); err != nil {
				return err
			}
		}
	}
	return d.assign(failed)
}

// marks reads the high watermarks of one log directory. Only those partitions
// count that have one: others are being made, or moved. The directory is listed
// when the marks are of partitions that were not there, and now and then.
func (d *Dir) marks(l *logDir) (map[int32]kafka.Offset, error) {
	marks, err := logdir.HighWatermarks(l.path, kafka.OffsetsTopic)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	now := time.Now()
	stale := l.listed.IsZero() || now.Sub(l.listed) >= listInterval
	for id := range marks {
		stale = stale || l.dirs[id] == ""
	}
	if !stale {
		return marks, nil
	}
	if err := d.checkCluster(l.path); err != nil {
		return nil, err
	}
	dirs, err := logdir.Partitions(l.path, kafka.OffsetsTopic)
	if err == nil {
		l.dirs, l.listed = dirs, now
	}
	return marks, err
}

func (d *Dir) checkCluster(path string) error {
	meta, err := logdir.ReadMeta(path)
	if err != nil {
		return err
	}
	if want := d.config.ClusterID; want != "" && meta.ClusterID != want {
		return fmt.Errorf("%w: %s is of %s, not %s", errWrongDir, path, meta.ClusterID, want)
	}
	return nil
}

// found notes a partition's directory and high watermark. The mark is taken as
// it is: it may fall when a leader is elected that does not have all.
func (d *Dir) found(id int32, dir string, end kafka.Offset) {
	p := d.partitions[id]
	if p == nil {
		p = &dirPartition{partition: *d.follow(id, topicID(dir))}
		d.partitions[id] = p
	}
	if p.dir != dir {
		p.leave() // it moved to another log directory
		p.dir = dir
	}
	p.end = end
}

// assign tells the sink which partitions are followed, if that has changed.
func (d *Dir) assign(failed error) error {
	var problem *Problem
	if failed != nil {
		problem = problemOfDir(failed).after(d.assignment.Problem)
	}
	ids := slices.Sorted(maps.Keys(d.partitions))
	if d.told && problem == nil && d.assignment.Problem == nil && slices.Equal(ids, d.assignment.Partitions) {
		return nil
	}
	d.assignment = Assignment{Known: failed == nil || d.assignment.Known, Partitions: ids, Problem: problem}
	d.told = true
	return d.sink.Assigned(d.assignment)
}

// errWrongDir means that a log directory is another cluster's.
var errWrongDir = errors.New("another cluster's log directory")

// problemOfDir says what kind of problem an error with a directory is.
func problemOfDir(err error) *Problem {
	p := &Problem{Kind: Unreadable, Node: kafka.NoNode, Err: err, Advice: "check the path, the disk and the mount"}
	switch {
	case errors.Is(err, errWrongDir):
		p.Kind, p.Advice = WrongCluster, "give the log directories of a broker of this cluster"
	case errors.Is(err, fs.ErrPermission):
		p.Kind, p.Advice = NotAuthorized, "run as the user that Kafka runs as, or read from the brokers"
	case errors.Is(err, logdir.ErrFormat), errors.Is(err, recordbatch.ErrCorrupt),
		errors.Is(err, recordbatch.ErrPartial), errors.Is(err, recordbatch.ErrTooLarge):
		p.Kind, p.Advice = Corrupt, "check the disk of the broker, or read from the brokers"
	}
	return p
}
