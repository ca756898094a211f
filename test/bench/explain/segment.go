package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
	metarecord "github.com/kraftside/kraftside/metadatalog/record"
)

// segment writes record batches to the first segment of a partition.
type segment struct {
	file    *os.File
	out     *bufio.Writer
	next    kafka.Offset
	pending []recordbatch.Record // of the batch that is open
	memory  []byte               // of their keys and values
	records int
	err     error // the first one
}

func newSegment(dir, partition string) (*segment, error) {
	path := filepath.Join(dir, partition)
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, err
	}
	file, err := os.Create(filepath.Join(path, fmt.Sprintf("%020d.log", 0)))
	if err != nil {
		return nil, err
	}
	return &segment{file: file, out: bufio.NewWriterSize(file, 1<<20)}, nil
}

// close ends the last batch, and says what went wrong so far.
func (s *segment) close() error {
	s.endBatch()
	return errors.Join(s.err, s.out.Flush(), s.file.Close())
}

// add adds a record to the batch. What encode appends is its key and its value.
func (s *segment) add(at int64, encode func(b []byte) (withKey, withValue []byte, err error)) {
	start := len(s.memory)
	key, value, err := encode(s.memory)
	if err != nil {
		s.err = errors.Join(s.err, err)
		return
	}
	r := recordbatch.Record{Offset: s.next, Timestamp: at, Key: key[start:len(key):len(key)]}
	s.memory = key
	if value != nil {
		r.Value = value[len(key):len(value):len(value)]
		s.memory = value
	}
	s.pending = append(s.pending, r)
	s.next++
	s.records++
}

// group adds a record of the group coordinator; without a value, a tombstone.
func (s *segment) group(at int64, k record.Key, v record.Value) {
	s.add(at, func(b []byte) (key, value []byte, err error) {
		if key, err = record.AppendKey(b, k); err == nil && v != nil {
			value, err = record.AppendValue(key, v, v.Type().HighestVersion())
		}
		return key, value, err
	})
}

// metadata adds a record of the metadata log.
func (s *segment) metadata(at int64, m metarecord.Message) {
	s.add(at, func(b []byte) (key, value []byte, err error) {
		value, err = metarecord.AppendFrame(b, m, m.Type().HighestVersion())
		return b, value, err
	})
}

// skip leaves out an offset, as compaction does.
func (s *segment) skip() { s.next++ }

func (s *segment) endBatch() {
	if len(s.pending) == 0 || s.err != nil {
		return
	}
	first, last := &s.pending[0], &s.pending[len(s.pending)-1]
	h := recordbatch.Header{
		BaseOffset: first.Offset, LastOffsetDelta: int32(last.Offset - first.Offset), LeaderEpoch: 1,
		BaseTimestamp: first.Timestamp, MaxTimestamp: last.Timestamp, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1,
	}
	b, err := recordbatch.Append(nil, h, s.pending)
	if err == nil {
		_, err = s.out.Write(b)
	}
	s.err = err
	s.pending, s.memory = s.pending[:0], s.memory[:0]
}
