package sidecar

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/pause"
	"github.com/kraftside/kraftside/web/api"
)

// How often to look where the neighbour broker is: soon again while it is not
// registered, and from time to time since it may be registered anew.
const (
	placeSoon     = 5 * time.Second
	placeInterval = time.Minute
	lookupTimeout = 2 * time.Second
)

// watchPlace looks whether the neighbour broker is on this host, as far as that can
// be told: a node id that was made of a pod's name by a wrong rule would have this
// process speak for another broker.
func (s *Sidecar) watchPlace(ctx context.Context) {
	if s.node == kafka.NoNode {
		return
	}
	p := placing{lookup: net.DefaultResolver.LookupNetIP, here: localAddresses}
	for again := placeSoon; ; {
		if cluster := s.View().Image.Cluster(); registered(cluster, s.node) {
			again = placeInterval
			s.misplaced.Store(p.problem(ctx, cluster, s.node))
		}
		if pause.For(ctx, again) != nil {
			return
		}
	}
}

func registered(cluster *image.ClusterImage, id kafka.NodeID) bool {
	_, ok := cluster.Broker(id)
	return ok
}

// placing finds out which broker is on this host.
type placing struct {
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
	here   func() []netip.Addr
}

// problem is nil if the broker with the id is here, or if none is.
func (p placing) problem(ctx context.Context, cluster *image.ClusterImage, id kafka.NodeID) *api.Reason {
	here := map[netip.Addr]bool{}
	for _, a := range p.here() {
		here[a.Unmap()] = true
	}
	own, _ := cluster.Broker(id)
	if p.isHere(ctx, own, func(a netip.Addr) bool { return here[a] || a.IsLoopback() }) {
		return nil
	}
	where := "no address"
	if len(own.EndPoints) > 0 {
		where = own.EndPoints[0].Host
	}
	for b := range cluster.Brokers() {
		if b.ID != id && p.isHere(ctx, b, func(a netip.Addr) bool { return here[a] && !a.IsLoopback() }) {
			return &api.Reason{
				What: fmt.Sprintf("node-id is %d, but broker %d is at %s, and broker %d is on this host", id, id, where, b.ID),
				Do:   "correct node-id: until then this process speaks for the groups of another broker",
			}
		}
	}
	return nil
}

// isHere says whether one of the addresses of a broker is.
func (p placing) isHere(ctx context.Context, b *image.Broker, is func(netip.Addr) bool) bool {
	for _, e := range b.EndPoints {
		limited, cancel := context.WithTimeout(ctx, lookupTimeout)
		addresses, err := p.lookup(limited, "ip", e.Host)
		cancel()
		for _, a := range addresses {
			if err == nil && is(a.Unmap()) {
				return true
			}
		}
	}
	return false
}

// localAddresses are those of this host; none if they cannot be told.
func localAddresses() (all []netip.Addr) {
	list, _ := net.InterfaceAddrs() // without them nothing is found to be wrong
	for _, a := range list {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			all = append(all, prefix.Addr())
		}
	}
	return all
}
