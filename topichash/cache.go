package topichash

import (
	"iter"
	"maps"
	"slices"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
)

// Cache holds the hashes of those topics of the newest image that some group
// subscribes to, and for each the versions that it had, as far back as a
// coordinator may still have one of them in its own cache.
//
// It follows the cache of the coordinator (GroupMetadataManager.topicHashCache)
// in what it drops: a topic that a record names, a topic id that is deleted, a
// topic whose last subscriber leaves. Beyond that it drops a topic whose racks
// moved with a broker's registration, which the coordinator does not: a hash
// here always equals a fresh one.
//
// A Cache belongs to one goroutine.
type Cache struct {
	scheme  Scheme
	image   *image.MetadataImage
	cluster *image.ClusterImage // that racks was made of
	racks   *Racks
	hasher  *Hasher
	topics  map[string]*Topic
	changed map[string]struct{} // topics whose Topic changed since TakeChanged
	stats   Stats

	replicas []kafka.NodeID // scratch
}

// Stats counts what the cache did, from its start.
type Stats struct{ Hits, Misses, Evictions int64 }

// Topic is what is known of the hash of one subscribed topic.
type Topic struct {
	Name string
	// Subscribers is the number of groups, counted once for each Subscribe.
	Subscribers int
	// Since is the first metadata offset from which Versions is complete.
	Since kafka.Offset
	// Touched is the last record that named the topic, which made every live
	// coordinator drop its hash; its Offset is kafka.UnknownOffset if there was
	// none since Since.
	Touched image.Provenance
	// Versions are the hashes the topic had, oldest first, the newest last. At
	// least one is there once the topic was asked for.
	Versions []Version

	fresh bool // the newest version is that of the newest image
}

// Version is a hash, and the metadata record that made it so.
type Version struct {
	From image.Provenance
	// Exists is false while there is no topic of the name; Hash is 0 then and
	// no part of a group's hash.
	Exists bool
	Hash   int64
}

// maxVersions bounds the versions of a topic: the oldest is forgotten first.
const maxVersions = 32

// NewCache returns a cache that computes in the given scheme over base.
func NewCache(scheme Scheme, base *image.MetadataImage) *Cache {
	return &Cache{
		scheme:  scheme,
		image:   base,
		hasher:  NewHasher(),
		topics:  make(map[string]*Topic),
		changed: make(map[string]struct{}),
	}
}

// Image is the newest image that the cache was told of.
func (c *Cache) Image() *image.MetadataImage { return c.image }

// Stats counts what the cache did.
func (c *Cache) Stats() Stats { return c.stats }

// Len is the number of topics in the cache.
func (c *Cache) Len() int { return len(c.topics) }

// Subscribe notes that one more group subscribes to the name, whether or not
// there is such a topic. Its history begins with the newest image.
func (c *Cache) Subscribe(name string) {
	t := c.topics[name]
	if t == nil {
		t = &Topic{Name: name, Since: c.image.Provenance().Offset, Touched: never}
		c.topics[name] = t
	}
	t.Subscribers++
}

// never is a Touched that did not happen.
var never = image.Provenance{Offset: kafka.UnknownOffset, Epoch: kafka.UnknownEpoch}

// Unsubscribe is the inverse of Subscribe. With its last group a topic and its
// history are dropped, as the coordinator drops them.
func (c *Cache) Unsubscribe(name string) {
	t := c.topics[name]
	if t == nil {
		return
	}
	if t.Subscribers--; t.Subscribers > 0 {
		return
	}
	delete(c.topics, name)
	c.changed[name] = struct{}{}
}

// OnMetadataUpdate drops what the delta makes untrue, and returns the names of
// the subscribed topics that it touched or deleted: a coordinator marks their
// groups for refresh (the KIP's requestMetadataRefresh). A snapshot begins the
// history anew, since nobody knows what happened before it.
func (c *Cache) OnMetadataUpdate(d *delta.Delta) (touched []string) {
	if !d.IsSnapshot() {
		c.keepOld(d)
	}
	c.image = d.Image()
	at := c.image.Provenance()
	if d.IsSnapshot() {
		c.restart(at)
		return slices.Collect(maps.Keys(c.topics))
	}
	for _, gone := range d.DeletedTopics() {
		if c.evict(gone.Name, at) {
			touched = append(touched, gone.Name)
		}
	}
	for t := range d.TouchedTopics() {
		if c.evict(t.Name(), at) {
			touched = append(touched, t.Name())
		}
	}
	if d.RacksMoved() {
		for _, t := range c.topics {
			t.fresh = false
			c.refresh(t)
		}
	}
	slices.Sort(touched)
	return slices.Compact(touched)
}

// keepOld computes, in the image that the delta changes, the hashes that it may
// make untrue and nobody has asked for yet: a group that is being loaded asks
// late, and may have stored one of them.
func (c *Cache) keepOld(d *delta.Delta) {
	keep := func(name string) {
		if t := c.topics[name]; t != nil && len(t.Versions) == 0 {
			c.refresh(t)
		}
	}
	if d.RacksMoved() {
		for name := range c.topics {
			keep(name)
		}
		return
	}
	for _, gone := range d.DeletedTopics() {
		keep(gone.Name)
	}
	for t := range d.TouchedTopics() {
		keep(t.Name())
	}
}

// evict drops the hash of a subscribed topic. Its new version is computed at
// once, since groups may need it to tell what a coordinator stored: a version
// that no image holds any more could not be computed later.
func (c *Cache) evict(name string, at image.Provenance) bool {
	t := c.topics[name]
	if t == nil {
		return false
	}
	c.stats.Evictions++
	t.fresh, t.Touched = false, at
	c.changed[t.Name] = struct{}{}
	c.refresh(t)
	return true
}

// restart begins the history of every topic with the newest image.
func (c *Cache) restart(at image.Provenance) {
	for _, t := range c.topics {
		t.Since, t.Touched, t.Versions, t.fresh = at.Offset, never, nil, false
		c.changed[t.Name] = struct{}{}
	}
}

// Topic returns what is known of a subscribed topic, computing its hash if it
// was dropped; false if no group subscribes to it. The Topic must not be
// changed, and is valid until the next call of a method that changes the cache.
func (c *Cache) Topic(name string) (*Topic, bool) {
	t := c.topics[name]
	if t == nil {
		return nil, false
	}
	if t.fresh {
		c.stats.Hits++
	} else {
		c.refresh(t)
	}
	return t, true
}

// refresh computes the hash in the newest image. It is a new version if it is
// another one than before.
func (c *Cache) refresh(t *Topic) {
	c.stats.Misses++
	v := Version{From: c.image.Provenance()}
	v.Hash, v.Exists = c.Hash(c.scheme, t.Name)
	t.fresh = true
	if n := len(t.Versions); n > 0 && t.Versions[n-1].Hash == v.Hash && t.Versions[n-1].Exists == v.Exists {
		return
	}
	if len(t.Versions) == maxVersions {
		t.Versions = slices.Delete(t.Versions, 0, 1)
		t.Since = t.Versions[0].From.Offset
	}
	t.Versions = append(t.Versions, v)
	c.changed[t.Name] = struct{}{}
}

// Hash computes a topic's hash in the newest image, whether or not anybody
// subscribes to it; false if there is no such topic, or none that has a hash.
func (c *Cache) Hash(scheme Scheme, name string) (int64, bool) {
	topic, ok := c.image.Topics().ByName(name)
	if !ok {
		return 0, false
	}
	if c.cluster != c.image.Cluster() {
		c.cluster = c.image.Cluster()
		c.racks = RacksOf(c.cluster)
	}
	hash, err := HashTopic(c.hasher, scheme, c.racks, topic, &c.replicas)
	return hash, err == nil
}

// Names yields the names of the topics in the cache.
func (c *Cache) Names() iter.Seq[string] { return maps.Keys(c.topics) }

// Changed yields the names that TakeChanged will return.
func (c *Cache) Changed() iter.Seq[string] { return maps.Keys(c.changed) }

// GroupHash is the hash of a group that subscribes to the topics, in the
// newest image. Topics that do not exist are left out.
func (c *Cache) GroupHash(topics iter.Seq[string]) int64 {
	var named []NamedHash
	for name := range topics {
		t, ok := c.Topic(name)
		if !ok {
			continue
		}
		if v := t.Newest(); v.Exists {
			named = append(named, NamedHash{name, v.Hash})
		}
	}
	return c.hasher.Group(c.scheme, named)
}

// Newest is the version of the newest image.
func (t *Topic) Newest() Version { return t.Versions[len(t.Versions)-1] }

// RacksOf returns the racks of the registered brokers, fenced ones included.
func RacksOf(cluster *image.ClusterImage) *Racks {
	return NewRacks(func(yield func(kafka.NodeID, string) bool) {
		for b := range cluster.Brokers() {
			if b.Rack != nil && !yield(b.ID, *b.Rack) {
				return
			}
		}
	})
}

// HashTopic computes the hash of a topic. The memory of scratch is used again.
func HashTopic(h *Hasher, scheme Scheme, racks *Racks, t image.Topic, scratch *[]kafka.NodeID) (int64, error) {
	n := int32(t.NumPartitions())
	h.Begin(scheme, racks, t.ID(), t.Name(), n)
	walk := t.Replicas()
	for p := range n {
		replicas, ok := walk.Next((*scratch)[:0])
		*scratch = replicas
		if !ok {
			return 0, ErrPartitionGap
		}
		h.Partition(p, replicas)
	}
	return h.Sum()
}
