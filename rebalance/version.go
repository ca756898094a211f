package rebalance

import (
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/topichash"
)

// version is a hash that a topic had from one image on.
type version struct {
	from *point
	// exists is false while there is no topic of the name, or one that has no
	// hash.
	exists bool
	hash   int64
	topic  image.Topic
}

// versionsOf are the hashes of a topic, as far as points go, computed as they
// are asked for.
func (h *history) versionsOf(name string) []version {
	t := h.topic(name)
	for len(t.versions) > 1 && t.versions[1].from.Offset <= h.start().Offset {
		t.versions = t.versions[1:]
	}
	for _, p := range h.points {
		if p.Offset > t.seen || len(t.versions) == 0 {
			h.addVersion(t, name, p)
			t.seen = p.Offset
		}
	}
	return t.versions
}

// addVersion adds the version of a point, unless it is the one before.
func (h *history) addVersion(t *topicHistory, name string, p *point) {
	v := version{from: p}
	topic, found := p.image.Topics().ByName(name)
	if n := len(t.versions); n > 0 && h.unchanged(t, p, topic, found) {
		return
	}
	if found {
		v.topic = topic
		v.hash, v.exists = h.hash(p.image, topic)
	}
	if n := len(t.versions); n > 0 && t.versions[n-1].exists == v.exists && t.versions[n-1].hash == v.hash {
		return
	}
	t.versions = append(t.versions, v)
}

// unchanged says without hashing that a topic is what it was.
func (h *history) unchanged(t *topicHistory, p *point, topic image.Topic, found bool) bool {
	last := &t.versions[len(t.versions)-1]
	if !found {
		return !last.exists
	}
	return last.exists && last.topic.SameRows(topic) && last.from.image.Cluster() == p.image.Cluster()
}

func (h *history) hash(m *image.MetadataImage, t image.Topic) (int64, bool) {
	if h.cluster != m.Cluster() {
		h.cluster = m.Cluster()
		h.racks = topichash.RacksOf(h.cluster)
	}
	hash, err := topichash.HashTopic(h.hasher, topichash.Kafka, h.racks, t, &h.scratch)
	return hash, err == nil
}

// inEffect is the index of the version that a topic had at an offset.
func inEffect(versions []version, offset kafka.Offset) (index int) {
	for i := range versions {
		if versions[i].from.Offset > offset {
			break
		}
		index = i
	}
	return index
}
