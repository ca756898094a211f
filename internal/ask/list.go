package ask

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/web/api"
)

// page is one of a list of groups, of topics, of rebalances or of changes.
type page[E any] struct {
	Groups     []E `json:"groups"`
	Topics     []E `json:"topics"`
	Rebalances []E `json:"rebalances"`
	Changes    []E `json:"changes"`
	// Examined is in predictions only.
	Examined []api.Examined `json:"examined"`
	api.Completeness
	Next string `json:"next"`
}

// list is all the pages of one.
type list[E any] struct {
	items    []E
	examined []api.Examined
	api.Completeness
}

var (
	errOrder = errors.New("bad answer: the list is not in order")
	errEmpty = errors.New("bad answer: a page is empty and not the last one")
	errLong  = errors.New("the list is too long; select less of it")
)

// order says which of two elements comes first in a list: negative if a does.
// It is 0 for two states of one.
type order[E any] func(a, b *E) int

// by is the order of names.
func by[E any](name func(*E) string) order[E] {
	return func(a, b *E) int { return cmp.Compare(name(a), name(b)) }
}

// pages asks a server for a list, to its end. A list is in order, by which one
// without an end is told. Unless it is nil, sent goes with every request.
func pages[E any](ctx context.Context, c *Client, s *server, path string, q url.Values, sent []byte, o order[E]) (*list[E], error) {
	all, total := &list[E]{items: []E{}}, int64(0)
	q.Set("limit", "1000")
	for first := true; ; first = false {
		var p page[E]
		size, err := c.post(ctx, s, path, q, sent, &p)
		if err != nil {
			return nil, err
		}
		items := slices.Concat(p.Groups, p.Topics, p.Rebalances, p.Changes)
		total += size
		if !ascend(all.items, items, o) {
			err = errOrder
		} else if p.Next != "" && len(items) == 0 {
			err = errEmpty
		} else if p.Next != "" && total > c.maxList {
			err = errLong
		}
		if err != nil {
			return nil, cli.Errorf(cli.Failed, "ask %s for %s: %w", s, path[1:], err)
		}
		all.items = append(all.items, items...)
		all.examined = api.JoinExamined(all.examined, p.Examined)
		all.join(&p.Completeness, first)
		if p.Next == "" {
			return all, nil
		}
		q.Set("after", p.Next)
	}
}

// ascend says whether more goes on from items in their order.
func ascend[E any](items, more []E, o order[E]) bool {
	for i := range more {
		switch {
		case i > 0 && o(&more[i-1], &more[i]) >= 0:
			return false
		case i == 0 && len(items) > 0 && o(&items[len(items)-1], &more[0]) >= 0:
			return false
		}
	}
	return true
}

// join adds what another page of the same list lacks.
func (l *list[E]) join(p *api.Completeness, first bool) {
	if first {
		l.Completeness = *p
		return
	}
	l.Missing = slices.Concat(l.Missing, p.Missing)
	slices.SortStableFunc(l.Missing, func(a, b api.Missing) int { return cmp.Compare(a.Broker, b.Broker) })
	l.Missing = slices.CompactFunc(l.Missing, func(a, b api.Missing) bool { return a.Broker == b.Broker && a.Host == b.Host })
	l.Loading = slices.Concat(l.Loading, p.Loading)
	slices.SortStableFunc(l.Loading, func(a, b api.Loading) int { return cmp.Compare(a.Partition, b.Partition) })
	l.Loading = slices.CompactFunc(l.Loading, func(a, b api.Loading) bool { return a.Partition == b.Partition })
}

// fetch asks every server for a list, and makes one of them. Of an element
// that several have, pick chooses.
func fetch[E any](ctx context.Context, c *Client, path string, q url.Values, sent []byte, o order[E], pick func(a, b *E) E) (*list[E], error) {
	if err := c.oneCluster(ctx); err != nil {
		return nil, err
	}
	results := each(ctx, c, func(ctx context.Context, s *server) (*list[E], error) {
		own := url.Values{}
		maps.Copy(own, q)
		return pages(ctx, c, s, path, own, sent, o)
	})
	return together(ctx, c, results, o, pick)
}

// together makes one list of the servers' lists.
func together[E any](ctx context.Context, c *Client, results []result[*list[E]], o order[E], pick func(a, b *E) E) (*list[E], error) {
	lists, silent, err := split(results)
	if err != nil {
		return nil, err
	}
	out := lists[0]
	if len(lists) > 1 {
		lacking := make([]*api.Completeness, len(lists))
		for i, l := range lists {
			lacking[i] = &l.Completeness
		}
		out = &list[E]{items: merge(lists, o, pick), Completeness: c.complete(ctx, lacking)}
		for _, l := range lists {
			out.examined = api.JoinExamined(out.examined, l.examined)
		}
	}
	out.Missing = append(out.Missing, silent...)
	return out, nil
}

// merge makes the items of one list of those of several.
func merge[E any](lists []*list[E], o order[E], pick func(a, b *E) E) []E {
	all, merged := []E{}, []E{}
	for _, l := range lists {
		all = append(all, l.items...)
	}
	slices.SortStableFunc(all, func(a, b E) int { return o(&a, &b) })
	for i := range all {
		if last := len(merged) - 1; last >= 0 && o(&merged[last], &all[i]) == 0 {
			merged[last] = pick(&merged[last], &all[i])
			continue
		}
		merged = append(merged, all[i])
	}
	return merged
}
