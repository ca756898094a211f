package offsetslog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// NoPartition is the partition of a segment file that does not lie in a
// directory named after one.
const NoPartition int32 = -1

// ReadFiles gives sink what lies at the paths, which nobody writes to: segment
// files, partitions' directories (__consumer_offsets-N), and directories of
// those. Nothing says how much of it is committed. Every partition is started
// afresh and read to its end; Progress follows each.
//
// It returns what could not be read, joined, each with its position; what
// stood before it was delivered. A partition that ends inside a batch gives
// recordbatch.ErrPartial: it was copied while it was written. An error of the
// sink, or ctx, ends it at once.
func ReadFiles(ctx context.Context, paths []string, sink Sink) error {
	var unread error
	var logs []offlineLog
	for _, path := range paths {
		found, err := findLogs(path)
		if err != nil {
			unread = errors.Join(unread, err)
		}
		logs = append(logs, found...)
	}
	slices.SortStableFunc(logs, func(a, b offlineLog) int { return int(a.partition) - int(b.partition) })
	f := files{reader: reader{sink: sink, budget: newBudget(-1)}}
	a := Assignment{Known: unread == nil}
	for _, l := range logs {
		a.Partitions = append(a.Partitions, l.partition)
	}
	if err := sink.Assigned(a); err != nil {
		return err
	}
	for _, l := range logs {
		damage, err := f.read(ctx, l)
		if err != nil {
			return err
		}
		unread = errors.Join(unread, damage)
	}
	return unread
}

// offlineLog is a partition's directory, or one segment.
type offlineLog struct {
	partition int32
	path      string
	segment   bool
}

// dir is the partition's directory.
func (l offlineLog) dir() string {
	if l.segment {
		return filepath.Dir(l.path)
	}
	return l.path
}

// findLogs says what lies at a path.
func findLogs(path string) ([]offlineLog, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []offlineLog{{partitionOf(filepath.Dir(path)), path, true}}, nil
	}
	if id := partitionOf(path); id != NoPartition {
		return []offlineLog{{id, path, false}}, nil
	}
	dirs, err := logdir.Partitions(path, kafka.OffsetsTopic)
	if err != nil {
		return nil, err
	}
	if len(dirs) == 0 {
		return nil, fmt.Errorf("%s: no partition of %s is there: %w", path, kafka.OffsetsTopic, fs.ErrNotExist)
	}
	var logs []offlineLog
	for id, dir := range dirs {
		logs = append(logs, offlineLog{id, dir, false})
	}
	return logs, nil
}

// partitionOf reads the partition off the name of its directory.
func partitionOf(dir string) int32 {
	if absolute, err := filepath.Abs(dir); err == nil {
		dir = absolute
	}
	digits, ok := strings.CutPrefix(filepath.Base(dir), kafka.OffsetsTopic+"-")
	n, err := strconv.ParseUint(digits, 10, 31)
	if !ok || err != nil {
		return NoPartition
	}
	return int32(n)
}

// files reads one log after the other.
type files struct{ reader }

// read reads one log to its end. damage is what could not be read of it, err
// what the sink or the context says.
func (f *files) read(ctx context.Context, l offlineLog) (damage, err error) {
	next, done, err := l.open()
	if err != nil {
		return err, nil
	}
	defer done()
	p := partition{id: l.partition, topic: topicID(l.dir()), reason: Fresh, epoch: kafka.UnknownEpoch}
	p.at = Progress{Partition: l.partition, Leader: kafka.NoNode, LeaderEpoch: kafka.UnknownEpoch}
	for {
		b, damage := next()
		if !p.started {
			p.next = b.BaseOffset
			if err := f.begin(&p, kafka.UnknownOffset); err != nil {
				return nil, err
			}
		}
		if damage == io.EOF {
			damage = nil
		} else if damage == nil {
			if err := errors.Join(f.deliver(&p, &b), ctx.Err()); err != nil {
				return nil, err
			}
			continue
		}
		return damage, f.settle(&p, kafka.UnknownOffset)
	}
}

// open returns a function that reads the next batch, to io.EOF, and one that
// ends it.
func (l offlineLog) open() (next func() (recordbatch.Batch, error), done func(), err error) {
	if l.segment {
		return openSegment(l.path)
	}
	f := logdir.Follow(l.path, kafka.UnknownOffset, kafka.UnknownEpoch, logdir.Options{Compacted: true, Static: true})
	return func() (recordbatch.Batch, error) {
		b, err := f.Next(math.MaxInt64)
		if errors.Is(err, logdir.ErrWait) && !errors.Is(err, recordbatch.ErrPartial) {
			err = io.EOF
		}
		return b, err
	}, f.Close, nil
}

func openSegment(path string) (next func() (recordbatch.Batch, error), done func(), err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	r := recordbatch.NewReader(file, 0)
	return func() (recordbatch.Batch, error) {
		b, err := r.Next()
		if err != nil && err != io.EOF {
			err = fmt.Errorf("read %s: %w", path, err)
		}
		return b, err
	}, func() { file.Close() }, nil
}
