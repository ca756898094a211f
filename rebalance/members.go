package rebalance

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/image"
)

func compare(a, b string) int { return strings.Compare(a, b) }

// memberRecords are the record types of members, by type of group: metadata
// and current assignment.
var memberRecords = map[groups.Type][2]record.Type{
	groups.Consumer: {record.TypeConsumerGroupMemberMetadata, record.TypeConsumerGroupCurrentMemberAssignment},
	groups.Share:    {record.TypeShareGroupMemberMetadata, record.TypeShareGroupCurrentMemberAssignment},
	groups.Streams:  {record.TypeStreamsGroupMemberMetadata, record.TypeStreamsGroupCurrentMemberAssignment},
}

// members finds the members that came, went and changed.
func (x *extractor) members() {
	kind := memberRecords[x.op.after.Type][0]
	for _, m := range x.diff.joined {
		x.recorded(Cause{Kind: MemberJoined, Member: m.ID, Summary: memberName(m) + " joined"}, x.proofOf(kind, false, m.ID)...)
	}
	for _, m := range x.diff.left {
		x.b.Departures = append(x.b.Departures, x.departure(m, x.proofOf(kind, true, m.ID)))
	}
	for _, c := range x.diff.changed {
		was, is := c[0], c[1]
		proof := x.proofOf(kind, false, is.ID)
		if !slices.Equal(was.SubscribedTopics, is.SubscribedTopics) {
			x.recorded(Cause{
				Kind: SubscriptionChanged, Member: is.ID, Before: was.SubscribedTopics, After: is.SubscribedTopics,
				Summary: memberName(is) + " changed the topics that it subscribes to",
			}, proof...)
		}
		if was.SubscribedRegex != is.SubscribedRegex {
			x.recorded(Cause{
				Kind: RegexChanged, Member: is.ID, Before: nonEmpty(was.SubscribedRegex), After: nonEmpty(is.SubscribedRegex),
				Summary: memberName(is) + " changed the regular expression that it subscribes with",
			}, proof...)
		}
	}
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// memberName is a member in a sentence.
func memberName(m *groups.Member) string {
	s := "member " + m.ID
	if m.InstanceID != "" {
		s = "static member " + m.InstanceID
	}
	if host := strings.TrimPrefix(m.ClientHost, "/"); host != "" {
		s += " (host " + host + ")"
	}
	return s
}

// departure is a member that is gone. The log does not say why.
type departure struct {
	Member string // its id
	Name   string // in a sentence
	Epoch  int32
	// RebalanceTimeout in milliseconds, 0 if it has none.
	RebalanceTimeout int64
	Proof            []Evidence
	// Alive is the last time that a record proves the member alive, 0 for
	// never.
	Alive int64
	// Since is when the rebalance began in which it had yet to give up
	// partitions, 0 if there was none.
	Since int64
	// Session is its session timeout in milliseconds, 0: that of the group.
	Session int64
	Key     string // of the configuration of that
	Group   string
}

// departure notes what is known of a member that is gone.
func (x *extractor) departure(m *groups.Member, proof []Evidence) departure {
	d := departure{
		Member: m.ID, Name: memberName(m), Epoch: m.Epoch, RebalanceTimeout: int64(m.RebalanceTimeoutMs), Proof: proof, Session: int64(m.SessionTimeoutMs),
		Group: x.op.group, Key: x.op.after.Type.String() + ".session.timeout.ms",
	}
	for _, r := range x.track.rebalances {
		for i := range r.Members {
			if r.Members[i].MemberID != m.ID {
				continue
			}
			d.Alive = max(d.Alive, r.Members[i].ReconciledAt)
			// Only a heartbeat makes the coordinator compare: that of a group's
			// only member was its own.
			if r.Members[i].Joined || len(r.Members) == 1 {
				d.Alive = max(d.Alive, r.StartedAt)
			}
		}
	}
	if last := x.track.current(); last != nil && last.Open() &&
		(m.State == groups.MemberUnrevokedPartitions || m.State == groups.MemberUnrevokedTasks) {
		d.Since = last.StartedAt
	}
	d.Alive = max(d.Alive, x.lastCommit(m))
	return d
}

// lastCommit is when the member last committed an offset of a partition that
// it has.
func (x *extractor) lastCommit(m *groups.Member) (last int64) {
	for o := range x.shard.OffsetsOf(x.op.group, m.Assigned) {
		if o.CommitTimestamp <= x.op.timestamp {
			last = max(last, o.CommitTimestamp)
		}
	}
	return last
}

// slack is how much later than its session timeout after the last sign of life
// a member is removed, in milliseconds: it may have sent heartbeats, which leave
// no record, for as long as commits are apart. The longer, the more of those
// that left fall into it.
func slack(session int64) int64 { return min(10_000, session/4) }

const noRecord = "Kafka does not record whether a member left or timed out"

// departures tells members that left from those that timed out, as far as time
// tells.
func (s *settlement) departures() {
	for i := range s.b.Departures {
		// Half of what passed allows for: only clocks of controllers differ.
		if !s.force && !s.e.history.passed(s.counting()-Skew/2) {
			s.open = true
			return
		}
		d := &s.b.Departures[i]
		kind, reason := s.judge(d)
		c := Cause{Kind: kind, Confidence: Likely, Reason: noRecord + reason, Member: d.Member, Partition: -1, Evidence: d.Proof}
		c.Summary = d.Name + " left"
		if kind == MemberTimedOut {
			c.Summary = d.Name + " timed out"
		}
		s.causes = append(s.causes, c)
	}
}

// counting is a time at which the coordinator had begun to count the time after
// which it removed a member. The timeout is the one of then, and what the metadata
// log has of it was read before the bump unless the log is behind: nobody has to
// wait for the log, which may be old by more than a second where nothing happens.
func (s *settlement) counting() int64 { return s.b.time - 3*Skew/2 }

func (s *settlement) judge(d *departure) (Kind, string) {
	session := d.Session
	if session == 0 {
		session = groupConfig(s.e.history.asOf(s.counting()).image, d.Group, d.Key, defaultSessionTimeout)
	}
	timeout, silent := seconds(session), s.b.time-d.Alive
	switch {
	case len(s.b.Departures) > 1:
		return MemberLeft, fmt.Sprintf("; %d members were removed at once, as an administrator does", len(s.b.Departures))
	case d.Since > 0 && d.RebalanceTimeout > 0 && s.b.time-d.Since >= d.RebalanceTimeout:
		return MemberTimedOut, "; it had not given up its partitions for " + seconds(s.b.time-d.Since) +
			", and the rebalance timeout is " + seconds(d.RebalanceTimeout)
	case d.Epoch == staticAway:
		return MemberTimedOut, "; it had left for a while, and did not come back within the session timeout of " + timeout
	case d.Alive == 0:
		return MemberLeft, "; no record shows when it was last alive"
	case silent < session:
		return MemberLeft, "; it was alive " + seconds(silent) + " before, and the session timeout is " + timeout
	case silent < session+slack(session):
		return MemberTimedOut, "; the last sign of it is " + seconds(silent) + " old, and the session timeout is " + timeout
	}
	for _, e := range s.e.history.elections[s.b.id.Partition] {
		if waited := s.b.time - e.time; e.time > d.Alive && e.time <= s.counting() && waited >= session && waited < session+slack(session) {
			return MemberTimedOut, "; the coordinator moved " + seconds(waited) + " before, which starts the session timeout of " + timeout + " anew"
		}
	}
	return MemberLeft, "; the last sign of it is " + seconds(silent) + " old, so that the session timeout of " + timeout + " may have passed as well"
}

// staticAway is the epoch of a static member that left for a while
// (LEAVE_GROUP_STATIC_MEMBER_EPOCH).
const staticAway = -2

func seconds(ms int64) string { return strconv.FormatFloat(float64(ms)/1000, 'f', -1, 64) + " s" }

// defaultSessionTimeout is that of Kafka 4.4 for all types of groups, in
// milliseconds. What only a broker's own file configures is not known here.
const defaultSessionTimeout = 45_000

const (
	brokerConfig int8 = 4
	groupKind    int8 = 32
)

// groupConfig is a dynamic configuration: the group's own, or the brokers'
// default.
func groupConfig(m *image.MetadataImage, group, key string, otherwise int64) int64 {
	value, ok := m.Configs().Get(image.ConfigResource{Type: groupKind, Name: group}, key)
	if !ok {
		value, ok = m.Configs().Get(image.ConfigResource{Type: brokerConfig}, "group."+key)
	}
	if n, err := strconv.ParseInt(value, 10, 64); ok && err == nil {
		return n
	}
	return otherwise
}
