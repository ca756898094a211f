package sharerecord

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/recordgen/vectors"
)

// Every length of every record is made huge in turn: nothing panics, and what
// is allocated is in proportion to the input.
func TestHostileBytes(t *testing.T) {
	var d Decoder
	for _, v := range vectors.Load(t, "share") {
		vectors.RequireSmall(t, vectors.HostileLimit(v.KeyBytes)+vectors.HostileLimit(v.Bytes), v.String(), func() {
			for hostile := range vectors.Hostile(v.KeyBytes) {
				_, _ = d.Key(hostile)
			}
			for hostile := range vectors.Hostile(v.Bytes) {
				_, _, _ = d.Value(Type(v.APIKey), hostile)
			}
		})
	}
}

// FuzzRecord decodes, encodes and decodes again: the second record is the
// first, in all that is written.
func FuzzRecord(f *testing.F) {
	for _, v := range vectors.Load(f, "share") {
		f.Add([]byte(v.KeyBytes), []byte(v.Bytes))
	}
	f.Fuzz(func(t *testing.T, keyBytes, valueBytes []byte) {
		var first, second Decoder
		key, err := first.Key(keyBytes)
		if err != nil {
			return
		}
		encoded, err := AppendKey(nil, key)
		require.NoError(t, err)
		require.Equal(t, append([]byte{}, keyBytes...), encoded, "a key has one encoding")
		value, version, err := first.Value(key.Type(), valueBytes)
		if err != nil {
			return
		}
		encoded, err = AppendValue(nil, value, version)
		require.NoError(t, err)
		again, version, err := second.Value(key.Type(), encoded)
		require.NoError(t, err)
		encodedAgain, err := AppendValue(nil, again, version)
		require.NoError(t, err)
		require.Equal(t, encoded, encodedAgain)
	})
}
