package record

import (
	"fmt"

	"github.com/kraftside/kraftside/internal/wire"
)

// highestProtocolVersion is the highest version of the consumer protocol in
// Kafka 4.4.
const highestProtocolVersion = 3

// Parse decodes what a classic consumer sent as its subscription
// (MemberMetadata.Subscription) and returns its version. As in Kafka's
// ConsumerProtocol, a version that is not known is read as the highest that
// is, since later versions only append fields; so bytes may be left over.
func (m *ConsumerProtocolSubscription) Parse(b []byte) (int16, error) {
	return parseProtocol("subscription", b, m.Decode)
}

// Parse decodes the assignment of a classic consumer
// (MemberMetadata.Assignment), as for ConsumerProtocolSubscription. An empty
// byte string, the assignment of a member before the first rebalance, is an
// error.
func (m *ConsumerProtocolAssignment) Parse(b []byte) (int16, error) {
	return parseProtocol("assignment", b, m.Decode)
}

func parseProtocol(what string, b []byte, decode func(*wire.Reader, int16)) (int16, error) {
	r := wire.NewReader(b)
	version := r.Int16()
	if version < 0 {
		return version, fmt.Errorf("decode %s of a classic consumer: version %d: %w", what, version, ErrUnknownVersion)
	}
	decode(&r, min(version, highestProtocolVersion))
	if err := r.Err(); err != nil {
		return version, fmt.Errorf("decode %s of a classic consumer, version %d: %w", what, version, err)
	}
	return version, nil
}
