//go:build e2e && unix

package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/groups"
)

// pulse is a group with one member that does nothing but heartbeat, so that
// many of them cost little. It says all of its state each time, and takes what
// it is given at once.
type pulse struct {
	kind       groups.Type
	id         string
	topics     []string // that it names
	expression string   // instead, of a consumer group

	member      string
	coordinator int32
	epoch       int32
	owned       []kmsg.ConsumerGroupHeartbeatRequestTopic
	tasks       []kmsg.TaskIDs
}

// pulses are groups whose members heartbeat until the cluster ends.
type pulses struct {
	w      *world
	groups []*pulse

	mu      sync.Mutex
	rejoins []string         // that a coordinator made members do
	last    map[string]error // of the last heartbeat of a group
}

func (w *world) beatAll(t *testing.T, all []*pulse) *pulses {
	p := &pulses{w: w, groups: all, last: map[string]error{}}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for i, g := range all {
		g.member, g.coordinator = fmt.Sprintf("member-%024d", i), -1
		running.Go(func() { p.run(ctx, g) })
	}
	w.t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return p
}

// run heartbeats. What goes wrong on the way is tried again: brokers restart.
func (p *pulses) run(ctx context.Context, g *pulse) {
	for {
		wait := heartbeat
		err := p.beat(ctx, g)
		if err != nil {
			wait = heartbeat / 4
		}
		p.mu.Lock()
		p.last[g.id] = err
		p.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

func (p *pulses) beat(ctx context.Context, g *pulse) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if g.coordinator < 0 {
		if err := g.find(ctx, p.w.client); err != nil {
			return err
		}
	}
	code, err := g.heartbeat(ctx, p.w.client.Broker(int(g.coordinator)))
	if err == nil {
		err = kerr.ErrorForCode(code)
	}
	switch err {
	case nil:
	case kerr.UnknownMemberID, kerr.FencedMemberEpoch:
		p.mu.Lock()
		p.rejoins = append(p.rejoins, fmt.Sprintf("%s: %v", g.id, err))
		p.mu.Unlock()
		g.epoch, g.owned, g.tasks = 0, nil, nil
	default:
		g.coordinator = -1
	}
	return err
}

// rejoined lists the members that had to join again: each bumps its group, for
// a reason of its own.
func (p *pulses) rejoined() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.rejoins)
}

// problem is why the last heartbeat of a group failed.
func (p *pulses) problem(group string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last[group]
}

func (g *pulse) find(ctx context.Context, client *kgo.Client) error {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKeys = []string{g.id}
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	found := resp.Coordinators[0]
	g.coordinator = found.NodeID
	return kerr.ErrorForCode(found.ErrorCode)
}

func (g *pulse) heartbeat(ctx context.Context, broker *kgo.Broker) (code int16, err error) {
	switch g.kind {
	case groups.Consumer:
		return g.consumer(ctx, broker)
	case groups.Share:
		return g.share(ctx, broker)
	}
	return g.streams(ctx, broker)
}

func (g *pulse) consumer(ctx context.Context, broker *kgo.Broker) (int16, error) {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch, req.RebalanceTimeoutMillis = g.id, g.member, g.epoch, 60_000
	req.SubscribedTopicNames, req.Topics = append([]string{}, g.topics...), append([]kmsg.ConsumerGroupHeartbeatRequestTopic{}, g.owned...)
	if g.expression != "" {
		req.SubscribedTopicRegex = &g.expression
	}
	answer, err := broker.Request(ctx, req)
	if err != nil {
		return 0, err
	}
	resp := answer.(*kmsg.ConsumerGroupHeartbeatResponse)
	if resp.ErrorCode != 0 {
		return resp.ErrorCode, nil
	}
	g.epoch = resp.MemberEpoch
	if resp.Assignment != nil {
		g.owned = nil
		for _, t := range resp.Assignment.Topics {
			g.owned = append(g.owned, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: t.TopicID, Partitions: t.Partitions})
		}
	}
	return 0, nil
}

func (g *pulse) share(ctx context.Context, broker *kgo.Broker) (int16, error) {
	req := kmsg.NewPtrShareGroupHeartbeatRequest()
	req.GroupID, req.MemberID, req.MemberEpoch, req.SubscribedTopicNames = g.id, g.member, g.epoch, g.topics
	answer, err := broker.Request(ctx, req)
	if err != nil {
		return 0, err
	}
	resp := answer.(*kmsg.ShareGroupHeartbeatResponse)
	if resp.ErrorCode == 0 {
		g.epoch = resp.MemberEpoch
	}
	return resp.ErrorCode, nil
}

func (g *pulse) streams(ctx context.Context, broker *kgo.Broker) (int16, error) {
	req := kmsg.NewPtrStreamsGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch, req.RebalanceTimeoutMillis = g.id, g.member, g.epoch, 60_000
	req.ActiveTasks, req.StandbyTasks, req.WarmupTasks = append([]kmsg.TaskIDs{}, g.tasks...), []kmsg.TaskIDs{}, []kmsg.TaskIDs{}
	if g.epoch == 0 {
		req.ProcessID, req.ClientTags = kmsg.StringPtr(g.member), []kmsg.StreamsGroupHeartbeatRequestClientTag{}
		topology := kmsg.NewStreamsGroupHeartbeatRequestTopology()
		topology.Epoch = 1
		topology.Subtopologies = []kmsg.StreamsGroupHeartbeatRequestTopologySubtopology{{
			SubtopologyID: "0", SourceTopics: slices.Sorted(slices.Values(g.topics)),
			SourceTopicRegex: []string{}, StateChangelogTopics: []kmsg.TopicInfo{}, RepartitionSinkTopics: []string{},
			RepartitionSourceTopics: []kmsg.TopicInfo{}, CopartitionGroups: []kmsg.StreamsGroupHeartbeatRequestTopologySubtopologyCopartitionGroup{},
		}}
		req.Topology = &topology
	}
	answer, err := broker.Request(ctx, req)
	if err != nil {
		return 0, err
	}
	resp := answer.(*kmsg.StreamsGroupHeartbeatResponse)
	if resp.ErrorCode != 0 {
		return resp.ErrorCode, nil
	}
	g.epoch = resp.MemberEpoch
	if resp.ActiveTasks != nil {
		g.tasks = resp.ActiveTasks
	}
	return 0, nil
}
