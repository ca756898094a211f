package ask

import (
	"cmp"
	"context"
	"net/url"
	"time"

	"github.com/kraftside/kraftside/web/api"
)

// Changes are those of the metadata at a time or later, of any time if it is
// zero, newest first, and about a topic unless that is empty. Next is not set.
func (c *Client) Changes(ctx context.Context, since time.Time, topic string) (*api.ChangeList, error) {
	q := url.Values{}
	if !since.IsZero() {
		q.Set("since", since.UTC().Format(time.RFC3339Nano))
	}
	if topic != "" {
		q.Set("topic", topic)
	}
	l, err := fetch(ctx, c, "/changes", q, nil, newestChange, joinedChange)
	if err != nil {
		return nil, err
	}
	return &api.ChangeList{Changes: l.items, Completeness: l.Completeness}, nil
}

func newestChange(a, b *api.Change) int { return cmp.Compare(b.Offset, a.Offset) }

func joinedChange(a, b *api.Change) api.Change {
	return api.JoinChanges([]api.Change{*a}, []api.Change{*b})[0]
}
