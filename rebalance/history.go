package rebalance

import (
	"iter"
	"slices"
	"strings"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/topichash"
)

// history is what explanations need of the metadata log: the images in which a
// topic's hash may be another one than before, and what made coordinators drop
// hashes. It keeps all topics, not only those that a group subscribes to: a
// group may be read long after the metadata.
type history struct {
	limits Limits
	image  *image.MetadataImage // the newest
	// clock is the latest time that a record of the log was written at.
	clock int64
	// points are images, each of which differs from the one before; between
	// two of them no hash changes.
	points  []*point
	topics  map[string]*topicHistory
	brokers []brokerChange
	// births are the creations and deletions of topics.
	births    []birth
	elections map[int32][]election // by partition of __consumer_offsets

	order []*topicHistory // one for each touch that is kept, oldest first
	// complete is the offset from which on every touch is kept.
	complete kafka.Offset
	changes  int // counts what may let a bump be settled

	rows historyRows

	hasher  *topichash.Hasher
	scratch []kafka.NodeID
	cluster *image.ClusterImage // that racks was made of
	racks   *topichash.Racks
}

// point is an image that stays.
type point struct {
	image.Provenance
	image *image.MetadataImage
}

// topicHistory is what is known under one topic name.
type topicHistory struct {
	touches  []touch
	sources  []source  // records that can change the hash
	versions []version // oldest first; those up to the point seen
	seen     kafka.Offset
}

// touch is the first record of a delta that named a topic.
type touch struct {
	offset    kafka.Offset
	time      int64
	record    string
	partition int32
	effect    string // in words; empty: none that is told
}

// source is a record that can change the hash of a topic.
type source struct {
	offset    kafka.Offset
	time      int64
	record    string
	id        kafka.TopicID
	partition int32
}

// brokerChange is a record that moved a broker's rack.
type brokerChange struct {
	offset        kafka.Offset
	time          int64
	record        string
	broker        kafka.NodeID
	before, after *string
}

// birth is a topic's creation, or its deletion.
type birth struct {
	source
	topic   string
	deleted bool
}

// election is a leader of a partition of __consumer_offsets, which is a new
// coordinator of its groups.
type election struct {
	offset       kafka.Offset
	time         int64
	record       string
	leader, from kafka.NodeID
	epoch        kafka.Epoch
}

func newHistory(base *image.MetadataImage, l Limits, stored bool) *history {
	h := &history{limits: l, hasher: topichash.NewHasher(), rows: historyRows{wanted: stored}}
	h.restart(base)
	return h
}

// restart begins with an image, since nobody knows what happened before it.
func (h *history) restart(base *image.MetadataImage) {
	h.image, h.clock = base, base.Provenance().AppendTime
	h.points = []*point{{base.Provenance(), base}}
	h.topics = make(map[string]*topicHistory)
	h.elections = make(map[int32][]election)
	h.brokers, h.births, h.order = nil, nil, nil
	h.complete = base.Provenance().Offset
	h.changes++
	h.rows.restart()
}

// start is the first image.
func (h *history) start() *point { return h.points[0] }

// follow takes the next image.
func (h *history) follow(d *delta.Delta) {
	if d.IsSnapshot() {
		h.restart(d.Image())
		return
	}
	h.image = d.Image()
	at := h.image.Provenance()
	h.clock = max(h.clock, at.AppendTime)
	h.rows.begin(at)
	moved := timeoutsChanged(d)
	if h.followSources(d, at.AppendTime) || moved {
		h.rows.point(d)
		h.addPoint(&point{at, h.image})
	}
	h.rows.end()
}

// timeoutsChanged says whether a configuration is another one by which members
// may be removed: of a group, or of all brokers.
func timeoutsChanged(d *delta.Delta) bool {
	for range changedTimeouts(d) {
		return true
	}
	return false
}

// changedTimeouts yields the keys of such configurations that a delta sets.
func changedTimeouts(d *delta.Delta) iter.Seq[image.Config] {
	return func(yield func(image.Config) bool) {
		for _, edit := range d.PartEdits() {
			if c, ok := edit.Key.Config(); ok && hasTimeout(&c) && !yield(c) {
				return
			}
		}
	}
}

// differentTimeouts yields the keys of such configurations in which two images
// differ.
func differentTimeouts(a, b *image.MetadataImage) iter.Seq[image.Config] {
	return func(yield func(image.Config) bool) {
		if a.Configs() == b.Configs() {
			return
		}
		for _, m := range []*image.MetadataImage{a, b} {
			for c := range m.Configs().All() {
				was, before := a.Configs().Get(c.ConfigResource, c.Key)
				is, after := b.Configs().Get(c.ConfigResource, c.Key)
				if hasTimeout(&c) && (was != is || before != after) && !yield(c) {
					return
				}
			}
		}
	}
}

func hasTimeout(c *image.Config) bool { return c.Type == groupKind || c.Type == brokerConfig }

// followSources notes every record that matters; it says whether a hash may be
// another one.
func (h *history) followSources(d *delta.Delta, time int64) (moved bool) {
	touched := make(map[string]struct{}, 4)
	for s := range d.Sources() {
		h.changes++
		if s.Offset < 0 {
			s.Offset = d.Image().Provenance().Offset
		}
		if s.Broker != kafka.NoNode {
			if h.addBroker(d, &s, time) {
				moved = true
				clear(touched) // what follows comes after the rack
			}
			continue
		}
		if _, again := touched[s.Topic.Name]; !again {
			name := h.addTouch(d, &s, time)
			touched[name] = struct{}{}
		}
		if s.Assigns || s.Partition < 0 && s.Record != clearElr {
			moved = true
			h.addSource(&s, time)
		}
		if s.Elects && s.Topic.Name == kafka.OffsetsTopic {
			h.addElection(d, &s, time)
		}
	}
	return moved
}

const (
	clearElr    = "ClearElrRecord"
	topicRecord = "TopicRecord"
	removeTopic = "RemoveTopicRecord"
)

func (h *history) topic(name string) *topicHistory {
	t := h.topics[name]
	if t == nil {
		t = &topicHistory{seen: kafka.UnknownOffset}
		h.topics[strings.Clone(name)] = t
	}
	return t
}

func (h *history) addPoint(p *point) {
	h.points = append(h.points, p)
	if len(h.points) > h.limits.Images {
		h.forget(h.points[len(h.points)/4].Offset)
	}
}

// forget drops what came before the image of an offset, a good part at once:
// it looks at every topic.
func (h *history) forget(from kafka.Offset) {
	h.points = trim(h.points, func(p **point) bool { return (*p).Offset < from })
	h.brokers = trim(h.brokers, func(b *brokerChange) bool { return b.offset <= from })
	h.births = trim(h.births, func(b *birth) bool { return b.offset <= from })
	for partition, list := range h.elections {
		h.elections[partition] = trim(list, func(e *election) bool { return e.offset <= from })
	}
	for name, t := range h.topics {
		t.sources = trim(t.sources, func(s *source) bool { return s.offset <= from })
		if len(t.sources)+len(t.touches) == 0 {
			delete(h.topics, name) // its versions can be computed anew
		}
	}
}

// trim drops the first elements that are old.
func trim[E any](list []E, old func(*E) bool) []E {
	n := 0
	for n < len(list) && old(&list[n]) {
		n++
	}
	return slices.Delete(list, 0, n)
}

// addTouch notes the first record of a delta that names a topic, and returns
// the name as a string of its own.
func (h *history) addTouch(d *delta.Delta, s *delta.Source, time int64) string {
	name := strings.Clone(s.Topic.Name)
	row := touch{offset: s.Offset, time: time, record: s.Record, partition: s.Partition, effect: effectOf(d, s)}
	if h.rows.wanted {
		h.rows.change.touch(name, &row)
	}
	h.putTouch(name, row)
	return name
}

func (h *history) putTouch(name string, row touch) {
	t := h.topic(name)
	t.touches = append(t.touches, row)
	h.order = append(h.order, t)
	if len(h.order) > h.limits.Touches {
		oldest := h.order[0]
		h.order = h.order[1:]
		h.complete = max(h.complete, oldest.touches[0].offset+1)
		oldest.touches = oldest.touches[1:]
	}
}

func (h *history) addSource(s *delta.Source, time int64) {
	row := source{offset: s.Offset, time: time, record: s.Record, id: s.Topic.ID, partition: s.Partition}
	if h.rows.wanted {
		h.rows.change.source(s.Topic.Name, &row)
	}
	h.putSource(s.Topic.Name, row)
}

func (h *history) putSource(name string, row source) {
	t := h.topic(name)
	t.sources = append(t.sources, row)
	if row.record == topicRecord || row.record == removeTopic {
		h.births = append(h.births, birth{row, strings.Clone(name), row.record == removeTopic})
	}
}

// addBroker notes a registration that moved a rack.
func (h *history) addBroker(d *delta.Delta, s *delta.Source, time int64) bool {
	before, after := rackOf(d.Base(), s.Broker), rackOf(d.Image(), s.Broker)
	if before == nil && after == nil || before != nil && after != nil && *before == *after {
		return false
	}
	row := brokerChange{s.Offset, time, s.Record, s.Broker, before, after}
	if h.rows.wanted {
		h.rows.change.broker(&row)
	}
	h.brokers = append(h.brokers, row)
	return true
}

func rackOf(m *image.MetadataImage, id kafka.NodeID) *string {
	if b, ok := m.Cluster().Broker(id); ok {
		return b.Rack
	}
	return nil
}

func (h *history) addElection(d *delta.Delta, s *delta.Source, time int64) {
	var before, after image.Partition
	if t, ok := d.Base().Topics().ByID(s.Topic.ID); ok {
		if !t.Partition(s.Partition, &before) {
			before.Leader = kafka.NoNode
		}
	} else {
		before.Leader = kafka.NoNode
	}
	t, _ := d.Image().Topics().ByID(s.Topic.ID)
	if !t.Partition(s.Partition, &after) || after.Leader == kafka.NoNode {
		return
	}
	row := election{
		offset: s.Offset, time: time, record: s.Record, leader: after.Leader, from: before.Leader, epoch: after.LeaderEpoch,
	}
	if h.rows.wanted {
		h.rows.change.election(s.Partition, &row)
	}
	h.elections[s.Partition] = append(h.elections[s.Partition], row)
}

// asOf is the last point that was written by a time.
func (h *history) asOf(time int64) *point {
	last := h.points[0]
	for _, p := range h.points[1:] {
		if p.AppendTime > time {
			break
		}
		last = p
	}
	return last
}

// passed says whether the log is past a time, clocks that differ included.
func (h *history) passed(time int64) bool { return h.clock > time+Skew }
