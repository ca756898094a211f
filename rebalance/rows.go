package rebalance

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"unsafe"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/rowvalue"
)

// Row is a piece of an Explainer's state for a store, under a key that is unique
// in its partition: with the rows, the shards and the image an Explainer goes on
// where another one ended. The values are CBOR (RFC 8949): maps with the names
// of fields in this package.
type Row struct {
	Partition int32 // or HistoryPartition
	Key       []byte
	// Value is nil if the row is gone; with Members every row is whose key
	// begins with this one.
	Value   []byte
	Members bool
}

// The first byte of a key. A rebalance is under the offset of its bump, 8 bytes
// big-endian, and each of its members under that, a letter and the member's id;
// what is remembered of a group is under its id.
const (
	rebalanceRow = 'r'
	memberRow    = 'm'
	memoryRow    = 't'
)

func rebalanceKey(offset kafka.Offset) []byte {
	return binary.BigEndian.AppendUint64([]byte{rebalanceRow}, uint64(offset))
}

func memberKey(offset kafka.Offset, id string) []byte {
	return append(append(rebalanceKey(offset), memberRow), id...)
}

func memoryKey(group string) []byte { return append([]byte{memoryRow}, group...) }

// head is the row of a rebalance: all of it but what is in its key, in the rows
// of its members, and in the store for itself.
type head struct {
	TopicID kafka.TopicID
	Rebalance
	Facts *facts // nil once the causes are settled
}

// removal is rows that are gone: of a rebalance, or of a track.
type removal struct {
	partition int32
	offset    kafka.Offset
	track     string // empty: of the rebalance at the offset
}

func (e *Explainer) remove(r removal) {
	if e.Stored {
		e.removed = append(e.removed, r)
	}
}

// TakeRows yields the rows that differ from those yielded before: of the
// metadata log, and of groups, which TakeChanged returned. Only if Options say
// so there are any.
func (e *Explainer) TakeRows(groups []string, yield func(Row)) {
	for _, r := range e.removed {
		row := Row{Partition: r.partition, Key: rebalanceKey(r.offset), Members: true}
		if r.track != "" {
			row.Key, row.Members = memoryKey(r.track), false
		}
		yield(row)
	}
	e.removed = nil
	e.history.takeRows(yield)
	for _, group := range groups {
		if t := e.groups[group]; t != nil {
			t.rows(group, yield)
		}
	}
}

// AllRows yields every row, for a store that may have others of the same
// partitions: it has them removed first.
func (e *Explainer) AllRows() iter.Seq[Row] {
	return func(yield func(Row) bool) {
		more := true
		for partition, p := range e.partitions {
			if !p.lost {
				more = more && yield(Row{Partition: partition, Members: true})
			}
		}
		e.removed = nil
		e.history.allRows()
		e.history.takeRows(func(r Row) { more = more && yield(r) })
		for group, t := range e.groups {
			t.stored = nil
			t.rows(group, func(r Row) { more = more && yield(r) })
			if !more {
				return
			}
		}
	}
}

// rows yields what differs from what is stored.
func (t *track) rows(group string, yield func(Row)) {
	yield(Row{Partition: t.partition, Key: memoryKey(group), Value: rowvalue.Encode(&t.memory)})
	stored := t.stored
	for _, r := range t.rebalances {
		for len(stored) > 0 && stored[0].ID.Offset < r.ID.Offset {
			stored = stored[1:] // it is gone
		}
		var was *Rebalance
		if len(stored) > 0 && stored[0].ID.Offset == r.ID.Offset {
			was = stored[0]
		}
		if was != r {
			t.rebalanceRows(was, r, yield)
		}
	}
	t.own, t.stored = nil, slices.Clone(t.rebalances)
}

func (t *track) rebalanceRows(was, r *Rebalance, yield func(Row)) {
	h := head{TopicID: r.ID.TopicID, Rebalance: *r}
	if i := slices.IndexFunc(t.bumps, func(b *bump) bool { return b.id == r.ID }); i >= 0 {
		h.Facts = &t.bumps[i].facts
	}
	yield(Row{Partition: t.partition, Key: rebalanceKey(r.ID.Offset), Value: rowvalue.Encode(&h)})
	for i := range r.Members {
		m := &r.Members[i]
		if was == nil || !was.Members[i].same(m) {
			yield(Row{Partition: t.partition, Key: memberKey(r.ID.Offset, m.MemberID), Value: rowvalue.Encode(m)})
		}
	}
}

// same says whether nothing was assigned to a member since: its lists are made
// anew when they change, and the members of a rebalance stay the same ones.
func (m *Member) same(o *Member) bool {
	return m.ReconciledAt == o.ReconciledAt && identical(m.After, o.After) && identical(m.WaitedFor, o.WaitedFor)
}

func identical[E any](a, b []E) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}

// ErrRow is what Restore wraps: a row is not one that TakeRows gave out.
var ErrRow = errors.New("not a row of the rebalances")

// Restore takes back the rows of a partition, in the order of their keys, in the
// place of what is known of it; the shard is to be as it was when they were the
// newest, or as it was before. After an error they are lost, see Lost.
func (p *Partition) Restore(rows iter.Seq2[[]byte, []byte]) error {
	p.Lost()
	r := restoring{p: p, tracks: make(map[string]*track)}
	for key, value := range rows {
		if err := r.row(key, value); err != nil {
			p.Lost()
			return fmt.Errorf("restore the row %.60q of partition %d: %w", key, p.shard.Partition(), err)
		}
	}
	r.finish()
	p.follow()
	return nil
}

// Lost says that the rows of the partition cannot be had at present: what is
// known of it is dropped, and AllRows leaves in place what may be there.
func (p *Partition) Lost() {
	p.e.Forget(p.shard.Partition())
	p.follow()
	p.lost = true
}

// follow makes it the one that is followed, with rows that are not lost.
func (p *Partition) follow() {
	p.e.partitions[p.shard.Partition()] = p
	p.lost = false
}

// Whole is false from Lost until Restore succeeds.
func (p *Partition) Whole() bool { return !p.lost }

// restoring is a Restore under way.
type restoring struct {
	p      *Partition
	last   *Rebalance // its members may follow
	tracks map[string]*track
}

func (r *restoring) row(key, value []byte) error {
	switch {
	case len(key) == 9 && key[0] == rebalanceRow:
		return r.head(kafka.Offset(binary.BigEndian.Uint64(key[1:])), value)
	case len(key) > 9 && key[0] == rebalanceRow && key[9] == memberRow:
		return r.member(kafka.Offset(binary.BigEndian.Uint64(key[1:])), string(key[10:]), value)
	case len(key) > 0 && key[0] == memoryRow:
		return read(value, &r.track(string(key[1:])).memory)
	}
	return ErrRow
}

func read(value []byte, into any) error {
	if err := rowvalue.Decode(value, into); err != nil {
		return fmt.Errorf("%w: %w", ErrRow, err)
	}
	return nil
}

func (r *restoring) track(group string) *track {
	t := r.p.e.track(r.p.shard.Partition(), group)
	r.tracks[group] = t
	return t
}

func (r *restoring) head(offset kafka.Offset, value []byte) error {
	var h head
	if err := read(value, &h); err != nil {
		return err
	}
	if h.Settled != (h.Facts == nil) || offset < 0 {
		return fmt.Errorf("%w: a rebalance that is settled has causes, another has facts", ErrRow)
	}
	n := &h.Rebalance
	n.ID = ID{r.p.e.ClusterID, h.TopicID, r.p.shard.Partition(), offset}
	t := r.track(n.Group)
	t.rebalances = append(t.rebalances, n)
	if h.Facts != nil {
		t.bumps = append(t.bumps, &bump{track: t, id: n.ID, time: n.StartedAt, facts: *h.Facts})
	}
	r.last = n
	return nil
}

func (r *restoring) member(offset kafka.Offset, id string, value []byte) error {
	var m Member
	if err := read(value, &m); err != nil {
		return err
	}
	if r.last == nil || r.last.ID.Offset != offset || m.MemberID != id {
		return fmt.Errorf("%w: it is of no member of the rebalance before it", ErrRow)
	}
	r.last.Members = append(r.last.Members, m)
	return nil
}

// finish takes what was read among what the Explainer has.
func (r *restoring) finish() {
	e := r.p.e
	for group, t := range r.tracks {
		e.changed[group] = struct{}{}
		t.stored = slices.Clone(t.rebalances)
		for _, n := range t.rebalances {
			e.keep(n)
		}
		t.pending = r.p.pending(t.current())
		for _, b := range t.bumps {
			e.await(b)
		}
		e.dropTrack(group, t)
	}
	e.trim()
}

// pending is how many of the members that are there have yet to reach the epoch
// of a rebalance.
func (p *Partition) pending(r *Rebalance) (n int) {
	if r == nil || !r.Open() {
		return 0
	}
	for i := range r.Members {
		if m := &r.Members[i]; m.ReconciledAt == 0 && p.shard.Member(r.Group, m.MemberID) != nil {
			n++
		}
	}
	return n
}

// Known is the offset from which on a record may raise an epoch, or report on
// it, that was not known before.
func (p *Partition) Known() (next kafka.Offset) {
	for _, t := range p.e.groups {
		if r := t.current(); t.partition == p.shard.Partition() && r != nil {
			next = max(next, r.ID.Offset+1)
		}
	}
	return next
}
