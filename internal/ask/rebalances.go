package ask

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/kraftside/kraftside/web/api"
)

// Rebalances selects those of a group.
type Rebalances struct {
	Last  int       // 0: as many as sidecars give
	Since time.Time // zero: any
	Epoch int32     // negative: any
}

// Rebalances are those of a group that were selected, newest first. The error
// is NotFound if nobody has the group, and Incomplete if somebody may have it
// who could not be asked.
func (c *Client) Rebalances(ctx context.Context, group string, which Rebalances) (*api.Rebalances, error) {
	if err := c.oneCluster(ctx); err != nil {
		return nil, err
	}
	q := url.Values{}
	if which.Last > 0 {
		q.Set("last", strconv.Itoa(which.Last))
	}
	if !which.Since.IsZero() {
		q.Set("since", which.Since.UTC().Format(time.RFC3339Nano))
	}
	if which.Epoch >= 0 {
		q.Set("epoch", strconv.Itoa(int(which.Epoch)))
	}
	answers, missing, err := split(each(ctx, c, func(ctx context.Context, s *server) (*api.Rebalances, error) {
		a := new(api.Rebalances)
		_, err := c.get(ctx, s, "/groups/"+escape(group)+"/rebalances", q, a)
		return a, err
	}))
	if err != nil {
		return nil, err
	}
	out := &api.Rebalances{Group: group}
	var lists [][]api.Rebalance
	var all []*api.Completeness
	for _, a := range answers {
		out.Exists = out.Exists || a.Exists
		lists, all = append(lists, a.Rebalances), append(all, &a.Completeness)
	}
	out.Rebalances = api.JoinRebalances(lists...)
	if which.Last > 0 {
		out.Rebalances = out.Rebalances[:min(len(out.Rebalances), which.Last)]
	}
	out.Gaps = api.FindGaps(out.Rebalances)
	if out.Completeness = *all[0]; len(all) > 1 {
		out.Completeness = c.complete(ctx, all)
	}
	out.Missing = append(out.Missing, missing...)
	return out, nil
}

// AllRebalances are those of all groups that began at a time or later, of any
// time if it is zero, newest first. Next is not set.
func (c *Client) AllRebalances(ctx context.Context, since time.Time) (*api.RebalanceList, error) {
	q := url.Values{}
	if !since.IsZero() {
		q.Set("since", since.UTC().Format(time.RFC3339Nano))
	}
	l, err := fetch(ctx, c, "/rebalances", q, nil, api.NewestFirst, knowingMore)
	if err != nil {
		return nil, err
	}
	return &api.RebalanceList{Rebalances: l.items, Completeness: l.Completeness}, nil
}

// knowingMore is the state of a rebalance that knows more.
func knowingMore(a, b *api.Rebalance) api.Rebalance {
	return api.JoinRebalances([]api.Rebalance{*a}, []api.Rebalance{*b})[0]
}
