package api

import (
	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
)

// names finds the names of topics in an image.
type names struct{ topics *image.TopicsImage }

// of is the topic's name, or its id if the image does not have it: it was
// deleted, or this image is behind the group's log.
func (n names) of(id kafka.TopicID) string {
	if t, ok := n.topics.ByID(id); ok {
		return t.Name()
	}
	return id.String()
}

func (n names) assignment(partitions []groups.TopicPartitions) Assignment {
	a := make(Assignment, len(partitions))
	for i := range partitions {
		p := &partitions[i]
		name := p.Topic
		if name == "" {
			name = n.of(p.TopicID)
		}
		a[name] = append(a[name], p.Partitions...)
	}
	return a
}

func (n names) member(kind groups.Type, m *groups.Member) Member {
	out := Member{
		MemberID:         m.ID,
		InstanceID:       text(m.InstanceID),
		RackID:           text(m.RackID),
		ClientID:         m.ClientID,
		ClientHost:       m.ClientHost,
		SubscribedTopics: list(m.SubscribedTopics),
		SubscribedRegex:  text(m.SubscribedRegex),
		MemberEpoch:      m.Epoch,
		Assigned:         n.assignment(m.Assigned),
	}
	if kind == groups.Classic {
		return out
	}
	out.State, out.Target = new(m.State.String()), new(n.assignment(m.Target))
	if len(m.PendingRevocation) > 0 {
		out.PendingRevocation = n.assignment(m.PendingRevocation)
	}
	out.Streams = streamsMember(m.Streams)
	return out
}
