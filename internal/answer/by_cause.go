package answer

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/web/api"
)

// ByCause is the rebalances of all groups by what caused them, each of them
// once. The deciding cause counts, the first one of a rebalance.
type ByCause struct {
	Changes []Change      `json:"changes"` // of the metadata, newest first
	Others  []OtherCauses `json:"others"`  // the most frequent kind first
	Scope
	// Period says of which time they are, as the end of a sentence.
	Period string `json:"-"`
}

// Change is one of the metadata log, and what it caused.
type Change struct {
	Cause      ChangeCause     `json:"cause"`
	Rebalances []api.Rebalance `json:"rebalances"` // newest first
}

// ChangeCause says what changed. Records of one batch that are of one type and
// have one detail are one change: what is asked of a controller at once is.
type ChangeCause struct {
	Kind    string       `json:"kind"`
	Field   *string      `json:"field"`
	Summary string       `json:"summary"` // of one topic, if there are several
	Topics  []string     `json:"topics"`  // for which groups rebalanced, sorted
	Record  api.Evidence `json:"record"`
}

// OtherCauses are of a kind that no record of the metadata log is known for.
type OtherCauses struct {
	// Kind is that of causes, or Unsettled.
	Kind       string          `json:"kind"`
	Rebalances []api.Rebalance `json:"rebalances"` // newest first
}

// Unsettled stands in place of a kind as long as causes are not final.
const Unsettled = "unsettled"

// NewByCause sorts rebalances, which are newest first.
func NewByCause(list []api.Rebalance, period string, s Scope) *ByCause {
	out := &ByCause{Changes: []Change{}, Others: []OtherCauses{}, Scope: s, Period: period}
	changeOf := changesBehind(list)
	changes, others := make(map[kafka.Offset]*change), make(map[string][]api.Rebalance)
	for i := range list {
		r := &list[i]
		record, kind := decided(r)
		if record == nil {
			others[kind] = append(others[kind], *r)
			continue
		}
		first := changeOf[record.Offset]
		if changes[first] == nil {
			changes[first] = &change{topics: make(map[string]bool)}
		}
		changes[first].add(r, func(e *api.Evidence) bool { return changeOf[e.Offset] == first })
	}
	for _, c := range changes {
		out.Changes = append(out.Changes, c.finish())
	}
	slices.SortFunc(out.Changes, func(a, b Change) int { return cmp.Compare(b.Cause.Record.Offset, a.Cause.Record.Offset) })
	for kind, list := range others {
		out.Others = append(out.Others, OtherCauses{kind, list})
	}
	slices.SortFunc(out.Others, func(a, b OtherCauses) int {
		return cmp.Or(cmp.Compare(len(b.Rebalances), len(a.Rebalances)), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}

// decided is the record of the metadata log that caused a rebalance; where none
// did, as far as is known, kind says what did.
func decided(r *api.Rebalance) (record *api.Evidence, kind string) {
	if !r.Settled || len(r.Causes) == 0 {
		return nil, Unsettled
	}
	return changing(&r.Causes[0]), r.Causes[0].Kind
}

// changing is the last record of the metadata log that a cause rests on: before
// it, the hash was another one. It is nil if there is none.
func changing(c *api.Cause) (last *api.Evidence) {
	for i := range c.Evidence {
		if e := &c.Evidence[i]; e.Log == "metadata" && (last == nil || e.Offset > last.Offset) {
			last = e
		}
	}
	return last
}

// batch is what the records of one change have in common; of a record without
// a time, which is that of its batch, it has the offset.
type batch struct {
	record, detail string
	at             api.Time
	offset         kafka.Offset
}

func batchOf(e *api.Evidence) batch {
	b := batch{record: e.Record}
	if e.Detail != nil {
		b.detail = *e.Detail
	}
	if e.Timestamp != nil {
		b.at = *e.Timestamp
	} else {
		b.offset = e.Offset
	}
	return b
}

// changesBehind tells of each record that caused a rebalance by which one the
// change begins that it is of.
func changesBehind(list []api.Rebalance) map[kafka.Offset]kafka.Offset {
	firsts, changeOf := make(map[batch]kafka.Offset), make(map[kafka.Offset]kafka.Offset)
	for i := range list {
		if e, _ := decided(&list[i]); e != nil {
			first, ok := firsts[batchOf(e)]
			if !ok || e.Offset < first {
				firsts[batchOf(e)] = e.Offset
			}
		}
	}
	for i := range list {
		if e, _ := decided(&list[i]); e != nil {
			first, ok := changeOf[e.Offset]
			if !ok || firsts[batchOf(e)] < first {
				changeOf[e.Offset] = firsts[batchOf(e)]
			}
		}
	}
	return changeOf
}

// change is a Change as long as rebalances are added.
type change struct {
	Change
	cause  *api.Cause // the plainest one
	topics map[string]bool
}

// add adds a rebalance. own says whether a record is of the change.
func (c *change) add(r *api.Rebalance, own func(*api.Evidence) bool) {
	c.Rebalances = append(c.Rebalances, *r)
	if first := &r.Causes[0]; c.cause == nil || plainer(first, c.cause) {
		c.cause = first
	}
	for i := range r.Causes {
		one := &r.Causes[i]
		if record := changing(one); one.Topic != nil && record != nil && own(record) {
			c.topics[*one.Topic] = true
		}
	}
}

// plainer says whether a tells less than b besides the change: that a regular
// expression matches, or other records. Of two alike it is the earlier one.
func plainer(a, b *api.Cause) bool {
	besides := func(c *api.Cause) int {
		if c.Kind != "metadata" {
			return math.MaxInt
		}
		return len(c.Evidence)
	}
	return cmp.Or(cmp.Compare(besides(a), besides(b)), cmp.Compare(changing(a).Offset, changing(b).Offset)) < 0
}

func (c *change) finish() Change {
	c.Cause = ChangeCause{
		Kind: c.cause.Kind, Field: c.cause.Field, Summary: c.cause.Summary, Topics: []string{}, Record: *changing(c.cause),
	}
	c.Cause.Topics = slices.AppendSeq(c.Cause.Topics, maps.Keys(c.topics))
	slices.Sort(c.Cause.Topics)
	return c.Change
}

// groupsOf are the groups of rebalances, each once, in the order of the list.
func groupsOf(list []api.Rebalance) (groups []string) {
	seen := make(map[string]bool)
	for i := range list {
		if id := list[i].Group; !seen[id] {
			seen[id] = true
			groups = append(groups, id)
		}
	}
	return groups
}
