package record

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/recordgen/vectors"
	"github.com/kraftside/kraftside/internal/wire"
)

// hugeLength is the largest length of the compact form.
var hugeLength = []byte{0xff, 0xff, 0xff, 0xff, 0x0f}

// In a record of defaults every string and array is empty, which is a byte 1,
// and the last byte is the number of tagged fields. Each of them is made huge
// in turn.
func TestHugeLengthInEveryField(t *testing.T) {
	lengths := 0
	for _, v := range vectors.Load(t, "metadata") {
		if v.Instance != "default" {
			continue
		}
		const header = 3 // frame version, type, version
		for i := header; i < len(v.Bytes); i++ {
			if v.Bytes[i] != 1 && i != len(v.Bytes)-1 {
				continue
			}
			lengths++
			hostile := slices.Concat(v.Bytes[:i], hugeLength, v.Bytes[i+1:])
			var d Decoder
			var err error
			vectors.RequireSmall(t, 16384, v.String(), func() { _, _, err = d.Decode(hostile) })
			require.Error(t, err, v)
		}
	}
	require.Equal(t, 95, lengths, "fields with a length, sections of tags, and five booleans that are true")
}

// The same over every byte of every record, so also in elements of arrays and
// in tagged fields: nothing panics, and what is allocated is in proportion to
// the input.
func TestHostileBytes(t *testing.T) {
	var d Decoder
	for _, v := range vectors.Load(t, "metadata") {
		vectors.RequireSmall(t, vectors.HostileLimit(v.Bytes), v.String(), func() {
			for hostile := range vectors.Hostile(v.Bytes) {
				_, _, _ = d.Decode(hostile)
			}
		})
	}
	for _, v := range vectors.Load(t, "control") {
		vectors.RequireSmall(t, vectors.HostileLimit(v.Bytes), v.String(), func() {
			for hostile := range vectors.Hostile(v.Bytes) {
				_, _, _ = DecodeControl(v.APIKey, hostile)
			}
		})
	}
}

func TestDecodeFailures(t *testing.T) {
	for _, c := range []struct {
		name  string
		frame []byte
		cause error
		text  string
	}{
		{"no bytes", nil, wire.ErrTruncated, "decode frame of a record: byte 0: input ends inside a value"},
		{"frame of version 2", []byte{2, 2, 0}, ErrUnknownVersion, "decode frame of a record: frame version 2: record version is not known"},
		{"type of 32 bits", []byte{1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0}, wire.ErrMalformed, "decode frame of a record: malformed value: record type 4294967295"},
		{"version of 32 bits", []byte{1, 2, 0xff, 0xff, 0xff, 0xff, 0x0f}, wire.ErrMalformed, "decode frame of a record: malformed value: record version 4294967295"},
		{"unused type", []byte{1, 6, 0}, ErrUnknownType, "decode record type 6 version 0: record type is not known"},
		{"type of a later release", []byte{1, 99, 4}, ErrUnknownType, "decode record type 99 version 4: record type is not known"},
		{"version of a later release", []byte{1, 3, 3, 0}, ErrUnknownVersion, "decode PartitionRecord version 3: byte 3: record version is not known"},
		{"body cut short", []byte{1, 29, 0, 0, 0}, wire.ErrTruncated, "decode UnregisterControllerRecord version 0: byte 3: input ends inside a value"},
		{"bytes left over", []byte{1, 20, 0, 0, 7}, wire.ErrMalformed, "decode NoOpRecord version 0: byte 4: malformed value: 1 bytes after the end"},
	} {
		var d Decoder
		msg, _, err := d.Decode(c.frame)
		require.Nil(t, msg, c.name)
		require.ErrorIs(t, err, c.cause, c.name)
		require.EqualError(t, err, c.text, c.name)
	}
	var failure *DecodeError
	_, version, err := new(Decoder).Decode([]byte{1, 99, 4})
	require.ErrorAs(t, err, &failure)
	require.Equal(t, Type(99), failure.Type)
	require.EqualValues(t, 4, failure.Version)
	require.Equal(t, failure.Version, version)
}

func TestTypes(t *testing.T) {
	require.Equal(t, "PARTITION_CHANGE_RECORD", TypePartitionChangeRecord.String())
	require.Equal(t, "PartitionChangeRecord", TypePartitionChangeRecord.RecordName())
	require.EqualValues(t, 2, TypePartitionChangeRecord.HighestVersion())
	for _, unused := range []Type{-1, 6, 13, 16, 30} {
		require.False(t, unused.Known())
		require.EqualValues(t, -1, unused.HighestVersion())
	}
	require.Equal(t, "type 6", Type(6).String())
	require.Equal(t, "record type 6", Type(6).RecordName())
	for typ := range Type(40) {
		msg := newMessage(typ)
		if msg != nil {
			require.Equal(t, typ, msg.Type())
		}
		require.Equal(t, typ.Known(), msg != nil)
	}
}

// An absent field has its default, which for these is neither zero nor empty.
func TestDefaults(t *testing.T) {
	var change PartitionChangeRecord
	change.Reset()
	require.Equal(t, PartitionChangeRecord{PartitionID: -1, Leader: -2, LeaderRecoveryState: -1}, change)
	var d Decoder
	for _, v := range vectors.Load(t, "metadata") {
		msg, version, err := d.Decode(v.Bytes)
		require.NoError(t, err)
		msg.Reset()
		if v.Instance == "default" {
			vectors.RequireSameJSON(t, v.JSON, msg.AppendJSON(nil, version, wire.ShowSecrets), v.String())
			again, err := AppendFrame(nil, msg, version)
			require.NoError(t, err)
			require.Equal(t, []byte(v.Bytes), again, v)
		}
	}
}

// No key of a SCRAM credential is printed unless asked for, nor quoted by an
// error.
func TestSecretsAreHidden(t *testing.T) {
	secrets := map[string][]byte{"salt": []byte("the salt!"), "storedKey": []byte("the stored key"), "serverKey": []byte("the server key")}
	m := &UserScramCredentialRecord{
		Name: "alice", Mechanism: 1, Salt: secrets["salt"], StoredKey: secrets["storedKey"], ServerKey: secrets["serverKey"], Iterations: 4096,
	}
	hidden := m.AppendJSON(nil, 0, wire.HideSecrets)
	require.JSONEq(t, `{"name":"alice","mechanism":1,"salt":"(redacted)","storedKey":"(redacted)","serverKey":"(redacted)","iterations":4096}`, string(hidden))
	var shown map[string]any
	require.NoError(t, json.Unmarshal(m.AppendJSON(nil, 0, wire.ShowSecrets), &shown))
	for name, secret := range secrets {
		require.Equal(t, base64.StdEncoding.EncodeToString(secret), shown[name])
	}

	encoded := frame(t, m)
	for hostile := range vectors.Hostile(encoded) {
		if _, _, err := new(Decoder).Decode(hostile); err != nil {
			for _, secret := range secrets {
				require.False(t, bytes.Contains([]byte(err.Error()), secret))
			}
		}
	}
}

// FuzzMetadataRecord decodes, encodes and decodes again: the second record is
// the first, in all that is written and printed.
func FuzzMetadataRecord(f *testing.F) {
	for _, v := range vectors.Load(f, "metadata") {
		f.Add([]byte(v.Bytes))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		var first, second Decoder
		msg, version, err := first.Decode(input)
		if err != nil {
			require.Nil(t, msg)
			return
		}
		encoded, err := AppendFrame(nil, msg, version)
		require.NoError(t, err)
		again, versionAgain, err := second.Decode(encoded)
		require.NoError(t, err)
		require.Equal(t, version, versionAgain)
		require.Equal(t, msg.Type(), again.Type())
		encodedAgain, err := AppendFrame(nil, again, version)
		require.NoError(t, err)
		require.Equal(t, encoded, encodedAgain)
		printed := msg.AppendJSON(nil, version, wire.ShowSecrets)
		require.True(t, json.Valid(printed), "%s", printed)
		require.Equal(t, printed, again.AppendJSON(nil, version, wire.ShowSecrets))
	})
}

// FuzzControlRecord does so for the control records.
func FuzzControlRecord(f *testing.F) {
	for _, v := range vectors.Load(f, "control") {
		f.Add(v.APIKey, []byte(v.Bytes))
	}
	f.Fuzz(func(t *testing.T, controlType int16, input []byte) {
		msg, version, err := DecodeControl(controlType, input)
		if err != nil {
			require.Nil(t, msg)
			return
		}
		encoded, err := msg.Append(nil, version)
		require.NoError(t, err)
		again, _ := newControl(controlType)
		r := wire.NewReader(encoded)
		again.Decode(&r, version)
		r.End()
		require.NoError(t, r.Err())
		require.Equal(t, msg.AppendJSON(nil, version), again.AppendJSON(nil, version))
	})
}
