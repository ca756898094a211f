package sidecar

import (
	"context"
	"path/filepath"
	"time"

	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/config"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/pause"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/pipeline"
)

// restartInterval is how long a source rests whose sink has failed: a record
// was refused, which a newer program may not do, but this one will.
const restartInterval = time.Minute

// metadataSource is what every source of the metadata log is.
type metadataSource interface {
	Run(ctx context.Context, start metadatalog.Position, sink metadatalog.Sink) error
}

// readMetadata reads the metadata log. A source ends with ctx, or with a record
// that cannot be replayed: then it is read again from there, seldom.
func (s *Sidecar) readMetadata(ctx context.Context) {
	for {
		source, name, err := s.metadataSource()
		if err == nil {
			s.source.Store(&name)
			err = source.Run(ctx, s.pipeline.MetadataPosition(), s.metadataSink())
		}
		if ctx.Err() != nil {
			return
		}
		s.log.Error("the metadata log stands still", "error", err, "again.in", restartInterval)
		if pause.For(ctx, restartInterval) != nil {
			return
		}
	}
}

// metadataSource decides where the metadata log is read.
func (s *Sidecar) metadataSource() (metadataSource, string, error) {
	m := &s.config.Metadata
	dir := m.Source == config.SourceDir
	if m.Source == config.SourceAuto && m.Dir != "" {
		err := metadatalog.CheckDir(m.Dir)
		dir = err == nil || len(m.Controllers) == 0
		if err != nil {
			s.log.Warn("metadata log directory cannot be read", "error", err, "using.quorum", !dir)
		}
	}
	if dir {
		return metadatalog.NewDir(metadatalog.DirConfig{
			Dir: m.Dir, ClusterID: s.ClusterID(), Bound: s.clients.bound(s.node, s.location),
		}), "dir", nil
	}
	q, err := metadatalog.NewQuorum(metadatalog.QuorumConfig{
		Controllers: m.Controllers,
		ClusterID:   s.ClusterID(),
		Dir:         s.snapshotDir(),
		Dial:        s.clients.controllerAccess.Dial,
		Client:      s.clients.controllerOptions,
	})
	return q, "quorum", err
}

// readGroups reads __consumer_offsets. The source starts again after the store
// was rebuilt: what the store holds of the groups lags behind then.
func (s *Sidecar) readGroups(ctx context.Context) {
	for ctx.Err() == nil {
		run, cancel := context.WithCancel(ctx)
		go func() {
			select {
			case <-s.rebuilt:
				cancel()
			case <-run.Done():
			}
		}()
		err := s.groupsSource().Run(run, s.groupsSink())
		restart := run.Err() != nil
		cancel()
		if !restart {
			s.log.Error("the groups' log stands still", "error", err, "again.in", restartInterval)
			_ = pause.For(ctx, restartInterval) // the loop looks whether ctx ended
		}
	}
}

func (s *Sidecar) groupsSource() interface {
	Run(context.Context, offsetslog.Sink) error
} {
	if s.config.Offsets.Source == config.OffsetsDir {
		return offsetslog.NewDir(offsetslog.DirConfig{
			LogDirs:         s.offsetsDirs(),
			ClusterID:       s.ClusterID(),
			BytesPerSecond:  bytesPerSecond(s.config.Groups.MaxBytesPerSecond),
			DeleteRetention: s.deleteRetention,
		})
	}
	return offsetslog.NewKafka(offsetslog.KafkaConfig{
		Client:          s.clients.brokers,
		ClusterID:       s.ClusterID(),
		Follow:          s.follow(),
		BytesPerSecond:  bytesPerSecond(s.config.Groups.MaxBytesPerSecond),
		DeleteRetention: s.deleteRetention,
	})
}

// offsetsDirs are the broker's log.dirs: if none is given, the one that the
// metadata log is in.
func (s *Sidecar) offsetsDirs() []string {
	switch {
	case len(s.config.Offsets.Dirs) > 0:
		return s.config.Offsets.Dirs
	case s.location.Dir != "":
		return []string{filepath.Dir(s.location.Dir)}
	}
	return []string{s.config.Metadata.Dir}
}

// bytesPerSecond is the limit as the sources take it: 0 in the configuration is
// no limit.
func bytesPerSecond(b config.Bytes) int {
	if b == 0 {
		return -1
	}
	return int(b)
}

// follow chooses the partitions that the neighbour broker is a replica of; nil
// chooses all.
func (s *Sidecar) follow() func(int32, []kafka.NodeID) bool {
	if s.scope == pipeline.All {
		return nil
	}
	return func(_ int32, replicas []kafka.NodeID) bool {
		for _, id := range replicas {
			if id == s.node {
				return true
			}
		}
		return false
	}
}

// deleteRetention is delete.retention.ms of __consumer_offsets, as far as it is
// configured for the topic.
func (s *Sidecar) deleteRetention() time.Duration {
	const defaultRetention = 24 * time.Hour
	value, ok := s.View().Image.Configs().Get(image.ConfigResource{Type: image.TopicConfig, Name: kafka.OffsetsTopic}, "delete.retention.ms")
	if !ok {
		return defaultRetention
	}
	d, err := time.ParseDuration(value + "ms")
	if err != nil {
		return defaultRetention
	}
	return d
}

// identifyInterval is how often the brokers are asked which cluster they are.
const identifyInterval = 10 * time.Second

// identify learns the cluster's id from the brokers, once.
func (s *Sidecar) identify(ctx context.Context) error {
	for s.clients.brokers != nil {
		id, err := s.clients.clusterID(ctx)
		if err == nil {
			return s.setClusterID(id)
		}
		s.log.Debug("which cluster is it?", "error", err)
		if pause.For(ctx, identifyInterval) != nil {
			return nil
		}
	}
	return nil
}

func (s *Sidecar) setClusterID(id string) error {
	known := s.ClusterID()
	s.clusterID.Store(&id)
	if known == id {
		return nil
	}
	if err := s.pipeline.SetClusterID(id); err != nil {
		return errOtherCluster
	}
	return nil
}
