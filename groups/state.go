package groups

import (
	"maps"
	"slices"

	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/wire"
)

// group is everything that belongs to one group id.
type group struct {
	id   string
	kind Type // noType if there are only offsets
	// classic is nil for a simple group. modern is that of the other types.
	classic *classicGroup
	modern  *modernGroup
	// subscribed counts the reasons to subscribe to a topic.
	subscribed map[string]int32
	anomalies  *groupAnomalies
	view       *Group // what Freeze returned, nil if that is out of date

	offsets map[string]*topicOffsets
	pending int // offsets in open transactions
}

// simple says whether the group is one that committed offsets brought about,
// which gives way to a group of another type (ClassicGroup.isSimpleGroup).
func (g *group) simple() bool {
	return g.kind == Classic && (g.classic == nil || g.classic.ProtocolType == "" && len(g.classic.members) == 0)
}

// slot returns what belongs to the group id, made if needed.
func (s *Shard) slot(id string) *group {
	g := s.groups[id]
	if g == nil {
		g = &group{id: id}
		s.groups[id] = g
	}
	return g
}

// release forgets the group id if nothing is left of it.
func (s *Shard) release(g *group) {
	if g.kind == noType && len(g.offsets) == 0 && g.pending == 0 {
		delete(s.groups, g.id)
		s.lastGroup, s.lastOffsets = nil, nil
	}
}

// create makes a group of an id that has none.
func (s *Shard) create(g *group, kind Type) {
	g.kind = kind
	if kind != Classic {
		g.modern = newModernGroup(kind)
	}
	s.out.Change |= GroupCreated
	s.putGroup(g)
}

// changed notes that what Freeze returns is another.
func (s *Shard) changed(g *group) {
	g.view = nil
	s.out.Change |= GroupChanged
}

// remove removes the group, with its rows and all it subscribes to. Its
// offsets stay.
func (s *Shard) remove(g *group) {
	for _, topic := range slices.Sorted(maps.Keys(g.subscribed)) {
		g.subscribed[topic] = 1
		s.unsubscribe(g, topic)
	}
	switch {
	case g.modern != nil:
		s.dropModern(g)
	case g.classic != nil:
		s.dropRecord(s.key(record.TypeGroupMetadata, g.id))
	}
	s.drop(RowGroup, noProducer, s.idKey(g.id))
	g.kind, g.classic, g.modern, g.subscribed, g.anomalies, g.view = noType, nil, nil, nil, nil, nil
	s.out.Change = s.out.Change&OffsetsChanged | GroupRemoved
	s.release(g)
}

// putGroup writes the row that says that the group exists.
func (s *Shard) putGroup(g *group) {
	if s.restoring {
		return
	}
	start := len(s.keys)
	s.keys = append(s.keys, rowFormat, byte(g.kind))
	if g.anomalies == nil {
		s.keys = wire.AppendVarlong(s.keys, 0)
	} else {
		s.keys = wire.AppendVarlong(s.keys, g.anomalies.count)
		s.keys = g.anomalies.last.append(s.keys)
	}
	value := s.keys[start:len(s.keys):len(s.keys)]
	s.putOwn(RowGroup, s.idKey(g.id), value)
}

// idKey and key build the keys of effects in memory that lasts for one call.

func (s *Shard) idKey(id string) []byte {
	start := len(s.keys)
	s.keys = append(s.keys, id...)
	return s.keys[start:len(s.keys):len(s.keys)]
}

// key is the key of a record of a group: in all types it is the type and one
// or two strings.
func (s *Shard) key(t record.Type, parts ...string) []byte {
	start := len(s.keys)
	s.keys = wire.AppendInt16(s.keys, int16(t))
	for _, part := range parts {
		s.keys = append(wire.AppendInt16(s.keys, int16(len(part))), part...)
	}
	return s.keys[start:len(s.keys):len(s.keys)]
}
