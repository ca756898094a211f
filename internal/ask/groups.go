package ask

import (
	"context"
	"net/url"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/web/api"
)

// Query selects groups, each by a text that api.ParseFilter reads; empty
// selects all.
type Query struct{ Verdict, Type, State, Match string }

// Groups are those that the query selects, by id. Next is not set.
func (c *Client) Groups(ctx context.Context, q Query) (*api.Groups[api.Group], error) {
	selected := url.Values{}
	for name, value := range map[string]string{"verdict": q.Verdict, "type": q.Type, "state": q.State, "match": q.Match} {
		if value != "" {
			selected.Set(name, value)
		}
	}
	return c.groups(ctx, "/groups", selected)
}

// Verify are the groups whose verdict is neither match nor none, by id. Next
// is not set.
func (c *Client) Verify(ctx context.Context) (*api.Groups[api.Group], error) {
	return c.groups(ctx, "/verify", nil)
}

func (c *Client) groups(ctx context.Context, path string, q url.Values) (*api.Groups[api.Group], error) {
	l, err := fetch(ctx, c, path, q, nil, by(groupName), newerGroup)
	if err != nil {
		return nil, err
	}
	return &api.Groups[api.Group]{Groups: l.items, Completeness: l.Completeness}, nil
}

func groupName(g *api.Group) string { return g.Group }

// newerGroup is the one that rests on more of the metadata log, or else of the
// group's own: while a coordinator moves two sidecars may answer for it.
func newerGroup(a, b *api.Group) api.Group {
	x, y := &a.ReadAt, &b.ReadAt
	m, n := offset(x.MetadataOffset), offset(y.MetadataOffset)
	if n > m || n == m && offset(y.Offset) > offset(x.Offset) {
		return *b
	}
	return *a
}

func offset(o *kafka.Offset) kafka.Offset {
	if o == nil {
		return kafka.UnknownOffset
	}
	return *o
}

// Group is one group. If nobody who was asked has it, the exit code of the
// error tells whether all had to know: NotFound, or Incomplete.
func (c *Client) Group(ctx context.Context, id string) (*api.Group, error) {
	if err := c.oneCluster(ctx); err != nil {
		return nil, err
	}
	var best *api.Group
	var errs []error
	for _, r := range each(ctx, c, func(ctx context.Context, s *server) (*api.Group, error) {
		g := new(api.Group)
		_, err := c.get(ctx, s, "/groups/"+escape(id), nil, g)
		return g, err
	}) {
		switch {
		case r.err != nil:
			errs = append(errs, r.err)
		case best == nil:
			best = r.answer
		default:
			best = new(newerGroup(best, r.answer))
		}
	}
	if best != nil {
		return best, nil
	}
	return nil, leastKnowing(errs)
}
