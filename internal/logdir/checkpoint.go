package logdir

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kraftside/kraftside/internal/kafka"
)

// Names of the small files.
const (
	leaderEpochFile   = "leader-epoch-checkpoint"       // in a partition's directory
	highWatermarkFile = "replication-offset-checkpoint" // in the log directory
)

// maxCheckpoint bounds the checkpoint files: a million partitions on one
// broker stay below it.
const maxCheckpoint = 64 << 20

// EpochStart says that an epoch's leader appended its first record at an
// offset.
type EpochStart struct {
	Epoch kafka.Epoch
	Start kafka.Offset
}

// EpochStarts reads a partition's leader-epoch-checkpoint, by offset.
func EpochStarts(dir string) ([]EpochStart, error) {
	var starts []EpochStart
	err := readCheckpoint(filepath.Join(dir, leaderEpochFile), 2, func(fields []string) error {
		epoch, err := strconv.ParseInt(fields[0], 10, 32)
		if err != nil {
			return err
		}
		offset, err := strconv.ParseInt(fields[1], 10, 64)
		starts = append(starts, EpochStart{kafka.Epoch(epoch), kafka.Offset(offset)})
		return err
	})
	slices.SortFunc(starts, func(a, b EpochStart) int { return cmp.Compare(a.Start, b.Start) })
	return starts, err
}

// EpochAt is the epoch of the record at an offset, or UnknownEpoch if the log
// had begun after it.
func EpochAt(starts []EpochStart, offset kafka.Offset) kafka.Epoch {
	epoch := kafka.UnknownEpoch
	for _, s := range starts {
		if s.Start > offset {
			break
		}
		epoch = s.Epoch
	}
	return epoch
}

// HighWatermarks reads the high watermarks of a topic's partitions from the
// replication-offset-checkpoint of a broker's log directory. The broker writes
// it every replica.high.watermark.checkpoint.interval.ms (5 s), and a
// partition's high watermark was never above the end of its log there.
func HighWatermarks(logDir, topic string) (map[int32]kafka.Offset, error) {
	marks := make(map[int32]kafka.Offset)
	err := readCheckpoint(filepath.Join(logDir, highWatermarkFile), 3, func(fields []string) error {
		if fields[0] != topic {
			return nil
		}
		partition, err := strconv.ParseInt(fields[1], 10, 32)
		if err != nil {
			return err
		}
		offset, err := strconv.ParseInt(fields[2], 10, 64)
		marks[int32(partition)] = kafka.Offset(offset)
		return err
	})
	return marks, err
}

// readCheckpoint reads a file of Kafka's CheckpointFile form: a line with the
// version, 0; a line with the number of entries; the entries, of so many
// fields each. The file is replaced by renaming, so it is always whole. A broker
// that starts makes an empty one, which has no entries (CheckpointReadBuffer.read).
func readCheckpoint(path string, fields int, entry func([]string) error) error {
	content, err := readSmall(path, maxCheckpoint)
	if err != nil {
		return err
	}
	if len(content) == 0 {
		return nil
	}
	lines := bufio.NewScanner(bytes.NewReader(content))
	malformed := func(line int, why string) error {
		return fmt.Errorf("read %s: line %d: %w: %s", path, line, ErrFormat, why)
	}
	if !lines.Scan() || lines.Text() != "0" {
		return malformed(1, fmt.Sprintf("version is %.20q, only 0 is known", lines.Text()))
	}
	lines.Scan()
	count, err := strconv.Atoi(lines.Text())
	if err != nil || count < 0 {
		return malformed(2, fmt.Sprintf("%.20q is not a number of entries", lines.Text()))
	}
	line := 2
	for lines.Scan() {
		line++
		got := strings.Fields(lines.Text())
		if len(got) != fields {
			return malformed(line, fmt.Sprintf("%d fields instead of %d", len(got), fields))
		}
		if err := entry(got); err != nil {
			return malformed(line, err.Error())
		}
	}
	if lines.Err() != nil {
		return malformed(line+1, lines.Err().Error())
	}
	if line-2 != count {
		return malformed(line, fmt.Sprintf("%d entries instead of %d", line-2, count))
	}
	return nil
}

// readSmall reads a file that has no business being large.
func readSmall(path string, limit int64) ([]byte, error) {
	file, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf("read %s: %w: it has more than %d bytes", path, ErrFormat, limit)
	}
	return content, nil
}
