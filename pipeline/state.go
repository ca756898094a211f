package pipeline

import (
	"time"

	"github.com/tidwall/btree"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/image/loader"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/store"
	"github.com/kraftside/kraftside/topichash"
)

// state is everything that the writer changes.
type state struct {
	Options
	loader       *loader.Loader
	cache        *topichash.Cache
	shards       map[int32]*shard
	coordinators map[int32]coordinator
	assignment   offsetslog.Assignment
	now          time.Time // of the last tick
	storeWait    time.Duration

	// dirty groups are assessed at the end of the slice, waiting ones again at
	// every tick: their verdict depends on the time.
	dirty   map[groupKey]struct{}
	waiting map[groupKey]struct{}

	unsettled []unsettled
	setAside  *store.Warning // that was not told yet, or nil

	// What views are made of.
	views     *btree.Map[string, *Group]
	touched   *btree.Map[string, image.Provenance]
	progress  metadatalog.Progress
	refused   error // why the metadata tail stands still
	published bool  // nothing changed since the last view
	stats     Stats
}

// shard is a partition of __consumer_offsets.
type shard struct {
	*groups.Shard
	at       offsetslog.Position
	seen     time.Time // when at was last known to be the end of the partition
	progress offsetslog.Progress
	// hidden: the partition is read from its start, and what is known of it
	// was not true at any time.
	hidden  bool
	release int16 // coordinatorSupports, as last looked at
}

type groupKey struct {
	partition int32
	group     string
}

// emptyState is that of a cluster of which nothing is known.
func emptyState(o Options) *state { return newState(o, image.Empty()) }

func newState(o Options, base *image.MetadataImage) *state {
	s := &state{
		Options:      o,
		cache:        topichash.NewCache(topichash.Kafka, base),
		shards:       make(map[int32]*shard),
		coordinators: make(map[int32]coordinator),
		dirty:        make(map[groupKey]struct{}),
		waiting:      make(map[groupKey]struct{}),
		views:        &btree.Map[string, *Group]{},
		touched:      &btree.Map[string, image.Provenance]{},
		progress:     metadatalog.Progress{Leader: kafka.NoNode, HighWatermark: kafka.UnknownOffset},
	}
	s.loader = loader.New(base, loader.Options{Unknown: o.Unknown, OnSkip: s.skipped, Publishers: []loader.Publisher{s}})
	return s
}

func (s *state) addShard(g *groups.Shard) *shard {
	sh := &shard{Shard: g, at: nowhere, progress: offsetslog.Progress{End: kafka.UnknownOffset, Loading: true}}
	s.shards[g.Partition()] = sh
	for _, topic := range g.SubscribedTopics() {
		s.cache.Subscribe(topic)
	}
	return sh
}

// nowhere is the position of a partition of which nothing is known.
var nowhere = offsetslog.Position{Offset: kafka.UnknownOffset, Epoch: kafka.UnknownEpoch}

func (s *state) tick(now time.Time) {
	s.now = now
	for key := range s.waiting {
		s.dirty[key] = struct{}{}
	}
}
