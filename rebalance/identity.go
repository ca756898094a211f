package rebalance

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/kraftside/kraftside/internal/kafka"
)

// ID identifies a rebalance: every sidecar that reads the log, and every time
// that it does, arrives at the same one. The ids of its traces and their spans
// derive from it alone (invariant 9). They are those of W3C Trace Context, and
// never zero.
type ID struct {
	ClusterID string        // empty while it is not known
	TopicID   kafka.TopicID // of __consumer_offsets; zero if files did not tell
	Partition int32
	// Offset is that of the record that raised the epoch.
	Offset kafka.Offset
}

func (id ID) String() string {
	return fmt.Sprintf("%s/%s/%d/%d", id.ClusterID, id.TopicID, id.Partition, id.Offset)
}

// TraceID is the id of the trace of the rebalance.
func (id ID) TraceID() [16]byte { return id.trace("rebalance") }

// CompletionTraceID is that of the second trace of a rebalance that was
// exported before it was over, since a span that was sent cannot be changed.
func (id ID) CompletionTraceID() [16]byte { return id.trace("completion") }

func (id ID) trace(role string) (t [16]byte) {
	sum := id.digest("trace", role)
	copy(t[:], sum[:])
	if t == [16]byte{} {
		t[len(t)-1] = 1
	}
	return t
}

// SpanID is the id of a span of one of the traces. Its role is unique among the
// spans of the rebalance.
func (id ID) SpanID(role string) (s [8]byte) {
	sum := id.digest("span", role)
	copy(s[:], sum[:])
	if s == [8]byte{} {
		s[len(s)-1] = 1
	}
	return s
}

// digest is a SHA-256 over the identity and the role. Texts have their lengths
// in front, so that no two inputs run into each other.
func (id ID) digest(kind, role string) [sha256.Size]byte {
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
