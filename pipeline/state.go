package pipeline

import (
	"time"

	"github.com/benbjohnson/immutable"
	"github.com/tidwall/btree"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/history"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/image/loader"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/rebalance"
	"github.com/kraftside/kraftside/store"
	"github.com/kraftside/kraftside/topichash"
)

// state is everything that the writer changes.
type state struct {
	Options
	loader       *loader.Loader
	cache        *topichash.Cache
	explainer    *rebalance.Explainer
	history      *history.Log
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
	// held are topics that this state subscribes to, besides the shards, each
	// as often as it is named. A partition that is loading may come to
	// subscribe to them, and until then they must not lose their history.
	held []string

	// What views are made of.
	views   *btree.Map[string, *Group]
	index   *immutable.Map[string, *Group] // the same, for who looks for many
	touched *btree.Map[string, image.Provenance]
	// rebalances of each group, newest first.
	rebalances *btree.Map[string, []*rebalance.Rebalance]
	states     []*rebalance.Rebalance // new ones of this slice
	// changes of the metadata, by the offset of their image, and new ones of
	// this slice.
	changes *btree.Map[kafka.Offset, *history.Entry]
	entries []*history.Entry
	untold  []untold
	outbox  []*due // in the order in which they came
	swept   int    // its length after the last sweep
	// goesOn: what was read last belongs to a load, and the store is given it
	// with what follows. unended is how many records of groups it has not been
	// given the rebalances of.
	goesOn    bool
	unended   int
	progress  metadatalog.Progress
	refused   error // why the metadata tail stands still
	published bool  // nothing changed since the last view
	stats     Stats
}

// shard is a partition of __consumer_offsets.
type shard struct {
	*groups.Shard
	at       offsetslog.Position
	seen     time.Time // when at was last known to be its end, or the load began
	known    time.Time // until when its groups were known when progress was set
	progress offsetslog.Progress
	// hidden: the partition is read from its start, and what is known of it
	// was not true at any time.
	hidden bool
	// again: the store holds nothing of the partition, which is to be read from
	// its start for that alone.
	again bool
	// kept: the partition is read back to where it was before, and its groups
	// are shown as they were then.
	kept bool
	// checked is how far the records were told to OnCheck, and explained how
	// far to bumps: those before were read already.
	checked   kafka.Offset
	explained kafka.Offset
	release   int16 // coordinatorSupports, as last looked at
	// bumps takes the records for explaining them, beside the shard.
	bumps *rebalance.Partition
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
		index:        immutable.NewMap[string, *Group](nil),
		touched:      &btree.Map[string, image.Provenance]{},
		rebalances:   &btree.Map[string, []*rebalance.Rebalance]{},
		history:      history.New(history.DefaultLimits),
		changes:      &btree.Map[kafka.Offset, *history.Entry]{},
		progress:     metadatalog.Progress{Leader: kafka.NoNode, HighWatermark: kafka.UnknownOffset},
	}
	if o.ClusterID == "" && o.Store != nil {
		o.ClusterID = o.Store.ClusterID()
	}
	s.explainer = rebalance.New(base, rebalance.Options{
		ClusterID: o.ClusterID, Stored: o.Store != nil, OnBegin: s.onBegin,
		OnChange: func(r *rebalance.Rebalance) { s.states = append(s.states, r) },
	})
	s.loader = loader.New(base, loader.Options{Unknown: o.Unknown, OnSkip: s.skipped, Publishers: []loader.Publisher{s}})
	return s
}

func newShard(g *groups.Shard) *shard {
	return &shard{Shard: g, at: nowhere, progress: offsetslog.Progress{End: kafka.UnknownOffset, Loading: true}}
}

// putShard makes a shard that of its partition. If another one is in its place,
// its groups stay in view as they are, and its topics keep their history, until
// the new one has been read to its end.
func (s *state) putShard(sh *shard) *shard {
	number := sh.Partition()
	old := s.shards[number]
	sh.bumps = s.explainer.Partition(sh.at.TopicID, sh.Shard, sh.at.Offset)
	s.shards[number] = sh
	for _, topic := range sh.SubscribedTopics() {
		s.cache.Subscribe(topic)
	}
	if old != nil {
		sh.hidden, sh.kept, sh.checked = old.hidden, !old.hidden, max(old.checked, old.at.Offset)
		sh.explained = max(old.explained, sh.checked)
		sh.known = s.asOf(old)
		s.held = append(s.held, old.SubscribedTopics()...)
	}
	s.published = false
	return sh
}

// release lets go what is held, once every partition is loaded.
func (s *state) release() {
	if len(s.held) == 0 || s.loading() {
		return
	}
	for _, topic := range s.held {
		s.cache.Unsubscribe(topic)
	}
	s.held = nil
}

// loading says whether a partition is loading, or will be.
func (s *state) loading() bool {
	for _, sh := range s.shards {
		if sh.progress.Loading {
			return true
		}
	}
	for _, number := range s.assignment.Partitions {
		if s.shards[number] == nil {
			return true
		}
	}
	return !s.assignment.Known
}

// nowhere is the position of a partition of which nothing is known.
var nowhere = offsetslog.Position{Offset: kafka.UnknownOffset, Epoch: kafka.UnknownEpoch}

// seenInterval is how often the store is told of partitions at whose end nothing
// happens that this is still their end, of which sources say nothing: a restart
// takes for unknown what came later.
const seenInterval = time.Minute

func (s *state) tick(now time.Time) {
	s.now = now
	s.expire()
	for _, sh := range s.shards {
		if sh.isRead() && now.Sub(sh.seen) >= seenInterval {
			s.see(sh)
		}
	}
	for key := range s.waiting {
		s.dirty[key] = struct{}{}
	}
}
