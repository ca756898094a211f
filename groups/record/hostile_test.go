package record

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/recordgen/vectors"
	"github.com/kraftside/kraftside/internal/wire"
)

// Every length of every record is made huge in turn: nothing panics, and what
// is allocated is in proportion to the input.
func TestHostileBytes(t *testing.T) {
	var d Decoder
	for _, v := range vectors.Load(t, "group") {
		vectors.RequireSmall(t, vectors.HostileLimit(v.KeyBytes)+vectors.HostileLimit(v.Bytes), v.String(), func() {
			for hostile := range vectors.Hostile(v.KeyBytes) {
				_, _ = d.Key(hostile)
			}
			for hostile := range vectors.Hostile(v.Bytes) {
				_, _, _ = d.Value(Type(v.APIKey), hostile)
			}
		})
	}
	for _, v := range vectors.Load(t, "consumer_protocol") {
		vectors.RequireSmall(t, vectors.HostileLimit(v.Bytes), v.String(), func() {
			for hostile := range vectors.Hostile(v.Bytes) {
				_, _ = new(ConsumerProtocolSubscription).Parse(hostile)
				_, _ = new(ConsumerProtocolAssignment).Parse(hostile)
			}
		})
	}
}

// Lengths of each kind, in each place where one can stand.
func TestHugeLengths(t *testing.T) {
	for _, c := range []struct {
		name  string
		typ   Type
		value []byte
	}{
		{"classic string", TypeOffsetCommit, []byte{0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 0xff, 'x'}},
		{"compact string", TypeOffsetCommit, []byte{0, 4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 'x'}},
		{"classic array of structs", TypeGroupMetadata, []byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0}},
		{"compact array of structs", TypeConsumerGroupTargetAssignmentMember, []byte{0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 0}},
		{"compact array of numbers", TypeConsumerGroupTargetAssignmentMember, append(append([]byte{0, 0, 2}, make([]byte, 16)...), 0xff, 0xff, 0xff, 0xff, 0x0f, 0)},
		{"compact array of strings", TypeConsumerGroupRegularExpression, []byte{0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 0}},
		{"number of tagged fields", TypeConsumerGroupMetadata, []byte{0, 0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0x0f}},
		{"size of a tagged field", TypeConsumerGroupMetadata, []byte{0, 0, 0, 0, 0, 1, 1, 0, 0xff, 0xff, 0xff, 0xff, 0x0f}},
		{"size of an unknown field", TypeConsumerGroupMetadata, []byte{0, 0, 0, 0, 0, 1, 1, 9, 0xff, 0xff, 0xff, 0xff, 0x0f}},
	} {
		var d Decoder
		var err error
		vectors.RequireSmall(t, 16384, c.name, func() { _, _, err = d.Value(c.typ, c.value) })
		require.Error(t, err, c.name)
	}
}

func TestDecodeFailures(t *testing.T) {
	var d Decoder
	for _, c := range []struct {
		name  string
		key   []byte
		cause error
		text  string
	}{
		{"no bytes", nil, wire.ErrTruncated, "decode type of a key: byte 0: input ends inside a value"},
		{"unused type", []byte{0, 18, 0, 0}, ErrUnknownType, "decode key of record type 18: record type is not known"},
		{"negative type", []byte{0xff, 0xff}, ErrUnknownType, "decode key of record type -1: record type is not known"},
		{"cut short", []byte{0, 3, 0, 2, 'g'}, wire.ErrTruncated, "decode key of ConsumerGroupMetadata: byte 4: input ends inside a value: value of length 2, 1 bytes left"},
		{"bytes left over", []byte{0, 3, 0, 1, 'g', 0}, wire.ErrMalformed, "decode key of ConsumerGroupMetadata: byte 5: malformed value: 1 bytes after the end"},
	} {
		key, err := d.Key(c.key)
		require.Nil(t, key, c.name)
		require.ErrorIs(t, err, c.cause, c.name)
		require.EqualError(t, err, c.text, c.name)
	}

	_, _, err := d.Value(TypeConsumerGroupMetadata, []byte{0})
	require.EqualError(t, err, "decode version of a value of ConsumerGroupMetadata: byte 0: input ends inside a value")
	_, version, err := d.Value(TypeConsumerGroupMetadata, []byte{0, 9})
	require.ErrorIs(t, err, ErrUnknownVersion)
	require.EqualValues(t, 9, version)
	require.EqualError(t, err, "decode ConsumerGroupMetadata version 9: byte 2: record version is not known")
	_, _, err = d.Value(18, []byte{0, 0})
	require.ErrorIs(t, err, ErrUnknownType)
	var failure *DecodeError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, Type(18), failure.Type)
}

func TestTypes(t *testing.T) {
	var d Decoder
	known := 0
	for typ := range Type(40) {
		key, value := d.keys.of(typ), d.values.of(typ)
		require.Equal(t, typ.Known(), key != nil)
		require.Equal(t, typ.Known(), value != nil)
		if typ.Known() {
			known++
			require.Equal(t, typ, key.Type())
			require.Equal(t, typ, value.Type())
		}
	}
	require.Equal(t, 23, known, "0-17 and 19-23")
	require.Equal(t, "STREAMS_GROUP_METADATA", TypeStreamsGroupMetadata.String())
	require.Equal(t, "StreamsGroupMetadata", TypeStreamsGroupMetadata.RecordName())
	require.Equal(t, "type 18", Type(18).String())
	require.EqualValues(t, 4, TypeOffsetCommit.HighestVersion())
}

// Share groups were early access in Kafka 4.0: what it wrote is told apart by
// its bytes alone.
func TestFormOf40(t *testing.T) {
	var d Decoder
	forms := make(map[bool]int)
	for _, v := range vectors.Load(t, "group") {
		if v.Bytes == nil {
			continue
		}
		value, _, err := d.Value(Type(v.APIKey), v.Bytes)
		require.NoError(t, err)
		var form40 bool
		switch value := value.(type) {
		case *ShareGroupMetadataValue:
			form40 = value.Form40
		case *ShareGroupStatePartitionMetadataValue:
			form40 = value.Form40
		default:
			continue
		}
		require.Equal(t, v.Kafka == "4.0.2", form40, v)
		forms[form40]++
	}
	require.Equal(t, map[bool]int{true: 10, false: 10}, forms)

	_, _, err := d.Value(TypeShareGroupMetadata, []byte{0, 0, 0, 0, 0, 1, 0, 9})
	require.EqualError(t, err, "decode ShareGroupMetadata version 0: byte 6: input ends inside a value", "fits neither form")
	_, _, err = d.Value(TypeShareGroupMetadata, append(make([]byte, 2+4+8+1), 9))
	require.ErrorIs(t, err, wire.ErrMalformed, "bytes left over in either form")
	value, _, err := d.Value(TypeShareGroupMetadata, make([]byte, 2+4+8+1))
	require.NoError(t, err)
	require.False(t, value.(*ShareGroupMetadataValue).Form40)
}

// A member that speaks the new protocol has a null classicMemberMetadata; only
// an absent one stands for an empty struct.
func TestClassicMemberMetadata(t *testing.T) {
	var d Decoder
	decode := func(tags ...byte) *ClassicMemberMetadata {
		b := append([]byte{0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 1, 0}, tags...)
		value, _, err := d.Value(TypeConsumerGroupMemberMetadata, b)
		require.NoError(t, err)
		again, err := AppendValue(nil, value, 0)
		require.NoError(t, err)
		require.Equal(t, b, again)
		return value.(*ConsumerGroupMemberMetadataValue).ClassicMemberMetadata
	}
	full := []byte{1, 0, 11, 1, 0, 0, 0, 7, 2, 2, 'r', 1, 0, 0}
	require.Nil(t, decode(1, 0, 1, 0))
	require.Equal(t, &ClassicMemberMetadata{}, decode(0))
	require.Equal(t, "r", decode(full...).SupportedProtocols[0].Name)
	require.Nil(t, decode(1, 0, 1, 0))
	require.Empty(t, decode(0).SupportedProtocols, "nothing is left over from the record before")
}

func TestDefaults(t *testing.T) {
	var d Decoder
	for _, v := range vectors.Load(t, "group") {
		if v.Bytes == nil {
			continue
		}
		value, version, err := d.Value(Type(v.APIKey), v.Bytes)
		require.NoError(t, err)
		value.Reset()
		if v.Instance == "default" && v.Kafka == "4.4.0" {
			vectors.RequireSameJSON(t, v.JSON, value.AppendJSON(nil, version), v.String())
		}
	}
}

// FuzzGroupRecord decodes, encodes and decodes again: the second record is the
// first, in all that is written and printed.
func FuzzGroupRecord(f *testing.F) {
	for _, v := range vectors.Load(f, "group") {
		f.Add([]byte(v.KeyBytes), []byte(v.Bytes))
	}
	f.Fuzz(func(t *testing.T, keyBytes, valueBytes []byte) {
		var first, second Decoder
		key, err := first.Key(keyBytes)
		if err != nil {
			require.Nil(t, key)
			return
		}
		encoded, err := AppendKey(nil, key)
		require.NoError(t, err)
		require.Equal(t, append([]byte{}, keyBytes...), encoded, "a key has one encoding")

		value, version, err := first.Value(key.Type(), valueBytes)
		if err != nil {
			require.Nil(t, value)
			return
		}
		encoded, err = AppendValue(nil, value, version)
		require.NoError(t, err)
		again, versionAgain, err := second.Value(key.Type(), encoded)
		require.NoError(t, err)
		require.Equal(t, version, versionAgain)
		encodedAgain, err := AppendValue(nil, again, version)
		require.NoError(t, err)
		require.Equal(t, encoded, encodedAgain)
		printed := value.AppendJSON(nil, version)
		require.True(t, json.Valid(printed), "%s", printed)
		require.True(t, json.Valid(key.AppendJSON(nil)))
		if form40(value) == form40(again) { // what is not Kafka's own encoding may fit the other form once it is
			require.Equal(t, printed, again.AppendJSON(nil, version))
		}
	})
}

func form40(v Value) bool {
	switch v := v.(type) {
	case *ShareGroupMetadataValue:
		return v.Form40
	case *ShareGroupStatePartitionMetadataValue:
		return v.Form40
	}
	return false
}

// FuzzConsumerProtocol does so for what classic consumers send.
func FuzzConsumerProtocol(f *testing.F) {
	for _, v := range vectors.Load(f, "consumer_protocol") {
		f.Add([]byte(v.Bytes))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		for _, pair := range [][2]protocolMessage{
			{new(ConsumerProtocolSubscription), new(ConsumerProtocolSubscription)},
			{new(ConsumerProtocolAssignment), new(ConsumerProtocolAssignment)},
		} {
			version, err := pair[0].Parse(input)
			if err != nil {
				continue
			}
			version = min(version, highestProtocolVersion)
			encoded, err := pair[0].Append(wire.AppendInt16(nil, version), version)
			require.NoError(t, err)
			_, err = pair[1].Parse(encoded)
			require.NoError(t, err)
			require.Equal(t, pair[0], pair[1])
		}
	})
}
