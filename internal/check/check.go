package check

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir"
	"github.com/kraftside/kraftside/internal/logfile"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// Run verifies the files and folders, see logfile.Find, and shows progress on
// out. Its error is about finding and reading them; what is wrong with them is
// in the report.
func Run(out *cli.Output, paths []string, log logfile.Log) (*Report, error) {
	partitions, err := logfile.Find(paths, log)
	if err != nil {
		return nil, err
	}
	total := int64(0)
	for _, p := range partitions {
		for _, f := range p.Files {
			total += f.Size
		}
	}
	progress := out.NewProgress(total)
	defer progress.Clear()
	report := &Report{}
	for _, p := range partitions {
		l, err := checkPartition(p, progress)
		if err != nil {
			return nil, err
		}
		report.Logs = append(report.Logs, l)
	}
	report.settle()
	return report, nil
}

// replayer takes the records of a log that is sound so far.
type replayer interface {
	// batch takes the next batch.
	batch(b *recordbatch.Batch, at place)
	// end comes after the last one.
	end()
}

// place is where a batch lies.
type place struct {
	file     *logfile.File
	position int64
}

// finding makes a finding about the batch there, or one of its records.
func (p place) finding(kind Kind, offset kafka.Offset, summary string) Finding {
	f := Finding{Kind: kind, File: p.file.Path, Position: &p.position, Summary: summary}
	if offset >= 0 {
		f.Offset = &offset
	}
	return f
}

// partition is a log that is checked.
type partition struct {
	*logfile.Partition
	report   *LogReport
	progress *cli.Progress
	replayer replayer

	// compacted says that offsets may be missing.
	compacted bool
	// next is the offset that comes next, or kafka.UnknownOffset, and epoch
	// the epoch of the batch before.
	next  kafka.Offset
	epoch kafka.Epoch
	// broken says that something of the log before is missing, so that
	// replaying what follows would say nothing.
	broken bool
}

func checkPartition(p *logfile.Partition, progress *cli.Progress) (*LogReport, error) {
	report := &LogReport{
		Path: p.Dir, Log: p.Log, Result: OK, StartOffset: kafka.UnknownOffset, EndOffset: kafka.UnknownOffset, Findings: []Finding{},
	}
	if p.Number != logfile.Unknown {
		report.Partition = &p.Number
	}
	c := &partition{
		Partition: p, report: report, progress: progress, compacted: p.Log != logfile.Metadata,
		next: kafka.UnknownOffset, epoch: kafka.UnknownEpoch,
	}
	var snapshots, segments []*logfile.File
	for _, f := range p.Files {
		report.Bytes += f.Size
		if f.Snapshot {
			snapshots = append(snapshots, f)
		} else {
			segments = append(segments, f)
		}
	}
	report.Snapshots, report.Segments = len(snapshots), len(segments)
	if err := c.begin(snapshots, segments); err != nil {
		return nil, err
	}
	for _, f := range segments {
		if err := c.segment(f); err != nil {
			return nil, err
		}
	}
	c.replayer.end()
	return report, nil
}

// begin chooses what is done with the records.
func (c *partition) begin(snapshots, segments []*logfile.File) (err error) {
	switch c.Log {
	case logfile.Metadata:
		c.replayer, err = newMetadata(c, snapshots, segments)
	case logfile.Offsets:
		c.replayer = newGroups(c)
	default:
		c.replayer = &records{log: c}
	}
	return err
}

// segment checks a segment. Errors are those of reading it.
func (c *partition) segment(f *logfile.File) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	c.enter(f)
	for {
		at := place{file: f, position: r.Position()}
		b, err := r.Next()
		c.progress.Add(r.Position()-at.position, filepath.Base(f.Path))
		var damage *logdir.CorruptError
		switch {
		case errors.Is(err, io.EOF):
			c.unfinished(r.Unfinished())
			return nil
		case errors.As(err, &damage):
			c.report.add(at.finding(Damage, damage.Offset, damage.Err.Error()))
			c.lose()
			return nil
		case err != nil:
			return err
		}
		c.frame(&b, at)
		c.report.Batches++
		c.report.Records += int64(b.Count)
		if !c.broken {
			c.replayer.batch(&b, at)
		}
	}
}

// unfinished notes that the newest segment ends inside a batch.
func (c *partition) unfinished(err error) {
	var at *logdir.CorruptError
	if errors.As(err, &at) {
		where := place{file: &logfile.File{Path: at.Path}, position: at.Position}
		c.report.add(where.finding(Note, at.Offset, at.Err.Error()+"; the newest segment may end so while Kafka writes it"))
	}
}

// lose gives up what follows, as far as replaying goes.
func (c *partition) lose() {
	c.next = kafka.UnknownOffset
	if !c.broken && !c.compacted {
		c.report.note(Unchecked, "", "what follows the damage was not replayed")
	}
	c.broken = c.broken || !c.compacted
}

// enter checks that a segment begins where the one before ended. A segment of
// a compacted log may begin later.
func (c *partition) enter(f *logfile.File) {
	switch {
	case f.Base < 0 || c.next < 0 || f.Base == c.next:
	case f.Base < c.next:
		c.report.note(Damage, f.Path, "it begins at offset %d, which the segment before has: that ends at offset %d", f.Base, c.next-1)
	case !c.compacted:
		c.report.note(Damage, f.Path, "offsets %d to %d are missing before it", c.next, f.Base-1)
		c.lose()
	}
	if c.next < 0 || c.compacted {
		c.next = max(c.next, f.Base)
	}
}

// frame checks a batch against the one before.
func (c *partition) frame(b *recordbatch.Batch, at place) {
	damage := func(format string, args ...any) {
		c.report.add(at.finding(Damage, b.BaseOffset, fmt.Sprintf(format, args...)))
	}
	switch {
	case c.next < 0:
	case b.BaseOffset < c.next && c.report.StartOffset < 0:
		damage("the batch begins at offset %d, below the one in the segment's name", b.BaseOffset)
	case b.BaseOffset < c.next:
		damage("offsets go back from %d to %d", c.next-1, b.BaseOffset)
	case b.BaseOffset > c.next && !c.compacted:
		damage("offsets %d to %d are missing before it", c.next, b.BaseOffset-1)
		c.lose()
	}
	if b.LeaderEpoch < c.epoch {
		damage("the leader epoch goes back from %d to %d", c.epoch, b.LeaderEpoch)
	}
	if span := int64(b.LastOffsetDelta) + 1; !c.compacted && int64(b.Count) != span {
		damage("%d records in %d offsets: the metadata log is never compacted", b.Count, span)
	}
	if c.report.StartOffset < 0 {
		c.report.StartOffset = b.BaseOffset
	}
	c.next, c.epoch = b.NextOffset(), max(c.epoch, b.LeaderEpoch)
	c.report.EndOffset = c.next
}
