package loader

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/internal/wire"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/metadatalog/record"
)

const segment = "testdata/log/00000000000000000000.log"

// eachBatch calls f with every batch of a file.
func eachBatch(t testing.TB, file string, f func(b *recordbatch.Batch)) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	r := recordbatch.NewReader(bytes.NewReader(data), 0)
	defer r.Close()
	for {
		b, err := r.Next()
		if err == io.EOF {
			return
		}
		require.NoError(t, err)
		f(&b)
	}
}

func loadSegment(t testing.TB) *Loader {
	l := New(image.Empty(), Options{})
	eachBatch(t, segment, func(b *recordbatch.Batch) { require.NoError(t, l.Append(b)) })
	return l
}

func loadSnapshot(t testing.TB, base *image.MetadataImage, file string) *Loader {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	l := New(base, Options{})
	id := metadatalog.SnapshotID{EndOffset: 166, Epoch: 2}
	r, err := metadatalog.NewSnapshotReader(id, bytes.NewReader(data))
	require.NoError(t, err)
	defer r.Close()
	require.NoError(t, l.LoadSnapshot(id.EndOffset, id.Epoch, r.LastContainedLogTimestamp(), r.Next))
	return l
}

// lines is one line per record of an image.
func lines(t testing.TB, m *image.MetadataImage) (all []string) {
	require.NoError(t, m.Write(func(r record.Message, version int16) error {
		all = append(all, fmt.Sprintf("%s v%d %s", r.Type().RecordName(), version, canonical(t, r.AppendJSON(nil, version, wire.ShowSecrets))))
		return nil
	}))
	return all
}

// canonical orders the keys of a JSON object, and the endpoints of a node,
// which Kafka keeps in a hash map.
func canonical(t testing.TB, data []byte) string {
	var v map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	require.NoError(t, d.Decode(&v))
	for _, key := range []string{"endPoints", "features"} {
		if list, ok := v[key].([]any); ok {
			slices.SortFunc(list, func(a, b any) int { return bytes.Compare(marshal(t, a), marshal(t, b)) })
		}
	}
	return string(marshal(t, v))
}

func marshal(t testing.TB, v any) []byte {
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return b
}

func kafkaLines(t testing.TB) (all []string) {
	f, err := os.Open("testdata/log/image.records.jsonl")
	require.NoError(t, err)
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var line struct {
			Name    string          `json:"name"`
			Version int16           `json:"version"`
			JSON    json.RawMessage `json:"json"`
		}
		require.NoError(t, json.Unmarshal(s.Bytes(), &line))
		all = append(all, fmt.Sprintf("%s v%d %s", line.Name, line.Version, canonical(t, line.JSON)))
	}
	require.NoError(t, s.Err())
	return all
}

func TestLogGivesKafkasImage(t *testing.T) {
	l := loadSegment(t)
	require.Equal(t, kafka.Offset(165), l.Image().Provenance().Offset)
	require.ElementsMatch(t, kafkaLines(t), lines(t, l.Image()))
}

func TestSnapshotStandsForTheLog(t *testing.T) {
	fromLog := loadSegment(t).Image()
	for _, file := range []string{"testdata/log/kraft-version-0.checkpoint", "testdata/log/kraft-version-1.checkpoint"} {
		for name, base := range map[string]*image.MetadataImage{"empty": image.Empty(), "the log's": fromLog, "another": otherImage(t)} {
			fromSnapshot := loadSnapshot(t, base, file).Image()
			require.True(t, fromLog.Equal(fromSnapshot), "%s over the image %s", file, name)
			require.Equal(t, kafka.Offset(165), fromSnapshot.Provenance().Offset)
			require.Equal(t, fromLog.Provenance().AppendTime, fromSnapshot.Provenance().AppendTime)
		}
	}
}

// otherImage holds things that the snapshot does not mention.
func otherImage(t testing.TB) *image.MetadataImage {
	d := delta.New(image.Empty())
	id := kafka.UUID{1, 2, 3}
	for _, m := range []record.Message{
		&record.TopicRecord{Name: "gone", TopicID: id},
		&record.PartitionRecord{PartitionID: 0, TopicID: id, Replicas: []int32{77}, Isr: []int32{77}, Leader: 77},
		&record.RegisterBrokerRecord{BrokerID: 77},
		&record.ConfigRecord{ResourceType: image.TopicConfig, ResourceName: "gone", Name: "k", Value: ptr("v")},
		&record.FeatureLevelRecord{Name: "gone.version", FeatureLevel: 1},
		&record.AccessControlEntryRecord{ID: kafka.UUID{9}},
		&record.UserScramCredentialRecord{Name: "gone", Mechanism: 1},
		&record.DelegationTokenRecord{TokenID: "gone"},
		&record.ClientQuotaRecord{Entity: []record.EntityData{{EntityType: "user"}}, Key: "k", Value: 1},
	} {
		require.NoError(t, d.Replay(m))
	}
	return d.Apply(image.Provenance{Offset: 3})
}

func ptr[T any](v T) *T { return &v }

func TestImageToRecordsToImage(t *testing.T) {
	want := loadSegment(t).Image()
	d := delta.New(image.Empty())
	require.NoError(t, want.Write(func(m record.Message, _ int16) error { return d.Replay(m) }))
	got := d.Apply(want.Provenance())
	require.True(t, want.Equal(got))
	require.Equal(t, lines(t, want), lines(t, got))
}

func TestImageToTextToImage(t *testing.T) {
	want := loadSegment(t).Image()
	got, err := delta.Parse(string(want.AppendText(nil, wire.ShowSecrets)))
	require.NoError(t, err)
	require.True(t, want.Equal(got))
	require.Equal(t, want.Provenance(), got.Provenance())
	require.NotContains(t, want.String(), "BAUG", "the stored key of the log's SCRAM credentials")
	require.Contains(t, want.String(), wire.Redacted)
}

func TestReset(t *testing.T) {
	l := loadSegment(t)
	l.Reset()
	require.True(t, image.Empty().Equal(l.Image()))
	require.Equal(t, image.Empty().Provenance(), l.Image().Provenance())
	eachBatch(t, segment, func(b *recordbatch.Batch) { require.NoError(t, l.Append(b)) })
	require.ElementsMatch(t, kafkaLines(t), lines(t, l.Image()))
}

// logged is a data record with its position.
type logged struct {
	offset kafka.Offset
	epoch  kafka.Epoch
	time   int64
	value  []byte
}

func dataRecords(t testing.TB) (all []logged) {
	var d recordbatch.Decoder
	eachBatch(t, segment, func(b *recordbatch.Batch) {
		if b.IsControl() {
			return
		}
		require.NoError(t, d.Start(b))
		var r recordbatch.Record
		for d.Next(&r) {
			all = append(all, logged{r.Offset, b.LeaderEpoch, r.Timestamp, bytes.Clone(r.Value)})
		}
		require.NoError(t, d.Err())
	})
	return all
}

// rebatch puts records into one batch. Offsets that control records have
// stay holes.
func rebatch(t testing.TB, records []logged) *recordbatch.Batch {
	h := recordbatch.Header{
		BaseOffset: records[0].offset, LeaderEpoch: records[0].epoch, BaseTimestamp: records[0].time,
		LastOffsetDelta: int32(records[len(records)-1].offset - records[0].offset),
		ProducerID:      -1, ProducerEpoch: -1, BaseSequence: -1,
	}
	var rs []recordbatch.Record
	for _, r := range records {
		rs = append(rs, recordbatch.Record{Offset: r.offset, Timestamp: r.time, Value: r.value})
		h.MaxTimestamp = max(h.MaxTimestamp, r.time)
	}
	raw, err := recordbatch.Append(nil, h, rs)
	require.NoError(t, err)
	b, _, err := recordbatch.Split(raw)
	require.NoError(t, err)
	return &b
}

// Invariant 7: every way to split the records into batches gives one image.
func TestEverySplitGivesTheSameImage(t *testing.T) {
	records := dataRecords(t)
	want := loadSegment(t).Image()
	for first := 1; first <= len(records); first++ {
		for later := 1; later <= len(records)-first || later == 1; later++ {
			l := New(image.Empty(), Options{})
			for from, size := 0, first; from < len(records); from, size = from+size, later {
				require.NoError(t, l.Append(rebatch(t, records[from:min(from+size, len(records))])))
			}
			if !want.Equal(l.Image()) {
				require.Equal(t, lines(t, want), lines(t, l.Image()), "first batch %d, later ones %d records", first, later)
			}
		}
	}
}

// Invariant 2 and the use of Append's first rule: a source may deliver a batch
// again, or one that begins before the image's offset.
func TestReplayedBatchesAreIdempotent(t *testing.T) {
	records := dataRecords(t)
	want := loadSegment(t).Image()
	for at := 1; at < len(records); at++ {
		l := New(image.Empty(), Options{})
		require.NoError(t, l.Append(rebatch(t, records[:at])))
		held, before := l.Image(), lines(t, l.Image())
		from := 0
		if l.InTransaction() {
			l = New(held, Options{}) // as after a restart: it goes on after the image's offset
		}
		require.NoError(t, l.Append(rebatch(t, records[from:])))
		require.True(t, want.Equal(l.Image()), "cut at %d", at)
		require.Equal(t, before, lines(t, held), "the image at %d changed after it was published", at)
	}
}

// updates notes what a publisher is told.
type updates []string

func (u *updates) OnMetadataUpdate(d *delta.Delta, m Manifest) {
	line := fmt.Sprintf("%s, %d records", m.Provenance, m.Records)
	for topic := range d.TouchedTopics() {
		line += " +" + topic.Name()
	}
	for _, gone := range d.DeletedTopics() {
		line += " -" + gone.Name
	}
	*u = append(*u, line)
}

func topicRecord(t testing.TB, offset kafka.Offset, name string) logged {
	return frame(t, offset, &record.TopicRecord{Name: name, TopicID: kafka.UUID{byte(offset), 1}})
}

func frame(t testing.TB, offset kafka.Offset, m record.Message) logged {
	raw, err := record.AppendFrame(nil, m, 0)
	require.NoError(t, err)
	return logged{offset: offset, epoch: 1, time: 1000 + int64(offset), value: raw}
}

// KIP-866: what stands before a transaction is published before it, nothing
// inside one is before its end, and an aborted one leaves no trace.
func TestTransactions(t *testing.T) {
	var seen updates
	l := New(image.Empty(), Options{Publishers: []Publisher{&seen}})
	add := func(records ...logged) { require.NoError(t, l.Append(rebatch(t, records))) }

	add(topicRecord(t, 0, "a"), frame(t, 1, &record.BeginTransactionRecord{}), topicRecord(t, 2, "b"))
	require.True(t, l.InTransaction())
	add(topicRecord(t, 3, "c"))
	add(topicRecord(t, 4, "d"), frame(t, 5, &record.EndTransactionRecord{}), topicRecord(t, 6, "e"))
	add(frame(t, 7, &record.BeginTransactionRecord{}), topicRecord(t, 8, "f"))
	add(frame(t, 9, &record.AbortTransactionRecord{}))
	add(frame(t, 10, &record.NoOpRecord{}))
	require.Equal(t, updates{
		"offset 0, epoch 1, 1 records +a",
		"offset 6, epoch 1, 4 records +b +c +d +e",
		"offset 9, epoch 1, 0 records",
		"offset 10, epoch 1, 1 records",
	}, seen)

	require.ErrorIs(t, l.Append(rebatch(t, []logged{frame(t, 11, &record.EndTransactionRecord{})})), ErrTransaction)
	require.Equal(t, kafka.Offset(10), l.Image().Provenance().Offset)
}

// Invariant 6: a record that cannot be applied stops the tail at the last good
// image, or is left out and reported.
func TestUnknownRecords(t *testing.T) {
	unknown := frame(t, 1, &record.NoOpRecord{})
	unknown.value = []byte{1, 126, 3}
	conflict := frame(t, 2, &record.UnregisterBrokerRecord{BrokerID: 9})
	batch := rebatch(t, []logged{topicRecord(t, 0, "a"), unknown, conflict, topicRecord(t, 3, "b")})

	l := New(image.Empty(), Options{})
	err := l.Append(batch)
	var re *ReplayError
	require.ErrorAs(t, err, &re)
	require.ErrorIs(t, err, record.ErrUnknownType)
	require.Equal(t, kafka.Offset(1), re.Offset)
	require.Equal(t, kafka.UnknownOffset, l.Image().Provenance().Offset)

	var skipped []string
	l = New(image.Empty(), Options{Unknown: Skip, OnSkip: func(e *ReplayError) { skipped = append(skipped, e.Error()) }})
	require.NoError(t, l.Append(batch))
	require.Equal(t, []string{
		"replay record at offset 1 (epoch 1, version -1): decode record type 126 version 3: record type is not known",
		"replay UnregisterBrokerRecord at offset 2 (epoch 1, version 0): broker is not registered: broker 9",
	}, skipped)
	require.Equal(t, 2, l.Image().Topics().NumTopics())
}
