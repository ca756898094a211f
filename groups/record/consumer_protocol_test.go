package record

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/recordgen/vectors"
	"github.com/kraftside/kraftside/internal/wire"
)

// protocolMessage is either struct of the consumer protocol.
type protocolMessage interface {
	Parse(b []byte) (int16, error)
	Append(b []byte, version int16) ([]byte, error)
	AppendJSON(b []byte, version int16) []byte
	Reset()
}

func TestConsumerProtocolVectors(t *testing.T) {
	all := vectors.Load(t, "consumer_protocol")
	require.Len(t, all, 40)
	reused := map[string]protocolMessage{
		"ConsumerProtocolSubscription": new(ConsumerProtocolSubscription),
		"ConsumerProtocolAssignment":   new(ConsumerProtocolAssignment),
	}
	for _, v := range all {
		msg := reused[v.Name]
		version, err := msg.Parse(v.Bytes)
		require.NoError(t, err, v)
		require.Equal(t, v.Version, version, v)
		again, err := msg.Append(wire.AppendInt16(nil, version), version)
		require.NoError(t, err, v)
		require.Equal(t, []byte(v.Bytes), again, v)
		vectors.RequireSameJSON(t, v.JSON, msg.AppendJSON(nil, version), v.String())
	}
}

// A consumer newer than this code may send a version that only appends fields.
func TestConsumerProtocolReadsLaterVersions(t *testing.T) {
	rack := "r1"
	want := ConsumerProtocolSubscription{Topics: []string{"t"}, OwnedPartitions: []ProtocolTopicPartitions{}, GenerationID: 5, RackID: &rack}
	b, err := want.Append([]byte{0, 9}, 3)
	require.NoError(t, err)
	var got ConsumerProtocolSubscription
	version, err := got.Parse(append(b, "later fields"...))
	require.NoError(t, err)
	require.EqualValues(t, 9, version)
	require.Equal(t, want, got)

	_, err = got.Parse([]byte{0xff, 0xff})
	require.ErrorIs(t, err, ErrUnknownVersion)
	_, err = new(ConsumerProtocolAssignment).Parse(nil)
	require.ErrorIs(t, err, wire.ErrTruncated)
}
