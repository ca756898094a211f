package admin

import (
	"net"

	"github.com/kraftside/kraftside/internal/kafka"
)

// address is where clients are to ask a broker: a sidecar beside it, if
// sidecars speak for their brokers; else here, at the port that stands for it,
// if it has one.
func (c *call) address(id kafka.NodeID) (host string, port int32) {
	if c.o.Peer != nil {
		if b, ok := c.view.Image.Cluster().Broker(id); ok {
			return c.o.Peer(b)
		}
	}
	local, ok := c.local.(*net.TCPAddr)
	if !ok {
		return "", -1
	}
	return local.IP.String(), c.ports.of(id, int32(local.Port), c.main)
}
