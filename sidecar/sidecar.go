// Package sidecar wires sources, pipeline, store and HTTP server into the
// process that `kraftside run` is: what starts before what, what is tried
// again, and in which order things stop. It holds no rule about Kafka.
//
// Nothing that Kafka, its disk or the network does ends a running sidecar: it
// goes on with what it can, and says on /readyz what is wrong.
package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kraftside/kraftside/image/loader"
	"github.com/kraftside/kraftside/internal/config"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/rebalance"
	"github.com/kraftside/kraftside/store"
	"github.com/kraftside/kraftside/telemetry"
	"github.com/kraftside/kraftside/web"
	"github.com/kraftside/kraftside/web/api"
)

// Sidecar is one running sidecar.
type Sidecar struct {
	config   *config.Config
	version  string
	log      *slog.Logger
	clients  *clients
	location metadatalog.Location // of the neighbour's metadata log, if it was found
	node     kafka.NodeID
	scope    pipeline.Scope

	store    *store.Store // nil: nothing is kept
	pipeline *pipeline.Pipeline
	meter    *telemetry.Meter
	server   *server
	admin    *adminEndpoint
	exporter *telemetry.Exporter // nil: nothing is exported
	events   *web.Events

	source    atomic.Pointer[string] // of the metadata log: quorum or dir
	clusterID atomic.Pointer[string]
	applied   atomic.Int64  // metadata offset that the neighbour broker has applied, or -1
	rebuilt   chan struct{} // the groups' source has to start again
	logs      transitions
	further   func() []api.Reason // not to be ready; nil: none
	misplaced atomic.Pointer[api.Reason]
	unlocated error // why the log directory was not found at the start; nil: it was
}

// errOtherCluster ends a run of the sidecar whose store is of another cluster
// than the brokers. The next run opens the store knowing the cluster.
var errOtherCluster = errors.New("the brokers are of another cluster than the store")

// Run runs a sidecar until ctx ends, which is no error. It fails only for what
// a person has to change first: a configuration that cannot work, a store that
// is in use or must not be set aside.
func Run(ctx context.Context, c *config.Config, version string, log *slog.Logger) error {
	s, err := prepare(c, "", version, log)
	if err != nil {
		return err
	}
	return s.run(ctx)
}

// run is Run from where a sidecar is prepared.
func (s *Sidecar) run(ctx context.Context) error {
	effective, err := s.config.Effective()
	if err != nil {
		return errors.Join(err, s.close())
	}
	s.log.Info("kraftside starts", "version", s.version, "configuration", effective)
	if err := s.open(); err != nil {
		return err
	}
	for {
		switch err := s.Wait(ctx); {
		case errors.Is(err, errOtherCluster):
			s.log.Warn("the store is of another cluster, starting over", "cluster.id", s.ClusterID())
		case errors.Is(err, errLocated):
			s.log.Info("the log directory is there now, starting over", "dir", s.config.Metadata.Dir)
		default:
			return err
		}
		again, err := Start(s.config, s.ClusterID(), s.version, s.log)
		if err != nil {
			return err
		}
		again.further = s.further
		s = again
	}
}

// Start opens the store and the pipeline. Everything else starts with Wait. An
// empty cluster id takes any cluster.
func Start(c *config.Config, clusterID, version string, log *slog.Logger) (*Sidecar, error) {
	s, err := prepare(c, clusterID, version, log)
	if err != nil {
		return nil, err
	}
	if err := s.open(); err != nil {
		return nil, err
	}
	return s, nil
}

// prepare makes what is made of the configuration and the files that it names
// alone, and so tells what is wrong with them. Another sidecar may still run.
func prepare(c *config.Config, clusterID, version string, log *slog.Logger) (*Sidecar, error) {
	s := &Sidecar{config: c, version: version, log: log, rebuilt: make(chan struct{}, 1), events: web.NewEvents()}
	s.source.Store(new(string))
	s.applied.Store(-1)
	s.clusterID.Store(&clusterID)
	s.locate()
	var err error
	if s.meter, err = s.newMeter(); err != nil {
		return nil, err
	}
	if s.clients, err = newClients(c, version, s.meter); err == nil {
		s.admin, err = s.newAdmin()
	}
	if err == nil {
		s.server, err = s.newServer()
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// open opens the store, if it is not open yet, and the pipeline.
func (s *Sidecar) open() error {
	if s.unlocated != nil {
		s.log.Warn("metadata log directory", "error", s.unlocated)
	}
	err := s.openStore()
	if err == nil {
		s.openPipeline()
		err = s.openExporter()
	}
	if err != nil {
		return errors.Join(err, s.close())
	}
	return nil
}

func (s *Sidecar) openStore() error {
	dir := s.config.Store.Dir
	if dir == "" || s.store != nil {
		return nil
	}
	st, warning, err := store.Open(dir, store.Options{
		ClusterID:  s.ClusterID(),
		OnMismatch: store.OnMismatch(s.config.Store.OnMismatch),
		MaxBytes:   int64(s.config.Store.MaxBytes),
		MinFree:    int64(s.config.Store.MinFree),
		Now:        time.Now(),
	})
	if err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	s.warn(warning)
	if id := st.ClusterID(); id != "" {
		s.clusterID.Store(&id)
	}
	s.store = st
	return nil
}

func (s *Sidecar) warn(w *store.Warning) {
	if w != nil {
		s.log.Warn("store set aside", "reason", w.Error())
	}
}

func (s *Sidecar) openPipeline() {
	policy := loader.Stop
	if s.config.Metadata.Unknown == config.UnknownSkip {
		policy = loader.Skip
	}
	told := s.newRebalances()
	p, lost := pipeline.New(pipeline.Options{
		NodeID:    s.node,
		Scope:     s.scope,
		ClusterID: s.ClusterID(),
		Unknown:   policy,
		OnSkip:    func(e *loader.ReplayError) { s.log.Error("metadata record left out", "error", e) },
		Store:     s.store,
		OnRebalance: func(r *rebalance.Rebalance) {
			told.OnRebalance(r)
			s.events.OnRebalance(r)
		},
		OnChange: s.events.OnChange,
		Exports:  s.exports(),
		MaxAge:   s.config.History.MaxAge,
		OnRebuilt: func(w *store.Warning) {
			s.warn(w)
			s.log.Info("the store holds the state again")
			select {
			case s.rebuilt <- struct{}{}:
			default:
			}
		},
	})
	switch w := (*store.Warning)(nil); {
	case errors.As(lost, &w):
		s.warn(w)
	case lost != nil:
		s.log.Warn("what the store holds cannot be read, the state is rebuilt from the logs", "error", lost)
	}
	s.pipeline = p
	p.Tick(time.Now()) // what is read first is not to seem new
}

// reasons are those not to be ready that only the whole process knows.
func (s *Sidecar) reasons() []api.Reason {
	all := s.admin.reasons()
	if wrong := s.misplaced.Load(); wrong != nil {
		all = append(all, *wrong)
	}
	if s.further != nil {
		all = append(all, s.further()...)
	}
	return all
}

// View is the newest state.
func (s *Sidecar) View() *pipeline.View { return s.pipeline.View() }

// Address is where the HTTP server listens; "" while it cannot.
func (s *Sidecar) Address() string { return s.server.address() }

// AdminAddress is where the endpoint for Kafka's protocol listens; "" while it
// cannot, or must not.
func (s *Sidecar) AdminAddress() string { return s.admin.address() }

// ClusterID is the cluster's id; "" while it is not known.
func (s *Sidecar) ClusterID() string { return *s.clusterID.Load() }

// Wait runs the sources until ctx ends, then stops everything in the reverse
// order of its start.
func (s *Sidecar) Wait(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	work := []func(context.Context){s.server.run, s.admin.run, s.tick, s.readMetadata, s.readGroups, s.watchNeighbour, s.watchPlace}
	if s.exporter != nil {
		work = append(work, s.exporter.Run)
	}
	for _, f := range work {
		running.Go(func() { f(ctx) })
	}
	for _, f := range []func(context.Context) error{s.identify, s.awaitLocation} {
		running.Go(func() {
			if err := f(ctx); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	s.pipeline.Tick(time.Now()) // so that the store has all of what was read
	err := s.close()
	if cause := context.Cause(ctx); errors.Is(cause, errOtherCluster) || errors.Is(cause, errLocated) {
		return cause
	}
	return err
}

func (s *Sidecar) close() error {
	s.clients.close()
	err := s.meter.Shutdown(context.Background())
	if s.store == nil {
		return err
	}
	if closing := s.store.Close(); closing != nil {
		err = errors.Join(err, fmt.Errorf("close the store: %w", closing))
	}
	return err
}

// tick tells the pipeline the time.
func (s *Sidecar) tick(ctx context.Context) {
	for {
		again := s.pipeline.Tick(time.Now())
		s.logs.note(s.log, s.pipeline.View())
		timer := time.NewTimer(again)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-s.pipeline.Wake(): // something waits for the next commit
			timer.Stop()
		case <-timer.C:
		}
	}
}

// snapshotDir is where snapshots are kept while they are downloaded.
func (s *Sidecar) snapshotDir() string {
	if s.config.Store.Dir != "" {
		return filepath.Join(s.config.Store.Dir, "download")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("kraftside-%d", os.Getpid()))
}
