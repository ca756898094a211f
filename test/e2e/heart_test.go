//go:build e2e && unix

package e2e

import (
	"errors"
	"fmt"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/groups"
)

// heart is a member of a consumer or share group of which nothing is there but
// its heartbeats. It sends one when it is told to, so that a scenario decides
// what a coordinator finds in the next one, and does what no client does: its
// id, too, is one of the scenario's choice.
type heart struct {
	s      *scene
	client *kgo.Client
	state  kmsg.ConsumerGroupHeartbeatRequest
	// holds: it gives no partition up.
	holds bool
}

// heart makes a member of the scene's group, which has not joined yet. Its
// options change what it says of itself.
func (s *scene) heart(id string, topics ...string) *heart {
	h := &heart{s: s, client: s.world.client, state: kmsg.NewConsumerGroupHeartbeatRequest()}
	h.state.Group, h.state.MemberID = s.group, id
	h.state.RebalanceTimeoutMillis = int32(patient.Milliseconds())
	h.state.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	h.subscribe(topics...)
	return h
}

func (h *heart) subscribe(topics ...string) {
	h.state.SubscribedTopicNames = []string{}
	for _, name := range topics {
		h.state.SubscribedTopicNames = append(h.state.SubscribedTopicNames, h.s.topic(name))
	}
}

func (h *heart) match(expression string) { h.state.SubscribedTopicRegex = &expression }

func (h *heart) static(instance string) { h.state.InstanceID = &instance }

// send sends one heartbeat. It says whether the answer is news.
func (h *heart) send() (news bool, err error) {
	req := h.state
	resp, err := h.ask(&req)
	if err != nil {
		return false, err
	}
	news = resp.MemberEpoch != h.state.MemberEpoch
	h.state.MemberEpoch = resp.MemberEpoch
	if resp.Assignment == nil || h.holds && len(h.state.Topics) > 0 {
		return news, nil
	}
	has := []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	for _, topic := range resp.Assignment.Topics {
		has = append(has, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: topic.TopicID, Partitions: topic.Partitions})
	}
	news = news || fmt.Sprint(has) != fmt.Sprint(h.state.Topics)
	h.state.Topics = has
	return news, nil
}

// ask sends a heartbeat again for as long as there is no coordinator.
func (h *heart) ask(req *kmsg.ConsumerGroupHeartbeatRequest) (resp *kmsg.ConsumerGroupHeartbeatResponse, err error) {
	eventually(h.s.t, "the coordinator answers", func() (wait error) {
		if resp, err = h.request(req); err != nil {
			return err
		}
		code := kerr.ErrorForCode(resp.ErrorCode)
		if kerr.IsRetriable(code) {
			return code
		}
		if code != nil && resp.ErrorMessage != nil {
			code = fmt.Errorf("%w: %s", code, *resp.ErrorMessage)
		}
		if err = code; err != nil {
			err = fmt.Errorf("heartbeat of %s in epoch %d: %w", req.MemberID, req.MemberEpoch, err)
		}
		return nil
	})
	return resp, err
}

// request sends a heartbeat of the group's type. One of a share group is that of
// a consumer group with fewer fields.
func (h *heart) request(req *kmsg.ConsumerGroupHeartbeatRequest) (*kmsg.ConsumerGroupHeartbeatResponse, error) {
	if h.s.kind != groups.Share {
		return req.RequestWith(within(h.s.t), h.client)
	}
	share := kmsg.NewPtrShareGroupHeartbeatRequest()
	share.GroupID, share.MemberID, share.MemberEpoch = req.Group, req.MemberID, req.MemberEpoch
	share.SubscribedTopicNames = req.SubscribedTopicNames
	got, err := share.RequestWith(within(h.s.t), h.client)
	if err != nil {
		return nil, err
	}
	resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	resp.ErrorCode, resp.ErrorMessage, resp.MemberEpoch = got.ErrorCode, got.ErrorMessage, got.MemberEpoch
	if got.Assignment == nil {
		return resp, nil
	}
	resp.Assignment = &kmsg.ConsumerGroupHeartbeatResponseAssignment{}
	for _, topic := range got.Assignment.TopicPartitions {
		resp.Assignment.Topics = append(resp.Assignment.Topics,
			kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic{TopicID: topic.TopicID, Partitions: topic.Partitions})
	}
	return resp, nil
}

func (h *heart) beat() {
	h.s.t.Helper()
	_, err := h.send()
	require.NoError(h.s.t, err)
}

// goes sends the epoch that says that the member leaves: for good, or as a
// static member that comes back.
func (h *heart) goes(epoch int32) {
	h.s.t.Helper()
	req := h.state
	req.MemberEpoch = epoch
	_, err := h.ask(&req)
	require.NoError(h.s.t, err)
	h.state.MemberEpoch = 0
	h.state.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
}

func (h *heart) leave() { h.s.t.Helper(); h.goes(-1) }

func (h *heart) leaveForAWhile() { h.s.t.Helper(); h.goes(-2) }

// settle has members send heartbeats until each of them has what it is to get,
// and the sidecar has seen it.
func (s *scene) settle(members ...*heart) {
	s.t.Helper()
	s.beatUntil("the group is stable", func() error {
		if state := s.state(); state != "Stable" {
			return errors.New(state)
		}
		return nil
	}, members...)
	eventually(s.t, "the sidecar has seen that the group is stable", func() error {
		shown, ok := s.all.View().Group(s.group)
		if !ok || shown.State != groups.Stable {
			return errors.New("it has not")
		}
		for _, h := range members {
			if h.state.MemberEpoch > shown.AssignmentEpoch {
				return fmt.Errorf("member %s has epoch %d, and %d is shown", h.state.MemberID, h.state.MemberEpoch, shown.AssignmentEpoch)
			}
		}
		return nil
	})
}

// beatUntil has members send heartbeats until nothing is wrong, and none of
// them has news.
func (s *scene) beatUntil(what string, check func() error, members ...*heart) {
	s.t.Helper()
	eventually(s.t, what, func() error {
		for _, h := range members {
			news, err := h.send()
			require.NoError(s.t, err)
			if news {
				return fmt.Errorf("member %s has news", h.state.MemberID)
			}
		}
		return check()
	})
}

// state is what the coordinator says of the scene's consumer or share group.
func (s *scene) state() string {
	if s.kind == groups.Share {
		req := kmsg.NewPtrShareGroupDescribeRequest()
		req.GroupIDs = []string{s.group}
		resp, err := req.RequestWith(within(s.t), s.world.client)
		if err != nil || len(resp.Groups) != 1 {
			return fmt.Sprint("not described: ", err)
		}
		g := resp.Groups[0]
		if g.AssignmentEpoch != g.GroupEpoch { // Kafka calls that stable, too
			return fmt.Sprintf("assigned in epoch %d, and is in %d", g.AssignmentEpoch, g.GroupEpoch)
		}
		return stateOf(g.GroupState, g.ErrorCode)
	}
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = []string{s.group}
	resp, err := req.RequestWith(within(s.t), s.world.client)
	if err != nil || len(resp.Groups) != 1 {
		return fmt.Sprint("not described: ", err)
	}
	return stateOf(resp.Groups[0].State, resp.Groups[0].ErrorCode)
}

func stateOf(state string, code int16) string {
	if err := kerr.ErrorForCode(code); err != nil {
		return err.Error()
	}
	return state
}
