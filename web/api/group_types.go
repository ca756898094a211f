package api

import (
	"net"
	"strconv"

	"github.com/kraftside/kraftside/groups"
)

// Classic is what only a classic group has. A group that exists only because
// offsets were committed has none, or an empty protocol type.
type Classic struct {
	ProtocolType string  `json:"protocolType"`
	Protocol     *string `json:"protocol"`
	Leader       *string `json:"leader"` // member id
}

// Share says for which partitions of a share group the share state exists.
type Share struct {
	Initializing Assignment `json:"initializing"`
	Initialized  Assignment `json:"initialized"`
	Deleting     []string   `json:"deleting"` // topics
}

// Streams is what only a streams group has.
type Streams struct {
	// TopologyEpoch is null as long as no topology was written,
	// ValidatedTopologyEpoch as long as none was found valid, and always in
	// Kafka 4.1.
	TopologyEpoch          *int32        `json:"topologyEpoch"`
	ValidatedTopologyEpoch *int32        `json:"validatedTopologyEpoch"`
	Subtopologies          []Subtopology `json:"subtopologies"`
}

// Subtopology has the topics that its tasks read and write.
type Subtopology struct {
	ID                      string   `json:"id"`
	SourceTopics            []string `json:"sourceTopics"`
	RepartitionSourceTopics []string `json:"repartitionSourceTopics"`
	ChangelogTopics         []string `json:"changelogTopics"`
}

// StreamsMember is what only a member of a streams group has.
type StreamsMember struct {
	ProcessID         string  `json:"processId"`
	TopologyEpoch     int32   `json:"topologyEpoch"`
	UserEndpoint      *string `json:"userEndpoint"` // HOST:PORT
	Assigned          Tasks   `json:"assigned"`
	PendingRevocation Tasks   `json:"pendingRevocation"`
	Target            Tasks   `json:"target"`
}

// Tasks are partitions by subtopology.
type Tasks struct {
	Active  Assignment `json:"active"`
	Standby Assignment `json:"standby"`
	Warmup  Assignment `json:"warmup"`
}

// ofType adds what only the group's type has.
func (n names) ofType(out *Group, g *groups.Group) {
	if c := g.Classic; c != nil {
		out.Classic = &Classic{ProtocolType: c.ProtocolType, Protocol: text(c.Protocol), Leader: text(c.Leader)}
	}
	if s := g.Share; s != nil {
		out.Share = &Share{Initializing: n.assignment(s.Initializing), Initialized: n.assignment(s.Initialized), Deleting: []string{}}
		for i := range s.Deleting {
			out.Share.Deleting = append(out.Share.Deleting, s.Deleting[i].Topic)
		}
	}
	if s := g.Streams; s != nil {
		out.Streams = streams(s)
	}
}

func streams(s *groups.StreamsGroup) *Streams {
	out := &Streams{Subtopologies: []Subtopology{}}
	if s.ValidatedTopologyEpoch >= 0 {
		out.ValidatedTopologyEpoch = new(s.ValidatedTopologyEpoch)
	}
	if s.Topology == nil {
		return out
	}
	out.TopologyEpoch = new(s.Topology.Epoch)
	for i := range s.Topology.Subtopologies {
		sub := &s.Topology.Subtopologies[i]
		out.Subtopologies = append(out.Subtopologies, Subtopology{
			ID: sub.ID, SourceTopics: list(sub.Sources),
			RepartitionSourceTopics: list(groups.TopicNames(sub.RepartitionSources)), ChangelogTopics: list(groups.TopicNames(sub.Changelogs)),
		})
	}
	return out
}

func streamsMember(m *groups.StreamsMember) *StreamsMember {
	if m == nil {
		return nil
	}
	out := &StreamsMember{
		ProcessID: m.ProcessID, TopologyEpoch: m.TopologyEpoch,
		Assigned: tasks(&m.Assigned), PendingRevocation: tasks(&m.PendingRevocation), Target: tasks(&m.Target),
	}
	if e := m.Endpoint; e != nil {
		out.UserEndpoint = text(net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))))
	}
	return out
}

func tasks(t *groups.Tasks) Tasks {
	return Tasks{Active: taskIDs(t.Active), Standby: taskIDs(t.Standby), Warmup: taskIDs(t.Warmup)}
}

func taskIDs(ids []groups.TaskIDs) Assignment {
	a := make(Assignment, len(ids))
	for i := range ids {
		a[ids[i].Subtopology] = append(a[ids[i].Subtopology], ids[i].Partitions...)
	}
	return a
}
