package telemetry

import (
	"crypto/sha256"
	"encoding/binary"

	"go.opentelemetry.io/otel/trace"

	"github.com/kraftside/kraftside/rebalance"
)

// Roles of traces. A rebalance has the first one. Only one that was exported
// before it was over has the second as well, since a span that was sent cannot
// be changed.
const (
	roleRebalance  = "rebalance"
	roleCompletion = "completion"
)

// traceID is the same wherever and however often a rebalance is exported, and
// is never zero.
func traceID(id rebalance.ID, role string) (t trace.TraceID) {
	sum := digest("trace", id, role)
	copy(t[:], sum[:])
	if !t.IsValid() {
		t[len(t)-1] = 1
	}
	return t
}

// spanID is that of a span of one of the rebalance's traces. Its role is unique
// among the spans of the rebalance.
func spanID(id rebalance.ID, role string) (s trace.SpanID) {
	sum := digest("span", id, role)
	copy(s[:], sum[:])
	if !s.IsValid() {
		s[len(s)-1] = 1
	}
	return s
}

// digest is a SHA-256 over the identity and the role. Texts have their lengths
// in front, so that no two inputs run into each other.
func digest(kind string, id rebalance.ID, role string) [sha256.Size]byte {
	b := make([]byte, 0, 128)
	for _, text := range []string{kind, id.ClusterID, role} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
		b = append(b, text...)
	}
	b = append(b, id.TopicID[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(id.Partition))
	b = binary.BigEndian.AppendUint64(b, uint64(id.Offset))
	return sha256.Sum256(b)
}
