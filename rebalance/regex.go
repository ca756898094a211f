package rebalance

import (
	"fmt"
	"slices"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
)

// regexStep is a regular expression that was resolved to other topics. The
// metadata log says why: the record has the offset of the image that was used.
type regexStep struct {
	Expression     string
	Topic          string // that it matches now, or does not any more
	Added          bool
	First          bool         // it was not resolved before
	After, Version kafka.Offset // of the images of both resolutions
	Proof          []Evidence
}

// regexes finds what was resolved otherwise than before. A result comes from a
// background task, in an operation without a member's record.
func (x *extractor) regexes() {
	if !x.op.has(record.TypeConsumerGroupRegularExpression, false) {
		return
	}
	old := make(map[string]*groups.Regex)
	if x.op.before != nil {
		for _, r := range x.op.before.Regexes {
			old[r.Expression] = r
		}
	}
	for _, now := range x.op.after.Regexes {
		r := x.op.find(record.TypeConsumerGroupRegularExpression, false, now.Expression)
		if r == nil {
			continue
		}
		step := regexStep{
			Expression: now.Expression, Version: kafka.Offset(now.Version), First: true,
			Proof: []Evidence{evidence(x.partition, r, x.op.timestamp), x.proof},
		}
		var before []string
		if was := old[now.Expression]; was != nil {
			before, step.After, step.First = was.Topics, kafka.Offset(was.Version), false
		}
		x.resolved(step, before, now.Topics)
	}
}

// resolved adds a step for each topic that differs; for one that was not
// resolved before, one for all.
func (x *extractor) resolved(step regexStep, before, after []string) {
	if step.First {
		if len(after) > 0 {
			x.b.Regexes = append(x.b.Regexes, step)
		}
		return
	}
	for _, list := range []struct {
		these, others []string
		added         bool
	}{{after, before, true}, {before, after, false}} {
		for _, name := range list.these {
			if _, both := slices.BinarySearch(list.others, name); !both {
				step.Topic, step.Added = name, list.added
				x.b.Regexes = append(x.b.Regexes, step)
			}
		}
	}
}

// regexes says which records of the metadata log changed what regular
// expressions match.
func (s *settlement) regexes() {
	for i := range s.b.Regexes {
		r := &s.b.Regexes[i]
		if s.e.offset() < r.Version && !s.due {
			s.open = true
			return
		}
		s.causes = append(s.causes, s.regex(r))
	}
}

func (s *settlement) regex(r *regexStep) Cause {
	c := Cause{Kind: RegexResolved, Confidence: Certain, Topic: r.Topic, Partition: -1, Evidence: slices.Clone(r.Proof)}
	switch {
	case r.First:
		c.Summary = fmt.Sprintf("the regular expression %s was resolved for the first time", r.Expression)
		return c
	case r.Added:
		c.Summary, c.After = fmt.Sprintf("the regular expression %s matches topic %s", r.Expression, r.Topic), []string{r.Topic}
	default:
		c.Summary, c.Before = fmt.Sprintf("the regular expression %s no longer matches topic %s", r.Expression, r.Topic), []string{r.Topic}
	}
	b := s.birth(r)
	if b == nil {
		return c
	}
	c.TopicID = b.id
	c.Evidence = append(c.Evidence, Evidence{Log: MetadataLog, Offset: b.offset, Timestamp: b.time, Record: b.record})
	if b.deleted {
		c.Summary += ", which was deleted"
		c.Trigger = s.resolution(r, b)
	} else {
		c.Summary += ", which was created"
	}
	return c
}

// birth is the last creation or deletion of the topic between the images of
// the two resolutions; nil if that is not known, or if it was permission to see
// the topic that changed.
func (s *settlement) birth(r *regexStep) (last *birth) {
	for i := range s.e.history.births {
		b := &s.e.history.births[i]
		if b.topic == r.Topic && b.deleted != r.Added && b.offset > r.After && b.offset <= r.Version {
			last = b
		}
	}
	return last
}

// resolution is what had the expressions resolved again: a deletion alone does
// not, the creation of any topic and a new coordinator do, and the time.
func (s *settlement) resolution(r *regexStep, after *birth) *Trigger {
	var made *birth
	for i := range s.e.history.births {
		if b := &s.e.history.births[i]; !b.deleted && b.offset > after.offset && b.offset <= r.Version {
			made = b
			break
		}
	}
	for i := range s.e.history.elections[s.b.id.Partition] {
		e := &s.e.history.elections[s.b.id.Partition][i]
		if e.offset > after.offset && e.offset <= r.Version && (made == nil || e.offset < made.offset) {
			return e.trigger()
		}
	}
	t := &Trigger{Kind: RegexRefresh, Summary: "the coordinator resolved its regular expressions again, as it does every 10 minutes"}
	if made != nil {
		t.Summary = fmt.Sprintf("topic %s was created, which had the coordinator resolve its regular expressions again", made.topic)
		t.Evidence = []Evidence{{Log: MetadataLog, Offset: made.offset, Timestamp: made.time, Record: made.record}}
	}
	return t
}
