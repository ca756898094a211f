package ask

import (
	"context"
	"errors"
	"slices"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/web/api"
)

// Topics are all topics, by name. Next is not set.
func (c *Client) Topics(ctx context.Context) (*api.TopicList[api.Topic], error) {
	l, err := fetch(ctx, c, "/topics", nil, nil, by(topicName), joinTopics)
	if err != nil {
		return nil, err
	}
	return &api.TopicList[api.Topic]{Topics: l.items, Completeness: l.Completeness}, nil
}

func topicName(t *api.Topic) string { return t.Name }

// joinTopics joins what two servers say of a topic: each may know of groups
// that the other does not.
func joinTopics(a, b *api.Topic) api.Topic {
	out := *a
	if changedAt(b) > changedAt(a) {
		out = *b
	}
	out.Groups = slices.Concat(a.Groups, b.Groups)
	slices.Sort(out.Groups)
	out.Groups = slices.Compact(out.Groups)
	return out
}

func changedAt(t *api.Topic) kafka.Offset {
	if t.ChangedAt == nil {
		return kafka.UnknownOffset
	}
	return offset(t.ChangedAt.Offset)
}

var errNoTopic = errors.New("bad answer: there is no topic in it")

// Topic is one topic. The error is NotFound if nobody has it.
func (c *Client) Topic(ctx context.Context, name string) (*api.OneTopic, error) {
	if err := c.oneCluster(ctx); err != nil {
		return nil, err
	}
	results := each(ctx, c, func(ctx context.Context, s *server) (*list[api.Topic], error) {
		var t api.OneTopic
		if _, err := c.get(ctx, s, "/topics/"+escape(name), nil, &t); err != nil {
			return nil, err
		}
		if t.Topic == nil {
			return nil, cli.Errorf(cli.Failed, "ask %s: %w", s, errNoTopic)
		}
		return &list[api.Topic]{items: []api.Topic{*t.Topic}, Completeness: t.Completeness}, nil
	})
	l, err := together(ctx, c, results, by(topicName), joinTopics)
	if err != nil {
		return nil, err
	}
	return &api.OneTopic{Topic: &l.items[0], Completeness: l.Completeness}, nil
}
