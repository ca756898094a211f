package ask

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/web/api"
)

// complete is what the answers of several servers together lack. A sidecar
// that one of them reached is not missing, and a partition that one of them
// has read is not loading.
func (c *Client) complete(ctx context.Context, all []*api.Completeness) (out api.Completeness) {
	for _, one := range all {
		out.OffsetsPartitions = append(out.OffsetsPartitions, one.OffsetsPartitions...)
	}
	slices.Sort(out.OffsetsPartitions)
	out.OffsetsPartitions = slices.Compact(out.OffsetsPartitions)
	reached := false
	for _, one := range all {
		for _, m := range one.Missing {
			if !missingInAll(all, m.Broker) {
				reached = true
			} else if !isMissing(out.Missing, m.Broker) {
				out.Missing = append(out.Missing, m)
			}
		}
		for _, l := range one.Loading {
			if !isRead(all, l.Partition) && !isLoading(out.Loading, l.Partition) {
				out.Loading = append(out.Loading, l)
			}
		}
	}
	if reached {
		// Each may have had a reason of its own to call another missing.
		out.Missing = append(out.Missing, c.uncovered(ctx, &out)...)
	}
	return out
}

func isMissing(missing []api.Missing, broker kafka.NodeID) bool {
	return slices.ContainsFunc(missing, func(m api.Missing) bool { return m.Broker == broker })
}

func missingInAll(all []*api.Completeness, broker kafka.NodeID) bool {
	return !slices.ContainsFunc(all, func(c *api.Completeness) bool { return !isMissing(c.Missing, broker) })
}

func isLoading(loading []api.Loading, partition int32) bool {
	return slices.ContainsFunc(loading, func(l api.Loading) bool { return l.Partition == partition })
}

// isRead says whether an answer is about a partition, and has all of it.
func isRead(all []*api.Completeness, partition int32) bool {
	return slices.ContainsFunc(all, func(c *api.Completeness) bool {
		return slices.Contains(c.OffsetsPartitions, partition) && !isLoading(c.Loading, partition)
	})
}

// uncovered are the brokers that lead partitions of __consumer_offsets which
// the answers are not about, as when a coordinator moves while they are made,
// but for those who are missing anyway.
func (c *Client) uncovered(ctx context.Context, answers *api.Completeness) (missing []api.Missing) {
	lacking := make(map[kafka.NodeID][]int32)
	for _, p := range c.offsetsTopic(ctx) {
		leader := kafka.NoNode
		if p.Leader != nil {
			leader = *p.Leader
		}
		if !slices.Contains(answers.OffsetsPartitions, p.Partition) && !isMissing(answers.Missing, leader) {
			lacking[leader] = append(lacking[leader], p.Partition)
		}
	}
	for leader, partitions := range lacking {
		missing = append(missing, api.Missing{
			Broker: leader, Error: fmt.Sprintf("nobody who was asked answers for partitions %v of %s", partitions, kafka.OffsetsTopic),
		})
	}
	slices.SortFunc(missing, func(a, b api.Missing) int { return int(a.Broker - b.Broker) })
	return missing
}

// offsetsTopic is __consumer_offsets as the first server has it that answers;
// nil if there is none, or nobody has.
func (c *Client) offsetsTopic(ctx context.Context) []api.Partition {
	for _, s := range c.servers {
		var t api.OneTopic
		if _, err := c.get(ctx, s, "/topics/"+kafka.OffsetsTopic, url.Values{"local": {"true"}}, &t); err == nil && t.Topic != nil {
			return t.Partitions
		}
	}
	return nil
}
