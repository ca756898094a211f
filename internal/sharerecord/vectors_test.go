package sharerecord

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/recordgen/vectors"
)

// Every record that Kafka's classes encoded decodes, encodes to the same bytes
// and prints as Kafka prints it. One decoder sees them all, once in each
// direction, so that nothing of a record may be left over for the next.
func TestVectors(t *testing.T) {
	all := vectors.Load(t, "share")
	require.Len(t, all, 30)
	var d Decoder
	for i := range all {
		checkVector(t, &d, &all[i])
	}
	for i := range slices.Backward(all) {
		checkVector(t, &d, &all[i])
	}
}

func checkVector(t *testing.T, d *Decoder, v *vectors.Vector) {
	key, err := d.Key(v.KeyBytes)
	require.NoError(t, err, v)
	require.Equal(t, Type(v.APIKey), key.Type(), v)
	again, err := AppendKey(nil, key)
	require.NoError(t, err, v)
	require.Equal(t, []byte(v.KeyBytes), again, v)
	vectors.RequireSameJSON(t, v.Key, key.AppendJSON(nil), v.String())
	if v.Bytes == nil {
		require.Equal(t, "tombstone", v.Instance)
		return
	}

	value, version, err := d.Value(key.Type(), v.Bytes)
	require.NoError(t, err, v)
	require.Equal(t, v.Version, version, v)
	require.Equal(t, key.Type(), value.Type(), v)
	again, err = AppendValue(nil, value, version)
	require.NoError(t, err, v)
	require.Equal(t, []byte(v.Bytes), again, v)
	vectors.RequireSameJSON(t, v.JSON, value.AppendJSON(nil, version), v.String())

	_, err = AppendValue(nil, value, value.Type().HighestVersion()+1)
	require.ErrorIs(t, err, ErrUnknownVersion)
}
