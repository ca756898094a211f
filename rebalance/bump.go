package rebalance

import (
	"slices"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
)

// bump is a rebalance whose causes are not settled: the metadata log has a say
// in them.
type bump struct {
	track *track
	id    ID
	time  int64
	gone  bool // nobody asks for it any more
	// changes of the history, when it was looked at last
	changes int
	facts
}

// facts are what an operation proves, and what its explanation needs to ask of
// the metadata log. A store keeps them as long as the causes are not settled.
type facts struct {
	// Fresh: the group was new, so that nothing was evaluated before.
	Fresh bool
	// Broken says why the records before cannot be relied on; empty if they
	// can.
	Broken     string
	Recorded   []Cause // what the operation itself proves
	Departures []departure
	Regexes    []regexStep
	Hash       *hashStep
	Legacy     []legacyStep
	Classic    *classicStep
	Found      []Cause // what else it proves, that the coordinator found when it looked
	Residual   []Cause // what explains the bump if nothing else does
}

func (b *bump) before(o *bump) bool {
	if b.time != o.time {
		return b.time < o.time
	}
	return b.id.Offset < o.id.Offset
}

// bump begins a rebalance, if an operation that stores an epoch is one.
func (e *Explainer) bump(p *Partition, op *operation) *bump {
	r := op.epochRecord()
	after := op.after
	if after == nil || after.Type == groups.Classic != (r.kind == record.TypeGroupMetadata) {
		return nil // a later record of the operation removed it
	}
	n := &Rebalance{
		ID:        ID{e.ClusterID, p.topicID, p.shard.Partition(), r.offset},
		Group:     op.group,
		Type:      after.Type,
		Epoch:     after.Epoch,
		StartedAt: op.timestamp,
	}
	proof := evidence(n.ID.Partition, r, op.timestamp)
	if op.converts() {
		e.track(n.ID.Partition, op.group).convert(op, proof)
		e.changed[op.group] = struct{}{}
		return nil
	}
	var raised bool
	if n.PreviousEpoch, raised = p.previousEpoch(op.before, after); !raised {
		return nil
	}
	t := e.track(n.ID.Partition, op.group)
	b := &bump{track: t, id: n.ID, time: op.timestamp}
	b.Fresh, b.Broken = op.before == nil || op.before.Type != after.Type, broken(op.before, n)
	n.Members = membersOf(op.before, after)
	x := &extractor{Explainer: e, track: t, op: op, proof: proof, partition: n.ID.Partition, shard: p.shard, b: b}
	x.extract()
	n.Hash = x.storedHash()
	e.add(t, n)
	t.bumps = append(t.bumps, b)
	return b
}

// look tells of a rebalance that has begun, with what its operation brought it,
// and looks for its causes.
func (e *Explainer) look(b *bump) {
	if t := b.track; t.advanced && t.current() != nil {
		e.inform(t, t.current())
	}
	if !e.try(b, false) {
		e.await(b)
	}
}

// previousEpoch is the epoch before, and whether it was raised. Where records
// are missing that is not known, and there is nothing to explain.
func (p *Partition) previousEpoch(before, after *groups.Group) (epoch int32, raised bool) {
	switch {
	case before == nil || before.Type != after.Type:
	case after.Type == groups.Classic && before.Classic != nil:
		return before.Epoch, after.Epoch > before.Epoch
	case before.Hash != nil:
		return before.Hash.Epoch, after.Epoch > before.Hash.Epoch
	}
	return after.Epoch - 1, p.isFirst(after)
}

// isFirst says whether a bump is the first one of its group, as far as can be
// told. That brings epoch 1, and 2 from Kafka 4.3 on, which says when an
// assignment was made.
func (p *Partition) isFirst(after *groups.Group) bool {
	return after.Epoch == 1 || after.Epoch == 2 && (!p.holes || after.AssignmentTimestamp != 0)
}

// broken says what is missing of the records before a bump. Without them, one
// member's record may be its first or its tenth.
func broken(before *groups.Group, n *Rebalance) string {
	if n.Type == groups.Classic || before == nil || before.Hash == nil || n.Epoch == n.PreviousEpoch+1 {
		return ""
	}
	return "records before it are missing, as in a log that was compacted"
}

// converts says whether the operation makes the group one of another protocol,
// with the members and the epoch that it had. An empty group is replaced
// instead.
func (o *operation) converts() bool {
	if o.after.Type == groups.Classic && len(o.after.Members) > 0 && o.has(record.TypeConsumerGroupMetadata, true) {
		return true // even where what it was is missing
	}
	return o.before != nil && o.before.Type != o.after.Type && len(o.before.Members) > 0
}

// convert notes a conversion, which the next bump is about.
func (t *track) convert(op *operation, proof Evidence) {
	t.Last, t.ClassicAt = nil, op.timestamp
	proof.Detail = "it became a " + op.after.Type.String() + " group"
	t.Converted = &proof
}

func evidence(partition int32, r *operationRecord, time int64) Evidence {
	return Evidence{Log: OffsetsLog(partition), Offset: r.offset, Timestamp: time, Record: r.kind.RecordName(), Detail: tombstone(r)}
}

func tombstone(r *operationRecord) string {
	if r.tombstone {
		return "tombstone"
	}
	return ""
}

// extractor takes from an operation what it proves.
type extractor struct {
	*Explainer
	track     *track
	op        *operation
	proof     Evidence
	partition int32
	shard     *groups.Shard
	b         *bump
	diff      memberDiff
}

// extract looks for every cause, the deciding ones first.
func (x *extractor) extract() {
	if x.b.Broken != "" {
		x.hash()
		return
	}
	x.diff = diffMembers(x.op.before, x.op.after)
	if t := x.track; t.Converted != nil {
		x.recorded(Cause{Kind: GroupConverted, Summary: "the group was converted: " + t.Converted.Detail}, *t.Converted)
		if x.op.after.Type == groups.Classic {
			x.b.Recorded[0].Confidence, x.b.Recorded[0].Reason = Likely, classicReason
		}
		t.Converted = nil
	}
	if x.op.after.Type == groups.Classic {
		x.classic()
		return
	}
	x.members()
	x.regexes()
	x.legacy()
	x.hash()
	switch x.op.after.Type {
	case groups.Consumer:
		x.assignor()
	case groups.Share:
		x.shareState()
	case groups.Streams:
		x.streams()
	}
}

// recorded adds a cause that the operation proves by the records given.
func (x *extractor) recorded(c Cause, proof ...Evidence) {
	x.b.Recorded = append(x.b.Recorded, x.certain(c, proof...))
}

// residual adds a cause that holds if there is no other.
func (x *extractor) residual(c Cause, proof ...Evidence) {
	x.b.Residual = append(x.b.Residual, x.certain(c, proof...))
}

func (x *extractor) certain(c Cause, proof ...Evidence) Cause {
	c.Confidence = Certain
	if c.Field != FieldRacks {
		c.Partition = -1
	}
	c.Evidence = append(c.Evidence, proof...)
	return c
}

// proofOf is the record of a type about a name, and the one of the epoch.
func (x *extractor) proofOf(kind record.Type, tombstone bool, name string) []Evidence {
	if r := x.op.find(kind, tombstone, name); r != nil {
		return []Evidence{evidence(x.partition, r, x.op.timestamp), x.proof}
	}
	return []Evidence{x.proof}
}

// memberDiff is what differs between the members of two states.
type memberDiff struct {
	joined, left []*groups.Member
	changed      [][2]*groups.Member
}

// diffMembers compares members. A static member that comes back under another
// id is the same one.
func diffMembers(before, after *groups.Group) (d memberDiff) {
	var old []*groups.Member
	if before != nil {
		old = before.Members
	}
	var came []*groups.Member
	for _, m := range after.Members {
		for len(old) > 0 && old[0].ID < m.ID {
			d.left, old = append(d.left, old[0]), old[1:]
		}
		if len(old) == 0 || old[0].ID != m.ID {
			came = append(came, m)
			continue
		}
		if old[0] != m {
			d.changed = append(d.changed, [2]*groups.Member{old[0], m})
		}
		old = old[1:]
	}
	d.left = append(d.left, old...)
	for _, m := range came {
		i := slices.IndexFunc(d.left, func(o *groups.Member) bool { return m.InstanceID != "" && o.InstanceID == m.InstanceID })
		if i < 0 {
			d.joined = append(d.joined, m)
			continue
		}
		d.changed = append(d.changed, [2]*groups.Member{d.left[i], m})
		d.left = slices.Delete(d.left, i, i+1)
	}
	slices.SortStableFunc(d.changed, func(a, b [2]*groups.Member) int { return compare(a[1].ID, b[1].ID) })
	return d
}

// storedHash is the part of the hash that the record itself has.
func (x *extractor) storedHash() *Hash {
	if x.b.Hash == nil {
		return nil
	}
	return &Hash{Before: x.b.Hash.Before, HadBefore: x.b.Hash.HadBefore, After: x.b.Hash.Q.Hash}
}

// try settles the bump if it can be; force settles it with what is known.
func (e *Explainer) try(b *bump, force bool) bool {
	if b.gone {
		return true
	}
	due := e.history.passed(b.time)
	if !force && (b.track.bumps[0] != b || b.changes == e.history.changes && !due) {
		return false
	}
	b.changes = e.history.changes
	s := &settlement{e: e, b: b, force: force, due: due || force}
	s.run()
	if s.open && !force {
		return false
	}
	e.conclude(b, s)
	return true
}

// settlement is one attempt to find the causes of a bump.
type settlement struct {
	e          *Explainer
	b          *bump
	force, due bool
	open       bool // something has yet to be read
	causes     []Cause
	verdict    *Hash // of the bump's hash, nil if it has none
}

// run collects the causes in the order of how much they decide: what happened
// in the operation, then what the coordinator found when it looked.
func (s *settlement) run() {
	s.causes = append(s.causes, s.b.Recorded...)
	s.departures()
	s.regexes()
	s.legacy()
	s.hash()
	s.classic()
	s.causes = append(s.causes, s.b.Found...)
	if len(s.causes) == 0 {
		s.causes = append(s.causes, s.b.Residual...)
	}
}

// conclude gives the rebalance its causes.
func (e *Explainer) conclude(b *bump, s *settlement) {
	t := b.track
	if i := slices.Index(t.bumps, b); i >= 0 {
		t.bumps = slices.Delete(t.bumps, i, i+1)
	}
	if b.Hash != nil && b.Hash.keep {
		t.Last = b.Hash.found
	}
	i := t.index(b.id)
	if i < 0 {
		return
	}
	n := t.edit(t.rebalances[i])
	n.Settled, n.Causes = true, s.causes
	if len(n.Causes) == 0 {
		n.Causes = []Cause{s.unknown()}
	}
	if most := e.Limits.Causes; len(n.Causes) > most {
		n.Causes, n.MoreCauses = n.Causes[:most], len(n.Causes)-most
	}
	if s.verdict != nil {
		n.Hash = s.verdict
	}
	e.tell(t, n)
}

// within says whether a record of the metadata log is after another one, and
// not later than the bump.
func (s *settlement) within(time int64, offset, after kafka.Offset) bool {
	return offset > after && time <= s.b.time+Skew
}
