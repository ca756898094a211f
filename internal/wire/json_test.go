package wire

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
)

func TestJSON(t *testing.T) {
	text := "x"
	j := NewJSON([]byte(`[1,`), ShowSecrets)
	j.Object()
	j.Key("a")
	j.Array()
	j.Int(math.MinInt64)
	j.Bool(true)
	j.Null()
	j.Float64(1)
	j.UUID(kafka.UUID{})
	j.NullableString(&text)
	j.NullableString(nil)
	j.EndArray()
	j.Key("b")
	j.Object()
	j.EndObject()
	j.Key("c")
	j.NullableInt32s(nil)
	j.Key("d")
	j.NullableInt32s([]int32{})
	j.Key("e")
	j.Int16s([]int16{1, 2})
	j.Key("f")
	j.NullableUUIDs([]kafka.UUID{{}})
	j.Key("g")
	j.NullableUUIDs(nil)
	j.Key("h")
	j.Strings([]string{"{", "["})
	j.Key("i")
	j.NullableBytes(nil)
	j.Key("j")
	j.NullableBytes([]byte{0xfb, 0xff})
	j.Key("k")
	j.SecretBytes([]byte("key"))
	j.EndObject()
	require.Equal(t, `[1,{"a":[-9223372036854775808,true,null,1.0,"AAAAAAAAAAAAAAAAAAAAAA","x",null],"b":{},"c":null,"d":[],"e":[1,2],`+
		`"f":["AAAAAAAAAAAAAAAAAAAAAA"],"g":null,"h":["{","["],"i":null,"j":"+/8=","k":"a2V5"}`, string(j.Bytes()))

	var hide Secrets
	j = NewJSON(nil, hide)
	j.SecretBytes([]byte("key"))
	require.Equal(t, `"(redacted)"`, string(j.Bytes()))
}

// Jackson escapes the same characters the same way, up to DEL; beyond that the
// text differs, but not the string.
func TestJSONString(t *testing.T) {
	for in, want := range map[string]string{
		"":                `""`,
		"a/b'c":           `"a/b'c"`,
		"\"\\\b\f\n\r\t":  `"\"\\\b\f\n\r\t"`,
		"\x00\x1f\x7f":    `"\u0000\u001F\u007F"`,
		"é中😀":             `"é中😀"`,
		"\u0085\u009b":    `"\u0085\u009B"`,
		"a\u202eb\u2028c": `"a\u202Eb\u2028c"`,
		"\ufeff\u200b":    `"\uFEFF\u200B"`,
		"a\xffb\xc3":      "\"a\uFFFDb\uFFFD\"",
		"\ufffd":          "\"\uFFFD\"",
	} {
		require.Equal(t, want, string(AppendJSONString(nil, in)))
	}
}

func FuzzJSONString(f *testing.F) {
	f.Add("a\"\\\u2028\x00\xff😀")
	f.Fuzz(func(t *testing.T, s string) {
		b := AppendJSONString(nil, s)
		require.True(t, utf8.Valid(b))
		var back string
		require.NoError(t, json.Unmarshal(b, &back), "%s", b)
		var want strings.Builder
		for _, r := range s {
			want.WriteRune(r)
		}
		require.Equal(t, want.String(), back)
	})
}

// The values are those of Double.toString as it is specified since JDK 19;
// earlier releases print a few of them with more digits.
func TestJavaDouble(t *testing.T) {
	for want, v := range map[string]float64{
		"0.0": 0, "-0.0": math.Copysign(0, -1), "1.0": 1, "-1.5": -1.5, "0.001": 0.001, "9.99E-4": 9.99e-4, "1.0E-4": 1e-4,
		"9999999.0": 9999999, "1.0E7": 1e7, "1.2345678E7": 12345678, "1.0E23": 1e23, "2.0E23": 2e23, "0.1": 0.1, "123456.789": 123456.789,
		"4.9E-324": 5e-324, "9.9E-324": 1e-323, "1.7976931348623157E308": math.MaxFloat64, "2.2250738585072014E-308": 0x1p-1022, "100.0": 100,
		`"NaN"`: math.NaN(), `"Infinity"`: math.Inf(1), `"-Infinity"`: math.Inf(-1),
	} {
		require.Equal(t, want, string(AppendJavaDouble(nil, v)))
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 10000 {
		v := math.Float64frombits(rnd.Uint64())
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		text := string(AppendJavaDouble([]byte("x"), v)[1:])
		back, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		require.Equal(t, v, back)
		require.Contains(t, text, ".")
	}
}
