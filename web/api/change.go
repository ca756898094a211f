package api

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/history"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/rebalance"
)

// ChangeList is the answer of /v1/changes: how the metadata changed, newest
// first.
type ChangeList struct {
	Changes []Change `json:"changes"`
	Completeness
	Next string `json:"next,omitempty"`
}

// Change is what a batch of the metadata log, or a transaction, has changed.
type Change struct {
	// Offset is that of its last record, FromOffset that of its first.
	Offset     kafka.Offset `json:"offset"`
	FromOffset kafka.Offset `json:"fromOffset"`
	Epoch      kafka.Epoch  `json:"epoch"`
	Timestamp  Time         `json:"timestamp"`
	// Snapshot says that it is the difference which a snapshot made after the
	// sidecar was away: it changed at any time since FromOffset.
	Snapshot    bool             `json:"snapshot"`
	Changes     []MetadataChange `json:"changes"`
	MoreChanges int              `json:"moreChanges,omitempty"` // beyond those listed
	// Rebalances are those that it set off, oldest first.
	Rebalances []SetOff `json:"rebalances"`
}

// MetadataChange is one thing that changed. Before and After are lists: racks,
// replicas, or one value, or none.
type MetadataChange struct {
	Kind      string         `json:"kind"`
	Summary   string         `json:"summary"`
	Topic     *string        `json:"topic"`
	TopicID   *kafka.TopicID `json:"topicId"`
	Partition *int32         `json:"partition"`
	Broker    *kafka.NodeID  `json:"broker"`
	Before    []string       `json:"before"`
	After     []string       `json:"after"`
}

// SetOff is a rebalance that a change set off: as its cause, or as the trigger
// that made the coordinator look.
type SetOff struct {
	ID        string `json:"id"`
	Group     string `json:"group"`
	Type      string `json:"type"`
	Epoch     int32  `json:"epoch"`
	StartedAt Time   `json:"startedAt"`
	As        string `json:"as"` // cause or trigger
}

// What a change may be to a rebalance.
const (
	AsCause   = "cause"
	AsTrigger = "trigger"
)

// NewChange is an entry without the rebalances.
func NewChange(e *history.Entry) Change {
	c := Change{
		Offset: e.Offset, FromOffset: e.From, Epoch: e.Epoch, Timestamp: Time(e.Time), Snapshot: e.Snapshot,
		Changes: []MetadataChange{}, MoreChanges: e.More, Rebalances: []SetOff{},
	}
	for i := range e.Changes {
		c.Changes = append(c.Changes, metadataChange(&e.Changes[i]))
	}
	return c
}

func metadataChange(c *delta.Change) MetadataChange {
	m := MetadataChange{Kind: string(c.Kind), Summary: c.Summary(), Before: list(c.RacksBefore), After: list(c.RacksAfter)}
	switch c.Kind {
	case delta.BrokerRegistered, delta.BrokerUnregistered, delta.BrokerRackChanged:
		m.Broker = &c.Broker
		return m
	case delta.TopicCreated:
		m.After = []string{strconv.Itoa(c.PartitionsAfter)}
	case delta.TopicRecreated:
		m.Before, m.After = []string{c.OldTopicID.String()}, []string{c.TopicID.String()}
	case delta.PartitionsAdded:
		m.Before, m.After = []string{strconv.Itoa(c.PartitionsBefore)}, []string{strconv.Itoa(c.PartitionsAfter)}
	case delta.ReplicasChanged:
		m.Partition, m.Before, m.After = &c.Partition, nodeTexts(c.ReplicasBefore), nodeTexts(c.ReplicasAfter)
	case delta.RacksChanged:
		m.Partition = &c.Partition
	}
	m.Topic, m.TopicID = &c.Topic, &c.TopicID
	return m
}

func nodeTexts(ids []kafka.NodeID) []string {
	texts := []string{}
	for _, id := range ids {
		texts = append(texts, fmt.Sprint(id))
	}
	return texts
}

// SetOffs finds the rebalances that a record of the metadata log set off.
type SetOffs struct{ records []setOff }

type setOff struct {
	offset kafka.Offset
	as     string
	r      *rebalance.Rebalance
}

// NewSetOffs looks at the rebalances of v that which has, all if it is nil.
func NewSetOffs(v *pipeline.View, which func(*rebalance.Rebalance) bool) *SetOffs {
	s := new(SetOffs)
	for r := range v.AllRebalances() {
		if which != nil && !which(r) {
			continue
		}
		for i := range r.Causes {
			s.add(r, AsCause, r.Causes[i].Evidence)
			if t := r.Causes[i].Trigger; t != nil {
				s.add(r, AsTrigger, t.Evidence)
			}
		}
	}
	slices.SortFunc(s.records, func(a, b setOff) int { return cmp.Compare(a.offset, b.offset) })
	return s
}

func (s *SetOffs) add(r *rebalance.Rebalance, as string, list []rebalance.Evidence) {
	for i := range list {
		if list[i].Log == rebalance.MetadataLog {
			s.records = append(s.records, setOff{list[i].Offset, as, r})
		}
	}
}

// By are those that the records of an entry set off, oldest first.
func (s *SetOffs) By(e *history.Entry) (list []SetOff) {
	for _, o := range s.of(e) {
		r := o.r
		list = append(list, SetOff{ID: r.ID.String(), Group: r.Group, Type: r.Type.String(), Epoch: r.Epoch, StartedAt: Time(r.StartedAt), As: o.as})
	}
	return joinSetOffs(list)
}

// Topic says whether a topic is what one of them is about.
func (s *SetOffs) Topic(e *history.Entry, topic string) bool {
	return slices.ContainsFunc(s.of(e), func(o setOff) bool {
		return slices.ContainsFunc(o.r.Causes, func(c rebalance.Cause) bool { return c.Topic == topic })
	})
}

// Groups counts the groups that an entry set off.
func (s *SetOffs) Groups(e *history.Entry) int {
	groups := make(map[string]bool)
	for _, o := range s.of(e) {
		groups[o.r.Group] = true
	}
	return len(groups)
}

// of are those of the records of an entry.
func (s *SetOffs) of(e *history.Entry) []setOff {
	find := func(offset kafka.Offset) int {
		i, _ := slices.BinarySearchFunc(s.records, offset, func(o setOff, offset kafka.Offset) int { return cmp.Compare(o.offset, offset) })
		return i
	}
	return s.records[find(e.From):find(e.Offset+1)]
}

// joinSetOffs is each rebalance once, oldest first: what was its cause need not
// be its trigger, too.
func joinSetOffs(lists ...[]SetOff) []SetOff {
	all := append([]SetOff{}, slices.Concat(lists...)...)
	slices.SortFunc(all, func(a, b SetOff) int {
		return cmp.Or(cmp.Compare(a.StartedAt, b.StartedAt), cmp.Compare(a.Group, b.Group), cmp.Compare(a.ID, b.ID), cmp.Compare(a.As, b.As))
	})
	return slices.CompactFunc(all, func(a, b SetOff) bool { return a.ID == b.ID })
}

// JoinChanges makes one list of what several sidecars know, newest first. What
// one of them has record by record counts more than the difference that a
// snapshot made to another.
func JoinChanges(lists ...[]Change) []Change {
	all := append([]Change{}, slices.Concat(lists...)...)
	slices.SortStableFunc(all, func(a, b Change) int { return cmp.Compare(b.Offset, a.Offset) })
	out := all[:0]
	for _, c := range all {
		switch last := len(out) - 1; {
		case last >= 0 && out[last].Offset == c.Offset && (out[last].Snapshot == c.Snapshot || c.Snapshot):
			out[last].Rebalances = joinSetOffs(out[last].Rebalances, c.Rebalances)
		case last >= 0 && out[last].Offset == c.Offset:
			c.Rebalances = joinSetOffs(out[last].Rebalances, c.Rebalances)
			out[last] = c
		default:
			out = append(out, c)
		}
	}
	return out
}
