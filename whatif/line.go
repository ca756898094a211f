package whatif

import (
	"slices"

	"github.com/kraftside/kraftside/topichash"
)

// lineKey names the hashes of a topic through a plan.
type lineKey struct {
	topic string
	// plain leaves racks out, as a coordinator of Kafka 4.0 does, which
	// compares ids and numbers of partitions.
	plain bool
}

// line is what a topic's hash is in each image of a plan.
type line struct {
	versions []version
	at       []int // index of versions, for each image
}

// version is a hash that a topic has, or that a coordinator holds of it.
type version struct {
	exists bool
	hash   int64 // made up where open
	open   bool
}

// line computes the hashes of a topic, again only where they may have changed.
func (p *Plan) line(key lineKey) *line {
	if l := p.lines[key]; l != nil {
		return l
	}
	l := &line{versions: []version{p.version(key, 0)}, at: make([]int, len(p.images))}
	for i := range p.steps {
		l.at[i+1] = l.at[i]
		if s := &p.steps[i]; s.touches(key.topic) || s.racks {
			l.at[i+1] = l.add(p.version(key, i+1))
		}
	}
	p.lines[key] = l
	return l
}

func (l *line) add(v version) int {
	if i := slices.Index(l.versions, v); i >= 0 {
		return i
	}
	l.versions = append(l.versions, v)
	return len(l.versions) - 1
}

// version computes the hash of a topic in an image.
func (p *Plan) version(key lineKey, image int) version {
	t, ok := p.images[image].Topics().ByName(key.topic)
	if !ok {
		return version{}
	}
	racks := noRacks
	if !key.plain {
		racks = p.racksOf(image)
	}
	hash, err := topichash.HashTopic(p.hasher, topichash.Kafka, racks, t, &p.scratch)
	o, open := p.open[key.topic]
	return version{exists: err == nil, hash: hash, open: open && image >= o.from}
}

var noRacks = topichash.NewRacks(func(func(id nodeID, rack string) bool) {})

func (p *Plan) racksOf(image int) *topichash.Racks {
	if p.racks[image] == nil {
		p.racks[image] = topichash.RacksOf(p.images[image].Cluster())
	}
	return p.racks[image]
}

func (s *step) touches(topic string) bool {
	_, ok := s.touched[topic]
	return ok
}

func (s *step) moves(partition int32) bool {
	_, ok := s.moved[partition]
	return ok || s.upgrade
}
