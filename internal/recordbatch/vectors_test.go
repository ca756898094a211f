package recordbatch

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
)

type vector struct {
	Name    string
	Hex     string
	Batches []vectorBatch
}

type vectorBatch struct {
	BaseOffset           kafka.Offset
	LastOffset           kafka.Offset
	SizeInBytes          int
	PartitionLeaderEpoch kafka.Epoch
	Magic                int
	CRC                  uint32
	Compression          string
	TimestampType        string
	Control              bool
	Transactional        bool
	BaseTimestamp        int64
	MaxTimestamp         int64
	ProducerID           int64
	ProducerEpoch        int16
	BaseSequence         int32
	Count                int32
	Records              []vectorRecord
}

type vectorRecord struct {
	Offset      kafka.Offset
	Timestamp   int64
	KeyHex      *string
	ValueHex    *string
	ControlType *ControlType
}

func readVectors(t testing.TB) []vector {
	f, err := os.Open("testdata/batches.jsonl")
	require.NoError(t, err)
	defer f.Close()
	var vectors []vector
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v vector
		require.NoError(t, json.Unmarshal(lines.Bytes(), &v))
		vectors = append(vectors, v)
	}
	require.NoError(t, lines.Err())
	require.Len(t, vectors, 29)
	return vectors
}

func (v *vector) bytes(t testing.TB) []byte {
	b, err := hex.DecodeString(v.Hex)
	require.NoError(t, err)
	return b
}

func unhex(t testing.TB, s *string) []byte {
	if s == nil {
		return nil
	}
	b, err := hex.DecodeString(*s)
	require.NoError(t, err)
	return b
}

// seen puts a batch as we read it into the form of the vectors.
func seen(b *Batch) vectorBatch {
	timestampType := "CreateTime"
	if b.Attributes&LogAppendTime != 0 {
		timestampType = "LogAppendTime"
	}
	return vectorBatch{
		BaseOffset: b.BaseOffset, LastOffset: b.LastOffset(), SizeInBytes: b.Size, PartitionLeaderEpoch: b.LeaderEpoch,
		Magic: magic, CRC: b.CRC, Compression: b.Compression().String(), TimestampType: timestampType,
		Control: b.IsControl(), Transactional: b.IsTransactional(), BaseTimestamp: b.BaseTimestamp, MaxTimestamp: b.MaxTimestamp,
		ProducerID: b.ProducerID, ProducerEpoch: b.ProducerEpoch, BaseSequence: b.BaseSequence, Count: b.Count,
	}
}

func decodeAll(t testing.TB, d *Decoder, b *Batch) []Record {
	records := []Record{}
	require.NoError(t, d.Start(b))
	var r Record
	for d.Next(&r) {
		records = append(records, r)
	}
	require.NoError(t, d.Err())
	return records
}

// What Kafka's reader sees in the bytes, we see, byte for byte and field for
// field, with one Decoder for all of them.
func TestVectorsDecode(t *testing.T) {
	var d Decoder
	for _, v := range readVectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			rest := v.bytes(t)
			for _, want := range v.Batches {
				var b Batch
				var err error
				b, rest, err = Split(rest)
				require.NoError(t, err)

				records := decodeAll(t, &d, &b)
				require.Len(t, records, len(want.Records))
				for i, r := range records {
					requireRecord(t, want.Records[i], r)
				}
				want.Records = nil
				require.Equal(t, want, seen(&b))
			}
			require.Empty(t, rest)
		})
	}
}

func requireRecord(t *testing.T, want vectorRecord, got Record) {
	require.Equal(t, want.Offset, got.Offset)
	require.Equal(t, want.Timestamp, got.Timestamp)
	require.Equal(t, unhex(t, want.KeyHex), got.Key)
	require.Equal(t, unhex(t, want.ValueHex), got.Value)
	if want.ControlType != nil {
		kind, err := ParseControlKey(got.Key)
		require.NoError(t, err)
		require.Equal(t, *want.ControlType, kind)
	}
}

// Every uncompressed vector comes out of Append as it went in.
func TestVectorsReencode(t *testing.T) {
	var d Decoder
	for _, v := range readVectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			in := v.bytes(t)
			var out []byte
			for rest := in; len(rest) > 0; {
				var b Batch
				var err error
				b, rest, err = Split(rest)
				require.NoError(t, err)
				out = reencode(t, &d, out, b)
			}
			require.Equal(t, in, out)
		})
	}
}

func reencode(t testing.TB, d *Decoder, out []byte, b Batch) []byte {
	if b.Compression() != None {
		_, err := Append(out, b.Header, nil)
		require.ErrorContains(t, err, "is not written")
		return append(out, b.Bytes()...)
	}
	// Under LogAppendTime the deltas are still in the bytes, but all records
	// show the batch's timestamp: look at them without the flag.
	plain := b
	plain.Attributes &^= LogAppendTime
	out, err := Append(out, b.Header, decodeAll(t, d, &plain))
	require.NoError(t, err)
	return out
}
