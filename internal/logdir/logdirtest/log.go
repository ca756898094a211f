// Package logdirtest does to a directory what Kafka does to the log directory
// of a partition, so that tests can read while it happens. A Log fails its
// test on any error.
package logdirtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// Log writes one partition's directory. It belongs to one goroutine.
type Log struct {
	Dir string

	t        testing.TB
	segments []*segment
	end      kafka.Offset
	epochs   []epochStart
	torn     []byte // of a batch that is half written, what is missing
	deleted  []string
}

type segment struct {
	base    kafka.Offset
	file    *os.File
	size    int64
	batches []placed
}

type placed struct {
	recordbatch.Batch
	position int64
}

type epochStart struct {
	epoch kafka.Epoch
	start kafka.Offset
}

// New makes dir, if need be, and in it an empty log that starts at an offset.
func New(t testing.TB, dir string, start kafka.Offset) *Log {
	require.NoError(t, os.MkdirAll(dir, 0o755))
	l := &Log{Dir: dir, t: t, end: start}
	l.create(start)
	t.Cleanup(func() {
		for _, s := range l.segments {
			s.file.Close()
		}
	})
	return l
}

// End is the log end offset.
func (l *Log) End() kafka.Offset { return l.end }

// Start is the base offset of the first segment.
func (l *Log) Start() kafka.Offset { return l.segments[0].base }

// Segments is the number of segments.
func (l *Log) Segments() int { return len(l.segments) }

// Path is the file of segment i.
func (l *Log) Path(i int) string { return l.segments[i].file.Name() }

// Batches are the batches of the log as it is.
func (l *Log) Batches() (batches []recordbatch.Batch) {
	for _, s := range l.segments {
		for _, b := range s.batches {
			batches = append(batches, b.Batch)
		}
	}
	return batches
}

// Append writes a batch of records with these values.
func (l *Log) Append(epoch kafka.Epoch, values ...string) recordbatch.Batch {
	records := make([]recordbatch.Record, len(values))
	for i, v := range values {
		records[i].Value = []byte(v)
	}
	return l.AppendBatch(recordbatch.Header{LeaderEpoch: epoch, ProducerID: -1}, records)
}

// AppendBatch writes a batch at the end of the log: the offsets are set here.
func (l *Log) AppendBatch(h recordbatch.Header, records []recordbatch.Record) recordbatch.Batch {
	b := l.build(h, records)
	l.write(b.Bytes())
	l.took(b)
	return b
}

// AppendTorn writes the first bytes of a batch only, as a reader may see it
// while Kafka writes. Finish writes the rest.
func (l *Log) AppendTorn(epoch kafka.Epoch, bytes int, values ...string) recordbatch.Batch {
	records := make([]recordbatch.Record, len(values))
	for i, v := range values {
		records[i].Value = []byte(v)
	}
	b := l.build(recordbatch.Header{LeaderEpoch: epoch, ProducerID: -1}, records)
	bytes = min(bytes, b.Size-1)
	l.write(b.Bytes()[:bytes])
	l.torn = b.Bytes()[bytes:]
	l.took(b)
	return b
}

// Finish writes what AppendTorn left out. The other methods do it first.
func (l *Log) Finish() {
	l.write(nil)
}

func (l *Log) build(h recordbatch.Header, records []recordbatch.Record) recordbatch.Batch {
	h.BaseOffset = l.end
	h.LastOffsetDelta = int32(max(len(records), 1) - 1)
	for i := range records {
		records[i].Offset = l.end + kafka.Offset(i)
	}
	raw, err := recordbatch.Append(nil, h, records)
	require.NoError(l.t, err)
	b, _, err := recordbatch.Split(raw)
	require.NoError(l.t, err)
	return b
}

func (l *Log) took(b recordbatch.Batch) {
	s := l.active()
	s.batches = append(s.batches, placed{b, s.size})
	s.size += int64(b.Size)
	l.end = b.NextOffset()
	if n := len(l.epochs); n == 0 || l.epochs[n-1].epoch < b.LeaderEpoch {
		l.epochs = append(l.epochs, epochStart{b.LeaderEpoch, b.BaseOffset})
		l.writeEpochs()
	}
}

func (l *Log) active() *segment { return l.segments[len(l.segments)-1] }

func (l *Log) write(b []byte) {
	_, err := l.active().file.Write(append(slices.Clip(l.torn), b...))
	require.NoError(l.t, err)
	l.torn = nil
}

func (l *Log) create(base kafka.Offset) {
	path := filepath.Join(l.Dir, fmt.Sprintf("%020d.log", base))
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
	require.NoError(l.t, err)
	l.segments = append(l.segments, &segment{base: base, file: file})
}

// Roll begins another segment, unless the active one is empty.
func (l *Log) Roll() {
	l.Finish()
	if len(l.active().batches) > 0 {
		l.create(l.end)
	}
}

// Preallocate appends zeros to the active segment, as file systems do after a
// crash, and the next batch overwrites them.
func (l *Log) Preallocate(bytes int) {
	l.Finish()
	s := l.active()
	require.NoError(l.t, s.file.Truncate(s.size+int64(bytes)))
}

// TruncateTo removes everything from an offset on, which must be at a batch:
// in place, and later segments by renaming (LocalLog.truncateTo).
func (l *Log) TruncateTo(offset kafka.Offset) {
	l.Finish()
	for len(l.segments) > 1 && l.active().base > offset {
		l.rename(l.active())
		l.segments = l.segments[:len(l.segments)-1]
	}
	s := l.active()
	for len(s.batches) > 0 && s.batches[len(s.batches)-1].BaseOffset >= offset {
		s.size = s.batches[len(s.batches)-1].position
		s.batches = s.batches[:len(s.batches)-1]
	}
	require.NoError(l.t, s.file.Truncate(s.size))
	_, err := s.file.Seek(s.size, 0)
	require.NoError(l.t, err)
	l.end = min(l.end, offset)
	l.epochs = slices.DeleteFunc(l.epochs, func(e epochStart) bool { return e.start >= offset })
	l.writeEpochs()
}

// TruncateFullyAndStartAt deletes all segments and begins the log at an
// offset, as a follower does that loads a snapshot.
func (l *Log) TruncateFullyAndStartAt(offset kafka.Offset) {
	l.Finish()
	for _, s := range l.segments {
		l.rename(s)
	}
	l.segments, l.epochs, l.end = nil, nil, offset
	l.writeEpochs()
	l.create(offset)
}

// DeleteBelow deletes the segments that end at or below an offset, but never
// the active one.
func (l *Log) DeleteBelow(offset kafka.Offset) {
	for len(l.segments) > 1 && l.segments[1].base <= offset {
		l.rename(l.segments[0])
		l.segments = l.segments[1:]
	}
	for len(l.epochs) > 1 && l.epochs[1].start <= l.Start() {
		l.epochs = l.epochs[1:]
	}
	if len(l.epochs) > 0 {
		l.epochs[0].start = max(l.epochs[0].start, l.Start())
	}
	l.writeEpochs()
}

func (l *Log) rename(s *segment) {
	require.NoError(l.t, s.file.Close())
	to := s.file.Name() + ".deleted"
	require.NoError(l.t, os.Rename(s.file.Name(), to))
	l.deleted = append(l.deleted, to)
}

// RemoveDeleted removes what was renamed, as Kafka does after a minute.
func (l *Log) RemoveDeleted() {
	for _, path := range l.deleted {
		if err := os.Remove(path); !os.IsNotExist(err) {
			require.NoError(l.t, err)
		}
	}
	l.deleted = nil
}

// Clean rewrites the first n segments as one, with the records that keep
// wants, as the log cleaner does (LogCleaner.cleanSegments). A batch without
// records left is dropped, or kept empty if it has a producer.
func (l *Log) Clean(n int, keep func(recordbatch.Record) bool) {
	require.Less(l.t, n, len(l.segments), "the active segment is never cleaned")
	cleaned := &segment{base: l.segments[0].base}
	var content []byte
	for _, s := range l.segments[:n] {
		for _, b := range s.batches {
			kept := l.clean(b.Batch, keep)
			if kept == nil {
				continue
			}
			cleaned.batches = append(cleaned.batches, placed{*kept, int64(len(content))})
			content = append(content, kept.Bytes()...)
		}
	}
	cleaned.size = int64(len(content))
	path := filepath.Join(l.Dir, fmt.Sprintf("%020d.log", cleaned.base))
	require.NoError(l.t, os.WriteFile(path+".cleaned", content, 0o644))
	require.NoError(l.t, os.Rename(path+".cleaned", path+".swap"))
	for _, s := range l.segments[:n] {
		l.rename(s)
	}
	require.NoError(l.t, os.Rename(path+".swap", path))
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(l.t, err)
	cleaned.file = file
	l.segments = append([]*segment{cleaned}, l.segments[n:]...)
}

func (l *Log) clean(b recordbatch.Batch, keep func(recordbatch.Record) bool) *recordbatch.Batch {
	var d recordbatch.Decoder
	require.NoError(l.t, d.Start(&b))
	var r recordbatch.Record
	var kept []recordbatch.Record
	for d.Next(&r) {
		if keep(r) {
			kept = append(kept, r)
		}
	}
	require.NoError(l.t, d.Err())
	if len(kept) == 0 && b.ProducerID < 0 {
		return nil
	}
	raw, err := recordbatch.Append(nil, b.Header, kept)
	require.NoError(l.t, err)
	c, _, err := recordbatch.Split(raw)
	require.NoError(l.t, err)
	return &c
}

// Snapshot writes a snapshot of the log below an offset by way of a .part
// file, readable for its owner alone, and returns its path.
func (l *Log) Snapshot(end kafka.Offset, epoch kafka.Epoch, content []byte) string {
	name := fmt.Sprintf("%020d-%010d.checkpoint", end, epoch)
	part := filepath.Join(l.Dir, strings.TrimSuffix(name, ".checkpoint")+"-1234.checkpoint.part")
	require.NoError(l.t, os.WriteFile(part, content, 0o400))
	require.NoError(l.t, os.Rename(part, filepath.Join(l.Dir, name)))
	return filepath.Join(l.Dir, name)
}

// ExpireSnapshot renames a snapshot for deletion.
func (l *Log) ExpireSnapshot(path string) {
	to := path + ".deleted"
	require.NoError(l.t, os.Rename(path, to))
	l.deleted = append(l.deleted, to)
}

func (l *Log) writeEpochs() {
	var b strings.Builder
	fmt.Fprintf(&b, "0\n%d\n", len(l.epochs))
	for _, e := range l.epochs {
		fmt.Fprintf(&b, "%d %d\n", e.epoch, e.start)
	}
	Replace(l.t, filepath.Join(l.Dir, "leader-epoch-checkpoint"), b.String())
}

// WriteHighWatermarks writes a log directory's replication-offset-checkpoint.
func WriteHighWatermarks(t testing.TB, logDir, topic string, marks map[int32]kafka.Offset) {
	var b strings.Builder
	fmt.Fprintf(&b, "0\n%d\n", len(marks))
	for partition, offset := range marks {
		fmt.Fprintf(&b, "%s %d %d\n", topic, partition, offset)
	}
	Replace(t, filepath.Join(logDir, "replication-offset-checkpoint"), b.String())
}

// Replace writes a file under another name and renames it, so that no reader
// sees half of it.
func Replace(t testing.TB, path, content string) {
	require.NoError(t, os.WriteFile(path+".tmp", []byte(content), 0o644))
	require.NoError(t, os.Rename(path+".tmp", path))
}
