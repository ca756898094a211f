package api

import (
	"strconv"
	"strings"
	"time"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/store"
)

// Status is how the sidecar stands, and in a few words the others.
type Status struct {
	ClusterID *string        `json:"clusterId"`
	Cluster   *string        `json:"cluster"` // the configured name
	NodeID    *kafka.NodeID  `json:"nodeId"`
	Ready     bool           `json:"ready"`
	Reasons   []Reason       `json:"reasons,omitempty"` // why it is not ready
	Metadata  MetadataStatus `json:"metadata"`
	Groups    GroupsStatus   `json:"groups"`
	Store     *StoreStatus   `json:"store"` // null: nothing is kept on disk
	Kafka     KafkaStatus    `json:"kafka"`
	Peers     []PeerStatus   `json:"peers"`
	// OpenRebalances are those of all sidecars that answered, the oldest first.
	OpenRebalances []OpenRebalance `json:"openRebalances"`
	// Busiest are the groups with more than one bump in the last 15 minutes, 10
	// at most, those with most bumps first.
	Busiest []BusyGroup `json:"busiest"`
	// RecentChanges are the newest 5 of the metadata, newest first.
	RecentChanges []RecentChange `json:"recentChanges"`
	Missing       []Missing      `json:"missing"`
	Version       string         `json:"version"`
}

// Reason is one why a sidecar is not ready, and what an operator can do.
type Reason struct {
	What string `json:"what"`
	Do   string `json:"do"`
}

// MetadataStatus is how the metadata tail stands.
type MetadataStatus struct {
	Source *string `json:"source"` // quorum or dir
	// Offset is that of the last record in the image, Epoch its leader epoch.
	Offset              *kafka.Offset `json:"offset"`
	Epoch               *kafka.Epoch  `json:"epoch"`
	HighWatermark       *kafka.Offset `json:"highWatermark"` // exclusive
	BrokerAppliedOffset *kafka.Offset `json:"brokerAppliedOffset"`
	// LagMs is 0 if all that is committed is here, else the age of the last
	// record that is; null while it is not known.
	LagMs    *int64            `json:"lagMs"`
	Leader   *kafka.NodeID     `json:"leader"` // the active controller
	Snapshot *SnapshotProgress `json:"snapshot,omitempty"`
	Problem  *Problem          `json:"problem,omitempty"`
	Refused  *string           `json:"refused,omitempty"`
}

// SnapshotProgress is how much of a snapshot is downloaded, in bytes.
type SnapshotProgress struct {
	ID    string `json:"id"`
	Bytes int64  `json:"bytes"`
	Size  int64  `json:"size"` // 0 until it is known
}

// Problem is what keeps the metadata tail from the log.
type Problem struct {
	Kind     metadatalog.ProblemKind `json:"kind"`
	Message  string                  `json:"message"`
	Advice   string                  `json:"advice"`
	Since    *Time                   `json:"since"`
	Attempts int                     `json:"attempts"`
}

// GroupsStatus is how the tail of __consumer_offsets stands.
type GroupsStatus struct {
	Scope      pipeline.Scope     `json:"scope"`
	Source     *string            `json:"source"` // kafka or dir
	Partitions []OffsetsPartition `json:"partitions"`
	Counts     Counts             `json:"counts"`
	// Problem is what keeps it from being known which are to be followed.
	Problem *GroupsProblem `json:"problem,omitempty"`
}

// StoreStatus is how the store stands.
type StoreStatus struct {
	Format int   `json:"format"`
	Bytes  int64 `json:"bytes"`
	// Persisting is false while nothing is written; Reason says why, and what
	// can be done.
	Persisting bool    `json:"persisting"`
	Reason     *string `json:"reason"`
}

// NewStoreStatus is how the store stands.
func NewStoreStatus(s store.Status) *StoreStatus {
	return &StoreStatus{Format: store.Format, Bytes: s.Bytes, Persisting: s.Persisting, Reason: text(s.Reason)}
}

// NewGroupsStatus is how the tail of __consumer_offsets stands, without counts.
func NewGroupsStatus(v *pipeline.View, source string, now time.Time) GroupsStatus {
	return GroupsStatus{
		Scope: v.Scope, Source: text(source), Partitions: NewOffsetsPartitions(v, now),
		Problem: newGroupsProblem(v.Assignment.Problem),
	}
}

// KafkaStatus is what the metadata says of the cluster.
type KafkaStatus struct {
	MetadataVersion *string `json:"metadataVersion"` // "4.4-IV2", or the level if it has no name here
	Brokers         int     `json:"brokers"`         // registered
}

// PeerStatus is the status of another sidecar in short.
type PeerStatus struct {
	Broker         kafka.NodeID  `json:"broker"`
	Host           string        `json:"host"`
	Ready          bool          `json:"ready"`
	Reasons        []Reason      `json:"reasons,omitempty"`
	Version        string        `json:"version"`
	MetadataOffset *kafka.Offset `json:"metadataOffset"`
	LagMs          *int64        `json:"lagMs"`
	Answers        []int32       `json:"answers"` // partitions of __consumer_offsets
	Loading        []int32       `json:"loading"` // those of them that are loading
	Counts         Counts        `json:"counts"`
}

// Peer is the status in short, for another sidecar's answer.
func (s *Status) Peer(broker kafka.NodeID, host string) PeerStatus {
	p := PeerStatus{
		Broker: broker, Host: host, Ready: s.Ready, Reasons: s.Reasons, Version: s.Version,
		MetadataOffset: s.Metadata.Offset, LagMs: s.Metadata.LagMs, Answers: []int32{}, Loading: []int32{}, Counts: s.Groups.Counts,
	}
	for _, o := range s.Groups.Partitions {
		if o.Role != RoleAnswers {
			continue
		}
		p.Answers = append(p.Answers, o.Partition)
		if o.Loading {
			p.Loading = append(p.Loading, o.Partition)
		}
	}
	return p
}

// AddPeer adds what another sidecar says of the groups that it speaks for.
func (s *Status) AddPeer(other *Status) {
	s.join(other, func(a, b int) int { return a + b })
}

// Merge adds what another answer about the whole cluster says.
func (s *Status) Merge(other *Status) {
	s.join(other, func(a, b int) int { return max(a, b) })
}

func (s *Status) join(other *Status, counts func(a, b int) int) {
	s.OpenRebalances = JoinOpen(s.OpenRebalances, other.OpenRebalances)
	s.Busiest = JoinBusiest(s.Busiest, other.Busiest)
	s.RecentChanges = joinRecentChanges(s.RecentChanges, other.RecentChanges, counts)
}

// NewMetadataStatus is how the metadata tail of v stands at the given time.
func NewMetadataStatus(v *pipeline.View, source string, now time.Time) MetadataStatus {
	at, progress := v.Image.Provenance(), &v.Metadata
	m := MetadataStatus{
		Source: text(source), Offset: Offset(at.Offset), HighWatermark: Offset(progress.HighWatermark),
		Leader: Node(progress.Leader),
	}
	if at.Epoch >= 0 {
		m.Epoch = new(at.Epoch)
	}
	if lag, ok := MetadataLag(v, now); ok {
		m.LagMs = new(lag.Milliseconds())
	}
	if s := progress.Snapshot; s != nil {
		m.Snapshot = &SnapshotProgress{ID: s.ID.String(), Bytes: s.Position, Size: s.Size}
	}
	if p := progress.Problem; p != nil {
		m.Problem = &Problem{
			Kind: p.Kind, Message: withoutAdvice(p.Error(), p.Advice), Advice: p.Advice, Since: timeOf(p.Since.UnixMilli()), Attempts: p.Attempts,
		}
	}
	if v.Refused != nil {
		m.Refused = new(v.Refused.Error())
	}
	return m
}

// MetadataLag is 0 if all that is known to be committed is in the image, else
// the age of the image's last record; false while it is not known.
func MetadataLag(v *pipeline.View, now time.Time) (time.Duration, bool) {
	switch v.Metadata.Lag() {
	case 0:
		return 0, true
	case -1:
		return 0, false
	}
	at := v.Image.Provenance().AppendTime
	if at <= 0 {
		return 0, false
	}
	return max(0, now.Sub(time.UnixMilli(at))), true
}

// withoutAdvice is the text of a problem without its advice, which it ends in.
func withoutAdvice(text, advice string) string { return strings.TrimSuffix(text, "; "+advice) }

// NewKafkaStatus is what the image says of the cluster.
func NewKafkaStatus(m *image.MetadataImage) KafkaStatus {
	return KafkaStatus{MetadataVersion: text(MetadataVersion(m)), Brokers: m.Cluster().NumBrokers()}
}

// MetadataVersion is the name of the finalized metadata.version, or its level
// if it is one of a later release; "" while it is not known.
func MetadataVersion(m *image.MetadataImage) string {
	level := m.Features().MetadataVersion()
	if name := image.MetadataVersionName(level); name != "" || level == 0 {
		return name
	}
	return strconv.Itoa(int(level))
}
