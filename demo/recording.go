package demo

import (
	"archive/zip"
	"bytes"
	"cmp"
	_ "embed" // of the recording
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// ManifestFile is the name of the Manifest in a recording.
const ManifestFile = "manifest.json"

// Manifest says what a recording is of.
type Manifest struct {
	KafkaVersion string `json:"kafkaVersion"`
	ClusterID    string `json:"clusterId"`
	// Steps are the story, in order.
	Steps []Step `json:"steps"`
	// Hashes are all records of the recording that store a hash, as Kafka's
	// own dump tool reads them, by partition and offset.
	Hashes []StoredHash `json:"hashes"`
}

// Step is something that was done to the cluster.
type Step struct {
	At   int64  `json:"at"` // when it began, in milliseconds since 1970
	Text string `json:"text"`
}

// StoredHash is a record of type 3, 11 or 17.
type StoredHash struct {
	Partition    int32        `json:"partition"`
	Offset       kafka.Offset `json:"offset"`
	Type         int          `json:"type"`
	Group        string       `json:"group"`
	Epoch        int32        `json:"epoch"`
	MetadataHash int64        `json:"metadataHash,string"`
}

// Recording is the metadata log and the partitions of __consumer_offsets of a
// cluster, from its first record on. It does not change.
type Recording struct {
	Manifest
	events []event
}

// event is what comes next in the story: a step of it, or a batch of a log.
type event struct {
	at        int64 // milliseconds since 1970
	step      string
	partition int32 // of __consumer_offsets, or metadata, or none for a step
	batch     recordbatch.Batch
}

const (
	metadata int32 = -1
	none     int32 = -2
)

//go:embed recording.zip
var embedded []byte

// Open returns the recording that is part of the program.
func Open() (*Recording, error) {
	r, err := read(embedded)
	if err != nil {
		return nil, fmt.Errorf("read the recording: %w", err)
	}
	return r, nil
}

// maxFile bounds a file of a recording.
const maxFile = 16 << 20

// read reads a recording: a zip archive of a Manifest, and of segments in
// folders as Kafka names them.
func read(archive []byte) (*Recording, error) {
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, err
	}
	manifest, err := readFile(z, ManifestFile)
	if err != nil {
		return nil, err
	}
	r := new(Recording)
	if err := json.Unmarshal(manifest, &r.Manifest); err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestFile, err)
	}
	for _, s := range r.Steps {
		r.events = append(r.events, event{at: s.At, step: s.Text, partition: none})
	}
	segments, err := fs.Glob(z, "*/*.log")
	if err != nil {
		return nil, err
	}
	for _, name := range segments {
		if err := r.addSegment(z, name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	// Of one time, the step that does something comes before its effects, and
	// the metadata before the groups that follow it.
	slices.SortStableFunc(r.events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.partition, b.partition))
	})
	return r, nil
}

func readFile(files fs.FS, name string) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("%s: more than %d bytes", name, maxFile)
	}
	return b, err
}

// errWrongLog means that a folder of a recording is of neither log.
var errWrongLog = errors.New("neither the metadata log nor a partition of " + kafka.OffsetsTopic)

// addSegment adds the batches of a log. A batch has the time of its newest
// record, but none that is before that of an earlier batch: the order of a log
// counts more than its clocks.
func (r *Recording) addSegment(files fs.FS, name string) error {
	partition, err := partitionOf(path.Dir(name))
	if err != nil {
		return err
	}
	rest, err := readFile(files, name)
	if err != nil {
		return err
	}
	at := int64(0)
	for len(rest) > 0 {
		var b recordbatch.Batch
		if b, rest, err = recordbatch.Split(rest); err != nil {
			return err
		}
		at = max(at, b.MaxTimestamp)
		r.events = append(r.events, event{at: at, partition: partition, batch: b})
	}
	return nil
}

func partitionOf(dir string) (int32, error) {
	if dir == kafka.MetadataTopic+"-0" {
		return metadata, nil
	}
	digits, ok := strings.CutPrefix(dir, kafka.OffsetsTopic+"-")
	n, err := strconv.ParseUint(digits, 10, 31)
	if !ok || err != nil {
		return 0, errWrongLog
	}
	return int32(n), nil
}

// partitions are those of __consumer_offsets, ascending.
func (r *Recording) partitions() (all []int32) {
	for _, e := range r.events {
		if e.partition >= 0 && !slices.Contains(all, e.partition) {
			all = append(all, e.partition)
		}
	}
	slices.Sort(all)
	return all
}
