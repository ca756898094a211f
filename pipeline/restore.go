package pipeline

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/rebalance"
)

// restoredState goes on from what the store holds. After an error the store has
// stopped.
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
	model, err := o.Store.LoadModel()
	if err != nil {
		return nil, err
	}
	s := newState(o, base)
	if err := s.restoreCoordinators(model); err != nil {
		return nil, o.Store.Condemn(err)
	}
	if err := o.Store.LoadRebalances(rebalance.HistoryPartition, s.explainer.RestoreHistory); err != nil {
		return nil, err
	}
	if err := s.restoreChanges(); err != nil {
		return nil, err
	}
	for number := range held.Partitions {
		sh, err := s.loadShard(number)
		if err != nil {
			return nil, err
		}
		if err := s.restoreRebalances(s.putShard(sh)); err != nil {
			return nil, err
		}
	}
	s.showRestored()
	if err := s.restoreTopics(model); err != nil {
		return nil, o.Store.Condemn(err)
	}
	return s, nil
}

// loadShard reads a partition back from the store; nil if it holds none.
func (s *state) loadShard(number int32) (*shard, error) {
	var restored *groups.Shard
	at, ok, err := s.Store.LoadGroups(number, func(rows iter.Seq[groups.Row]) (err error) {
		restored, err = groups.Restore(number, groups.Options{NewGroupEpoch: s.newGroupEpoch(number)}, rows)
		return err
	})
	if err != nil || !ok {
		return nil, err
	}
	sh := newShard(restored)
	sh.at = offsetslog.Position{Offset: at.Next, Epoch: at.LeaderEpoch, TopicID: at.TopicID}
	sh.seen = time.UnixMilli(at.SeenAt)
	sh.known = sh.seen
	return sh, nil
}

// Rows of the hash model are kept under these prefixes.
const (
	topicModel       = "topic/"
	coordinatorModel = "coordinator/"
)

func coordinatorKey(partition int32) string {
	return coordinatorModel + strconv.Itoa(int(partition))
}

var errBadModel = errors.New("not a row of the hash model")

// restoreCoordinators reads the rows of coordinators. The image is of the same
// commit, and must agree with them; they know besides when it came to that.
func (s *state) restoreCoordinators(model map[string][]byte) error {
	for key, row := range model {
		text, ok := strings.CutPrefix(key, coordinatorModel)
		if !ok {
			continue
		}
		number, err := strconv.ParseInt(text, 10, 32)
		if err == nil {
			s.coordinators[int32(number)], err = readCoordinator(row)
		}
		if err != nil || strconv.FormatInt(number, 10) != text {
			return fmt.Errorf("restore the coordinator of partition %.40q: %w", text, errBadModel)
		}
	}
	for number, p := range s.offsetsPartitions() {
		if c, known := s.coordinators[number]; known && !c.is(p) {
			return fmt.Errorf("restore the coordinator of partition %d: broker %d in epoch %d, and the image has broker %d in epoch %d",
				number, c.leader, c.leaderEpoch, p.Leader, p.LeaderEpoch)
		}
	}
	s.findCoordinators(s.image().Provenance())
	return nil
}

// restoreTopics reads the rows of the hashes of topics. Where a shard lags
// behind, it may not subscribe to all of them yet.
func (s *state) restoreTopics(model map[string][]byte) error {
	for key, row := range model {
		name, ok := strings.CutPrefix(key, topicModel)
		switch {
		case ok:
			if _, subscribed := s.cache.Peek(name); !subscribed {
				s.cache.Subscribe(name)
				s.held = append(s.held, name)
			}
			if err := s.cache.Restore(name, row); err != nil {
				return fmt.Errorf("restore the hashes of topic %.300q: %w", name, err)
			}
		case !strings.HasPrefix(key, coordinatorModel):
			return fmt.Errorf("restore %.40q: %w", key, errBadModel)
		}
	}
	return nil
}
