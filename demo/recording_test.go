package demo

import (
	"archive/zip"
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// The recording is part of the program, so it is to be small.
func TestSize(t *testing.T) { require.Less(t, len(embedded), 1_000_000) }

// The logs begin with their first record, and no batch is missing.
func TestRecordingIsWhole(t *testing.T) {
	r := open(t)
	next := map[int32]int64{metadata: 0}
	for _, e := range r.events {
		if e.partition != none {
			require.Equal(t, next[e.partition], int64(e.batch.BaseOffset))
			next[e.partition] = int64(e.batch.NextOffset())
		}
	}
	require.Equal(t, []int32{0, 1, 2, 3}, r.partitions())
	require.True(t, slices.IsSortedFunc(r.events, func(a, b event) int { return int(a.at - b.at) }))
}

func TestDamagedRecording(t *testing.T) {
	z, err := zip.NewReader(bytes.NewReader(embedded), int64(len(embedded)))
	require.NoError(t, err)
	const log = "__cluster_metadata-0/00000000000000000000.log"
	segment, err := readFile(z, log)
	require.NoError(t, err)
	flipped := bytes.Clone(segment)
	flipped[len(flipped)/2] ^= 1
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no manifest":  {map[string]string{log: string(segment)}, "manifest.json: file does not exist"},
		"bad manifest": {map[string]string{ManifestFile: "["}, "unexpected end of JSON input"},
		"other folder": {map[string]string{ManifestFile: "{}", "orders-0/0.log": ""}, "orders-0/0.log: neither the metadata log nor"},
		"cut off":      {map[string]string{ManifestFile: "{}", log: string(segment[:len(segment)-1])}, "input ends inside a record batch"},
		"flipped bit":  {map[string]string{ManifestFile: "{}", log: string(flipped)}, "corrupt record batch"},
		"too large":    {map[string]string{ManifestFile: "{}", log: string(make([]byte, maxFile+1))}, "more than 16777216 bytes"},
	} {
		_, err := read(archive(t, c.files))
		require.ErrorContains(t, err, c.want, name)
	}
	_, err = read(embedded[:len(embedded)/2])
	require.ErrorIs(t, err, zip.ErrFormat)
}

func archive(t *testing.T, files map[string]string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range files {
		w, err := z.Create(name)
		require.NoError(t, err)
		_, err = w.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return b.Bytes()
}

// falsify returns the batch with another hash in the record of h.
func falsify(t *testing.T, b *recordbatch.Batch, h StoredHash) recordbatch.Batch {
	var records []recordbatch.Record
	var d recordbatch.Decoder
	require.NoError(t, d.Start(b))
	for r := (recordbatch.Record{}); d.Next(&r); {
		r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
		if r.Offset == h.Offset {
			r.Value = falseHash(t, &r)
		}
		records = append(records, r)
	}
	require.NoError(t, d.Err())
	raw, err := recordbatch.Append(nil, b.Header, records)
	require.NoError(t, err)
	falsified, _, err := recordbatch.Split(raw)
	require.NoError(t, err)
	return falsified
}

func falseHash(t *testing.T, r *recordbatch.Record) []byte {
	var d record.Decoder
	key, err := d.Key(r.Key)
	require.NoError(t, err)
	value, version, err := d.Value(key.Type(), r.Value)
	require.NoError(t, err)
	switch v := value.(type) {
	case *record.ConsumerGroupMetadataValue:
		v.MetadataHash++
	case *record.ShareGroupMetadataValue:
		v.MetadataHash++
	case *record.StreamsGroupMetadataValue:
		v.MetadataHash++
	}
	raw, err := record.AppendValue(nil, value, version)
	require.NoError(t, err)
	return raw
}
