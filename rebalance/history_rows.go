package rebalance

import (
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/rowvalue"
)

// HistoryPartition is the Partition of rows of the metadata log.
const HistoryPartition int32 = -1

// The first byte of a key. A change is under the offset of its image.
const (
	baseRow   = 'b'
	changeRow = 'c'
)

func changeKey(offset kafka.Offset) []byte {
	return binary.BigEndian.AppendUint64([]byte{changeRow}, uint64(offset))
}

// historyBase is where what the rows tell begins.
type historyBase struct {
	Offset   kafka.Offset
	Epoch    kafka.Epoch
	Time     int64
	Complete kafka.Offset
}

// historyChange is what a delta added to the history. Images are not kept: the
// one before a point is what undoing makes of the next one.
type historyChange struct {
	Epoch     kafka.Epoch
	Time      int64
	Touches   []touchRow
	Sources   []sourceRow
	Brokers   []brokerRow
	Elections []electionRow
	Point     bool
	Undo      [][]byte // frames of records of the metadata log
}

type touchRow struct {
	_         struct{} `cbor:",toarray"`
	Topic     string
	Offset    kafka.Offset
	Record    string
	Partition int32
	Effect    string
}

type sourceRow struct {
	_         struct{} `cbor:",toarray"`
	Topic     string
	ID        kafka.TopicID
	Offset    kafka.Offset
	Record    string
	Partition int32
}

type brokerRow struct {
	_             struct{} `cbor:",toarray"`
	Offset        kafka.Offset
	Record        string
	Broker        kafka.NodeID
	Before, After *string
}

type electionRow struct {
	_            struct{} `cbor:",toarray"`
	Partition    int32
	Offset       kafka.Offset
	Record       string
	Leader, From kafka.NodeID
	Epoch        kafka.Epoch
}

// historyRows are the rows of a history that have yet to be taken, and which of
// those that were taken are to be removed some day.
type historyRows struct {
	wanted bool
	fresh  bool        // what was taken before is void
	base   historyBase // as it was taken last

	offset  kafka.Offset
	change  historyChange // of the delta at hand
	pending []pendingRow
	// points are the offsets of the rows with a point that were taken, others
	// of those without.
	points, others []kafka.Offset
}

type pendingRow struct {
	offset kafka.Offset
	point  bool
	value  []byte
}

// restart has the rows begin anew.
func (w *historyRows) restart() { *w = historyRows{wanted: w.wanted, fresh: true} }

func (w *historyRows) begin(at image.Provenance) {
	w.offset, w.change = at.Offset, historyChange{Epoch: at.Epoch, Time: at.AppendTime}
}

func (c *historyChange) touch(topic string, t *touch) {
	c.Touches = append(c.Touches, touchRow{Topic: topic, Offset: t.offset, Record: t.record, Partition: t.partition, Effect: t.effect})
}

func (c *historyChange) source(topic string, s *source) {
	c.Sources = append(c.Sources, sourceRow{Topic: topic, ID: s.id, Offset: s.offset, Record: s.record, Partition: s.partition})
}

func (c *historyChange) broker(b *brokerChange) {
	c.Brokers = append(c.Brokers, brokerRow{Offset: b.offset, Record: b.record, Broker: b.broker, Before: b.before, After: b.after})
}

func (c *historyChange) election(partition int32, e *election) {
	c.Elections = append(c.Elections, electionRow{
		Partition: partition, Offset: e.offset, Record: e.record, Leader: e.leader, From: e.from, Epoch: e.epoch,
	})
}

func (w *historyRows) point(d *delta.Delta) {
	if w.wanted {
		w.change.Point, w.change.Undo = true, undo(d.Base(), d.Image(), &w.change, changedTimeouts(d))
	}
}

func (w *historyRows) end() {
	if c := &w.change; w.wanted && (c.Point || len(c.Touches)+len(c.Sources)+len(c.Brokers)+len(c.Elections) > 0) {
		w.add(w.offset, c)
	}
	w.change = historyChange{} // its texts are the delta's
}

func (w *historyRows) add(offset kafka.Offset, c *historyChange) {
	w.pending = append(w.pending, pendingRow{offset, c.Point, rowvalue.Encode(c)})
}

// takeRows yields what is new, and removes what is older than the history.
func (h *history) takeRows(yield func(Row)) {
	w := &h.rows
	if !w.wanted {
		return
	}
	if w.fresh {
		yield(Row{Partition: HistoryPartition, Key: []byte{changeRow}, Members: true})
		w.fresh = false
	}
	for _, r := range w.pending {
		yield(Row{Partition: HistoryPartition, Key: changeKey(r.offset), Value: r.value})
		if r.point {
			w.points = append(w.points, r.offset)
		} else {
			w.others = append(w.others, r.offset)
		}
	}
	w.pending = nil
	start := h.start()
	w.points = dropRows(w.points, start.Offset+1, yield)
	w.others = dropRows(w.others, h.complete, yield)
	base := historyBase{start.Offset, start.Epoch, start.AppendTime, h.complete}
	if base != w.base {
		yield(Row{Partition: HistoryPartition, Key: []byte{baseRow}, Value: rowvalue.Encode(&base)})
		w.base = base
	}
}

// allRows has all of the history taken again.
func (h *history) allRows() {
	h.rows.restart()
	if !h.rows.wanted {
		return
	}
	changes := h.changesByOffset()
	for _, p := range h.points[1:] {
		c := changes.at(p.Offset, p.AppendTime)
		c.Point, c.Epoch = true, p.Epoch
	}
	before, since := h.points, historyChange{} // since the image of the first of before
	for _, offset := range slices.Sorted(maps.Keys(changes)) {
		c := changes[offset]
		if offset > before[0].Offset {
			since.Brokers, since.Sources = append(since.Brokers, c.Brokers...), append(since.Sources, c.Sources...)
		}
		if c.Point {
			c.Undo = undo(before[0].image, before[1].image, &since, differentTimeouts(before[0].image, before[1].image))
			before, since = before[1:], historyChange{}
		}
		h.rows.add(offset, c)
	}
}

// changesByOffset are rows by the offsets of their records.
type changesByOffset map[kafka.Offset]*historyChange

func (c changesByOffset) at(offset kafka.Offset, time int64) *historyChange {
	if c[offset] == nil {
		c[offset] = &historyChange{Time: time}
	}
	return c[offset]
}

func (h *history) changesByOffset() changesByOffset {
	changes := make(changesByOffset)
	for name, t := range h.topics {
		for i := range t.touches {
			changes.at(t.touches[i].offset, t.touches[i].time).touch(name, &t.touches[i])
		}
		for i := range t.sources {
			changes.at(t.sources[i].offset, t.sources[i].time).source(name, &t.sources[i])
		}
	}
	for i := range h.brokers {
		changes.at(h.brokers[i].offset, h.brokers[i].time).broker(&h.brokers[i])
	}
	for partition, list := range h.elections {
		for i := range list {
			changes.at(list[i].offset, list[i].time).election(partition, &list[i])
		}
	}
	return changes
}

// dropRows removes the rows before an offset.
func dropRows(rows []kafka.Offset, before kafka.Offset, yield func(Row)) []kafka.Offset {
	for len(rows) > 0 && rows[0] < before {
		yield(Row{Partition: HistoryPartition, Key: changeKey(rows[0])})
		rows = rows[1:]
	}
	return rows
}

// RestoreHistory takes back the rows of HistoryPartition, in the order of their
// keys. The Explainer must have been made of the image of their commit, and have
// taken nothing since. After an error it knows nothing before that image.
func (e *Explainer) RestoreHistory(rows iter.Seq2[[]byte, []byte]) error {
	r := historyRestoring{h: newHistory(e.history.image, e.Limits, e.Stored)}
	for key, value := range rows {
		if err := r.row(key, value); err != nil {
			return fmt.Errorf("restore the row %.20q of the metadata log: %w", key, err)
		}
	}
	if !r.begun {
		return nil
	}
	if err := r.finish(); err != nil {
		return err
	}
	e.history = r.h
	return nil
}

// historyRestoring is a RestoreHistory under way.
type historyRestoring struct {
	h      *history
	begun  bool
	base   historyBase
	points []undoPoint
}

type undoPoint struct {
	image.Provenance
	undo [][]byte
}

func (r *historyRestoring) row(key, value []byte) error {
	switch {
	case len(key) == 1 && key[0] == baseRow && !r.begun:
		if err := read(value, &r.base); err != nil {
			return err
		}
		r.begun, r.h.complete = true, r.base.Complete
		return nil
	case len(key) == 9 && key[0] == changeRow && r.begun:
		var c historyChange
		if err := read(value, &c); err != nil {
			return err
		}
		return r.change(kafka.Offset(binary.BigEndian.Uint64(key[1:])), &c)
	}
	return ErrRow
}

func (r *historyRestoring) change(offset kafka.Offset, c *historyChange) error {
	if offset < 0 || offset > r.h.image.Provenance().Offset {
		return fmt.Errorf("%w: the image does not go so far", ErrRow)
	}
	if offset <= r.base.Offset && c.Point {
		return nil // it was to be removed
	}
	rows := &r.h.rows.others
	if c.Point {
		rows = &r.h.rows.points
		r.points = append(r.points, undoPoint{image.Provenance{Offset: offset, Epoch: c.Epoch, AppendTime: c.Time}, c.Undo})
	}
	*rows = append(*rows, offset)
	for _, t := range c.Touches {
		r.h.putTouch(t.Topic, touch{offset: t.Offset, time: c.Time, record: t.Record, partition: t.Partition, effect: t.Effect})
	}
	for _, s := range c.Sources {
		r.h.putSource(s.Topic, source{offset: s.Offset, time: c.Time, record: s.Record, id: s.ID, partition: s.Partition})
	}
	for _, b := range c.Brokers {
		r.h.brokers = append(r.h.brokers, brokerChange{b.Offset, c.Time, b.Record, b.Broker, b.Before, b.After})
	}
	for _, e := range c.Elections {
		r.h.elections[e.Partition] = append(r.h.elections[e.Partition], election{
			offset: e.Offset, time: c.Time, record: e.Record, leader: e.Leader, from: e.From, epoch: e.Epoch,
		})
	}
	return nil
}

// finish makes the images, from the newest back to the one that the rows begin
// with.
func (r *historyRestoring) finish() error {
	h := r.h
	m := h.image
	h.points = make([]*point, len(r.points)+1)
	for i := len(r.points) - 1; i >= 0; i-- {
		p := &r.points[i]
		h.points[i+1] = &point{p.Provenance, m}
		before := image.Provenance{Offset: r.base.Offset, Epoch: r.base.Epoch, AppendTime: r.base.Time}
		if i > 0 {
			before = r.points[i-1].Provenance
		}
		var err error
		if m, err = redo(m, p.undo, before); err != nil {
			return fmt.Errorf("restore the image before offset %d: %w: %w", p.Offset, ErrRow, err)
		}
	}
	h.points[0] = &point{image.Provenance{Offset: r.base.Offset, Epoch: r.base.Epoch, AppendTime: r.base.Time}, m}
	h.rows.fresh, h.rows.base = false, r.base
	return nil
}
