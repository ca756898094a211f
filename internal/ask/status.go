package ask

import (
	"cmp"
	"context"
	"slices"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/web/api"
)

// Status is how the first server stands that answers, with its peers. The
// other servers stand among the peers, the ones with scope all as broker -1.
func (c *Client) Status(ctx context.Context) (*api.Status, error) {
	if err := c.oneCluster(ctx); err != nil {
		return nil, err
	}
	results := each(ctx, c, func(ctx context.Context, s *server) (*named, error) {
		n := &named{host: s.base.Hostname()}
		_, err := c.get(ctx, s, "/status", nil, &n.Status)
		return n, err
	})
	all, silent, err := split(results)
	if err != nil {
		return nil, err
	}
	status := all[0].Status
	for _, other := range all[1:] {
		status.Peers = append(status.Peers, other.Peer(other.broker(), other.host))
		status.Peers = append(status.Peers, other.Peers...)
		status.Merge(&other.Status)
	}
	status.Peers = distinct(status.Peers, all[0].broker())
	status.Missing = slices.DeleteFunc(status.Missing, func(m api.Missing) bool {
		return slices.ContainsFunc(status.Peers, func(p api.PeerStatus) bool { return p.Broker == m.Broker })
	})
	status.Missing = append(status.Missing, silent...)
	return &status, nil
}

// named is a status with the host that was asked for it.
type named struct {
	api.Status
	host string
}

func (n *named) broker() kafka.NodeID {
	if n.NodeID == nil {
		return kafka.NoNode
	}
	return *n.NodeID
}

// distinct are the peers by broker, without the one that lists them.
func distinct(peers []api.PeerStatus, own kafka.NodeID) []api.PeerStatus {
	peers = slices.DeleteFunc(peers, func(p api.PeerStatus) bool { return own != kafka.NoNode && p.Broker == own })
	slices.SortStableFunc(peers, func(a, b api.PeerStatus) int { return cmp.Compare(a.Broker, b.Broker) })
	return slices.CompactFunc(peers, func(a, b api.PeerStatus) bool {
		return a.Broker == b.Broker && (a.Broker != kafka.NoNode || a.Host == b.Host)
	})
}
