package record

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/recordgen/vectors"
	"github.com/kraftside/kraftside/internal/wire"
)

// Every record that Kafka's classes encoded decodes, encodes to the same bytes
// and prints as Kafka prints it. One decoder sees them all, once in each
// direction, so that nothing of a record may be left over for the next.
func TestMetadataVectors(t *testing.T) {
	all := vectors.Load(t, "metadata")
	require.Len(t, all, 204)
	var d Decoder
	check := func(v *vectors.Vector) {
		msg, version, err := d.Decode(v.Bytes)
		require.NoError(t, err, v)
		require.Equal(t, v.Version, version, v)
		require.Equal(t, Type(v.APIKey), msg.Type(), v)
		require.Equal(t, v.Name, msg.Type().RecordName(), v)

		again, err := AppendFrame(nil, msg, version)
		require.NoError(t, err, v)
		require.Equal(t, []byte(v.Bytes), again, v)

		vectors.RequireSameJSON(t, v.JSON, msg.AppendJSON(nil, version, wire.ShowSecrets), v.String())
		_, err = AppendFrame(nil, msg, msg.Type().HighestVersion()+1)
		require.ErrorIs(t, err, ErrUnknownVersion)
	}
	for i := range all {
		check(&all[i])
	}
	for i := range slices.Backward(all) {
		check(&all[i])
	}
}

func TestControlVectors(t *testing.T) {
	all := vectors.Load(t, "control")
	require.Len(t, all, 34)
	reused := make(map[int16]Control)
	for _, v := range all {
		msg := reused[v.APIKey]
		if msg == nil {
			msg, _ = newControl(v.APIKey)
			reused[v.APIKey] = msg
		}
		require.Equal(t, v.APIKey, msg.ControlType())

		// The vectors fill the records' own version field with anything, so
		// the version is taken from the vector here.
		r := wire.NewReader(v.Bytes)
		var prefix []byte
		if _, marker := msg.(*EndTxnMarker); marker {
			require.Equal(t, v.Version, r.Int16())
			prefix = v.Bytes[:2]
		}
		msg.Decode(&r, v.Version)
		r.End()
		require.NoError(t, r.Err(), v)
		again, err := msg.Append(slices.Clone(prefix), v.Version)
		require.NoError(t, err, v)
		require.Equal(t, []byte(v.Bytes), again, v)
		vectors.RequireSameJSON(t, v.JSON, msg.AppendJSON(nil, v.Version), v.String())
	}
}

// Kafka fills the version field of a raft record with the version it writes.
func TestDecodeControlTakesTheVersionFromTheValue(t *testing.T) {
	for _, v := range vectors.Load(t, "control") {
		msg, highest := newControl(v.APIKey)
		r := wire.NewReader(v.Bytes)
		version := r.Int16()
		decoded, got, err := DecodeControl(v.APIKey, v.Bytes)
		require.Equal(t, version, got)
		switch {
		case version < 0 || version > highest:
			require.ErrorIs(t, err, ErrUnknownVersion, v)
		case version == v.Version:
			require.NoError(t, err, v)
			require.IsType(t, msg, decoded)
			vectors.RequireSameJSON(t, v.JSON, decoded.AppendJSON(nil, got), v.String())
		}
	}
	_, _, err := DecodeControl(7, []byte{0, 0})
	require.ErrorIs(t, err, ErrUnknownType)
	_, _, err = DecodeControl(2, []byte{0})
	require.ErrorIs(t, err, wire.ErrTruncated)
	commit, _, err := DecodeControl(1, []byte{0, 0, 0, 0, 0, 7})
	require.NoError(t, err)
	require.Equal(t, &EndTxnMarker{CoordinatorEpoch: 7}, commit)
}
