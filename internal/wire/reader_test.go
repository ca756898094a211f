package wire

import (
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
)

// reading is one kind of value: what it is, how it is written and read.
type reading struct {
	name  string
	bytes []byte
	want  any
	read  func(r *Reader) any
}

func readings() []reading {
	text, empty := "abc", ""
	return []reading{
		{"int8", []byte{0x80}, int8(-128), func(r *Reader) any { return r.Int8() }},
		{"bool", []byte{2}, true, func(r *Reader) any { return r.Bool() }},
		{"int16", []byte{0x80, 1}, int16(-32767), func(r *Reader) any { return r.Int16() }},
		{"uint16", []byte{0xff, 0xff}, uint16(65535), func(r *Reader) any { return r.Uint16() }},
		{"int32", []byte{0xff, 0xff, 0xff, 0xfe}, int32(-2), func(r *Reader) any { return r.Int32() }},
		{"uint32", []byte{0xff, 0xff, 0xff, 0xfe}, uint32(4294967294), func(r *Reader) any { return r.Uint32() }},
		{"int64", []byte{0x80, 0, 0, 0, 0, 0, 0, 0}, int64(math.MinInt64), func(r *Reader) any { return r.Int64() }},
		{"float64", []byte{0x3f, 0xf8, 0, 0, 0, 0, 0, 0}, 1.5, func(r *Reader) any { return r.Float64() }},
		{"uuid", []byte{15: 7}, kafka.UUID{15: 7}, func(r *Reader) any { return r.UUID() }},
		{"uvarint", []byte{0x80, 0x80, 0x80, 0x80, 0x0f}, uint32(0xf0000000), func(r *Reader) any { return r.Uvarint() }},
		{"varint", []byte{0xff, 0xff, 0xff, 0xff, 0x0f}, int32(math.MinInt32), func(r *Reader) any { return r.Varint() }},
		{"varlong", []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, int64(math.MinInt64), func(r *Reader) any { return r.Varlong() }},
		{"raw", []byte{1, 2}, []byte{1, 2}, func(r *Reader) any { return r.Raw(2) }},
		{"string", []byte{0, 3, 'a', 'b', 'c'}, text, func(r *Reader) any { return r.String("") }},
		{"compact string", []byte{4, 'a', 'b', 'c'}, text, func(r *Reader) any { return r.CompactString("") }},
		{"nullable string", []byte{0, 3, 'a', 'b', 'c'}, &text, func(r *Reader) any { return r.NullableString(nil) }},
		{"null string", []byte{0xff, 0xff}, (*string)(nil), func(r *Reader) any { return r.NullableString(&text) }},
		{"compact nullable string", []byte{1}, &empty, func(r *Reader) any { return r.CompactNullableString(nil) }},
		{"compact null string", []byte{0}, (*string)(nil), func(r *Reader) any { return r.CompactNullableString(&text) }},
		{"bytes", []byte{0, 0, 0, 2, 8, 9}, []byte{8, 9}, func(r *Reader) any { return r.Bytes(nil) }},
		{"compact bytes", []byte{3, 8, 9}, []byte{8, 9}, func(r *Reader) any { return r.CompactBytes(nil) }},
		{"nullable bytes", []byte{0, 0, 0, 0}, []byte{}, func(r *Reader) any { return r.NullableBytes(nil) }},
		{"null bytes", []byte{0xff, 0xff, 0xff, 0xff}, []byte(nil), func(r *Reader) any { return r.NullableBytes([]byte{1}) }},
		{"int16 array", []byte{0, 0, 0, 1, 0, 5}, []int16{5}, func(r *Reader) any { return r.Int16s(nil, r.Count(2)) }},
		{"int32 array", []byte{3, 0, 0, 0, 5, 0, 0, 0, 6}, []int32{5, 6}, func(r *Reader) any { return r.Int32s(nil, r.CompactCount(4)) }},
		{"empty array", []byte{1}, []int32{}, func(r *Reader) any { return r.Int32s(nil, r.CompactArrayLen(4)) }},
		{"null array", []byte{0}, []int32(nil), func(r *Reader) any { return r.Int32s([]int32{1}, r.CompactArrayLen(4)) }},
		{"uuid array", append([]byte{2}, make([]byte, 16)...), []kafka.UUID{{}}, func(r *Reader) any { return r.UUIDs(nil, r.CompactCount(16)) }},
		{"string array", []byte{0, 0, 0, 2, 0, 1, 'x', 0, 0}, []string{"x", ""}, func(r *Reader) any { return r.Strings(nil, r.Count(2)) }},
		{"compact string array", []byte{3, 2, 'x', 1}, []string{"x", ""}, func(r *Reader) any { return r.CompactStrings(nil, r.CompactCount(1)) }},
		{"null string array", []byte{0}, []string(nil), func(r *Reader) any { return r.CompactStrings(nil, r.CompactArrayLen(1)) }},
	}
}

func TestReaderReadsEveryType(t *testing.T) {
	for _, c := range readings() {
		r := NewReader(append(c.bytes, 0xaa))
		require.Equal(t, c.want, c.read(&r), c.name)
		require.NoError(t, r.Err(), c.name)
		require.Equal(t, len(c.bytes), r.Pos(), c.name)
		require.Equal(t, []byte{0xaa}, r.Rest(), c.name)
		r.End()
		require.ErrorIs(t, r.Err(), ErrMalformed, c.name)
	}
}

// Cut short anywhere, a value is an error that sticks, and nothing is left to
// read.
func TestReaderFailsOnEveryPrefix(t *testing.T) {
	for _, c := range readings() {
		for n := range c.bytes {
			r := NewReader(c.bytes[:n])
			c.read(&r)
			require.False(t, r.OK(), "%s cut to %d", c.name, n)
			require.ErrorIs(t, r.Err(), ErrTruncated, "%s cut to %d", c.name, n)
			first := r.Err()
			require.Zero(t, r.Len())
			require.Zero(t, r.Int64())
			r.Fail(ErrMalformed)
			require.Equal(t, first, r.Err(), "the first failure is kept")
		}
	}
}

func TestReaderRefuses(t *testing.T) {
	long := append(AppendUvarint(nil, MaxString+2), make([]byte, MaxString+1)...)
	for _, c := range []struct {
		name  string
		bytes []byte
		want  error
		read  func(r *Reader)
	}{
		{"a varint of six bytes", []byte{0x80, 0x80, 0x80, 0x80, 0x80, 1}, ErrMalformed, func(r *Reader) { r.Uvarint() }},
		{"a varint of 33 bits", []byte{0xff, 0xff, 0xff, 0xff, 0x1f}, ErrMalformed, func(r *Reader) { r.Uvarint() }},
		{"a varlong of 65 bits", []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2}, ErrMalformed, func(r *Reader) { r.Varlong() }},
		{"a negative string", []byte{0xff, 0xfe}, ErrMalformed, func(r *Reader) { r.String("") }},
		{"a negative array", []byte{0x80, 0, 0, 0}, ErrMalformed, func(r *Reader) { r.Int32s(nil, r.ArrayLen(4)) }},
		{"null for a string", []byte{0}, ErrMalformed, func(r *Reader) { r.CompactString("") }},
		{"null for a classic string", []byte{0xff, 0xff}, ErrMalformed, func(r *Reader) { r.String("") }},
		{"null for bytes", []byte{0}, ErrMalformed, func(r *Reader) { r.CompactBytes(nil) }},
		{"null for an array", []byte{0}, ErrMalformed, func(r *Reader) { r.CompactStrings(nil, r.CompactCount(1)) }},
		{"a string of 32768 bytes", long, ErrMalformed, func(r *Reader) { r.CompactString("") }},
		{"a nullable string of 32768 bytes", long, ErrMalformed, func(r *Reader) { r.CompactNullableString(nil) }},
	} {
		r := NewReader(c.bytes)
		c.read(&r)
		require.ErrorIs(t, r.Err(), c.want, c.name)
	}
}

// A length is refused before anything is allocated for it.
func TestReaderAllocatesNothingForHostileLengths(t *testing.T) {
	compact := AppendUvarint(nil, math.MaxUint32)
	classic := AppendInt32(nil, math.MaxInt32)
	padding := make([]byte, 8)
	for name, read := range map[string]func(r *Reader){
		"compact string":  func(r *Reader) { r.CompactString("") },
		"compact bytes":   func(r *Reader) { r.CompactBytes(nil) },
		"compact int32s":  func(r *Reader) { r.Int32s(nil, r.CompactArrayLen(4)) },
		"compact uuids":   func(r *Reader) { r.UUIDs(nil, r.CompactCount(16)) },
		"compact strings": func(r *Reader) { r.CompactStrings(nil, r.CompactCount(1)) },
		"tags":            func(r *Reader) { r.UnknownTags(nil) },
		"bytes":           func(r *Reader) { r.Bytes(nil) },
		"int16s":          func(r *Reader) { r.Int16s(nil, r.ArrayLen(2)) },
		"strings":         func(r *Reader) { r.Strings(nil, r.Count(2)) },
	} {
		for _, length := range [][]byte{compact, classic} {
			input := append(length[:len(length):len(length)], padding...)
			require.Less(t, allocated(func() {
				r := NewReader(input)
				read(&r)
			}), uint64(1024), name) // an error's text
		}
	}
}

// allocated is how many bytes f allocates, the mean of some runs.
func allocated(f func()) uint64 {
	const runs = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		f()
	}
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) / runs
}

func TestReaderReusesMemory(t *testing.T) {
	text, other := "abc", "abd"
	r := NewReader([]byte{4, 'a', 'b', 'c', 4, 'a', 'b', 'c', 4, 'a', 'b', 'c'})
	require.Same(t, &text, r.CompactNullableString(&text))
	require.NotSame(t, &other, r.CompactNullableString(&other))
	require.Equal(t, "abd", other, "what was handed out does not change")
	input := []byte{4, 'a', 'b', 'c'}
	require.Zero(t, testing.AllocsPerRun(10, func() {
		r.Reset(input)
		text = r.CompactString(text)
	}))

	ints := []int32{7, 8, 9}
	r.Reset([]byte{2, 0, 0, 0, 1})
	got := r.Int32s(ints, r.CompactCount(4))
	require.Equal(t, []int32{1}, got)
	require.Same(t, &ints[0], &got[0])

	names := []string{"x", "y"}
	require.Equal(t, []string{"x"}, Extend(names[:0]), "an element keeps what it held")
	require.Equal(t, []string{"x", "y", ""}, Extend(names))

	var null, spare []int32
	Park(&null, &spare)
	require.Nil(t, spare)
	Park(&got, &spare)
	require.Nil(t, got)
	require.Equal(t, 3, cap(spare))

	value := 5
	p, kept := &value, (*int)(nil)
	ParkPointer(&p, &kept)
	require.Nil(t, p)
	Revive(&p, &kept)
	require.Same(t, &value, p)
	p, kept = nil, nil
	Revive(&p, &kept)
	require.Zero(t, *p)
}

// FuzzReader reads values of any kinds off any bytes. The first byte of the
// input is the number of kinds that follow it.
func FuzzReader(f *testing.F) {
	all := readings()
	for i, c := range all {
		f.Add(append([]byte{1, byte(i)}, c.bytes...))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) == 0 || int(input[0]) >= len(input) {
			return
		}
		kinds, rest := input[1:1+int(input[0])], input[1+int(input[0]):]
		r := NewReader(rest)
		for _, k := range kinds {
			before, failed := r.Pos(), r.Err()
			all[int(k)%len(all)].read(&r)
			require.GreaterOrEqual(t, r.Pos(), before)
			require.Equal(t, len(rest), r.Pos()+r.Len())
			if failed != nil {
				require.Equal(t, failed, r.Err())
				require.Zero(t, r.Len())
			}
		}
	})
}
