package api

import (
	"cmp"
	"encoding/hex"
	"slices"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/rebalance"
	"github.com/kraftside/kraftside/topichash"
)

// Rebalances are those of one group.
type Rebalances struct {
	Group string `json:"group"`
	// Exists says whether there is such a group now.
	Exists     bool        `json:"exists"`
	Rebalances []Rebalance `json:"rebalances"` // newest first
	Gaps       []Gap       `json:"gaps"`
	Completeness
}

// RebalanceList is the answer of /v1/rebalances: those of all groups, newest
// first.
type RebalanceList struct {
	Rebalances []Rebalance `json:"rebalances"`
	Completeness
	Next string `json:"next,omitempty"`
}

// Gap is epochs between two rebalances, or before the first one that is known,
// that nobody saw.
type Gap struct {
	Type      string `json:"type"`
	FromEpoch int32  `json:"fromEpoch"`
	ToEpoch   int32  `json:"toEpoch"`
}

// Rebalance is one bump of a group's epoch, why it came, and what came of it.
type Rebalance struct {
	ID            string `json:"id"`
	Group         string `json:"group"`
	Type          string `json:"type"`
	Epoch         int32  `json:"epoch"`
	PreviousEpoch int32  `json:"previousEpoch"`
	StartedAt     Time   `json:"startedAt"`
	CompletedAt   *Time  `json:"completedAt"`
	DurationMs    *int64 `json:"durationMs"`
	// TargetAt is when its target assignment was written.
	TargetAt *Time `json:"targetAt"`
	// SupersededBy is the epoch of the bump that came before it was completed.
	SupersededBy *int32 `json:"supersededBy"`
	// Settled says that the causes are final.
	Settled    bool              `json:"settled"`
	Causes     []Cause           `json:"causes"`
	MoreCauses int               `json:"moreCauses,omitempty"`
	Hash       *HashChange       `json:"hash"`
	Members    []RebalanceMember `json:"members"`
	Moved      int               `json:"moved"`
	// TraceID is that of the trace which tells the same: 32 hexadecimal digits,
	// null if the ids are not known of the cluster and of __consumer_offsets, from
	// which it derives.
	TraceID *string `json:"traceId"`
}

// Cause is one reason, the deciding one first.
type Cause struct {
	Kind       string         `json:"kind"`
	Summary    string         `json:"summary"`
	Confidence string         `json:"confidence"`
	Reason     *string        `json:"reason"` // why it is not certain
	MemberID   *string        `json:"memberId"`
	Topic      *string        `json:"topic"`
	TopicID    *kafka.TopicID `json:"topicId"`
	Field      *string        `json:"field"`
	Partition  *int32         `json:"partition"`
	// Before and After are lists: racks, or one value, or none.
	Before   []string   `json:"before"`
	After    []string   `json:"after"`
	Evidence []Evidence `json:"evidence"`
	Trigger  *Trigger   `json:"trigger"`
}

// Evidence is a record.
type Evidence struct {
	Log       string       `json:"log"`
	Offset    kafka.Offset `json:"offset"`
	Timestamp *Time        `json:"timestamp"`
	Record    string       `json:"record"`
	Detail    *string      `json:"detail"`
}

// Trigger is what made the coordinator look, if the cause itself did not.
type Trigger struct {
	Kind     string     `json:"kind"`
	Summary  string     `json:"summary"`
	Evidence []Evidence `json:"evidence"`
}

// HashChange is the stored hash before and after, and the one that the image
// gives which explains it.
type HashChange struct {
	Before   *Hash             `json:"before"`
	After    Hash              `json:"after"`
	Computed *Hash             `json:"computed"`
	Verdict  topichash.Verdict `json:"verdict"`
	Reason   *string           `json:"reason"`
}

// RebalanceMember is what it means for one member. Of a streams group the
// assignments are active tasks, by subtopology. Before is null for a member
// that joined, After for one that left or has no target yet.
type RebalanceMember struct {
	MemberID     string      `json:"memberId"`
	InstanceID   *string     `json:"instanceId"`
	ClientID     string      `json:"clientId"`
	ClientHost   string      `json:"clientHost"`
	Before       *Assignment `json:"before"`
	After        *Assignment `json:"after"`
	WaitedFor    []Wait      `json:"waitedFor"`
	ReconciledAt *Time       `json:"reconciledAt"`
	DurationMs   *int64      `json:"durationMs"`
}

// Wait is a member that had yet to release partitions.
type Wait struct {
	MemberID   string     `json:"memberId"`
	Partitions Assignment `json:"partitions"`
}

// NewRebalance is the rebalance with the names of topics as v has them.
func NewRebalance(v *pipeline.View, r *rebalance.Rebalance) Rebalance {
	n := names{v.Image.Topics()}
	out := Rebalance{
		ID: r.ID.String(), Group: r.Group, Type: r.Type.String(), Epoch: r.Epoch, PreviousEpoch: r.PreviousEpoch,
		StartedAt: Time(r.StartedAt), CompletedAt: timeOf(r.CompletedAt), DurationMs: duration(r.StartedAt, r.CompletedAt),
		TargetAt: timeOf(r.TargetAt), Settled: r.Settled, Causes: []Cause{}, MoreCauses: r.MoreCauses,
		Members: []RebalanceMember{}, Moved: r.Moved, TraceID: traceID(r.ID),
	}
	if r.SupersededBy > 0 {
		out.SupersededBy = new(r.SupersededBy)
	}
	for i := range r.Causes {
		out.Causes = append(out.Causes, cause(&r.Causes[i]))
	}
	if h := r.Hash; h != nil {
		out.Hash = hashChange(r.Settled, h)
	}
	for i := range r.Members {
		out.Members = append(out.Members, n.rebalanceMember(r, &r.Members[i]))
	}
	return out
}

func traceID(id rebalance.ID) *string {
	if id.ClusterID == "" || id.TopicID.IsZero() {
		return nil
	}
	t := id.TraceID()
	return new(hex.EncodeToString(t[:]))
}

// duration is null as long as there is no end.
func duration(from, to int64) *int64 {
	if to == 0 {
		return nil
	}
	return new(to - from)
}

func cause(c *rebalance.Cause) Cause {
	out := Cause{
		Kind: string(c.Kind), Summary: c.Summary, Confidence: string(c.Confidence), Reason: text(c.Reason), MemberID: text(c.Member),
		Topic: text(c.Topic), Field: text(string(c.Field)), Before: list(c.Before), After: list(c.After), Evidence: evidence(c.Evidence),
	}
	if !c.TopicID.IsZero() {
		out.TopicID = &c.TopicID
	}
	if c.Partition >= 0 {
		out.Partition = &c.Partition
	}
	if t := c.Trigger; t != nil {
		out.Trigger = &Trigger{Kind: string(t.Kind), Summary: t.Summary, Evidence: evidence(t.Evidence)}
	}
	return out
}

func evidence(records []rebalance.Evidence) []Evidence {
	out := []Evidence{}
	for _, e := range records {
		out = append(out, Evidence{Log: e.Log, Offset: e.Offset, Timestamp: timeOf(e.Timestamp), Record: e.Record, Detail: text(e.Detail)})
	}
	return out
}

func hashChange(settled bool, h *rebalance.Hash) *HashChange {
	out := &HashChange{After: Hash(h.After), Verdict: h.Verdict, Reason: text(h.Reason)}
	if h.HadBefore {
		out.Before = new(Hash(h.Before))
	}
	switch {
	case !settled:
		out.Verdict = topichash.Pending
	case h.Verdict != topichash.None:
		out.Computed = new(Hash(h.Computed))
	}
	return out
}

func (n names) rebalanceMember(r *rebalance.Rebalance, m *rebalance.Member) RebalanceMember {
	out := RebalanceMember{
		MemberID: m.MemberID, InstanceID: text(m.InstanceID), ClientID: m.ClientID, ClientHost: m.ClientHost,
		WaitedFor: []Wait{}, ReconciledAt: timeOf(m.ReconciledAt), DurationMs: duration(r.StartedAt, m.ReconciledAt),
	}
	if !m.Joined && r.Type != groups.Classic || len(m.Before) > 0 {
		out.Before = new(n.assignment(m.Before))
	}
	if !m.Left && r.TargetAt > 0 {
		out.After = new(n.assignment(m.After))
	}
	for _, w := range m.WaitedFor {
		out.WaitedFor = append(out.WaitedFor, Wait{MemberID: w.MemberID, Partitions: n.assignment(w.Partitions)})
	}
	return out
}

// JoinRebalances makes one list, newest first, of what several sidecars hold.
// Of one rebalance it takes the state that knows most.
func JoinRebalances(lists ...[]Rebalance) []Rebalance {
	byID := make(map[string]Rebalance)
	for _, l := range lists {
		for _, r := range l {
			if old, ok := byID[r.ID]; !ok || r.knows() > old.knows() {
				byID[r.ID] = r
			}
		}
	}
	out := []Rebalance{}
	for _, r := range byID {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Rebalance) int { return NewestFirst(&a, &b) })
	return out
}

// NewestFirst is the order of lists of rebalances: negative if a comes first,
// and 0 for two states of one.
func NewestFirst(a, b *Rebalance) int {
	return cmp.Or(cmp.Compare(b.StartedAt, a.StartedAt), cmp.Compare(b.Epoch, a.Epoch), cmp.Compare(b.ID, a.ID))
}

// knows orders states of one rebalance. A sidecar whose history of the metadata
// is shorter knows less of the causes.
func (r *Rebalance) knows() (n int) {
	explained := len(r.Causes) > 0 && r.Causes[0].Kind != string(rebalance.Unknown)
	certain := explained && r.Causes[0].Confidence == string(rebalance.Certain)
	for _, known := range []bool{r.Settled, explained, certain, r.SupersededBy != nil, r.CompletedAt != nil} {
		n *= 2
		if known {
			n++
		}
	}
	return n
}

// FindGaps finds the epochs that are missing between rebalances, newest first.
func FindGaps(list []Rebalance) []Gap {
	gaps := []Gap{}
	for i := 0; i+1 < len(list); i++ {
		newer, older := &list[i], &list[i+1]
		if newer.Type == older.Type && newer.PreviousEpoch > older.Epoch {
			gaps = append(gaps, Gap{Type: newer.Type, FromEpoch: older.Epoch + 1, ToEpoch: newer.PreviousEpoch})
		}
	}
	return gaps
}
