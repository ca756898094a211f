package groups

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/wire"
)

// AnomalyKind says why a record is one that Kafka would not replay. Numbers
// are stored and must not change.
//
// Kafka gives up the whole partition for all of them but UnknownType. Replay
// goes on (invariant 6), by the rule that the newest record is right about what
// it says:
//
//	what comes                        what is wrong                  what is done
//	a key, a type, a value that       -                              nothing: what the key said before stays
//	  cannot be decoded
//	a value of one type of group      the group has another type,    the group is replaced, as by record 2;
//	  (3-8, 10-17, 19-23)             and is not a simple classic    the coordinator that wrote the value
//	                                  one (share: even if simple)    had such a group
//	a tombstone of one type           the same                       nothing: what it removes is not there
//	a group tombstone (3, 11, 17)     members, target assignments    the group is removed with all of that: a
//	                                  or an assignment epoch left    tombstone is written when they are gone, so
//	                                                                 it is their tombstones that we missed
//	a member tombstone (5, 10, 19)    its epoch is not -1, or it     the member is removed with its current and
//	                                  has a target assignment        its target assignment
//	a target tombstone (6, 12, 20)    target assignments are left    the assignment epoch becomes -1, they stay
//	a current assignment (8)          another member holds one of    both hold it, until one of them lets go
//	                                  the partitions, at the same
//	                                  or a later member epoch
//
// A member that only a current assignment speaks of (Member.Ghost) is not an
// anomaly: its metadata may stand further on in a compacted log.
type AnomalyKind uint8

const (
	// UndecodableKey: the key is null, cut off, or not what its type says.
	UndecodableKey AnomalyKind = iota
	// UnknownType: Kafka 4.0 to 4.4 have no such record type.
	UnknownType
	// UndecodableValue: the value is not what its type and version say.
	UndecodableValue
	// UnknownVersion: Kafka 4.0 to 4.4 have no such version of the value.
	UnknownVersion
	// TypeConflict: the group has another type.
	TypeConflict
	// GroupNotEmpty: a group tombstone while something of the group is left.
	GroupNotEmpty
	// MemberNotReleased: a member tombstone while the member is assigned.
	MemberNotReleased
	// TargetNotEmpty: a target tombstone while target assignments are left.
	TargetNotEmpty
	// PartitionOwned: a partition is assigned while another member owns it.
	PartitionOwned

	anomalyKinds = iota
)

var anomalyNames = [anomalyKinds]string{
	"undecodableKey", "unknownType", "undecodableValue", "unknownVersion", "typeConflict",
	"groupNotEmpty", "memberNotReleased", "targetNotEmpty", "partitionOwned",
}

// String is the name of the kind in lower camel case.
func (k AnomalyKind) String() string {
	if int(k) < len(anomalyNames) {
		return anomalyNames[k]
	}
	return "anomaly " + strconv.Itoa(int(k))
}

// NoType is the Type of an Anomaly whose key has none.
const NoType record.Type = -1

// Anomaly is a record that Kafka would not replay.
type Anomaly struct {
	Kind      AnomalyKind
	Offset    kafka.Offset
	Timestamp int64       // of the record, in milliseconds since 1970
	Type      record.Type // NoType if there is none
	Group     string      // empty if the key cannot be decoded
	Reason    string
}

// String says it in a line.
func (a *Anomaly) String() string {
	what := "a record without a type"
	if a.Type != NoType {
		what = a.Type.RecordName()
	}
	return fmt.Sprintf("replay %s at offset %d of group %q: %s: %s", what, a.Offset, a.Group, a.Kind, a.Reason)
}

// recentAnomalies is how many anomalies a shard keeps.
const recentAnomalies = 16

// Anomalies is what a shard has met so far.
type Anomalies struct {
	Counts [anomalyKinds]int64 // by AnomalyKind
	Recent []Anomaly           // the latest, the newest last
}

// groupAnomalies marks a group. It is not changed once made.
type groupAnomalies struct {
	count int64
	last  Anomaly
}

// Anomalies returns the anomalies so far. They belong to the caller.
func (s *Shard) Anomalies() Anomalies {
	a := s.anomalies
	a.Recent = slices.Clone(a.Recent)
	return a
}

// anomaly counts one, for the current record. Only the first of a record
// counts. While rows are restored nothing is an anomaly: their order is not
// that of the log, and what was wrong has been counted.
func (s *Shard) anomaly(kind AnomalyKind, group, reason string) {
	if s.restoring || s.out.Anomaly != nil {
		return
	}
	a := Anomaly{
		Kind: kind, Offset: s.cur.Offset, Timestamp: s.cur.Timestamp, Type: s.curType, Group: group, Reason: reason,
	}
	s.anomalies.Counts[kind]++
	if len(s.anomalies.Recent) == recentAnomalies {
		s.anomalies.Recent = slices.Delete(s.anomalies.Recent, 0, 1)
	}
	s.anomalies.Recent = append(s.anomalies.Recent, a)
	s.out.Anomaly = &a
	s.putOwn(RowShard, nil, s.anomalies.append(nil))
	if g := s.groups[group]; g != nil && g.kind != noType {
		s.mark(g, &a)
	}
}

// mark puts the anomaly on the group.
func (s *Shard) mark(g *group, a *Anomaly) {
	marked := &groupAnomalies{count: 1, last: *a}
	if g.anomalies != nil {
		marked.count += g.anomalies.count
	}
	g.anomalies = marked
	s.putGroup(g)
	s.changed(g)
}

// undecodable counts a record that the codec refused. The error names the
// position inside the record.
func (s *Shard) undecodable(kind AnomalyKind, group string, err error) {
	switch {
	case errors.Is(err, record.ErrUnknownType):
		kind = UnknownType
	case errors.Is(err, record.ErrUnknownVersion):
		kind = UnknownVersion
	}
	s.anomaly(kind, group, err.Error())
}

// left says what a tombstone should have found gone.
func left(m *modernGroup, assignmentEpoch int32) string {
	return fmt.Sprintf("left are %d members, %d target assignments, assignment epoch %d", m.size, m.targets, assignmentEpoch)
}

func epochReason(m *Member) string {
	return fmt.Sprintf("member %.64q has epoch %d", m.ID, m.Epoch)
}

func targetReason(m *Member) string {
	return fmt.Sprintf("member %.64q has a target assignment", m.ID)
}

// The value of RowShard: format 0, the number of kinds, the counts, the number
// of anomalies, the anomalies. Integers are varints. The value of RowGroup:
// format 0, the type, the count, and if that is not 0 the last anomaly.

const rowFormat = 0

func (a *Anomalies) append(b []byte) []byte {
	b = append(b, rowFormat, anomalyKinds)
	for _, n := range a.Counts {
		b = wire.AppendVarlong(b, n)
	}
	b = wire.AppendUvarint(b, uint32(len(a.Recent)))
	for i := range a.Recent {
		b = a.Recent[i].append(b)
	}
	return b
}

func (a *Anomaly) append(b []byte) []byte {
	b = append(b, byte(a.Kind))
	b = wire.AppendVarlong(b, int64(a.Offset))
	b = wire.AppendVarlong(b, a.Timestamp)
	b = wire.AppendInt16(b, int16(a.Type))
	return appendText(appendText(b, a.Group), a.Reason)
}

func appendText(b []byte, s string) []byte {
	return append(wire.AppendCompactLen(b, len(s)), s...)
}

func (a *Anomalies) read(r *wire.Reader) {
	readFormat(r)
	for i := range r.Int8() {
		if n := r.Varlong(); i < anomalyKinds {
			a.Counts[i] = n
		}
	}
	for n := r.Uvarint(); n > 0 && r.Err() == nil; n-- {
		a.Recent = append(a.Recent, readAnomaly(r))
	}
}

func readFormat(r *wire.Reader) {
	if format := r.Int8(); format != rowFormat {
		r.Fail(fmt.Errorf("%w: row format %d", wire.ErrMalformed, format))
	}
}

func readAnomaly(r *wire.Reader) Anomaly {
	return Anomaly{
		Kind: AnomalyKind(r.Int8()), Offset: kafka.Offset(r.Varlong()), Timestamp: r.Varlong(),
		Type: record.Type(r.Int16()), Group: readText(r), Reason: readText(r),
	}
}

func readText(r *wire.Reader) string { return string(r.Raw(max(0, r.CompactLen()))) }
