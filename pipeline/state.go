package pipeline

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/btree"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/image/loader"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog"
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

// restoredState goes on from what the store holds.
func restoredState(o Options) (*state, error) {
	if o.Store == nil {
		return emptyState(o), nil
	}
	held := o.Store.Durable()
	base := image.Empty()
	if held.Metadata.Offset != kafka.UnknownOffset {
		var err error
		if base, err = o.Store.LoadImage(); err != nil {
			return nil, err
		}
	}
	s := newState(o, base)
	s.findCoordinators(base.Provenance())
	for number := range held.Partitions {
		if err := s.restoreShard(number); err != nil {
			return nil, err
		}
	}
	return s, s.restoreModel()
}

// restoreShard reads a partition back from the store, if it holds one.
func (s *state) restoreShard(number int32) error {
	var restored *groups.Shard
	at, ok, err := s.Store.LoadGroups(number, func(rows iter.Seq[groups.Row]) (err error) {
		restored, err = groups.Restore(number, groups.Options{NewGroupEpoch: s.newGroupEpoch(number)}, rows)
		return err
	})
	if err != nil || !ok {
		return err
	}
	sh := s.addShard(restored)
	sh.at = offsetslog.Position{Offset: at.Next, Epoch: at.LeaderEpoch, TopicID: at.TopicID}
	sh.seen = time.UnixMilli(at.SeenAt)
	return nil
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

// Rows of the hash model are kept under these prefixes.
const (
	topicModel       = "topic/"
	coordinatorModel = "coordinator/"
)

func (s *state) restoreModel() error {
	rows, err := s.Store.LoadModel()
	if err != nil {
		return err
	}
	for key, row := range rows {
		if name, ok := strings.CutPrefix(key, topicModel); ok {
			if err := s.cache.Restore(name, row); err != nil {
				return fmt.Errorf("restore the hashes of topic %s: %w", name, err)
			}
		} else if number, ok := strings.CutPrefix(key, coordinatorModel); ok {
			if err := s.restoreCoordinator(number, row); err != nil {
				return fmt.Errorf("restore the coordinator of partition %s: %w", number, err)
			}
		}
	}
	return nil
}

func (s *state) tick(now time.Time) {
	s.now = now
	for key := range s.waiting {
		s.dirty[key] = struct{}{}
	}
}

func coordinatorKey(partition int32) string {
	return coordinatorModel + strconv.Itoa(int(partition))
}
