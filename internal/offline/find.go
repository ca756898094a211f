package offline

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logdir"
	"github.com/kraftside/kraftside/internal/logfile"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// found is what there is to read.
type found struct {
	metadata  *logfile.Partition
	offsets   []*logfile.Partition // by partition, one of each
	clusterID string               // "" if no folder tells
	bytes     int64
}

// find looks for both logs.
func find(d Dirs) (*found, error) {
	if d.Metadata == "" {
		return nil, cli.Errorf(cli.BadUsage, "--offsets-dir is given without --metadata-dir: the hashes of groups are computed from the metadata log; give both")
	}
	var f found
	partitions, err := logfile.Find([]string{d.Metadata}, logfile.Metadata)
	if err != nil {
		return nil, err
	}
	f.metadata = partitions[0]
	if info, err := os.Stat(d.Metadata); err == nil && !info.IsDir() || f.metadata.Log != logfile.Metadata {
		return nil, cli.Errorf(cli.BadUsage, "--metadata-dir: %s is no folder of the metadata log; name one such as __cluster_metadata-0", d.Metadata)
	}
	if f.offsets, err = findOffsets(d.Offsets); err != nil {
		return nil, err
	}
	for _, p := range append(slices.Clone(f.offsets), f.metadata) {
		for _, file := range p.Files {
			f.bytes += file.Size
		}
		if err := f.checkCluster(filepath.Dir(p.Dir)); err != nil {
			return nil, err
		}
	}
	return &f, nil
}

// findOffsets finds one copy of each partition.
func findOffsets(dirs []string) ([]*logfile.Partition, error) {
	copies := make(map[int32][]*logfile.Partition)
	for _, dir := range dirs {
		partitions, err := logfile.Find([]string{dir}, logfile.Offsets)
		if err != nil {
			return nil, err
		}
		for _, p := range partitions {
			if p.Log != logfile.Offsets || p.Number == logfile.Unknown {
				return nil, cli.Errorf(cli.BadUsage,
					"--offsets-dir: %s is no partition of %s by its name; name a folder such as %s, or the one it is in",
					dir, kafka.OffsetsTopic, logdir.PartitionName(kafka.OffsetsTopic, 7))
			}
			copies[p.Number] = append(copies[p.Number], p)
		}
	}
	var chosen []*logfile.Partition
	for _, number := range slices.Sorted(maps.Keys(copies)) {
		best, err := longest(copies[number])
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, best)
	}
	return chosen, nil
}

// longest is the copy of a partition that goes on for longest: of those with
// the latest leader epoch the one with the highest offset. What a former leader
// wrote beyond, its successors do not have.
func longest(copies []*logfile.Partition) (best *logfile.Partition, err error) {
	if len(copies) == 1 {
		return copies[0], nil
	}
	var bestEpoch kafka.Epoch
	var bestEnd kafka.Offset
	for _, p := range copies {
		epoch, end, err := endOf(p)
		if err != nil {
			return nil, err
		}
		if best == nil || cmp.Or(cmp.Compare(epoch, bestEpoch), cmp.Compare(end, bestEnd)) > 0 {
			best, bestEpoch, bestEnd = p, epoch, end
		}
	}
	return best, nil
}

// endOf is the leader epoch of the last batch of a partition, and the offset
// after it. Damage is taken for the end here; who reads the log tells.
func endOf(p *logfile.Partition) (epoch kafka.Epoch, end kafka.Offset, err error) {
	last := p.Files[len(p.Files)-1]
	file, err := logdir.Open(last.Path)
	if err != nil {
		return 0, 0, err
	}
	defer file.Close()
	epoch, end = kafka.UnknownEpoch, last.Base
	if n := len(p.Files); n > 1 && last.Size == 0 {
		// Just begun: the epoch stands in the one before.
		before := *p
		before.Files = p.Files[:n-1]
		epoch, _, err = endOf(&before)
		return epoch, end, err
	}
	r := recordbatch.NewReader(file, 0)
	for {
		b, err := r.Next()
		var damage *recordbatch.Error
		if err == io.EOF || errors.As(err, &damage) {
			return epoch, end, nil
		}
		if err != nil {
			return 0, 0, err
		}
		epoch, end = b.LeaderEpoch, b.NextOffset()
	}
}

// checkCluster learns from a log directory which cluster it is of. In a copy of
// a partition alone nothing tells.
func (f *found) checkCluster(logDir string) error {
	meta, err := logdir.ReadMeta(logDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case f.clusterID == "":
		f.clusterID = meta.ClusterID
	case f.clusterID != meta.ClusterID:
		return cli.Errorf(cli.BadUsage, "%s is of cluster %s, and what else is given of cluster %s; name folders of one cluster",
			logDir, cli.Name(meta.ClusterID), cli.Name(f.clusterID))
	}
	return nil
}
