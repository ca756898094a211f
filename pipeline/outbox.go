package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kraftside/kraftside/rebalance"
	"github.com/kraftside/kraftside/store"
)

// Exports say which rebalances are to be exported: those whose partition is
// answered for when they begin.
type Exports struct {
	// MaxAge is how old a rebalance may be when it is first seen; 0 is no limit.
	MaxAge time.Duration
	// SlowAfter is how long one is open that is exported as incomplete.
	SlowAfter time.Duration
}

// Export is a rebalance that is to be exported.
type Export struct {
	Rebalance *rebalance.Rebalance
	// Incomplete: it is still open after a while, and is exported as it is.
	Incomplete bool
	// Completion: it was exported as incomplete, and is over now.
	Completion bool
}

// due is a rebalance that is to be exported.
type due struct {
	store.ExportKey
	group     string
	startedAt int64
	state     store.ExportState
	// pinned is what is exported while it is open: the same until it was sent,
	// also after a crash, so that it is not sent before the commit.
	pinned *rebalance.Rebalance
	commit uint64 // of the store
}

// row is what a store keeps of it.
func (d *due) row() store.ExportRow {
	row := store.ExportRow{State: d.state}
	if d.pinned != nil {
		row.Open = d.pinned.Encode()
	}
	return row
}

// onBegin has a rebalance exported, if it is ours to export.
func (s *state) onBegin(r *rebalance.Rebalance) {
	switch o := s.Exports; {
	case o == nil, !s.answers(r.ID.Partition):
		return
	case o.MaxAge > 0 && r.StartedAt < s.now.Add(-o.MaxAge).UnixMilli():
		return
	}
	d := &due{ExportKey: exportKey(r), group: r.Group, startedAt: r.StartedAt, state: store.ExportDue}
	s.outbox = append(s.outbox, d)
	s.persistExport(d)
}

func exportKey(r *rebalance.Rebalance) store.ExportKey {
	return store.ExportKey{Partition: r.ID.Partition, Offset: r.ID.Offset}
}

func (s *state) persistExport(d *due) {
	if s.Store != nil {
		s.Store.Export(d.ExportKey, d.row())
	}
}

// forgetExport removes what a store keeps of one.
func (s *state) forgetExport(k store.ExportKey) {
	if s.Store != nil {
		s.Store.Export(k, store.ExportRow{})
	}
}

// restoreOutbox goes on with what had yet to be exported of a partition, in the
// place of what is known of that. After an error the store has stopped.
func (s *state) restoreOutbox(partition int32) error {
	rows, err := s.Store.LoadExports(partition)
	if err != nil || s.Exports == nil {
		return err
	}
	s.outbox = slices.DeleteFunc(s.outbox, func(d *due) bool { return d.Partition == partition })
	for r := range s.explainer.Rebalances(partition) {
		row, there := rows[exportKey(r)]
		if !there {
			continue
		}
		d := &due{ExportKey: exportKey(r), group: r.Group, startedAt: r.StartedAt, state: row.State}
		if d.state == store.ExportOpen {
			if d.pinned, err = rebalance.Decode(r.ID, row.Open); err != nil {
				return s.Store.Condemn(fmt.Errorf("restore an export of partition %d: %w", partition, err))
			}
		}
		s.outbox = append(s.outbox, d)
		delete(rows, d.ExportKey)
	}
	for k := range rows {
		s.forgetExport(k) // it is kept no more
	}
	slices.SortFunc(s.outbox, func(a, b *due) int {
		return cmp.Or(cmp.Compare(a.startedAt, b.startedAt), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	return nil
}

// exportRows is the outbox for a store that was rebuilt.
func (s *state) exportRows(yield func(store.ExportKey, store.ExportRow) bool) {
	for _, d := range s.outbox {
		if !yield(d.ExportKey, d.row()) {
			return
		}
	}
}

// Pending returns the oldest rebalances that are to be exported, oldest first.
// They are durable, and the same until they were sent, in this process and in
// the next.
func (p *Pipeline) Pending(most int) (list []Export) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, found := p.state, 0
	s.sweep()
	for _, d := range s.outbox {
		if found == most {
			break
		}
		if e := s.export(d); e.Rebalance != nil {
			found++
			if s.durable(d.commit) {
				list = append(list, e)
			}
		}
	}
	return list
}

// sweepEach is how much an outbox grows at least until it is swept again.
const sweepEach = 64

// sweep drops what is not kept any more, and never will be seen. An outbox that
// nobody empties has no more than twice what is kept.
func (s *state) sweep() {
	s.swept = min(s.swept, len(s.outbox))
	if len(s.outbox) < s.swept+max(s.swept, sweepEach) {
		return
	}
	s.outbox = slices.DeleteFunc(s.outbox, func(d *due) bool {
		gone := s.rebalanceOf(d) == nil && !s.isUntold(d.group)
		if gone {
			s.forgetExport(d.ExportKey)
		}
		return gone
	})
	s.swept = len(s.outbox)
}

// rebalanceOf is the rebalance itself, nil if it is not kept, or not yet told.
func (s *state) rebalanceOf(d *due) *rebalance.Rebalance {
	list, _ := s.rebalances.Get(d.group)
	if i := slices.IndexFunc(list, func(r *rebalance.Rebalance) bool { return exportKey(r) == d.ExportKey }); i >= 0 {
		return list[i]
	}
	return nil
}

// export is what is to be exported now, if anything.
func (s *state) export(d *due) (e Export) {
	r := s.rebalanceOf(d)
	if r == nil || !r.Settled || r.ID.ClusterID == "" { // which is part of what is exported
		return e
	}
	if d.state == store.ExportDue && r.Open() && s.isSlow(r) {
		s.pin(d, r)
	}
	switch {
	case d.state == store.ExportOpen:
		return Export{Rebalance: d.pinned, Incomplete: true}
	case r.Open():
		return e
	}
	return Export{Rebalance: r, Completion: d.state == store.ExportIncomplete}
}

// isSlow says whether a rebalance was still open after a while, by all that its
// log holds: of one that is read later than it was written, the end may follow.
func (s *state) isSlow(r *rebalance.Rebalance) bool {
	until := time.UnixMilli(r.StartedAt).Add(s.Exports.SlowAfter)
	sh := s.shards[r.ID.Partition]
	return until.Before(s.now) && sh != nil && sh.wasRead(until) && !s.isUntold(r.Group)
}

// pin has a rebalance exported as it is now.
func (s *state) pin(d *due, r *rebalance.Rebalance) {
	d.state, d.pinned = store.ExportOpen, r
	if s.Store != nil {
		d.commit = s.Store.Commit()
	}
	s.persistExport(d)
}

// isUntold says whether something of a group is not durable yet.
func (s *state) isUntold(group string) bool {
	return slices.ContainsFunc(s.untold, func(u untold) bool { _, ok := u.groups[group]; return ok })
}

// ErrNotKept is the error of Sent while the store does not work: after a restart
// what was sent may be pending again.
var ErrNotKept = errors.New("the store keeps nothing at present")

// Sent says that some of what was pending was exported.
func (p *Pipeline) Sent(sent []Export) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.state
	for _, e := range sent {
		s.sent(&e)
	}
	if s.Store != nil && !s.Store.Status().Persisting {
		return ErrNotKept
	}
	return nil
}

func (s *state) sent(e *Export) {
	i := slices.IndexFunc(s.outbox, func(d *due) bool { return d.ExportKey == exportKey(e.Rebalance) })
	if i < 0 {
		return
	}
	d := s.outbox[i]
	if e.Incomplete {
		d.state, d.pinned = store.ExportIncomplete, nil
		s.persistExport(d)
		return
	}
	s.outbox = slices.Delete(s.outbox, i, i+1)
	s.forgetExport(d.ExportKey)
}
