package admin

import (
	"maps"
	"net"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
)

// call is one request under way. It belongs to one goroutine.
type call struct {
	*Server
	view    *pipeline.View
	fresh   freshness
	version int16
	// broker is the one that the connection stands for; kafka.NoNode: it
	// stands for the whole cluster.
	broker kafka.NodeID
	// local is where the client has connected to, remote where it is.
	local, remote net.Addr
	session       *session
	entries       *aclIndex // nil until they are needed, as who is empty
	who           asking
	ids           nodeIDs      // of the response
	brokers       *brokerTable // nil until it is needed
	named         struct {     // the topic that was looked for last
		id   kafka.TopicID
		name string
	}
	// offsetsPartitions is how many partitions the groups' log has; 0 until it is
	// needed.
	offsetsPartitions int32
}

// newCall is a request on a connection that stands for a broker or for
// kafka.NoNode. Where sidecars speak each for its broker, it stands for ours.
func (s *Server) newCall(version int16, broker kafka.NodeID, local, remote net.Addr, session *session) *call {
	v := s.o.View()
	if s.o.Peer != nil {
		broker = v.NodeID
	}
	return &call{
		Server: s, view: v, fresh: s.tracker.observe(v, s.o.Now()),
		version: version, broker: broker, local: local, remote: remote, session: session,
	}
}

// registered is the registration of a broker; nil if there is none.
func (c *call) registered(id kafka.NodeID) *image.Broker {
	if c.brokers == nil {
		c.brokers = newBrokerTable(c.view.Image.Cluster())
	}
	return c.brokers.registered(id)
}

// question is what a request asks, on this connection.
func (c *call) question(q kmsg.Request) question {
	return question{version: c.version, broker: c.broker, request: string(q.AppendTo(nil))}
}

// authenticated says whether the client has proved who it is.
func (c *call) authenticated() bool { return c.session.principal != anonymous }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
