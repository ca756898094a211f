package sidecar

import (
	"context"
	"errors"
	"time"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/pause"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/pipeline"
)

// errLocated ends a run of the sidecar that began before the log directory was
// there, which says beside which broker it is. The next run knows.
var errLocated = errors.New("the log directory is there now")

// locateInterval is how often to look for a log directory that is not there: a
// broker formats its disk when it starts for the first time, which in a pod it does
// after the sidecar.
const locateInterval = 2 * time.Second

// locate finds the neighbour broker's metadata log and, in it, which broker
// and which cluster it is.
func (s *Sidecar) locate() {
	s.node = s.config.NodeID
	if s.config.Metadata.Dir != "" {
		at, err := metadatalog.FindDir(s.config.Metadata.Dir)
		if err != nil {
			s.unlocated = err
		} else {
			s.location = at
			if s.node == kafka.NoNode {
				s.node = at.NodeID
			}
			if at.ClusterID != "" {
				s.clusterID.Store(&at.ClusterID)
			}
		}
	}
	s.scope = pipeline.Scope(s.config.Groups.Scope)
	if s.scope == "" {
		s.scope = pipeline.All
		if s.node != kafka.NoNode {
			s.scope = pipeline.Local
		}
	}
}

// awaitLocation returns errLocated once a log directory is there that was not, or
// nil when ctx ends.
func (s *Sidecar) awaitLocation(ctx context.Context) error {
	for s.unlocated != nil {
		if pause.For(ctx, locateInterval) != nil {
			return nil
		}
		if _, err := metadatalog.FindDir(s.config.Metadata.Dir); err == nil {
			return errLocated
		}
	}
	return nil
}
