// Package logfile finds the files of Kafka's internal logs that somebody
// names on a command line, says what each of them is, and reads their batches.
//
// A log is told by the folder's name, as Kafka gives it; where that says
// nothing, by what a file holds. Damage comes as *logdir.CorruptError with its
// position; a batch that is cut off at the end of the newest segment is no
// damage, since its writer may be at work: see Reader.Unfinished.
package logfile

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir"
)

// Log is one of Kafka's internal logs. Its value stands in output.
type Log string

// The logs.
const (
	Metadata     Log = "metadata"     // __cluster_metadata
	Offsets      Log = "offsets"      // __consumer_offsets
	Transactions Log = "transactions" // __transaction_state
	Shares       Log = "share"        // __share_group_state
)

var topics = []struct {
	name string
	log  Log
}{
	{kafka.MetadataTopic, Metadata},
	{kafka.OffsetsTopic, Offsets},
	{"__transaction_state", Transactions},
	{"__share_group_state", Shares},
}

// Logs lists the names of the logs.
func Logs() []string {
	var names []string
	for _, t := range topics {
		names = append(names, string(t.log))
	}
	return names
}

// ParseLog reads the name of a log; "" is none.
func ParseLog(s string) (Log, error) {
	if s != "" && !slices.Contains(Logs(), s) {
		return "", cli.Errorf(cli.BadUsage, "%s is no log; there are %s%s", cli.Name(s), strings.Join(Logs(), ", "), cli.DidYouMean(s, Logs()))
	}
	return Log(s), nil
}

// Unknown stands for the number of a partition that the folder's name does not
// tell.
const Unknown int32 = -1

// Partition is a partition's folder, and those files of it that are meant.
type Partition struct {
	Dir    string
	Log    Log
	Number int32 // or Unknown
	// Snapshots by end offset, then segments by base offset.
	Files []*File
}

// Name is the topic and the number, or the folder if that says neither.
func (p *Partition) Name() string {
	if p.Number == Unknown {
		return p.Dir
	}
	return filepath.Base(absolute(p.Dir))
}

// File is a segment or a snapshot.
type File struct {
	Path     string
	Snapshot bool
	// Base is the offset in the name of a segment, and EndOffset and Epoch are
	// those in the name of a snapshot; -1 if the name does not say.
	Base      kafka.Offset
	EndOffset kafka.Offset
	Epoch     kafka.Epoch
	// Newest says that no later segment is in the folder.
	Newest bool
	Size   int64
}

// Bootstrap says whether the file is a snapshot that formatting a folder
// wrote: what a first leader proposes, not what a quorum has committed.
func (f *File) Bootstrap() bool { return f.Snapshot && f.EndOffset == 0 }

// Find says which partitions and files are meant by paths: a file, a
// partition's folder, another folder with segments or snapshots, or a folder
// of partitions. If log is not "", files and folders whose name does not
// contradict it are of that log, and of a folder of partitions only those of
// that log are meant.
func Find(paths []string, log Log) ([]*Partition, error) {
	var s search
	for _, path := range paths {
		if err := s.add(path, log); err != nil {
			return nil, err
		}
	}
	for _, p := range s.found {
		slices.SortStableFunc(p.Files, compareFiles)
		p.Files = slices.CompactFunc(p.Files, func(a, b *File) bool { return a.Path == b.Path })
	}
	return s.found, nil
}

func compareFiles(a, b *File) int {
	if a.Snapshot != b.Snapshot {
		if a.Snapshot {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.EndOffset, b.EndOffset), cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Base, b.Base))
}

type search struct{ found []*Partition }

// partition is the one of a folder, found before or new.
func (s *search) partition(dir string, log Log, number int32) *Partition {
	for _, p := range s.found {
		if p.Dir == dir && p.Log == log {
			return p
		}
	}
	p := &Partition{Dir: dir, Log: log, Number: number}
	s.found = append(s.found, p)
	return p
}

func (s *search) add(path string, log Log) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return cli.Errorf(cli.NotFound, "open %s: there is no such file or folder", path)
	case err != nil:
		return err
	case info.IsDir():
		return s.addFolder(filepath.Clean(path), log)
	}
	return s.addFile(filepath.Clean(path), info.Size(), log)
}

func (s *search) addFolder(dir string, log Log) error {
	files, err := list(dir)
	if err != nil {
		return err
	}
	if named, number, ok := parseFolder(dir); ok {
		if len(files) == 0 {
			return cli.Errorf(cli.NotFound, "read %s: it has no segment and no snapshot", dir)
		}
		s.addAll(s.partition(dir, named, number), files)
		return nil
	}
	if len(files) == 0 {
		return s.addPartitions(dir, log)
	}
	if log == "" {
		if log, err = tellAny(files); err != nil {
			return err
		}
	}
	s.addAll(s.partition(dir, log, Unknown), files)
	return nil
}

func (s *search) addAll(p *Partition, files []*File) { p.Files = append(p.Files, files...) }

// addPartitions adds the folders of internal topics in a log directory.
func (s *search) addPartitions(dir string, log Log) error {
	before := len(s.found)
	for _, t := range topics {
		if log != "" && log != t.log {
			continue
		}
		folders, err := logdir.Partitions(dir, t.name)
		if err != nil {
			return err
		}
		for _, number := range sortedKeys(folders) {
			files, err := list(folders[number])
			if err != nil {
				return err
			}
			if len(files) > 0 {
				s.addAll(s.partition(folders[number], t.log, number), files)
			}
		}
	}
	if len(s.found) == before {
		return cli.Errorf(cli.NotFound, "read %s: it has no segment, no snapshot and no partition of %s; name a folder of Kafka's log.dirs or one below it",
			dir, wanted(log))
	}
	return nil
}

func wanted(log Log) string {
	var names []string
	for _, t := range topics {
		if log == "" || log == t.log {
			names = append(names, t.name)
		}
	}
	return strings.Join(names, ", ")
}

func sortedKeys(m map[int32]string) []int32 {
	keys := make([]int32, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (s *search) addFile(path string, size int64, log Log) error {
	f := newFile(path, size)
	f.Newest = newest(f)
	dir := filepath.Dir(path)
	named, number, ok := parseFolder(dir)
	switch {
	case ok:
		log = named
	case f.Snapshot:
		log = Metadata
	case log == "":
		var err error
		if log, err = tellAny([]*File{f}); err != nil {
			return err
		}
	}
	p := s.partition(dir, log, number)
	p.Files = append(p.Files, f)
	return nil
}

// parseFolder reads the name of a partition's folder.
func parseFolder(dir string) (Log, int32, bool) {
	base := filepath.Base(absolute(dir))
	for _, t := range topics {
		if digits, ok := strings.CutPrefix(base, t.name+"-"); ok {
			n, err := strconv.ParseInt(digits, 10, 32)
			return t.log, int32(n), err == nil && n >= 0
		}
	}
	return "", Unknown, false
}

// absolute makes a name of "." and "..", as far as it can be made.
func absolute(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

// newFile tells from the name what a file is. One that bears no name of
// Kafka's is a segment, unless it speaks of a checkpoint: so a copy, and a file
// that Kafka has renamed for deletion, can be read.
func newFile(path string, size int64) *File {
	f := &File{Path: path, Base: kafka.UnknownOffset, EndOffset: kafka.UnknownOffset, Epoch: kafka.UnknownEpoch, Size: size, Newest: true}
	name := strings.TrimSuffix(filepath.Base(path), ".deleted")
	f.Snapshot = strings.Contains(name, ".checkpoint")
	if base, ok := logdir.ParseSegmentName(name); ok {
		f.Base = base
	}
	if end, epoch, ok := logdir.ParseSnapshotName(name); ok {
		f.EndOffset, f.Epoch = end, epoch
	}
	return f
}

// newest says whether no later segment lies beside f. If that cannot be told,
// nothing speaks against it.
func newest(f *File) bool {
	l, err := logdir.List(filepath.Dir(f.Path))
	if err != nil || len(l.Segments) == 0 {
		return true
	}
	return f.Base < 0 || f.Base >= l.Segments[len(l.Segments)-1].Base
}

// list is the segments and snapshots of a folder, the bootstrap snapshot
// among them.
func list(dir string) (files []*File, err error) {
	l, err := logdir.List(dir)
	if err != nil {
		return nil, err
	}
	paths := []string{filepath.Join(dir, "00000000000000000000-0000000000.checkpoint")}
	for _, s := range l.Snapshots {
		paths = append(paths, s.Path)
	}
	for _, s := range l.Segments {
		paths = append(paths, s.Path)
	}
	for i, path := range paths {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // there is no bootstrap snapshot, or Kafka was faster
		}
		if err != nil {
			return nil, err
		}
		f := newFile(path, info.Size())
		f.Newest = i == len(paths)-1
		files = append(files, f)
	}
	return files, nil
}
