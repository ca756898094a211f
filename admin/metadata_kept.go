package admin

import (
	"sync/atomic"
	"time"

	"github.com/kraftside/kraftside/image"
)

// keptTopics are all topics as the last Metadata response of one version had them.
// They are kept while they are asked for, since dashboards ask every few seconds
// for all topics of a cluster that seldom changes.
type keptTopics struct {
	topics  *image.TopicsImage
	cluster *image.ClusterImage
	version int16
	encoded []byte
	asked   atomic.Int64 // Unix nanoseconds
}

// keepTopics is how long they are kept after they were asked for last.
const keepTopics = time.Minute

// keptTopics are those of the view, nil if there are none.
func (c *call) keptTopics() *keptTopics {
	k := c.Server.kept.Load()
	if k == nil || k.topics != c.view.Image.Topics() || k.cluster != c.view.Image.Cluster() || k.version != c.version {
		return nil
	}
	k.asked.Store(c.o.Now().UnixNano())
	return k
}

func (c *call) keepTopics(encoded []byte) {
	k := &keptTopics{topics: c.view.Image.Topics(), cluster: c.view.Image.Cluster(), version: c.version, encoded: encoded}
	k.asked.Store(c.o.Now().UnixNano())
	c.Server.kept.Store(k)
}

// forgetTopics drops what nobody has asked for lately.
func (s *Server) forgetTopics(now time.Time) {
	if k := s.kept.Load(); k != nil && now.UnixNano()-k.asked.Load() > int64(keepTopics) {
		s.kept.CompareAndSwap(k, nil)
	}
}
