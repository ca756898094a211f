package rebalance

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/internal/kafka"
	metadatarecord "github.com/kraftside/kraftside/metadatalog/record"
)

// requireLaw plays the batches of a story again, the two logs in any order
// against each other, and each cut otherwise: metadata batches into smaller
// ones, and those of groups joined with the next, or cut between operations.
// Explanations must be what they were.
func (s *story) requireLaw(t *testing.T) {
	if s.limits != DefaultLimits {
		return // what was dropped depends on what was read
	}
	want := s.again(t, s.events)
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		require.Equal(t, want, s.again(t, shuffled(r, s.cut(r))))
	}
}

// again plays events and then lets time pass.
func (s *story) again(t *testing.T, events []event) string {
	p := newPlayer(s.limits)
	for i := range events {
		p.play(t, &events[i], false)
	}
	p.play(t, &event{metadata: true, at: s.now + 3_600_000, first: s.next, messages: []metadatarecord.Message{&metadatarecord.NoOpRecord{}}}, false)
	return p.everything()
}

// shuffled interleaves the two logs.
func shuffled(r *rand.Rand, events []event) (out []event) {
	var logs [2][]event
	for _, e := range events {
		i := 0
		if e.metadata {
			i = 1
		}
		logs[i] = append(logs[i], e)
	}
	for len(logs[0])+len(logs[1]) > 0 {
		i := r.IntN(2)
		for n := 1 + r.IntN(4); n > 0 && len(logs[i]) > 0; n-- {
			out, logs[i] = append(out, logs[i][0]), logs[i][1:]
		}
	}
	return out
}

// cut cuts and joins batches.
func (s *story) cut(r *rand.Rand) (out []event) {
	var held *event // records of groups that are joined with the next batch
	for i := range s.events {
		e := s.events[i]
		switch {
		case e.metadata:
			out = append(out, cutMetadata(r, e)...)
		case held != nil:
			held.records = append(held.records, e.records...)
			e = *held
			fallthrough
		default:
			if held = nil; r.IntN(3) == 0 {
				e.records = append([]groups.Record(nil), e.records...)
				held = &e
				continue
			}
			out = append(out, e)
		}
	}
	if held != nil {
		out = append(out, *held)
	}
	return out
}

func cutMetadata(r *rand.Rand, e event) (out []event) {
	for !e.snapshot && len(e.messages) > 1 && r.IntN(2) == 0 {
		n := 1 + r.IntN(len(e.messages)-1)
		head := e
		head.messages = e.messages[:n]
		out = append(out, head)
		e.messages, e.first = e.messages[n:], e.first+kafka.Offset(n)
	}
	return append(out, e)
}

// requireLessCertain plays the story with the records of groups compacted up to
// the end of some batch: a log is cleaned in whole segments. What is said of a bump then is what is said of it with all of
// them, or less.
func (s *story) requireLessCertain(t *testing.T) {
	full := s.last(t, s.events)
	for _, e := range s.events {
		if e.metadata {
			continue
		}
		upTo := e.records[len(e.records)-1].Offset + 1
		for id, r := range s.last(t, compacted(s.events, upTo)) {
			want := full[id]
			require.NotNil(t, want, "compacted up to %d: %+v", upTo, r)
			for i := range r.Causes {
				c := &r.Causes[i]
				if c.Kind != Unknown {
					require.True(t, want.has(c), "compacted up to %d, offset %d: %+v\nwithout: %+v", upTo, id.Offset, c, want.Causes)
				}
			}
		}
	}
}

// last are the rebalances after the events.
func (s *story) last(t *testing.T, events []event) map[ID]*Rebalance {
	p := newPlayer(s.limits)
	for i := range events {
		p.play(t, &events[i], false)
	}
	p.play(t, &event{metadata: true, at: s.now + 3_600_000, first: s.next, messages: []metadatarecord.Message{&metadatarecord.NoOpRecord{}}}, false)
	all := make(map[ID]*Rebalance)
	for group := range p.e.groups {
		for _, r := range p.e.Group(group) {
			all[r.ID] = r
		}
	}
	return all
}

// has says whether the rebalance has a cause, not less certain. Where no record
// is left that shows when a member was alive, it counts as one that left.
func (r *Rebalance) has(c *Cause) bool {
	for i := range r.Causes {
		o := &r.Causes[i]
		left := c.Kind == MemberLeft && o.Kind == MemberTimedOut && strings.Contains(c.Reason, "no record shows")
		if (o.Kind == c.Kind || left) && o.Topic == c.Topic && o.Field == c.Field && o.Partition == c.Partition && o.Member == c.Member &&
			(o.Confidence == c.Confidence || o.Confidence == Certain) {
			return true
		}
	}
	return false
}

// compacted leaves of the records of groups, before an offset, the last of each
// key.
func compacted(events []event, upTo kafka.Offset) (out []event) {
	last := make(map[string]kafka.Offset)
	for _, e := range events {
		for _, r := range e.records {
			if r.Offset < upTo {
				last[string(r.Key)] = r.Offset
			}
		}
	}
	for _, e := range events {
		if !e.metadata {
			var left []groups.Record
			for _, r := range e.records {
				if r.Offset >= upTo || last[string(r.Key)] == r.Offset {
					left = append(left, r)
				}
			}
			e.records = left
		}
		out = append(out, e)
	}
	return out
}
