package rebalance

import (
	"math/rand/v2"
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
