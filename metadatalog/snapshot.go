package metadatalog

import (
	"errors"
	"fmt"
	"io"

	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// ErrIncompleteSnapshot means that a snapshot does not begin with its header
// or does not end with its footer: its writer did not finish it, or the file
// is not a snapshot.
var ErrIncompleteSnapshot = errors.New("incomplete snapshot")

// SnapshotReader reads a snapshot: Kafka's RecordsSnapshotWriter frames the
// data batches by a header and a footer, both control records. The offsets of
// a snapshot's records count from 0 in the file and mean nothing else.
type SnapshotReader struct {
	id        SnapshotID
	reader    *recordbatch.Reader
	decoder   recordbatch.Decoder
	timestamp int64
	header    bool
	footer    bool
}

// NewSnapshotReader reads the header of the snapshot in src. It reads ahead
// on a goroutine of its own until Close.
func NewSnapshotReader(id SnapshotID, src io.Reader) (*SnapshotReader, error) {
	s := &SnapshotReader{id: id, reader: recordbatch.ReadAhead(src, 0)}
	b, err := s.reader.Next()
	if err == io.EOF {
		err = fmt.Errorf("%w: it is empty", ErrIncompleteSnapshot)
	}
	if err == nil && !b.IsControl() {
		err = fmt.Errorf("%w: it does not begin with a header", ErrIncompleteSnapshot)
	}
	if err == nil {
		err = s.control(&b)
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("read snapshot %s: %w", id, err)
	}
	return s, nil
}

// ID is what the snapshot stands for.
func (s *SnapshotReader) ID() SnapshotID { return s.id }

// LastContainedLogTimestamp is when the last record that the snapshot stands
// for was appended, in milliseconds since 1970.
func (s *SnapshotReader) LastContainedLogTimestamp() int64 { return s.timestamp }

// Next returns the next data batch, which is valid until the call after it.
// io.EOF means that the footer was there and nothing behind it.
func (s *SnapshotReader) Next() (recordbatch.Batch, error) {
	for {
		b, err := s.reader.Next()
		switch {
		case err == io.EOF && !s.footer:
			err = fmt.Errorf("%w: %d bytes without a footer", ErrIncompleteSnapshot, s.reader.Position())
		case err == io.EOF:
			return b, io.EOF
		case err == nil && s.footer:
			err = fmt.Errorf("%w: a batch follows the footer", ErrIncompleteSnapshot)
		case err == nil && b.IsControl():
			err = s.control(&b)
		case err == nil:
			return b, nil
		}
		if err != nil {
			return recordbatch.Batch{}, fmt.Errorf("read snapshot %s: %w", s.id, err)
		}
	}
}

// control takes note of the header and the footer. The header's batch may
// hold the voters and the kraft.version too, which are raft's own business.
func (s *SnapshotReader) control(b *recordbatch.Batch) error {
	if err := s.decoder.Start(b); err != nil {
		return err
	}
	var r recordbatch.Record
	for s.decoder.Next(&r) {
		kind, err := recordbatch.ParseControlKey(r.Key)
		if err != nil {
			return err
		}
		if (kind == recordbatch.SnapshotHeader) == s.header {
			return fmt.Errorf("%w: control record %d where its header should be, or a second header", ErrIncompleteSnapshot, kind)
		}
		switch kind {
		case recordbatch.SnapshotHeader:
			err = s.readHeader(r.Value)
		case recordbatch.SnapshotFooter:
			s.footer = true
		}
		if err != nil {
			return err
		}
	}
	return s.decoder.Err()
}

func (s *SnapshotReader) readHeader(value []byte) error {
	msg, _, err := record.DecodeControl(int16(recordbatch.SnapshotHeader), value)
	if err != nil {
		return err
	}
	s.timestamp = msg.(*record.SnapshotHeaderRecord).LastContainedLogTimestamp
	s.header = true
	return nil
}

// Close ends the reading ahead. The source may be closed after it.
func (s *SnapshotReader) Close() { s.reader.Close() }

// verifySnapshot reads src to its end.
func verifySnapshot(id SnapshotID, src io.Reader) error {
	s, err := NewSnapshotReader(id, src)
	if err != nil {
		return err
	}
	defer s.Close()
	for {
		if _, err := s.Next(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}
