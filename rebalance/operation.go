package rebalance

import (
	"encoding/binary"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
)

// operation is the records that a coordinator wrote in one go for one group,
// between the states before and after.
type operation struct {
	group         string
	next          kafka.Offset // the offset of a record that belongs to it
	timestamp     int64
	records       []operationRecord
	before, after *groups.Group // nil: there was or is none
	// closing: a record of the group's epoch, or one that only follows it, was
	// seen. What comes before an epoch begins another operation then.
	closing bool
}

// operationRecord is a record of an operation.
type operationRecord struct {
	offset    kafka.Offset
	kind      record.Type
	tombstone bool
	name      string // the member, or the regular expression, that it is about
}

// isOffset says whether a key is that of an offset.
func isOffset(key []byte) bool {
	return len(key) >= 2 && key[0] == 0 && key[1] <= byte(record.TypeOffsetCommit)
}

// groupKey reads the start of a key: the type and the group's id, and what
// comes after. All keys of groups begin alike.
func groupKey(key []byte) (kind record.Type, group, rest []byte, ok bool) {
	if len(key) < 4 {
		return 0, nil, nil, false
	}
	kind = record.Type(int16(binary.BigEndian.Uint16(key)))
	if kind <= record.TypeOffsetCommit || !kind.Known() {
		return kind, nil, nil, false
	}
	group, rest, ok = text(key[2:])
	return kind, group, rest, ok
}

// text reads a string of a key.
func text(b []byte) (s, rest []byte, ok bool) {
	if len(b) < 2 {
		return nil, nil, false
	}
	n := int(binary.BigEndian.Uint16(b))
	if len(b) < 2+n {
		return nil, nil, false
	}
	return b[2 : 2+n], b[2+n:], true
}

// place says where a type of record stands in an operation.
type place uint8

const (
	opening place = iota // before the epoch
	epoch                // of the group, or a classic group itself
	target               // after it: what members are to get
	current              // what a member has: all of an operation, or its end
)

func placeOf(kind record.Type, tombstone bool) place {
	switch kind {
	case record.TypeConsumerGroupMetadata, record.TypeShareGroupMetadata, record.TypeStreamsGroupMetadata, record.TypeGroupMetadata:
		if !tombstone {
			return epoch
		}
	case record.TypeConsumerGroupTargetAssignmentMetadata, record.TypeConsumerGroupTargetAssignmentMember,
		record.TypeShareGroupTargetAssignmentMetadata, record.TypeShareGroupTargetAssignmentMember,
		record.TypeStreamsGroupTargetAssignmentMetadata, record.TypeStreamsGroupTargetAssignmentMember:
		if !tombstone {
			return target
		}
	case record.TypeConsumerGroupCurrentMemberAssignment, record.TypeShareGroupCurrentMemberAssignment,
		record.TypeStreamsGroupCurrentMemberAssignment:
		if !tombstone {
			return current
		}
	}
	return opening
}

// follows says whether a record of the same group goes on with the operation.
func (o *operation) follows(kind record.Type, tombstone bool) bool {
	if !o.closing {
		return true
	}
	switch kind {
	case record.TypeConsumerGroupPartitionMetadata, record.TypeShareGroupPartitionMetadata, record.TypeShareGroupStatePartitionMetadata:
		return true // 4 comes once after an upgrade, 15 at the end of a join
	case record.TypeConsumerGroupTargetAssignmentMember, record.TypeShareGroupTargetAssignmentMember,
		record.TypeStreamsGroupTargetAssignmentMember:
		return true
	}
	p := placeOf(kind, tombstone)
	return p == target || p == current
}

// takes adds a record. What it is about is kept only where an epoch may follow,
// and if asked for of what a member has.
func (o *operation) takes(r *groups.Record, kind record.Type, rest []byte, named bool) {
	row := operationRecord{offset: r.Offset, kind: kind, tombstone: r.Value == nil}
	p := placeOf(kind, row.tombstone)
	if p == opening || p == current && named {
		if name, _, ok := text(rest); ok {
			row.name = string(name)
		}
	}
	o.closing = o.closing || p == epoch || len(o.records) == 0 && p != opening
	o.records = append(o.records, row)
	o.next = r.Offset + 1
}

// epochRecord is the record that stores the epoch, nil if there is none.
func (o *operation) epochRecord() *operationRecord {
	for i := range o.records {
		if placeOf(o.records[i].kind, o.records[i].tombstone) == epoch {
			return &o.records[i]
		}
	}
	return nil
}

// find is the first record of a type, about a name unless that is empty.
func (o *operation) find(kind record.Type, tombstone bool, name string) *operationRecord {
	for i := range o.records {
		r := &o.records[i]
		if r.kind == kind && r.tombstone == tombstone && (name == "" || r.name == name) {
			return r
		}
	}
	return nil
}

func (o *operation) has(kind record.Type, tombstone bool) bool {
	return o.find(kind, tombstone, "") != nil
}

// Partition takes the records of one partition of __consumer_offsets.
type Partition struct {
	e       *Explainer
	topicID kafka.TopicID
	shard   *groups.Shard
	op      operation
	inOp    bool
	named   bool // the group of op has a rebalance under way
	next    kafka.Offset
	holes   bool // records are missing, as in a log that was compacted
	lost    bool // its rows are, see Lost
}

// Partition begins with a partition, whose records from next on are replayed
// into the shard. The topic is __consumer_offsets.
func (e *Explainer) Partition(topicID kafka.TopicID, shard *groups.Shard, next kafka.Offset) *Partition {
	p := &Partition{e: e, topicID: topicID, shard: shard, next: max(next, 0)}
	if old := e.partitions[shard.Partition()]; old != nil {
		p.lost = old.lost
	}
	e.partitions[shard.Partition()] = p
	return p
}

// Pass passes over an offset that is no record, as the end of a transaction.
func (p *Partition) Pass(offset kafka.Offset) {
	p.holes = p.holes || offset > p.next
	p.next = offset + 1
}

// Before takes the next record, which the shard does not hold yet.
func (p *Partition) Before(r *groups.Record) {
	p.Pass(r.Offset)
	if isOffset(r.Key) && !p.inOp {
		return // which nearly all records are
	}
	kind, group, rest, ok := groupKey(r.Key)
	if !ok {
		p.End()
		return
	}
	if p.inOp && !(string(group) == p.op.group && r.Offset == p.op.next && r.Timestamp == p.op.timestamp &&
		p.op.follows(kind, r.Value == nil)) {
		p.End()
	}
	if !p.inOp {
		if p.op.group != string(group) {
			p.op.group = string(group)
		}
		p.begin(p.op.group, r, kind)
	}
	p.op.takes(r, kind, rest, p.named)
}

// begin starts an operation. The state before it is needed only where the
// epoch may be raised.
func (p *Partition) begin(group string, r *groups.Record, kind record.Type) {
	p.inOp = true
	t := p.e.groups[group]
	p.named = t != nil && t.current() != nil && t.current().Open()
	p.op = operation{group: group, timestamp: r.Timestamp, records: p.op.records[:0]}
	if at := placeOf(kind, r.Value == nil); at == opening || at == epoch {
		p.shard.Remember(group)
	}
}

// End says that no record of the operation follows: the batch is over.
func (p *Partition) End() {
	if !p.inOp {
		return
	}
	p.inOp = false
	var b *bump
	if p.op.epochRecord() != nil {
		p.op.after = p.shard.Freeze(p.op.group)
		p.op.before = p.shard.Past()
		b = p.e.bump(p, &p.op)
	}
	p.shard.Forget()
	p.e.progress(p, &p.op)
	if b != nil {
		p.e.look(b)
	}
}
