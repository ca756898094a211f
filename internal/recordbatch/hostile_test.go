package recordbatch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/wire"
)

// simpleBatch is a batch of n records at offset base.
func simpleBatch(t testing.TB, base kafka.Offset, n int) []byte {
	records := make([]Record, n)
	for i := range records {
		records[i] = Record{Offset: base + kafka.Offset(i), Timestamp: 1000, Key: []byte("key"), Value: []byte("value")}
	}
	b, err := Append(nil, Header{BaseOffset: base, LeaderEpoch: 1, LastOffsetDelta: int32(n - 1), BaseTimestamp: 1000,
		MaxTimestamp: 1000, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1}, records)
	require.NoError(t, err)
	return b
}

// withPayload replaces what follows the header of b, and seals it.
func withPayload(b []byte, c Compression, payload []byte) []byte {
	out := append(bytes.Clone(b[:HeaderSize]), payload...)
	out[22] = out[22]&^byte(codecMask) | byte(c)
	seal(out)
	return out
}

// read reads everything in b and returns the first error.
func read(b []byte) error { return new(Decoder).read(b) }

func (d *Decoder) read(b []byte) error {
	batch, _, err := Split(b)
	if err != nil {
		return err
	}
	if err := d.Start(&batch); err != nil {
		return err
	}
	var r Record
	for d.Next(&r) {
	}
	return d.Err()
}

func TestHostileHeaders(t *testing.T) {
	put16 := func(at int, v int16) func([]byte) {
		return func(b []byte) { binary.BigEndian.PutUint16(b[at:], uint16(v)) }
	}
	put32 := func(at int, v int32) func([]byte) {
		return func(b []byte) { binary.BigEndian.PutUint32(b[at:], uint32(v)) }
	}
	put64 := func(at int, v int64) func([]byte) {
		return func(b []byte) { binary.BigEndian.PutUint64(b[at:], uint64(v)) }
	}
	for name, c := range map[string]struct {
		damage func([]byte)
		want   error
	}{
		"negative length":               {put32(8, -1), ErrCorrupt},
		"length below the header":       {put32(8, 48), ErrCorrupt},
		"length too small by one":       {func(b []byte) { b[11]-- }, ErrCorrupt},
		"length too large by one":       {func(b []byte) { b[11]++ }, ErrPartial},
		"largest length":                {put32(8, math.MaxInt32), ErrTooLarge},
		"negative base offset":          {put64(0, -1), ErrCorrupt},
		"offsets overflow":              {put64(0, math.MaxInt64), ErrCorrupt},
		"magic 1":                       {func(b []byte) { b[16] = 1 }, ErrCorrupt},
		"CRC":                           {put32(17, 0), ErrCorrupt},
		"negative leader epoch":         {put32(12, -2), ErrCorrupt},
		"unknown compression":           {func(b []byte) { put16(21, 5)(b); seal(b) }, ErrCorrupt},
		"negative last offset delta":    {func(b []byte) { put32(23, -1)(b); seal(b) }, ErrCorrupt},
		"negative count":                {func(b []byte) { put32(57, -1)(b); seal(b) }, ErrCorrupt},
		"count beyond the offsets":      {func(b []byte) { put32(57, 4)(b); seal(b) }, ErrCorrupt},
		"count too small":               {func(b []byte) { put32(57, 2)(b); seal(b) }, ErrCorrupt},
		"count zero with records":       {func(b []byte) { put32(57, 0)(b); seal(b) }, ErrCorrupt},
		"count beyond the bytes":        {func(b []byte) { put32(23, math.MaxInt32-1)(b); put32(57, math.MaxInt32)(b); seal(b) }, ErrCorrupt},
		"delta beyond the last offset":  {func(b []byte) { put32(23, 1)(b); put32(57, 2)(b); seal(b) }, ErrCorrupt},
		"compressed flag on plain data": {func(b []byte) { put16(21, int16(Zstd))(b); seal(b) }, ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			b := simpleBatch(t, 7, 3)
			require.NoError(t, read(b))
			c.damage(b)
			require.ErrorIs(t, read(b), c.want)
		})
	}
}

// record is one record with its length, from fields as they go to the wire.
func record(fields ...int64) []byte {
	body := []byte{0} // attributes
	for _, v := range fields {
		body = wire.AppendVarlong(body, v)
	}
	return append(wire.AppendVarint(nil, int32(len(body))), body...)
}

func TestHostileRecords(t *testing.T) {
	const null = -1
	for name, payload := range map[string][]byte{
		"empty":                    {},
		"length ends the input":    {0x80},
		"negative length":          wire.AppendVarint(nil, -1),
		"zero length":              append(wire.AppendVarint(nil, 0), make([]byte, 8)...),
		"length beyond the input":  append(wire.AppendVarint(nil, 1000), make([]byte, 20)...),
		"length of eleven bytes":   bytes.Repeat([]byte{0x80}, 11),
		"key longer than the rest": record(0, 0, 1<<40, null, 0),
		"key length -2":            record(0, 0, -2, null, 0),
		"value longer":             record(0, 0, null, 77, 0),
		"value length lowest":      record(0, 0, null, math.MinInt64, 0),
		"negative offset delta":    record(0, -1, null, null, 0),
		"huge offset delta":        record(0, 1<<40, null, null, 0),
		"many record headers":      record(0, 0, null, null, math.MaxInt64),
		"negative record headers":  record(0, 0, null, null, -1),
		"null record header key":   record(0, 0, null, null, 1, null, null),
		"cut record header":        record(0, 0, null, null, 1, 0),
		"bytes after the fields":   record(0, 0, null, null, 0, 0),
		"bytes after the records":  append(record(0, 0, null, null, 0), 0),
		"no record header count":   record(0, 0, null, null),
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, read(withPayload(simpleBatch(t, 7, 1), None, payload)), ErrCorrupt)
		})
	}
	require.NoError(t, read(withPayload(simpleBatch(t, 7, 1), None, record(0, 0, null, null, 0))))
	require.NoError(t, read(withPayload(simpleBatch(t, 7, 1), None, record(0, 0, null, null, 1, 0, null))),
		"a record header is passed over")
}

// Offsets that repeat or fall would make a reader resume in the wrong place.
func TestOffsetsMustRise(t *testing.T) {
	b := simpleBatch(t, 7, 2)
	same := record(0, 0, -1, -1, 0)
	require.ErrorIs(t, read(withPayload(b, None, append(same, same...))), ErrCorrupt)
}

// A flipped bit anywhere gives an error, or changes nothing but the two
// fields that the CRC does not cover.
func TestEveryBitFlip(t *testing.T) {
	for _, v := range readVectors(t) {
		in := v.bytes(t)
		if len(in) > 1000 {
			continue
		}
		for bit := range len(in) * 8 {
			b := bytes.Clone(in)
			b[bit/8] ^= 1 << (bit % 8)
			first, _, err := Split(b)
			uncovered := bit/8 < 8 || bit/8 >= 12 && bit/8 < 16
			if uncovered || bit/8 >= v.Batches[0].SizeInBytes {
				continue
			}
			require.Error(t, err, "%s: bit %d; got %+v", v.Name, bit, first.Header)
			var position *Error
			require.ErrorAs(t, err, &position)
		}
	}
}

// Damage behind a sound CRC must not panic either: flip bits and seal again.
func TestEveryBitFlipOfThePayload(t *testing.T) {
	var d Decoder
	for _, v := range readVectors(t) {
		in := v.bytes(t)
		if len(in) > 1000 || len(v.Batches) != 1 {
			continue
		}
		for bit := crcStart * 8; bit < len(in)*8; bit++ {
			b := bytes.Clone(in)
			b[bit/8] ^= 1 << (bit % 8)
			seal(b)
			if err := d.read(b); err != nil {
				require.True(t, errors.Is(err, ErrCorrupt) || errors.Is(err, ErrTooLarge), "%s: %v", v.Name, err)
			}
		}
	}
}

func TestSplitOfEveryPrefixIsPartial(t *testing.T) {
	b := simpleBatch(t, 7, 3)
	for n := range b {
		_, rest, err := Split(b[:n])
		require.ErrorIs(t, err, ErrPartial)
		require.Len(t, rest, n)
	}
}

// compressors are how other writers than Kafka's may frame each codec.
var compressors = map[string]struct {
	codec    Compression
	compress func(t testing.TB, b []byte) []byte
}{
	"gzip": {Gzip, func(t testing.TB, b []byte) []byte {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		_, err := w.Write(b)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return out.Bytes()
	}},
	"bare snappy": {Snappy, func(_ testing.TB, b []byte) []byte { return snappy.Encode(nil, b) }},
	"xerial snappy": {Snappy, func(_ testing.TB, b []byte) []byte {
		out := append(bytes.Clone(xerialMagic), 0, 0, 0, 1, 0, 0, 0, 1)
		for len(b) > 0 {
			n := min(len(b), 1<<15)
			block := snappy.Encode(nil, b[:n])
			out = append(wire.AppendInt32(out, int32(len(block))), block...)
			b = b[n:]
		}
		return out
	}},
	"lz4": {LZ4, func(t testing.TB, b []byte) []byte {
		var out bytes.Buffer
		w := lz4.NewWriter(&out)
		_, err := w.Write(b)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return out.Bytes()
	}},
	"zstd": {Zstd, func(t testing.TB, b []byte) []byte {
		w, err := zstd.NewWriter(nil)
		require.NoError(t, err)
		return w.EncodeAll(b, nil)
	}},
}

func TestCompressedBatches(t *testing.T) {
	plain := simpleBatch(t, 7, 5000)
	var d Decoder
	for name, c := range compressors {
		t.Run(name, func(t *testing.T) {
			for range 2 { // the second time with buffers and readers in use
				batch, rest, err := Split(withPayload(plain, c.codec, c.compress(t, plain[HeaderSize:])))
				require.NoError(t, err)
				require.Empty(t, rest)
				records := decodeAll(t, &d, &batch)
				require.Len(t, records, 5000)
				require.Equal(t, kafka.Offset(5006), records[4999].Offset)
			}
		})
	}
}

// A kilobyte that decompresses to gigabytes is refused at the limit.
func TestDecompressionIsBounded(t *testing.T) {
	bomb := make([]byte, MaxDecompressedSize+1)
	b := simpleBatch(t, 7, 1)
	for name, c := range compressors {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, read(withPayload(b, c.codec, c.compress(t, bomb))), ErrTooLarge)
		})
	}
}

// A few bytes that claim to hold much allocate by what they are, not by what
// they claim.
func TestHostileLengthsAllocateLittle(t *testing.T) {
	b := simpleBatch(t, 7, 1)
	for name, in := range map[string][]byte{
		"snappy": withPayload(b, Snappy, binary.AppendUvarint(nil, 1<<30)),
		"zstd": withPayload(b, Zstd, []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, // single segment, 8-byte content size
			0, 0, 0, 0x10, 0, 0, 0, 0, 1, 0, 0}),
		"count": func() []byte {
			b := bytes.Clone(b)
			binary.BigEndian.PutUint32(b[23:], math.MaxInt32-1)
			binary.BigEndian.PutUint32(b[57:], math.MaxInt32)
			seal(b)
			return b
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			require.Error(t, read(in))
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2*maxZstdWindow))
		})
	}
}

func FuzzBatch(f *testing.F) {
	for _, v := range readVectors(f) {
		f.Add(v.bytes(f), false)
		f.Add(v.bytes(f), true)
	}
	f.Fuzz(func(t *testing.T, b []byte, sealed bool) {
		if sealed && len(b) >= HeaderSize { // get past the CRC
			b = bytes.Clone(b)
			b[16] = magic
			seal(b)
		}
		var d Decoder
		for len(b) > 0 {
			batch, rest, err := Split(b)
			if err != nil {
				return
			}
			require.Equal(t, len(b), batch.Size+len(rest))
			walk(t, &d, &batch)
			b = rest
		}
	})
}

// walk checks that what the Decoder returns keeps its promises.
func walk(t *testing.T, d *Decoder, b *Batch) {
	if err := d.Start(b); err != nil {
		return
	}
	last, n := b.BaseOffset-1, int32(0)
	var r Record
	for d.Next(&r) {
		require.Greater(t, r.Offset, last)
		last = r.Offset
		n++
	}
	require.LessOrEqual(t, last, b.LastOffset())
	if d.Err() == nil {
		require.Equal(t, b.Count, n)
	}
}
