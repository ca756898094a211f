package groups

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/wire"
)

// ErrBadRow means that rows are not what a shard has written: they are damaged,
// or not all from one shard.
var ErrBadRow = errors.New("row is not of a shard")

// Restore makes a shard of its rows, which may come in any order. What they
// point to is not kept. The options need not be those of the shard that wrote
// them. A failure wraps ErrBadRow.
func Restore(partition int32, o Options, rows iter.Seq[Row]) (*Shard, error) {
	s := NewShard(partition, o)
	s.restoring = true
	for row := range rows {
		if err := s.restore(&row); err != nil {
			return nil, fmt.Errorf("restore row of offset %d of partition %d: %w: %w", row.Offset, partition, ErrBadRow, err)
		}
	}
	s.restoring = false
	s.begin(&Record{})
	return s, nil
}

func (s *Shard) restore(row *Row) error {
	s.begin(&Record{
		Offset: row.Offset, Timestamp: row.Timestamp, ProducerID: row.ProducerID, Key: row.Key, Value: row.Value,
	})
	if len(row.Value) == 0 {
		s.cur.Value = nil
	}
	switch {
	case row.Kind == RowShard:
		return s.restoreAnomalies(row.Value)
	case row.Kind == RowGroup:
		return s.restoreGroup(string(row.Key), row.Value)
	case row.Offset < 0:
		return errors.New("negative offset")
	case row.Kind == RowRecord && !isOffsetKey(row.Key):
		return s.restoreRecord()
	case isOffsetKey(row.Key) && (row.Kind == RowRecord || row.Kind == RowPending):
		return s.restoreOffset(row.Kind == RowPending)
	}
	return fmt.Errorf("row kind %d with key type %x", row.Kind, row.Key[:min(2, len(row.Key))])
}

func (s *Shard) restoreAnomalies(value []byte) error {
	r := wire.NewReader(value)
	s.anomalies.read(&r)
	r.End()
	return r.Err()
}

func (s *Shard) restoreGroup(id string, value []byte) error {
	r := wire.NewReader(value)
	readFormat(&r)
	kind := Type(r.Int8())
	marked := &groupAnomalies{count: r.Varlong()}
	if marked.count > 0 {
		marked.last = readAnomaly(&r)
	}
	r.End()
	if err := r.Err(); err != nil {
		return err
	}
	g, err := s.ensure(id, kind)
	if err == nil && marked.count > 0 {
		g.anomalies = marked
	}
	return err
}

// ensure returns the group, which must have the type if it is there.
func (s *Shard) ensure(id string, kind Type) (*group, error) {
	if kind < Classic || kind > Streams {
		return nil, fmt.Errorf("group %.64q has type number %d", id, kind)
	}
	g := s.slot(id)
	if g.kind == noType {
		s.create(g, kind)
	}
	if g.kind != kind {
		return nil, fmt.Errorf("group %.64q has rows of a %s and of a %s group", id, g.kind, kind)
	}
	return g, nil
}

// restoreRecord applies the record of a group. Its group and its member exist,
// whether or not their own rows have been seen.
func (s *Shard) restoreRecord() error {
	key, err := s.decoder.Key(s.cur.Key)
	if err != nil {
		return err
	}
	var value record.Value
	if s.cur.Value != nil {
		if value, _, err = s.decoder.Value(key.Type(), s.cur.Value); err != nil {
			return err
		}
	} else if !leavesSomething(key.Type()) {
		return fmt.Errorf("tombstone of %s", key.Type().RecordName())
	}
	if _, err := s.ensure(key.Owner(), groupTypeOf(key.Type())); err != nil {
		return err
	}
	s.apply(key, value)
	return nil
}

// leavesSomething says whether a tombstone of the type has a row: that of a
// target assignment's epoch, and that of what a member has.
func leavesSomething(t record.Type) bool {
	return slices.ContainsFunc(typesOf[Consumer:], func(of recordTypes) bool {
		return t == of.targetMetadata || t == of.current
	})
}

// groupTypeOf is the type of the groups that have such a record.
func groupTypeOf(t record.Type) Type {
	switch {
	case t == record.TypeGroupMetadata:
		return Classic
	case t <= record.TypeConsumerGroupCurrentMemberAssignment || t == record.TypeConsumerGroupRegularExpression:
		return Consumer
	case t <= record.TypeShareGroupStatePartitionMetadata:
		return Share
	}
	return Streams
}

// restoreOffset installs an offset. Whether there is a group says its row.
func (s *Shard) restoreOffset(pending bool) error {
	s.curType = record.Type(s.cur.Key[1])
	k, err := s.readOffsetKey(s.cur.Key)
	if err != nil {
		return err
	}
	v, err := s.readOffsetValue(s.cur.Value, nil)
	if err != nil {
		return err
	}
	g := s.slot(string(k.group))
	if pending {
		s.addPending(g, k, v)
		return nil
	}
	t := g.topic(k.topic)
	t.put(k.partition, s.committed(t, nil, v))
	return nil
}
