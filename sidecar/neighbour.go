package sidecar

import (
	"context"
	"time"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/pause"
	"github.com/kraftside/kraftside/metadatalog"
)

// appliedInterval is how often the neighbour broker is asked how far it is.
const appliedInterval = 2 * time.Second

// watchNeighbour learns how much of the metadata log the neighbour broker has
// applied: nothing else tells an operator that a broker lags behind.
func (s *Sidecar) watchNeighbour(ctx context.Context) {
	if s.node == kafka.NoNode || s.clients.brokers == nil {
		return
	}
	bound := &metadatalog.AppliedBound{Client: s.clients.brokers, Node: s.node}
	for {
		end, err := bound.CommittedEnd(ctx)
		if err != nil {
			end = kafka.UnknownOffset + 1
		}
		s.applied.Store(int64(end) - 1)
		if pause.For(ctx, appliedInterval) != nil {
			return
		}
	}
}
