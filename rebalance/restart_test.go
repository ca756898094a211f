package rebalance

import (
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	metadatarecord "github.com/kraftside/kraftside/metadatalog/record"
)

// rows are what a store holds.
type rows map[int32]map[string][]byte

func (r rows) put(row Row) {
	if r[row.Partition] == nil {
		r[row.Partition] = make(map[string][]byte)
	}
	if row.Value != nil {
		r[row.Partition][string(row.Key)] = row.Value
		return
	}
	maps.DeleteFunc(r[row.Partition], func(key string, _ []byte) bool {
		return key == string(row.Key) || row.Members && strings.HasPrefix(key, string(row.Key))
	})
}

func (r rows) sorted(partition int32) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		for _, key := range slices.Sorted(maps.Keys(r[partition])) {
			if !yield([]byte(key), r[partition][key]) {
				return
			}
		}
	}
}

// restart goes on with another Explainer, from what the store holds.
func (p *player) restart(t *testing.T, l Limits, held rows) {
	p.e = New(p.image, Options{ClusterID: "c", Limits: l, Stored: true})
	next := p.partition.next
	p.partition = p.e.Partition(topicID(9), p.shard, next)
	require.NoError(t, p.e.RestoreHistory(held.sorted(HistoryPartition)))
	require.NoError(t, p.partition.Restore(held.sorted(0)))
}

// requireRestarts plays the story with restarts between its batches, any of
// which may be the last one: explanations must be what they were.
func (s *story) requireRestarts(t *testing.T) {
	if s.limits != DefaultLimits {
		return // what was dropped depends on what was read
	}
	want := s.again(t, s.events)
	r := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		p, held := newPlayer(s.limits), make(rows)
		for _, e := range shuffled(r, s.cut(r)) {
			p.play(t, &e, false)
			p.e.TakeRows(p.e.TakeChanged(), held.put)
			switch r.IntN(4) {
			case 0:
				p.restart(t, s.limits, held)
			case 1: // a store that has stopped is given everything
				held = make(rows)
				p.e.AllRows()(func(row Row) bool { held.put(row); return true })
			}
		}
		p.restart(t, s.limits, held)
		p.play(t, &event{metadata: true, at: s.now + 3_600_000, first: s.next, messages: []metadatarecord.Message{&metadatarecord.NoOpRecord{}}}, false)
		require.Equal(t, want, p.everything())
	}
}

// restoredStory has rows of all kinds: a group that rebalances, another one
// whose bump waits for the metadata log, and all that may happen to a topic.
func restoredStory(tb testing.TB) *story {
	s := newStory()
	s.now = 1_000
	s.metadata(tb, false, `RegisterBrokerRecord {"brokerId":1,"rack":"a"}
TopicRecord {"name":"orders","topicId":"$1"}
PartitionRecord {"topicId":"$1","partitionId":0,"replicas":[1],"isr":[1],"leader":1}
TopicRecord {"name":"__consumer_offsets","topicId":"$9"}
PartitionRecord {"topicId":"$9","partitionId":0,"replicas":[1],"isr":[1],"leader":1}`)
	s.now = 2_000
	s.groups(tb, `5 g m1 {"subscribedTopicNames":["orders"]}
3 g {"epoch":2,"metadataHash":"$hash orders"}
7 g m1 {"topicPartitions":[{"topicId":"$1","partitions":[0]}]}
6 g {"assignmentEpoch":2}`)
	s.now = 3_000
	s.metadata(tb, false, `UnregisterBrokerRecord {"brokerId":1}
PartitionRecord {"topicId":"$1","partitionId":1,"replicas":[1],"isr":[1],"leader":1}
ConfigRecord {"resourceType":32,"resourceName":"g","name":"consumer.session.timeout.ms","value":"60000"}`)
	s.metadata(tb, false, `RemoveTopicRecord {"topicId":"$1"}
PartitionChangeRecord {"topicId":"$9","partitionId":0,"replicas":[2],"isr":[2],"leader":2}`)
	s.now = 9_000
	s.groups(tb, `5 g m1 null
3 g {"epoch":3,"metadataHash":7}`)
	return s
}

// FuzzRestore takes rows that nobody gave out, as a damaged store may have
// them: they are refused, or what comes of them does no harm.
func FuzzRestore(f *testing.F) {
	s := restoredStory(f)
	s.e.AllRows()(func(r Row) bool {
		if r.Value != nil {
			f.Add(r.Partition == HistoryPartition, r.Key, r.Value)
		}
		return true
	})
	f.Fuzz(func(t *testing.T, history bool, key, value []byte) {
		held := make(rows)
		s.e.AllRows()(func(r Row) bool { held.put(r); return true })
		partition := int32(0)
		if history {
			partition = HistoryPartition
		}
		held[partition][string(key)] = value
		e := New(s.image, Options{ClusterID: "c", Stored: true})
		p := e.Partition(topicID(9), s.shard, s.partition.next)
		for _, err := range []error{e.RestoreHistory(held.sorted(HistoryPartition)), p.Restore(held.sorted(0))} {
			if err != nil {
				require.ErrorIs(t, err, ErrRow)
			}
		}
		e.TakeRows(e.TakeChanged(), func(Row) {})
		e.Finish()
		e.Group("g")
		e.AllRows()(func(Row) bool { return true })
	})
}
