package pipeline

import (
	"strconv"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/topichash"
)

// Levels of metadata.version that a broker supports tell its release.
const (
	supports41 = 26 // 4.1-IV0
	supports43 = 30 // 4.3-IV0
)

// assessDirty brings the groups up to date that were marked.
func (s *state) assessDirty() {
	for key := range s.dirty {
		s.assess(key)
	}
	clear(s.dirty)
}

func (s *state) assessAll() {
	for number := range s.shards {
		s.markShard(number)
	}
	s.assessDirty()
}

// assess makes the view of one group, if it is another one than before. Groups
// of a partition that is loading are not shown, or as they were before: what is
// known of them is not true of any time.
func (s *state) assess(key groupKey) {
	delete(s.waiting, key)
	sh := s.shards[key.partition]
	var g *groups.Group
	switch v, viewed := s.index.Get(key.group); {
	case sh == nil || sh.hidden:
	case !sh.kept:
		g = sh.Freeze(key.group)
	case viewed && v.Partition == key.partition:
		g = v.Group
	}
	if g == nil {
		s.forgetView(key)
		return
	}
	v := &Group{
		Group:       g,
		Partition:   key.partition,
		Coordinator: s.coordinators[key.partition].leader,
		Answer:      s.cache.Assess(s.question(sh, g)),
	}
	if v.Answer.Verdict == topichash.Pending || v.Answer.Verdict == topichash.Unknown {
		s.waiting[key] = struct{}{}
	}
	if old, ok := s.index.Get(key.group); ok && old.same(v) {
		return
	}
	s.published = false
	s.views.Set(key.group, v)
	s.index = s.index.Set(key.group, v)
	s.persistHash(v)
}

// forgetView removes a group, unless another partition has taken its id over.
func (s *state) forgetView(key groupKey) {
	if v, ok := s.index.Get(key.group); !ok || v.Partition != key.partition {
		return
	}
	s.published = false
	s.views.Delete(key.group)
	s.index = s.index.Delete(key.group)
	if s.Store != nil {
		s.Store.ForgetHash(key.group)
	}
}

// question is what the verdict of a group depends on.
func (s *state) question(sh *shard, g *groups.Group) topichash.Question {
	c := s.coordinators[sh.Partition()]
	q := topichash.Question{
		NoHash:   s.hasNoHash(sh.Partition(), g),
		Topics:   g.SubscribedTopics,
		Members:  len(g.Members) > 0,
		Loaded:   c.loaded.Offset,
		LoadedAt: c.loaded.AppendTime,
		Window:   s.window(g),
		Now:      milliseconds(s.asOf(sh)),
	}
	if g.Hash != nil {
		q.Stored, q.Hash, q.Time = true, g.Hash.Value, g.Hash.Timestamp
	}
	return q
}

// hasNoHash says whether there is nothing to compare: Kafka 4.0 stores none,
// and 4.1 writes a zero when a member leaves a streams group.
func (s *state) hasNoHash(partition int32, g *groups.Group) bool {
	if g.Type == groups.Classic || g.Hash != nil && g.Hash.None {
		return true
	}
	release := s.coordinatorSupports(partition)
	if release > 0 && release < supports41 {
		return true
	}
	// What the broker supports does not tell 4.1 here: its streams groups take
	// unstable.feature.versions.enable, by which it supports levels of 4.2. Its
	// records do: they lack the assignment's configurations.
	return g.Type == groups.Streams && g.Hash != nil && g.Hash.Value == 0 && len(g.Streams.AssignmentConfigs) == 0
}

// coordinatorSupports is the highest metadata.version that the coordinator's
// broker supports, which tells its release; 0 if it is not known.
func (s *state) coordinatorSupports(partition int32) int16 {
	b, ok := s.image().Cluster().Broker(s.coordinators[partition].leader)
	if !ok {
		return 0
	}
	for _, f := range b.Features {
		if f.Name == image.MetadataVersionFeature {
			return f.Max
		}
	}
	return 0
}

// newGroupEpoch is the epoch of a group that has no record of one: the rule
// changed in Kafka 4.3.
func (s *state) newGroupEpoch(partition int32) int32 {
	if s.coordinatorSupports(partition) >= supports43 {
		return 1
	}
	return 0
}

// applyVersion applies the rules of the release that the coordinator has now.
func (s *state) applyVersion(partition int32) {
	sh := s.shards[partition]
	if sh == nil {
		return
	}
	release := s.coordinatorSupports(partition)
	changed := sh.SetNewGroupEpoch(s.newGroupEpoch(partition)) > 0 || sh.release != release
	sh.release = release
	if changed {
		s.markShard(partition)
	}
}

// followVersions applies the rules of a broker's release when it registers
// anew, as it does after an upgrade.
func (s *state) followVersions(d *delta.Delta) {
	if d.Base().Cluster() == d.Image().Cluster() {
		return
	}
	for number := range s.shards {
		s.applyVersion(number)
	}
}

// Defaults of Kafka 4.4, in milliseconds.
const (
	defaultSessionTimeout    = 45_000
	defaultHeartbeatInterval = 5_000
)

// window is how long members may take to make the coordinator compare: two
// heartbeats, or the session timeout if that is longer. What only a broker's
// own file configures is not known here; the defaults stand for it.
func (s *state) window(g *groups.Group) int64 {
	heartbeat := s.groupConfig(g, "heartbeat.interval.ms", defaultHeartbeatInterval)
	session := s.groupConfig(g, "session.timeout.ms", defaultSessionTimeout)
	return max(2*heartbeat, session)
}

const (
	brokerConfig int8 = 4
	groupConfig  int8 = 32
)

// groupConfig is a dynamic configuration: the group's own, or the brokers'
// default.
func (s *state) groupConfig(g *groups.Group, key string, otherwise int64) int64 {
	name := g.Type.String() + "." + key
	configs := s.image().Configs()
	value, ok := configs.Get(image.ConfigResource{Type: groupConfig, Name: g.ID}, name)
	if !ok {
		value, ok = configs.Get(image.ConfigResource{Type: brokerConfig}, "group."+name)
	}
	if n, err := strconv.ParseInt(value, 10, 64); ok && err == nil {
		return n
	}
	return otherwise
}
