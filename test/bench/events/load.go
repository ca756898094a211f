package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	topic      = "orders"
	committers = 20 // each has a group, and commits one offset after the other
)

// committing is commits under way.
type committing struct {
	done   atomic.Int64
	mu     sync.Mutex
	failed error
}

func (c *committing) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// startCommits commits so many offsets a second until ctx ends.
func startCommits(ctx context.Context, client *kgo.Client, id kadm.TopicID, perSecond int) *committing {
	c := new(committing)
	for n := range committers {
		go c.run(ctx, client, id, fmt.Sprintf("commits-%d", n), time.Second*committers/time.Duration(perSecond))
	}
	return c
}

func (c *committing) run(ctx context.Context, client *kgo.Client, id kadm.TopicID, group string, every time.Duration) {
	next := time.NewTicker(every)
	defer next.Stop()
	for offset := int64(0); ; offset++ {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		if err := commit(ctx, client, id, group, offset); err != nil && ctx.Err() == nil {
			c.mu.Lock()
			c.failed = fmt.Errorf("commit an offset of %s: %w", group, err)
			c.mu.Unlock()
			return
		}
		c.done.Add(1)
	}
}

func commit(ctx context.Context, client *kgo.Client, id kadm.TopicID, group string, offset int64) error {
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset = offset
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.TopicID, t.Partitions = topic, id, []kmsg.OffsetCommitRequestTopicPartition{p}
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Topics = group, []kmsg.OffsetCommitRequestTopic{t}
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
}

// rebalance has a member join a group again and again, and leave it: each time
// its epoch is raised.
func rebalance(ctx context.Context, client *kgo.Client, times int, every time.Duration) error {
	next := time.NewTicker(every)
	defer next.Stop()
	for n := range times {
		<-next.C
		epoch := int32(-1) // it leaves
		if n%2 == 0 {
			epoch = 0 // it joins
		}
		if err := heartbeat(ctx, client, epoch); err != nil {
			return fmt.Errorf("heartbeat: %w", err)
		}
	}
	return nil
}

func heartbeat(ctx context.Context, client *kgo.Client, epoch int32) error {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch = "rebalancing", "member", epoch
	req.RebalanceTimeoutMillis = 60_000
	req.SubscribedTopicNames, req.Topics = []string{topic}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	resp, err := req.RequestWith(ctx, client)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err == nil && resp.ErrorMessage != nil {
		err = errors.New(*resp.ErrorMessage)
	}
	return err
}
