package record

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/wire"
)

// The records that make up almost all of a metadata log.

func partitionRecord() *PartitionRecord {
	return &PartitionRecord{
		PartitionID: 17, TopicID: kafka.NewUUID(1, 2), Replicas: []int32{1, 2, 3}, Isr: []int32{1, 2, 3},
		Leader: 1, LeaderEpoch: 5, PartitionEpoch: 9,
		Directories: []kafka.UUID{kafka.NewUUID(3, 4), kafka.NewUUID(5, 6), kafka.NewUUID(7, 8)},
	}
}

func partitionChangeRecord() *PartitionChangeRecord {
	m := new(PartitionChangeRecord)
	m.Reset()
	m.PartitionID, m.TopicID, m.Isr, m.Leader = 17, kafka.NewUUID(1, 2), []int32{2, 3}, 2
	return m
}

func registerBrokerRecord() *RegisterBrokerRecord {
	rack := "us-east-1a"
	return &RegisterBrokerRecord{
		BrokerID: 1, IncarnationID: kafka.NewUUID(1, 2), BrokerEpoch: 77, Rack: &rack,
		EndPoints: []BrokerEndpoint{{Name: "PLAINTEXT", Host: "broker-1", Port: 9092}},
		Features:  []BrokerFeature{{Name: "metadata.version", MinSupportedVersion: 7, MaxSupportedVersion: 33}},
		LogDirs:   []kafka.UUID{kafka.NewUUID(3, 4)},
	}
}

func frame(tb testing.TB, m Message) []byte {
	b, err := AppendFrame(nil, m, m.Type().HighestVersion())
	require.NoError(tb, err)
	return b
}

// A decoder that has seen the largest record of a type decodes others of it
// without allocating, whatever comes in between.
func TestDecodeDoesNotAllocate(t *testing.T) {
	unchanged := new(PartitionChangeRecord)
	unchanged.Reset()
	frames := [][]byte{
		frame(t, partitionRecord()), frame(t, partitionChangeRecord()), frame(t, registerBrokerRecord()),
		frame(t, unchanged), frame(t, new(NoOpRecord)),
	}
	var d Decoder
	run := func() {
		for _, f := range frames {
			if _, _, err := d.Decode(f); err != nil {
				panic(err)
			}
		}
	}
	run()
	require.Zero(t, testing.AllocsPerRun(100, run))
}

func TestAppendDoesNotAllocate(t *testing.T) {
	messages := []Message{partitionRecord(), partitionChangeRecord(), registerBrokerRecord()}
	var b []byte
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for _, m := range messages {
			b, _ = AppendFrame(b[:0], m, m.Type().HighestVersion())
			b = m.AppendJSON(b[:0], m.Type().HighestVersion(), wire.HideSecrets)
		}
	}))
}

func benchmarkDecode(b *testing.B, m Message) {
	f := frame(b, m)
	var d Decoder
	b.SetBytes(int64(len(f)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := d.Decode(f); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodePartition(b *testing.B)       { benchmarkDecode(b, partitionRecord()) }
func BenchmarkDecodePartitionChange(b *testing.B) { benchmarkDecode(b, partitionChangeRecord()) }
func BenchmarkDecodeRegisterBroker(b *testing.B)  { benchmarkDecode(b, registerBrokerRecord()) }

func BenchmarkAppendPartition(b *testing.B) {
	m := partitionRecord()
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = AppendFrame(buf[:0], m, 2)
	}
}

func BenchmarkAppendPartitionJSON(b *testing.B) {
	m := partitionRecord()
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = m.AppendJSON(buf[:0], 2, wire.HideSecrets)
	}
}
