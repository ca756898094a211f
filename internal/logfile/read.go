package logfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/logdir"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// ErrIncompleteSnapshot means that a snapshot does not begin with its header
// or does not end with its footer.
var ErrIncompleteSnapshot = errors.New("incomplete snapshot")

// Reader reads the batches of a file, with the memory of a
// recordbatch.Reader. It belongs to one goroutine.
type Reader struct {
	file       *File
	source     *os.File
	batches    *recordbatch.Reader
	unfinished error

	decoder        recordbatch.Decoder
	header, footer bool // of a snapshot: was seen
	logTime        int64
}

// Open begins to read a file. It reads ahead until Close.
func (f *File) Open() (*Reader, error) {
	source, err := logdir.Open(f.Path)
	if err != nil {
		return nil, err
	}
	return &Reader{file: f, source: source, batches: recordbatch.ReadAhead(source, 0)}, nil
}

// Next returns the next batch, which is valid until the call after it, and
// io.EOF at the end. Damage is a *logdir.CorruptError; it is final.
func (r *Reader) Next() (recordbatch.Batch, error) {
	at := r.batches.Position()
	b, err := r.batches.Next()
	if r.file.Snapshot && (err == nil || err == io.EOF) {
		if frame := r.frame(&b, err == io.EOF); frame != nil {
			return recordbatch.Batch{}, &logdir.CorruptError{Path: r.file.Path, Position: at, Offset: b.BaseOffset, Err: frame}
		}
	}
	if err == nil || err == io.EOF {
		return b, err
	}
	return b, r.failed(err)
}

// failed decides what it means that no batch could be read.
func (r *Reader) failed(err error) error {
	var at *recordbatch.Error
	if !errors.As(err, &at) || !isDamage(at.Err) {
		return fmt.Errorf("read %s: %w", r.file.Path, err)
	}
	damage := &logdir.CorruptError{Path: r.file.Path, Position: at.Position, Offset: at.Offset, Err: at.Err}
	if r.file.Newest && !r.file.Snapshot && errors.Is(err, recordbatch.ErrPartial) {
		r.unfinished = damage
		return io.EOF
	}
	return damage
}

// frame checks that a snapshot's batches stand between its header and its
// footer. The header's batch may hold other control records.
func (r *Reader) frame(b *recordbatch.Batch, end bool) error {
	switch {
	case end && r.footer:
		return nil
	case end:
		return fmt.Errorf("%w: it ends without a footer", ErrIncompleteSnapshot)
	case r.footer:
		return fmt.Errorf("%w: a batch follows the footer", ErrIncompleteSnapshot)
	case !b.IsControl() && r.header:
		return nil
	}
	var first recordbatch.Record
	if b.IsControl() && r.decoder.Start(b) == nil && r.decoder.Next(&first) {
		kind, err := recordbatch.ParseControlKey(first.Key)
		if err == nil && kind == recordbatch.SnapshotHeader {
			r.header, r.logTime = true, logTime(first.Value)
		}
		r.footer = err == nil && kind == recordbatch.SnapshotFooter
	}
	if !r.header {
		return fmt.Errorf("%w: it does not begin with a header", ErrIncompleteSnapshot)
	}
	return nil
}

// isDamage tells damage from a file that could not be read.
func isDamage(err error) bool {
	return errors.Is(err, recordbatch.ErrPartial) || errors.Is(err, recordbatch.ErrCorrupt) || errors.Is(err, recordbatch.ErrTooLarge)
}

func logTime(header []byte) int64 {
	c, _, err := record.DecodeControl(int16(recordbatch.SnapshotHeader), header)
	if h, ok := c.(*record.SnapshotHeaderRecord); ok && err == nil {
		return h.LastContainedLogTimestamp
	}
	return 0
}

// LogTime is when the last record was appended that a snapshot stands for, in
// milliseconds since 1970. It is known after the first call of Next; 0 if not.
func (r *Reader) LogTime() int64 { return r.logTime }

// Unfinished says, after io.EOF, where and how the newest segment ends inside
// a batch; nil if it does not.
func (r *Reader) Unfinished() error { return r.unfinished }

// Position is the byte of the file after the last batch that Next returned.
func (r *Reader) Position() int64 { return r.batches.Position() }

// Close ends the reading.
func (r *Reader) Close() {
	r.batches.Close()
	r.source.Close()
}

// tellAny finds out by what the files hold which log they are of: the
// metadata log is the only one whose records have no key.
func tellAny(files []*File) (Log, error) {
	for _, f := range files {
		if f.Snapshot {
			return Metadata, nil
		}
		isMetadata, err := tell(f)
		if err != nil {
			return "", err
		}
		if isMetadata {
			return Metadata, nil
		}
	}
	return "", cli.Errorf(cli.BadUsage, "cannot tell which log %s is of, neither by the folder's name nor by what it holds; say --log %s",
		files[0].Path, strings.Join(Logs(), "|"))
}

func tell(f *File) (isMetadata bool, err error) {
	r, err := f.Open()
	if err != nil {
		return false, err
	}
	defer r.Close()
	b, err := r.Next()
	if err != nil {
		return false, nil // what is wrong with it, who reads it will say
	}
	var d recordbatch.Decoder
	var first recordbatch.Record
	if d.Start(&b) != nil || !d.Next(&first) {
		return false, nil
	}
	if !b.IsControl() {
		return first.Key == nil, nil
	}
	kind, err := recordbatch.ParseControlKey(first.Key)
	return err == nil && kind >= recordbatch.LeaderChange, nil
}
