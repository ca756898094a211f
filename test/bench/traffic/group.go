// Package traffic does to a broker what the members of a consumer group do, for
// programs that need many groups and no consumers. A group's methods may be called by
// several goroutines.
package traffic

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// retryFor is how long a request is tried again, beyond what a coordinator that
	// begins takes.
	retryFor   = time.Minute
	retryPause = 20 * time.Millisecond
	// settleRounds is more often than members have to tell what they released and
	// what they took.
	settleRounds = 10
	// leaving is the epoch of a member that goes.
	leaving = -1
)

// Topic is the one that a group reads.
type Topic struct {
	Name       string
	ID         kadm.TopicID
	Partitions int32
}

// Group is a consumer group of the new protocol.
type Group struct {
	client *kgo.Client
	id     string
	topic  Topic

	mu      sync.Mutex
	members []*member
	offset  int64
}

// member is one that has joined, and what it says it owns.
type member struct {
	id    string
	epoch int32
	owned []kmsg.ConsumerGroupHeartbeatRequestTopic
}

// NewGroup is a group without members, of which the broker knows nothing yet.
func NewGroup(client *kgo.Client, id string, topic Topic) *Group {
	return &Group{client: client, id: id, topic: topic}
}

// Join has a member join. It may have to wait for others; see Settle.
func (g *Group) Join(ctx context.Context, id string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := &member{id: id, owned: []kmsg.ConsumerGroupHeartbeatRequestTopic{}}
	if _, err := g.heartbeat(ctx, m); err != nil {
		return err
	}
	g.members = append(g.members, m)
	return nil
}

// Leave has a member leave that has joined.
func (g *Group) Leave(ctx context.Context, id string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := slices.IndexFunc(g.members, func(m *member) bool { return m.id == id })
	if at < 0 {
		return fmt.Errorf("%s has no member %s", g.id, id)
	}
	g.members[at].epoch = leaving
	_, err := g.heartbeat(ctx, g.members[at])
	g.members = slices.Delete(g.members, at, at+1)
	return err
}

// Settle has all members do what the coordinator asks of them, until it asks nothing
// more.
func (g *Group) Settle(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for range settleRounds {
		asked := false
		for _, m := range g.members {
			changed, err := g.heartbeat(ctx, m)
			if err != nil {
				return err
			}
			asked = asked || changed
		}
		if !asked {
			return nil
		}
	}
	return fmt.Errorf("%s has not settled after %d heartbeats of each member", g.id, settleRounds)
}

// heartbeat says what a member has, and has it take over what the answer says.
func (g *Group) heartbeat(ctx context.Context, m *member) (changed bool, err error) {
	q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	q.Group, q.MemberID, q.MemberEpoch, q.RebalanceTimeoutMillis = g.id, m.id, m.epoch, 3_600_000
	q.SubscribedTopicNames, q.Topics = []string{g.topic.Name}, m.owned
	for late := time.Now().Add(retryFor); ; {
		r, err := q.RequestWith(ctx, g.client)
		if err == nil {
			err = kerr.ErrorForCode(r.ErrorCode)
		}
		if err == nil {
			return m.take(r), nil
		}
		if !kerr.IsRetriable(err) || time.Now().After(late) {
			return false, fmt.Errorf("heartbeat of %s in %s: %w", m.id, g.id, err)
		}
		time.Sleep(retryPause)
	}
}

func (m *member) take(r *kmsg.ConsumerGroupHeartbeatResponse) (changed bool) {
	changed = m.epoch != r.MemberEpoch
	m.epoch = r.MemberEpoch
	if r.Assignment == nil {
		return changed
	}
	owned := []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	for _, t := range r.Assignment.Topics {
		slices.Sort(t.Partitions)
		owned = append(owned, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: t.TopicID, Partitions: t.Partitions})
	}
	changed = changed || !slices.EqualFunc(m.owned, owned, func(a, b kmsg.ConsumerGroupHeartbeatRequestTopic) bool {
		return a.TopicID == b.TopicID && slices.Equal(a.Partitions, b.Partitions)
	})
	m.owned = owned
	return changed
}

// Commit commits an offset of each partition, higher than the last: as the first
// member, or as nobody if there is none.
func (g *Group) Commit(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.offset++
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.TopicID = g.topic.Name, g.topic.ID
	for n := range g.topic.Partitions {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = n, g.offset
		t.Partitions = append(t.Partitions, p)
	}
	q := kmsg.NewPtrOffsetCommitRequest()
	q.Group, q.Topics = g.id, []kmsg.OffsetCommitRequestTopic{t}
	if len(g.members) > 0 {
		q.MemberID, q.Generation = g.members[0].id, g.members[0].epoch
	}
	r, err := q.RequestWith(ctx, g.client)
	if err != nil {
		return err
	}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("commit an offset of %s: %w", g.id, err)
			}
		}
	}
	return nil
}
