package pipeline

import (
	"cmp"
	"errors"
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
	// pinned is what is exported while it is open: the same until it was sent.
	pinned *rebalance.Rebalance
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
	s.persistExport(d.ExportKey, d.state)
}

func exportKey(r *rebalance.Rebalance) store.ExportKey {
	return store.ExportKey{Partition: r.ID.Partition, Offset: r.ID.Offset}
}

func (s *state) persistExport(k store.ExportKey, state store.ExportState) {
	if s.Store != nil {
		s.Store.Export(k, state)
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
		if state := rows[exportKey(r)]; state != 0 {
			s.outbox = append(s.outbox, &due{ExportKey: exportKey(r), group: r.Group, startedAt: r.StartedAt, state: state})
			delete(rows, exportKey(r))
		}
	}
	for k := range rows {
		s.persistExport(k, 0) // it is kept no more
	}
	slices.SortFunc(s.outbox, func(a, b *due) int {
		return cmp.Or(cmp.Compare(a.startedAt, b.startedAt), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	return nil
}

// exportRows is the outbox for a store that was rebuilt.
func (s *state) exportRows(yield func(store.ExportKey, store.ExportState) bool) {
	for _, d := range s.outbox {
		if !yield(d.ExportKey, d.state) {
			return
		}
	}
}

// Pending returns the oldest rebalances that are to be exported, oldest first.
// They are durable, and the same until they were sent.
func (p *Pipeline) Pending(most int) (list []Export) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.state
	s.outbox = slices.DeleteFunc(s.outbox, func(d *due) bool {
		if len(list) == most {
			return false
		}
		e, gone := s.export(d)
		if gone {
			s.persistExport(d.ExportKey, 0)
		} else if e.Rebalance != nil {
			list = append(list, e)
		}
		return gone
	})
	return list
}

// export is what is to be exported now, if anything. It is gone if the
// rebalance is not kept any more, and never will be seen.
func (s *state) export(d *due) (e Export, gone bool) {
	list, _ := s.rebalances.Get(d.group)
	i := slices.IndexFunc(list, func(r *rebalance.Rebalance) bool { return exportKey(r) == d.ExportKey })
	if i < 0 {
		return e, !s.isUntold(d.group)
	}
	r := list[i]
	switch {
	case !r.Settled, r.ID.ClusterID == "": // which is part of what is exported
	case d.pinned != nil:
		return Export{Rebalance: d.pinned, Incomplete: true}, false
	case !r.Open():
		return Export{Rebalance: r, Completion: d.state == store.ExportIncomplete}, false
	case d.state == store.ExportDue && r.StartedAt < s.now.Add(-s.Exports.SlowAfter).UnixMilli():
		d.pinned = r
		return Export{Rebalance: r, Incomplete: true}, false
	}
	return e, false
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
	d.pinned = nil
	if e.Incomplete {
		d.state = store.ExportIncomplete
	} else {
		d.state = 0
		s.outbox = slices.Delete(s.outbox, i, i+1)
	}
	s.persistExport(d.ExportKey, d.state)
}
