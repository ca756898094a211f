package groups

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
)

// offsetModel is what Kafka's OffsetMetadataManager does, with plain maps and
// no thought of memory.
type offsetModel struct {
	committed map[modelKey]modelOffset
	pending   map[int64]map[modelKey]modelOffset
}

type modelKey struct {
	group, topic string
	partition    int32
}

type modelOffset struct {
	record       kafka.Offset
	offset, time int64
	epoch        int32
	metadata     string
	topicID      kafka.TopicID
}

func (m *offsetModel) value(producer int64, k modelKey, o modelOffset) {
	if producer == noProducer {
		m.committed[k] = o
		return
	}
	if m.pending[producer] == nil {
		m.pending[producer] = map[modelKey]modelOffset{}
	}
	m.pending[producer][k] = o
}

func (m *offsetModel) tombstone(k modelKey) {
	delete(m.committed, k)
	for _, tx := range m.pending {
		delete(tx, k)
	}
}

func (m *offsetModel) end(producer int64, commit bool) {
	for k, o := range m.pending[producer] {
		if old, ok := m.committed[k]; commit && (!ok || old.record < o.record) {
			m.committed[k] = o
		}
	}
	delete(m.pending, producer)
}

// requireSame compares the offsets of the model with those of the shard.
func (m *offsetModel) requireSame(t *testing.T, s *Shard) {
	want := map[string]string{}
	add := func(producer int64, k modelKey, o modelOffset) {
		want[fmt.Sprint(k, producer)] = fmt.Sprint(o)
	}
	groups := map[string]bool{}
	for k, o := range m.committed {
		add(noProducer, k, o)
		groups[k.group] = true
	}
	for producer, tx := range m.pending {
		for k, o := range tx {
			add(producer, k, o)
			groups[k.group] = true
		}
	}
	got := map[string]string{}
	for group := range groups {
		for _, o := range s.Offsets(group) {
			got[fmt.Sprint(modelKey{group, o.Topic, o.Partition}, o.ProducerID)] = fmt.Sprint(
				modelOffset{o.RecordOffset, o.Offset, o.CommitTimestamp, o.LeaderEpoch, o.Metadata, o.TopicID})
		}
	}
	require.Equal(t, want, got)
}

// Offsets and transactions are what the model says, after any sequence of
// commits, tombstones and ends of transactions, on few keys and on partitions
// in every order.
func TestOffsetsAgreeWithModel(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 3))
		m := &offsetModel{map[modelKey]modelOffset{}, map[int64]map[modelKey]modelOffset{}}
		r := newReplica(Options{})
		partitions := []int{2, 6, 40}[seed%3]
		for i := range 400 {
			k := modelKey{fmt.Sprint("g", rng.IntN(2)), fmt.Sprint("t", rng.IntN(2)), int32(rng.IntN(partitions)) - 1}
			e := event{Record: Record{Offset: kafka.Offset(i), Timestamp: int64(i), ProducerID: noProducer}}
			if p := rng.IntN(3); p < 2 {
				e.ProducerID = int64(rng.IntN(3))
			}
			switch p := rng.IntN(12); {
			case p == 0:
				e.end, e.commit = true, rng.IntN(3) > 0
				e.ProducerID = int64(rng.IntN(3))
				m.end(e.ProducerID, e.commit)
			case p < 4:
				e.Key = k.bytes(t)
				m.tombstone(k)
			default:
				o := modelOffset{
					record: e.Offset, offset: rng.Int64N(100), time: rng.Int64N(9), epoch: int32(rng.IntN(3)) - 1,
					metadata: []string{"", "a", "b"}[rng.IntN(3)], topicID: topicID(rng.IntN(2)),
				}
				e.Key, e.Value = k.bytes(t), o.bytes(t)
				m.value(e.ProducerID, k, o)
			}
			r.step(&e)
			if i%5 == 0 || e.end {
				m.requireSame(t, r.Shard)
			}
			if i%40 == 0 {
				r.requireRestorable(t)
			}
		}
		requireSound(t, r.Shard)
	}
}

func (k *modelKey) bytes(tb testing.TB) []byte {
	return keyBytes(tb, &record.OffsetCommitKey{Group: k.group, Topic: k.topic, Partition: k.partition})
}

func (o *modelOffset) bytes(tb testing.TB) []byte {
	return valueBytes(tb, &record.OffsetCommitValue{
		Offset: o.offset, LeaderEpoch: o.epoch, Metadata: o.metadata, CommitTimestamp: o.time, TopicID: o.topicID,
	}, 4)
}

// One partition far away costs one offset, not the distance.
func TestSparsePartitions(t *testing.T) {
	s := NewShard(0, Options{})
	k := modelKey{"g", "t", 1 << 30}
	o := modelOffset{offset: 5}
	s.Replay(&Record{Offset: 1, ProducerID: noProducer, Key: k.bytes(t), Value: o.bytes(t)})
	require.Len(t, s.Offsets("g"), 1)
	require.Empty(t, s.groups["g"].offsets["t"].dense)
}

// commits is a log of offset commits: groups with topics with partitions, each
// committed again and again.
func commits(tb testing.TB, groups, topics, partitions int, metadata string) (out []Record) {
	for g := range groups {
		for topic := range topics {
			for p := range partitions {
				k := modelKey{fmt.Sprintf("consumer-group-%d", g), fmt.Sprintf("some.topic.name-%d", topic), int32(p)}
				o := modelOffset{offset: int64(p), time: 1_700_000_000_000, epoch: 4, metadata: metadata, topicID: topicID(topic + 1)}
				out = append(out, Record{Timestamp: 1, ProducerID: noProducer, Key: k.bytes(tb), Value: o.bytes(tb)})
			}
		}
	}
	for i := range out {
		out[i].Offset = kafka.Offset(i)
	}
	return out
}

// A commit that takes the place of another allocates nothing, whatever group,
// topic and partition the one before it was about.
func TestOverwritingCommitAllocatesNothing(t *testing.T) {
	for _, metadata := range []string{"", "written by a connector"} {
		log := commits(t, 3, 3, 4, metadata)
		s := NewShard(0, Options{})
		next := 0
		replay := func() {
			r := &log[next*7%len(log)]
			r.Offset = kafka.Offset(next)
			s.Replay(r)
			next++
		}
		for range len(log) {
			replay()
		}
		require.Zero(t, testing.AllocsPerRun(1000, replay), "metadata %q", metadata)
	}
}

func BenchmarkReplayOffsetCommit(b *testing.B) {
	log := commits(b, 200, 10, 50, "")
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(log)/50, func(i, j int) { // by topic, as a client commits
		for p := range 50 {
			log[i*50+p], log[j*50+p] = log[j*50+p], log[i*50+p]
		}
	})
	s := NewShard(0, Options{})
	for i := range log {
		s.Replay(&log[i])
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; b.Loop(); i++ {
		r := &log[i%len(log)]
		r.Offset = kafka.Offset(i)
		s.Replay(r)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
}

// Half the records are of transactions, ten to each.
func BenchmarkReplayTransactions(b *testing.B) {
	log := commits(b, 200, 10, 50, "")
	s := NewShard(0, Options{})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r := &log[i%len(log)]
		r.Offset, r.ProducerID = kafka.Offset(i), noProducer
		if i%20 < 10 {
			r.ProducerID = int64(i / 20)
		}
		s.Replay(r)
		if i%20 == 10 {
			s.EndTransaction(int64(i/20), true)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
}
