package logdir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// markSize is how much of a batch's header identifies it: base offset,
// length, leader epoch, magic and CRC.
const markSize = 21

// segment is the file that a Follower is in.
type segment struct {
	base kafka.Offset
	path string
	file *os.File
	info fs.FileInfo

	position int64        // of the first byte that is not passed
	end      kafka.Offset // after the last batch passed; base if there is none
	// mark is the header of the last batch passed, which lies at markAt.
	mark   [markSize]byte
	markAt int64 // -1 if no batch is passed
	// sealed says that a later segment existed before the file was read to
	// its end, so that its end is final.
	sealed bool
}

func openSegment(s Segment) (*segment, error) {
	file, err := Open(s.Path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, err
	}
	return &segment{base: s.Base, path: s.Path, file: file, info: info, end: s.Base, markAt: -1}, nil
}

// pass notes that a batch, which lies at the position, is done with.
func (s *segment) pass(b *recordbatch.Batch) {
	s.markAt = s.position
	copy(s.mark[:], b.Bytes())
	s.position += int64(b.Size)
	s.end = b.NextOffset()
}

// attached says whether the file is still the one of its name: it has been
// neither renamed nor replaced.
func (s *segment) attached() bool {
	info, err := os.Stat(s.path)
	return err == nil && os.SameFile(info, s.info)
}

// unchanged says whether the last batch passed still lies where it lay.
func (s *segment) unchanged() (bool, error) {
	if s.markAt < 0 {
		return true, nil
	}
	var now [markSize]byte
	if _, err := s.file.ReadAt(now[:], s.markAt); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return now == s.mark, nil
}

// torn says whether the batch at the position ends where the file ends, or
// beyond: it may be the last one written, and not wholly so.
func (s *segment) torn() bool {
	var head [12]byte
	info, err := s.file.Stat()
	if err != nil {
		return false
	}
	if _, err := s.file.ReadAt(head[:], s.position); err != nil {
		return true
	}
	length := int64(int32(uint32(head[8])<<24 | uint32(head[9])<<16 | uint32(head[10])<<8 | uint32(head[11])))
	return length > 0 && s.position+int64(len(head))+length >= info.Size()
}

// reader is a recordbatch.Reader with its source. Readers are pooled, because
// each has a large buffer and most Followers are at their end most of the
// time.
type reader struct {
	*recordbatch.Reader
	file     *os.File
	position int64
}

var readers = sync.Pool{New: func() any { return &reader{Reader: recordbatch.NewReader(nil, 0)} }}

func newReader(file *os.File, position int64) *reader {
	r := readers.Get().(*reader)
	r.file, r.position = file, position
	r.Reset(r, position)
	return r
}

// Read implements io.Reader for recordbatch.
func (r *reader) Read(b []byte) (int, error) {
	n, err := r.file.ReadAt(b, r.position)
	r.position += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s: %w", r.file.Name(), err)
	}
	return n, err
}

func (f *Follower) release() {
	if f.reader != nil {
		f.reader.file = nil
		readers.Put(f.reader)
		f.reader = nil
	}
}

func (f *Follower) leave() {
	if f.segment != nil {
		f.segment.file.Close()
		f.segment = nil
	}
}
