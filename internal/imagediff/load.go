package imagediff

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/image/loader"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir"
	"github.com/kraftside/kraftside/internal/logfile"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// State is an image and where it was found.
type State struct {
	// Path is the file or folder as it was named.
	Path  string
	Image *image.MetadataImage
	// Committed says that the folder proves that a quorum committed all of it:
	// a snapshot reaches as far. Otherwise it is not known, and a later leader
	// may have undone the end of it.
	Committed bool
	// InTransaction says that the log goes on into a transaction that had not
	// ended at the offset; the image is the one before it.
	InTransaction bool
}

// Load makes the image that an argument names: FILE of a snapshot, DIR of a
// metadata log, which stands for the end of the log, or DIR@OFFSET for the
// state after the record at OFFSET. It shows progress on out. Errors have the
// codes of package cli.
func Load(out *cli.Output, argument string) (*State, error) {
	path, offset, err := parse(argument)
	if err != nil {
		return nil, err
	}
	found, err := logfile.Find([]string{path}, logfile.Metadata)
	if err != nil {
		return nil, err
	}
	p, first := found[0], found[0].Files[0]
	progress := newProgress(out, p)
	defer progress.Clear()
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case p.Log != logfile.Metadata:
		return nil, cli.Errorf(cli.BadUsage, "%s is not of the metadata log; name a snapshot, or a folder such as __cluster_metadata-0", path)
	case info.IsDir():
		return loadFolder(path, p, offset, progress)
	case !first.Snapshot:
		return nil, cli.Errorf(cli.BadUsage, "%s is a segment, which does not stand alone; name its folder, with @OFFSET for an earlier state", path)
	case offset != kafka.UnknownOffset:
		return nil, cli.Errorf(cli.BadUsage, "%s is a snapshot and stands for one offset; leave out @%d, or name its folder", path, offset)
	}
	l := loader.New(image.Empty(), loader.Options{})
	if err := loadSnapshot(l, first, progress); err != nil {
		return nil, err
	}
	return &State{Path: path, Image: l.Image(), Committed: !first.Bootstrap()}, nil
}

func newProgress(out *cli.Output, p *logfile.Partition) *cli.Progress {
	total := int64(0)
	for _, f := range p.Files {
		total += f.Size
	}
	return out.NewProgress(total)
}

// parse cuts the offset off an argument, unless all of it is a path.
func parse(argument string) (path string, offset kafka.Offset, err error) {
	if _, err := os.Stat(argument); err == nil {
		return argument, kafka.UnknownOffset, nil
	}
	at := strings.LastIndexByte(argument, '@')
	if at < 0 {
		return argument, kafka.UnknownOffset, nil // which does not exist: that will be said
	}
	n, err := strconv.ParseUint(argument[at+1:], 10, 63)
	if err != nil {
		return "", 0, cli.Errorf(cli.BadUsage, "%s: %s after the @ is not an offset; want DIR@OFFSET", argument, cli.Name(argument[at+1:]))
	}
	return argument[:at], kafka.Offset(n), nil
}

// loadSnapshot makes the loader's image that of a snapshot.
func loadSnapshot(l *loader.Loader, f *logfile.File, progress *cli.Progress) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	// The first batch holds the time that the snapshot stands for.
	first, err := r.Next()
	if err != nil {
		return coded(err)
	}
	pending := true
	next := func() (recordbatch.Batch, error) {
		if pending {
			pending = false
			return first, nil
		}
		b, err := r.Next()
		progress.Add(int64(b.Size), filepath.Base(f.Path))
		return b, err
	}
	err = l.LoadSnapshot(f.EndOffset, f.Epoch, r.LogTime(), next)
	var damage *logdir.CorruptError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &damage): // which names the file
		return coded(damage)
	}
	return coded(fmt.Errorf("%s: %w", f.Path, err))
}

// loadFolder replays a folder up to an offset, or to its end: the newest
// snapshot that is not beyond it, then the segments.
func loadFolder(path string, p *logfile.Partition, offset kafka.Offset, progress *cli.Progress) (*State, error) {
	last := offset
	if last == kafka.UnknownOffset {
		last = math.MaxInt64
	}
	l := loader.New(image.Empty(), loader.Options{})
	var newest kafka.Offset // to which snapshots reach
	var from *logfile.File
	for _, f := range p.Files {
		if f.Snapshot && !f.Bootstrap() {
			newest = f.EndOffset
			if f.EndOffset-1 <= last {
				from = f
			}
		}
	}
	start, epoch := kafka.Offset(0), kafka.UnknownEpoch
	if from != nil {
		if err := loadSnapshot(l, from, progress); err != nil {
			return nil, err
		}
		start, epoch = from.EndOffset, from.Epoch
	}
	f := logdir.Follow(p.Dir, start, epoch, logdir.Options{Static: true})
	defer f.Close()
	end, err := replay(l, f, p.Dir, last, progress)
	if err == nil && offset != kafka.UnknownOffset && end <= offset {
		err = cli.Errorf(cli.NotFound, "%s has no offset %d: the log ends at offset %d", path, offset, end-1)
	}
	if err != nil {
		return nil, err
	}
	m := l.Image()
	return &State{Path: path, Image: m, Committed: m.Provenance().Offset < newest, InTransaction: l.InTransaction()}, nil
}

// replay appends what a folder has up to and with the offset last, and returns
// the offset that comes after it.
func replay(l *loader.Loader, f *logdir.Follower, dir string, last kafka.Offset, progress *cli.Progress) (end kafka.Offset, err error) {
	end = f.Offset()
	for end <= last {
		b, err := f.Next(math.MaxInt64)
		if errors.Is(err, logdir.ErrWait) {
			return end, nil
		}
		if err != nil {
			return end, coded(err)
		}
		progress.Add(int64(b.Size), filepath.Base(dir))
		end = b.NextOffset()
		if end > last+1 && last < math.MaxInt64 {
			if b, err = cut(&b, last); err != nil {
				return end, coded(err)
			}
		}
		if err := l.Append(&b); err != nil {
			return end, coded(fmt.Errorf("%s: %w", dir, err))
		}
	}
	return end, nil
}

// cut makes a batch of the records of b up to and with the offset last, which
// is inside it.
func cut(b *recordbatch.Batch, last kafka.Offset) (recordbatch.Batch, error) {
	var d recordbatch.Decoder
	if err := d.Start(b); err != nil {
		return recordbatch.Batch{}, err
	}
	var kept []recordbatch.Record
	for r := (recordbatch.Record{}); d.Next(&r) && r.Offset <= last; {
		kept = append(kept, r)
	}
	if err := d.Err(); err != nil {
		return recordbatch.Batch{}, err
	}
	h := b.Header
	h.Attributes &= recordbatch.Control
	h.LastOffsetDelta = int32(last - b.BaseOffset)
	if len(kept) > 0 {
		h.MaxTimestamp = kept[len(kept)-1].Timestamp
	}
	bytes, err := recordbatch.Append(nil, h, kept)
	if err != nil {
		return recordbatch.Batch{}, err
	}
	part, _, err := recordbatch.Split(bytes)
	return part, err
}

// coded gives an error of reading or replaying its exit code.
func coded(err error) error {
	var passed *logdir.LogStartError
	var unreadable *logdir.PermissionError
	switch {
	case errors.As(err, &passed):
		return cli.Errorf(cli.NotFound, "%w; name an offset that a snapshot and the segments after it reach", err)
	case errors.Is(err, record.ErrUnknownType), errors.Is(err, record.ErrUnknownVersion):
		return cli.Errorf(cli.Failed, "%w; a newer kraftside may know it", err)
	case errors.As(err, &unreadable), errors.As(err, new(*os.PathError)):
		return err
	}
	return cli.Errorf(cli.Corrupt, "%w", err)
}
