package admin

import (
	"context"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/pause"
)

// ports are those that stand for a broker each.
type ports struct {
	mu   sync.Mutex
	open map[kafka.NodeID]int32
}

// of is the port of a broker: its own, or the main one if it has none. Without
// such ports it is that which the client has connected to.
func (p *ports) of(id kafka.NodeID, local, main int32) int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		return local
	}
	if port, ok := p.open[id]; ok {
		return port
	}
	return main
}

func (p *ports) set(id kafka.NodeID, port int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[id] = port
}

// has says whether the broker has its own port.
func (p *ports) has(id kafka.NodeID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.open[id]
	return ok
}

// lookForBrokers is how often brokers are looked for that have no port yet.
const lookForBrokers = time.Second

// listenForBrokers opens a port for each broker that is registered, on the host
// of the main one. A port that is in use is tried again.
func (s *Server) listenForBrokers(ctx context.Context, near net.Addr) {
	host, _, err := net.SplitHostPort(near.String())
	if err != nil {
		return // not a TCP listener: nobody can be told a port
	}
	s.ports.mu.Lock()
	s.ports.open = map[kafka.NodeID]int32{}
	s.ports.mu.Unlock()
	told := map[kafka.NodeID]bool{}
	for {
		for b := range s.o.View().Image.Cluster().Brokers() {
			if s.ports.has(b.ID) {
				continue
			}
			if err := s.listenFor(ctx, host, b.ID); err != nil && !told[b.ID] {
				told[b.ID] = true
				s.o.Log.Warn("admin endpoint: a broker has no port of its own", "broker", b.ID, "error", err, "again.in", lookForBrokers)
			}
		}
		if pause.For(ctx, lookForBrokers) != nil {
			return
		}
	}
}

func (s *Server) listenFor(ctx context.Context, host string, id kafka.NodeID) error {
	port := s.o.FirstPort + int(id)
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return err
	}
	s.ports.set(id, int32(port))
	s.running.Go(func() {
		if err := s.accept(ctx, l, id); err != nil {
			s.o.Log.Warn("admin endpoint", "broker", id, "error", err)
		}
	})
	return nil
}
