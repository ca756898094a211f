package metadatalog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kraftside/kraftside/internal/kafka"
)

// errSnapshotChanged means that what the leader serves does not continue the
// piece that is here.
var errSnapshotChanged = errors.New("the snapshot is not the one that its first part came from")

// download is a snapshot on its way here. Its file carries in its name all
// that must agree for the download to go on: every node writes its own file
// for the same id, and their bytes may differ.
//
//	ID-nNODE-sSIZE.part
type download struct {
	dir      string
	id       SnapshotID
	node     kafka.NodeID
	file     *os.File // nil until the size is known
	position int64    // bytes that are here
	size     int64
}

// openDownload goes on with the piece of the snapshot that dir holds, if there
// is one, and removes the pieces of others. It makes dir, if need be: a snapshot
// has secrets in it.
func openDownload(dir string, id SnapshotID, node kafka.NodeID) (*download, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	d := &download{dir: dir, id: id, node: node}
	parts, err := filepath.Glob(filepath.Join(dir, "*.part"))
	if err != nil {
		return nil, err
	}
	for _, path := range parts {
		size, ours := d.parseName(filepath.Base(path))
		if !ours || d.file != nil {
			err = errors.Join(err, os.Remove(path))
			continue
		}
		if d.file, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
			return nil, err
		}
		d.size = size
		if d.position, err = d.file.Seek(0, 2); err != nil || d.position > size {
			return nil, errors.Join(err, d.drop())
		}
	}
	return d, err
}

func (d *download) prefix() string { return fmt.Sprintf("%s-n%d-s", d.id, d.node) }

// parseName reads the size off the name of a piece of this very snapshot.
func (d *download) parseName(name string) (size int64, ours bool) {
	digits, ours := strings.CutPrefix(strings.TrimSuffix(name, ".part"), d.prefix())
	size, err := strconv.ParseInt(digits, 10, 64)
	return size, ours && err == nil
}

// write adds the piece at position.
func (d *download) write(position, size int64, piece []byte) error {
	switch {
	case size <= 0 || position != d.position || d.file != nil && size != d.size,
		int64(len(piece)) > size-position:
		return fmt.Errorf("%w: %d bytes at %d of %d, where %d of %d are here", errSnapshotChanged, len(piece), position, size, d.position, d.size)
	case len(piece) == 0 && position < size:
		return fmt.Errorf("%w: no bytes at %d of %d", errEmptyAnswer, position, size)
	}
	if d.file == nil {
		path := filepath.Join(d.dir, d.prefix()+strconv.FormatInt(size, 10)+".part")
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		d.file, d.size = file, size
	}
	n, err := d.file.WriteAt(piece, position)
	d.position += int64(n)
	return err
}

func (d *download) complete() bool { return d.file != nil && d.position == d.size }

// rewind makes the file readable from its start.
func (d *download) rewind() (*os.File, error) {
	_, err := d.file.Seek(0, 0)
	return d.file, err
}

// close keeps the piece for later.
func (d *download) close() {
	if d.file != nil {
		d.file.Close()
		d.file = nil
	}
}

// drop removes the piece.
func (d *download) drop() error {
	if d.file == nil {
		return nil
	}
	path := d.file.Name()
	d.close()
	d.position, d.size = 0, 0
	return os.Remove(path)
}
