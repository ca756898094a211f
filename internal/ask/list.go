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

// page is one of a list of groups or of topics.
type page[E any] struct {
	Groups []E `json:"groups"`
	Topics []E `json:"topics"`
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

// pages asks a server for a list, to its end. name is that of an element; a
// list is in the order of names, by which one without an end is told. Unless it
// is nil, sent goes with every request.
func pages[E any](ctx context.Context, c *Client, s *server, path string, q url.Values, sent []byte, name func(*E) string) (*list[E], error) {
	all, total := &list[E]{items: []E{}}, int64(0)
	q.Set("limit", "1000")
	for first := true; ; first = false {
		var p page[E]
		size, err := c.post(ctx, s, path, q, sent, &p)
		if err != nil {
			return nil, err
		}
		items := append(p.Groups, p.Topics...)
		total += size
		if !ascend(all.items, items, name) {
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

// ascend says whether more goes on from items in the order of names.
func ascend[E any](items, more []E, name func(*E) string) bool {
	for i := range more {
		switch {
		case i > 0 && name(&more[i-1]) >= name(&more[i]):
			return false
		case i == 0 && len(items) > 0 && name(&items[len(items)-1]) >= name(&more[0]):
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
func fetch[E any](ctx context.Context, c *Client, path string, q url.Values, sent []byte, name func(*E) string, pick func(a, b *E) E) (*list[E], error) {
	if err := c.oneCluster(ctx); err != nil {
		return nil, err
	}
	results := each(ctx, c, func(ctx context.Context, s *server) (*list[E], error) {
		own := url.Values{}
		maps.Copy(own, q)
		return pages(ctx, c, s, path, own, sent, name)
	})
	return together(ctx, c, results, name, pick)
}

// together makes one list of the servers' lists.
func together[E any](ctx context.Context, c *Client, results []result[*list[E]], name func(*E) string, pick func(a, b *E) E) (*list[E], error) {
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
		out = &list[E]{items: merge(lists, name, pick), Completeness: c.complete(ctx, lacking)}
		for _, l := range lists {
			out.examined = api.JoinExamined(out.examined, l.examined)
		}
	}
	out.Missing = append(out.Missing, silent...)
	return out, nil
}

// merge makes the items of one list of those of several.
func merge[E any](lists []*list[E], name func(*E) string, pick func(a, b *E) E) []E {
	all, merged := []E{}, []E{}
	for _, l := range lists {
		all = append(all, l.items...)
	}
	slices.SortStableFunc(all, func(a, b E) int { return cmp.Compare(name(&a), name(&b)) })
	for i := range all {
		if last := len(merged) - 1; last >= 0 && name(&merged[last]) == name(&all[i]) {
			merged[last] = pick(&merged[last], &all[i])
			continue
		}
		merged = append(merged, all[i])
	}
	return merged
}
