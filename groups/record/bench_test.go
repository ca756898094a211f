package record

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
)

// pair is a key with its value.
type pair struct {
	key   Key
	value Value
}

func offsetCommit() pair {
	return pair{
		&OffsetCommitKey{Group: "payments", Topic: "orders", Partition: 7},
		&OffsetCommitValue{Offset: 123456, LeaderEpoch: 5, CommitTimestamp: 1700000000000, ExpireTimestamp: -1, TopicID: kafka.NewUUID(1, 2)},
	}
}

func consumerMember() pair {
	rack := "us-east-1a"
	return pair{
		&ConsumerGroupMemberMetadataKey{GroupID: "payments", MemberID: "member-1"},
		&ConsumerGroupMemberMetadataValue{
			RackID: &rack, ClientID: "payments-1", ClientHost: "/10.0.0.1", SubscribedTopicNames: []string{"orders", "returns"},
			RebalanceTimeoutMs: 300000,
		},
	}
}

func currentAssignment() pair {
	return pair{
		&ConsumerGroupCurrentMemberAssignmentKey{GroupID: "payments", MemberID: "member-1"},
		&ConsumerGroupCurrentMemberAssignmentValue{
			MemberEpoch: 4, PreviousMemberEpoch: 3,
			AssignedPartitions: []CurrentTopicPartitions{{TopicID: kafka.NewUUID(1, 2), Partitions: []int32{0, 1, 2}, AssignmentEpochs: []int32{2, 2, 4}}},
		},
	}
}

// encoded is a record as it stands in the log.
type encoded struct{ key, value []byte }

func encode(tb testing.TB, p pair) (e encoded) {
	var err error
	e.key, err = AppendKey(nil, p.key)
	require.NoError(tb, err)
	e.value, err = AppendValue(nil, p.value, p.value.Type().HighestVersion())
	require.NoError(tb, err)
	return e
}

func (e *encoded) decode(d *Decoder) error {
	key, err := d.Key(e.key)
	if err != nil {
		return err
	}
	_, _, err = d.Value(key.Type(), e.value)
	return err
}

// Commits of one group and topic follow each other in the log, so that even
// their strings stay the same.
func TestDecodeDoesNotAllocate(t *testing.T) {
	records := []encoded{encode(t, offsetCommit()), encode(t, consumerMember()), encode(t, currentAssignment())}
	var d Decoder
	run := func() {
		for i := range records {
			if err := records[i].decode(&d); err != nil {
				panic(err)
			}
		}
	}
	run()
	require.Zero(t, testing.AllocsPerRun(100, run))
}

func benchmarkDecode(b *testing.B, p pair) {
	e := encode(b, p)
	var d Decoder
	b.SetBytes(int64(len(e.key) + len(e.value)))
	b.ReportAllocs()
	for b.Loop() {
		if err := e.decode(&d); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeOffsetCommit(b *testing.B)      { benchmarkDecode(b, offsetCommit()) }
func BenchmarkDecodeConsumerMember(b *testing.B)    { benchmarkDecode(b, consumerMember()) }
func BenchmarkDecodeCurrentAssignment(b *testing.B) { benchmarkDecode(b, currentAssignment()) }
