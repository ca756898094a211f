package logdir

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kraftside/kraftside/internal/kafka"
)

// Segment is a file of a log: `%020d.log`, named after the offset that the
// log had reached when the file was begun.
type Segment struct {
	Base kafka.Offset
	Path string
}

// Snapshot is a file that holds what the metadata log says up to EndOffset,
// exclusive: `%020d-%010d.checkpoint`. Only committed records come into one.
type Snapshot struct {
	EndOffset kafka.Offset
	Epoch     kafka.Epoch // of the record before EndOffset
	Path      string
}

// Listing is what a partition's directory holds of segments and snapshots.
// Files that Kafka has renamed for deletion, or not renamed into being yet,
// are left out: of the first it is not known whether they were ever
// committed.
type Listing struct {
	Segments []Segment // by Base
	// Snapshots, the newest first. The snapshot of end offset 0 is left out:
	// `kafka-storage format` writes it, and it is what the first leader
	// proposes, not what a quorum has committed
	// (org.apache.kafka.raft.Snapshots.BOOTSTRAP_SNAPSHOT_ID).
	Snapshots []Snapshot
}

// List reads the names in a partition's directory.
func List(dir string) (Listing, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return Listing{}, explain(dir, err)
	}
	var l Listing
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if base, ok := ParseSegmentName(entry.Name()); ok {
			l.Segments = append(l.Segments, Segment{base, path})
		} else if end, epoch, ok := ParseSnapshotName(entry.Name()); ok && end > 0 {
			l.Snapshots = append(l.Snapshots, Snapshot{end, epoch, path})
		}
	}
	slices.SortFunc(l.Segments, func(a, b Segment) int { return cmp.Compare(a.Base, b.Base) })
	slices.SortFunc(l.Snapshots, func(a, b Snapshot) int {
		return cmp.Or(cmp.Compare(b.EndOffset, a.EndOffset), cmp.Compare(b.Epoch, a.Epoch))
	})
	return l, nil
}

// find is the index of the segment in which an offset is, or would be: the
// last one that begins at or below it. It is -1 if all begin above.
func (l *Listing) find(offset kafka.Offset) int {
	i, exact := slices.BinarySearchFunc(l.Segments, offset, func(s Segment, o kafka.Offset) int { return cmp.Compare(s.Base, o) })
	if exact {
		return i
	}
	return i - 1
}

// ParseSegmentName reads the name of a segment of a log.
func ParseSegmentName(name string) (base kafka.Offset, ok bool) {
	digits, ok := strings.CutSuffix(name, ".log")
	if !ok {
		return 0, false
	}
	return parseOffset(digits)
}

// ParseSnapshotName reads the name of a finished snapshot. End offset 0 is
// the bootstrap snapshot.
func ParseSnapshotName(name string) (end kafka.Offset, epoch kafka.Epoch, ok bool) {
	id, ok := strings.CutSuffix(name, ".checkpoint")
	if !ok || len(id) != 31 || id[20] != '-' {
		return 0, 0, false
	}
	end, ok = parseOffset(id[:20])
	if !ok || !allDigits(id[21:]) {
		return 0, 0, false
	}
	n, err := strconv.ParseInt(id[21:], 10, 32)
	return end, kafka.Epoch(n), err == nil
}

func parseOffset(digits string) (kafka.Offset, bool) {
	if len(digits) != 20 || !allDigits(digits) {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return kafka.Offset(n), err == nil
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// PartitionName is the name of a partition's directory.
func PartitionName(topic string, partition int32) string {
	return topic + "-" + strconv.Itoa(int(partition))
}

// Partitions finds the directories of a topic's partitions in a broker's log
// directory, by partition.
func Partitions(logDir, topic string) (map[int32]string, error) {
	entries, err := os.ReadDir(logDir)
	if err != nil {
		return nil, explain(logDir, err)
	}
	found := make(map[int32]string)
	for _, entry := range entries {
		digits, ok := strings.CutPrefix(entry.Name(), topic+"-")
		if !ok || !allDigits(digits) {
			continue // a future or a deleted replica has a longer name
		}
		if n, err := strconv.ParseInt(digits, 10, 32); err == nil && entry.IsDir() {
			found[int32(n)] = filepath.Join(logDir, entry.Name())
		}
	}
	return found, nil
}

// OpenSnapshot opens a snapshot.
func OpenSnapshot(s Snapshot) (*os.File, error) {
	file, err := Open(s.Path)
	if err != nil {
		return nil, fmt.Errorf("snapshot of end offset %d, epoch %d: %w", s.EndOffset, s.Epoch, err)
	}
	return file, nil
}

// Start is the base offset of a partition's first segment. The log's true
// start may lie above it, inside the segment; what is below that start is
// whole, and out of date.
func Start(dir string) (kafka.Offset, error) {
	l, err := List(dir)
	if err != nil {
		return kafka.UnknownOffset, err
	}
	if len(l.Segments) == 0 {
		return kafka.UnknownOffset, wait(errNoSegments)
	}
	return l.Segments[0].Base, nil
}
