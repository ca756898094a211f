package wire

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
)

// What Writer writes is what Reader reads.
func TestWriterRoundTrip(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		i := int64(rnd.Uint64() >> rnd.IntN(64))
		id := kafka.NewUUID(rnd.Uint64(), rnd.Uint64())
		text := strings.Repeat("é", rnd.IntN(200))
		blob := bytes.Repeat([]byte{byte(i)}, rnd.IntN(300))
		ints := []int32{int32(i), math.MinInt32}
		w := NewWriter([]byte{0xee})
		w.Int8(int8(i))
		w.Bool(i&1 == 0)
		w.Int16(int16(i))
		w.Uint16(uint16(i))
		w.Int32(int32(i))
		w.Int64(i)
		w.Float64(float64(i))
		w.UUID(id)
		w.Uvarint(uint32(i))
		w.String(text)
		w.CompactString(text)
		w.NullableString(&text)
		w.NullableString(nil)
		w.CompactNullableString(&text)
		w.CompactNullableString(nil)
		w.Bytes(blob)
		w.CompactBytes(blob)
		w.NullableBytes(blob)
		w.NullableBytes(nil)
		w.ArrayLen(2)
		w.Int32s(ints)
		w.CompactLen(1)
		w.Int16s([]int16{int16(i)})
		w.CompactLen(1)
		w.UUIDs([]kafka.UUID{id})
		w.ArrayLen(1)
		w.Strings([]string{text})
		w.CompactLen(1)
		w.CompactStrings([]string{text})
		b, err := w.Result()
		require.NoError(t, err)

		r := NewReader(b[1:])
		require.Equal(t, int8(i), r.Int8())
		require.Equal(t, i&1 == 0, r.Bool())
		require.Equal(t, int16(i), r.Int16())
		require.Equal(t, uint16(i), r.Uint16())
		require.Equal(t, int32(i), r.Int32())
		require.Equal(t, i, r.Int64())
		require.Equal(t, float64(i), r.Float64())
		require.Equal(t, id, r.UUID())
		require.Equal(t, uint32(i), r.Uvarint())
		require.Equal(t, text, r.String(""))
		require.Equal(t, text, r.CompactString(""))
		require.Equal(t, text, *r.NullableString(nil))
		require.Nil(t, r.NullableString(nil))
		require.Equal(t, text, *r.CompactNullableString(nil))
		require.Nil(t, r.CompactNullableString(nil))
		require.Equal(t, blob, append([]byte{}, r.Bytes(nil)...))
		require.Equal(t, blob, append([]byte{}, r.CompactBytes(nil)...))
		require.Equal(t, blob, append([]byte{}, r.NullableBytes(nil)...))
		require.Nil(t, r.NullableBytes(nil))
		require.Equal(t, ints, r.Int32s(nil, r.Count(4)))
		require.Equal(t, []int16{int16(i)}, r.Int16s(nil, r.CompactCount(2)))
		require.Equal(t, []kafka.UUID{id}, r.UUIDs(nil, r.CompactCount(16)))
		require.Equal(t, []string{text}, r.Strings(nil, r.Count(2)))
		require.Equal(t, []string{text}, r.CompactStrings(nil, r.CompactCount(1)))
		r.End()
		require.NoError(t, r.Err())
	}
}

func TestUvarintSize(t *testing.T) {
	for shift := range 32 {
		v := uint32(1)<<shift - 1
		require.Equal(t, len(AppendUvarint(nil, v)), UvarintSize(v))
	}
}

func TestWriterRefusesLongStrings(t *testing.T) {
	long := strings.Repeat("x", MaxString+1)
	for _, write := range []func(w *Writer){
		func(w *Writer) { w.String(long) },
		func(w *Writer) { w.CompactString(long) },
		func(w *Writer) { w.CompactNullableString(&long) },
	} {
		w := NewWriter(nil)
		write(w)
		_, err := w.Result()
		require.ErrorIs(t, err, ErrTooLong)
	}
	w := NewWriter(nil)
	w.String(long[1:])
	_, err := w.Result()
	require.NoError(t, err)
}

// Known and unknown fields come in the order of their numbers, and counts and
// sizes may need more than one byte.
func TestTags(t *testing.T) {
	big := bytes.Repeat([]byte{7}, 20000)
	var many []RawTag
	for i := range uint32(200) {
		many = append(many, RawTag{Tag: 10 + i, Data: []byte{byte(i)}})
	}
	for _, unknown := range [][]RawTag{nil, {{Tag: 0, Data: nil}}, {{Tag: 2, Data: big}, {Tag: 5, Data: []byte{1}}, {Tag: math.MaxUint32, Data: big}}, many} {
		w := NewWriter([]byte{0xee})
		tags := w.Tags(unknown)
		for _, tag := range []uint32{1, 4, 300} {
			tags.Begin(tag)
			w.Bytes(big[:100*tag%150])
			tags.End()
		}
		tags.Close()
		b, err := w.Result()
		require.NoError(t, err)

		r := NewReader(b[1:])
		var seen []RawTag
		known, last := 0, -1
		for n := r.Uvarint(); n > 0; n-- {
			tag, end := r.Tag()
			require.Greater(t, int(tag), last)
			last = int(tag)
			if tag == 1 || tag == 4 || tag == 300 {
				require.Len(t, r.Bytes(nil), int(100*tag%150))
				r.EndTag(end)
				known++
				continue
			}
			seen = r.UnknownTag(seen, tag, end)
		}
		r.End()
		require.NoError(t, r.Err())
		require.Equal(t, 3, known)
		require.Equal(t, len(unknown), r.UnknownTagsSeen())
		require.Len(t, seen, len(unknown))
		for i := range seen {
			require.Equal(t, unknown[i].Tag, seen[i].Tag)
			require.True(t, bytes.Equal(unknown[i].Data, seen[i].Data))
		}
	}
}

func TestTagsOfWrongSize(t *testing.T) {
	for name, b := range map[string][]byte{
		"value shorter than its size": {1, 0, 5, 0, 0, 0, 1, 9},
		"value longer than its size":  {1, 0, 3, 0, 0, 0, 1},
		"size past the end":           {1, 0, 9, 0, 0, 0, 1},
	} {
		r := NewReader(b)
		require.EqualValues(t, 1, r.Uvarint())
		_, end := r.Tag()
		r.Int32()
		r.EndTag(end)
		require.Error(t, r.Err(), name)
	}
	r := NewReader([]byte{2, 7, 1, 0xaa, 8, 5, 0xbb})
	require.Equal(t, []RawTag{{7, []byte{0xaa}}}, r.UnknownTags(nil))
	require.ErrorIs(t, r.Err(), ErrTruncated)
}
