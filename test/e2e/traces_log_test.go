//go:build e2e && unix

package e2e

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
)

// epochBump is a rebalance by the records of its group, as they are in the log of
// the coordinator. Times are those of the records.
type epochBump struct {
	group           string
	partition       int32
	offset, at      int64
	epoch           int32
	hash, before    int64
	first           bool // nothing was stored before
	target          int64
	members         map[string]*bumpMember // before and after
	overtaken       bool                   // by the next bump
	topic           kafka.TopicID          // of __consumer_offsets
	cluster         string
	change, trigger *ledBy
}

// bumpMember is what became of a member.
type bumpMember struct {
	reached int64 // when it had the epoch, 0 if it never had
	left    bool  // with this bump
}

// ledBy is a record of the metadata log that led to a bump.
type ledBy struct{ offset, at int64 }

// bumps reads those of a consumer group.
func (l *coordinatorLog) bumps(group string) (all []*epochBump, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := bumpReader{group: group, partition: partitionOf(group), members: map[string]bool{}}
	for i := range l.entries[r.partition] {
		e := &l.entries[r.partition][i]
		key, err := r.decoder.Key(e.Key)
		if err != nil {
			return nil, err
		}
		if key.Owner() != group {
			continue
		}
		var value record.Value
		if e.Value != nil {
			if value, _, err = r.decoder.Value(key.Type(), e.Value); err != nil {
				return nil, err
			}
		}
		r.read(key, value, int64(e.Offset), e.Timestamp)
	}
	return r.all, l.failed
}

type bumpReader struct {
	group     string
	partition int32
	decoder   record.Decoder
	all       []*epochBump
	members   map[string]bool // that are there
	last      map[string]bool // that were there at the bump before
	hash      int64
}

// read takes the next record; of a tombstone the value is nil.
func (r *bumpReader) read(key record.Key, value record.Value, offset, at int64) {
	var now *epochBump
	if len(r.all) > 0 {
		now = r.all[len(r.all)-1]
	}
	switch k := key.(type) {
	case *record.ConsumerGroupMemberMetadataKey:
		if delete(r.members, k.MemberID); value != nil {
			r.members[k.MemberID] = true
		}
	case *record.ConsumerGroupMetadataKey:
		if v, ok := value.(*record.ConsumerGroupMetadataValue); ok {
			r.bump(now, v, offset, at)
		}
	case *record.ConsumerGroupTargetAssignmentMetadataKey:
		if v, ok := value.(*record.ConsumerGroupTargetAssignmentMetadataValue); ok && now != nil && now.target == 0 && v.AssignmentEpoch >= now.epoch {
			now.target = at
		}
	case *record.ConsumerGroupCurrentMemberAssignmentKey:
		const stable = 0
		if v, ok := value.(*record.ConsumerGroupCurrentMemberAssignmentValue); ok && now != nil && v.State == stable && v.MemberEpoch >= now.epoch {
			if m := now.members[k.MemberID]; m.reached == 0 {
				m.reached = at
			}
		}
	}
}

func (r *bumpReader) bump(before *epochBump, v *record.ConsumerGroupMetadataValue, offset, at int64) {
	b := &epochBump{
		group: r.group, partition: r.partition, offset: offset, at: at, epoch: v.Epoch,
		hash: v.MetadataHash, before: r.hash, first: before == nil, members: map[string]*bumpMember{},
	}
	if before != nil && before.completed() == 0 {
		before.overtaken = true
	}
	for id := range r.members {
		b.members[id] = &bumpMember{}
	}
	for id := range r.last {
		if b.members[id] == nil {
			b.members[id] = &bumpMember{left: true}
		}
	}
	r.last = map[string]bool{}
	for id := range r.members {
		r.last[id] = true
	}
	r.hash = b.hash
	r.all = append(r.all, b)
}

// completed is when the last member had the epoch, 0 if it never had.
func (b *epochBump) completed() (at int64) {
	for _, m := range b.members {
		if !m.left && m.reached == 0 {
			return 0
		}
		at = max(at, m.reached)
	}
	return at
}

// identity is the identity of the rebalance as it is shown.
func (b *epochBump) identity() string {
	return b.cluster + "/" + b.topic.String() + "/" + strconv.Itoa(int(b.partition)) + "/" + strconv.FormatInt(b.offset, 10)
}

// derived is what trace and span ids are made of: the identity and a role.
func (b *epochBump) derived(kind, role string, size int) string {
	var in []byte
	for _, text := range []string{kind, b.cluster, role} {
		in = append(binary.BigEndian.AppendUint32(in, uint32(len(text))), text...)
	}
	in = append(in, b.topic[:]...)
	in = binary.BigEndian.AppendUint32(in, uint32(b.partition))
	in = binary.BigEndian.AppendUint64(in, uint64(b.offset))
	sum := sha256.Sum256(in)
	return hex.EncodeToString(sum[:size])
}

// wantTrace is a trace as it has to be.
type wantTrace struct {
	*epochBump
	id, root string
	state    string
	linked   bool // to the trace of when it was incomplete
	spans    map[string]wantSpan
}

// wantSpan is a span of it, with the times in milliseconds.
type wantSpan struct {
	name, member string
	from, to     int64
	state        string // of a member
}

const (
	incomplete = "incomplete"
	completion = "completion"
)

// trace is the trace of the rebalance when it is over, or of the completion of
// one that was exported as incomplete.
func (b *epochBump) trace(kind string) *wantTrace {
	w := b.newTrace(kind)
	w.state = "completed"
	last := max(b.at, b.target)
	for _, m := range b.members {
		last = max(last, m.reached)
	}
	if b.overtaken {
		w.state = "superseded"
	}
	w.fill(kind, last, b.members)
	return w
}

// incomplete is its trace as it was while it was open, when so many members had
// reached the epoch.
func (b *epochBump) incomplete(slowAfter int64, reached ...string) *wantTrace {
	w := b.newTrace(incomplete)
	w.state = incomplete
	members := map[string]*bumpMember{}
	last := max(b.at+slowAfter, b.target)
	for id, m := range b.members {
		then := *m
		if !slices.Contains(reached, id) {
			then.reached = 0
		}
		last, members[id] = max(last, then.reached), &then
	}
	w.fill(incomplete, last, members)
	return w
}

func (b *epochBump) newTrace(kind string) *wantTrace {
	role := "rebalance"
	if kind == completion {
		role = completion
	}
	return &wantTrace{epochBump: b, id: b.derived("trace", role, 16), linked: kind == completion, spans: map[string]wantSpan{}}
}

// fill adds the spans. last is the end of the root.
func (w *wantTrace) fill(kind string, last int64, members map[string]*bumpMember) {
	prefix := ""
	if kind != "" {
		prefix = kind + "/"
	}
	add := func(role string, s wantSpan) string {
		id := w.derived("span", prefix+role, 8)
		w.spans[id] = s
		return id
	}
	begin := w.at
	for role, r := range map[string]*ledBy{"change": w.change, "trigger": w.trigger} {
		if r != nil {
			name := map[string]string{"change": "metadata change", "trigger": "trigger"}[role]
			add(role+"/metadata/"+strconv.FormatInt(r.offset, 10), wantSpan{name: name, from: r.at, to: w.at})
			begin = min(begin, r.at)
		}
	}
	w.root = add("rebalance", wantSpan{name: "rebalance", from: begin, to: last})
	if w.first || w.hash != w.before {
		add("hash", wantSpan{name: "hash changed", from: w.at, to: w.at})
	}
	add("bump", wantSpan{name: "epoch bump", from: w.at, to: w.at})
	if w.target > 0 {
		add("target", wantSpan{name: "target assignment", from: w.at, to: w.target})
	}
	for id, m := range members {
		s := wantSpan{name: "member", member: id, from: max(w.at, w.target), to: m.reached, state: "reconciled"}
		switch {
		case m.left:
			s.from, s.to, s.state = w.at, w.at, "left"
		case m.reached == 0:
			s.to, s.state = last, "waiting or open"
		}
		add("member/"+id, s)
	}
}
