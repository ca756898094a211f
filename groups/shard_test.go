package groups

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
)

// What Java's String.hashCode gives; the last text is a known one whose hash
// is Integer.MIN_VALUE.
func TestJavaHash(t *testing.T) {
	for text, want := range map[string]int32{
		"":                   0,
		"a":                  97,
		"Aa":                 2112,
		"BB":                 2112,
		"consumer-group-1":   147_483_020,
		"größe":              98_762_257,
		"\U0001F600":         1_772_899,
		"polygenelubricants": math.MinInt32,
	} {
		require.Equal(t, want, javaHash(text), text)
	}
}

func TestPartitionFor(t *testing.T) {
	require.Equal(t, int32(0), PartitionFor("polygenelubricants", 50), "the hash has no absolute value")
	require.Equal(t, int32(2112%50), PartitionFor("Aa", 50))
	for i := range 1000 {
		p := PartitionFor(fmt.Sprint("group ", i), 7)
		require.True(t, p >= 0 && p < 7)
	}
}

// What Freeze returned is not changed by what comes later, and is the same as
// long as nothing of the group changes.
func TestFreezeIsNotChanged(t *testing.T) {
	for seed := range uint64(20) {
		s := NewShard(0, Options{})
		frozen := map[*Group]string{}
		for _, e := range newCoordinator(t, seed).run(historyLength) {
			before := s.Freeze("group-1")
			var out Outcome
			if e.end {
				out = s.EndTransaction(e.ProducerID, e.commit)
			} else {
				out = s.Replay(&e.Record)
			}
			after := s.Freeze("group-1")
			if out.Group == "group-1" && out.Change&^OffsetsChanged != 0 {
				require.NotSame(t, before, after)
			} else {
				require.Equal(t, before == after, true)
			}
			if after != nil {
				frozen[after] = after.String()
			}
		}
		for g, text := range frozen {
			require.Equal(t, text, g.String())
		}
	}
}

// Bytes of a record belong to the caller, who may use them again.
func TestReplayKeepsNoBytes(t *testing.T) {
	log := newCoordinator(t, 1).run(historyLength)
	a, b := NewShard(0, Options{}), NewShard(0, Options{})
	var key, value []byte
	for _, e := range log {
		if e.end {
			a.EndTransaction(e.ProducerID, e.commit)
			b.EndTransaction(e.ProducerID, e.commit)
			continue
		}
		a.Replay(&e.Record)
		key, value = append(key[:0], e.Key...), append(value[:0], e.Value...)
		r := e.Record
		if r.Key = key; r.Value != nil {
			r.Value = value
		}
		b.Replay(&r)
		for _, buf := range [][]byte{key, value} {
			for i := range buf {
				buf[i] = 0xff
			}
		}
	}
	require.True(t, a.Equal(b))
}

// The changes that outcomes tell of add up to what the shard says: which
// groups there are, and which topics have one that is evaluated by a hash.
func TestOutcomesAddUp(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 4))
		log := damage(newCoordinator(t, seed).run(historyLength), rng)
		r := newReplica(Options{})
		topics, groups := map[string]bool{}, map[string]bool{}
		for _, e := range log {
			was := r.String()
			out := r.step(&e)
			for _, topic := range out.Unsubscribed {
				require.True(t, topics[topic])
				delete(topics, topic)
			}
			for _, topic := range out.Subscribed {
				require.False(t, topics[topic])
				topics[topic] = true
			}
			if out.Change&GroupRemoved != 0 {
				delete(groups, out.Group)
			}
			if out.Change&GroupCreated != 0 {
				groups[out.Group] = true
			}
			if out.Change == 0 && out.Anomaly == nil {
				require.Equal(t, was, r.String())
			}
			require.ElementsMatch(t, slices.Collect(maps.Keys(groups)), r.GroupIDs())
			require.ElementsMatch(t, slices.Collect(maps.Keys(topics)), r.SubscribedTopics())
		}
	}
}

// Equal sees every difference of state that a record can make.
func TestEqualSeesDifferences(t *testing.T) {
	log := newCoordinator(t, 3).run(historyLength)
	a, b := newReplica(Options{}), newReplica(Options{})
	differences := 0
	for _, e := range log {
		if a.step(&e); a.String() != b.String() {
			differences++
			require.False(t, a.Equal(b.Shard), "offset %d", e.Offset)
		}
		b.step(&e)
		require.True(t, a.Equal(b.Shard))
	}
	require.Greater(t, differences, historyLength/2)
	require.False(t, NewShard(0, Options{}).Equal(NewShard(1, Options{})))
	require.False(t, NewShard(0, Options{}).Equal(NewShard(0, Options{NewGroupEpoch: 1})))
}

// Only the latest anomalies are kept, and all are counted, by kind.
func TestAnomaliesAreBounded(t *testing.T) {
	r := newReplica(Options{})
	for i := range 100 {
		r.step(&event{Record: Record{Offset: kafka.Offset(i), Key: []byte{0, 99}}})
	}
	a := r.Anomalies()
	require.Equal(t, int64(100), a.Counts[UnknownType])
	require.Len(t, a.Recent, recentAnomalies)
	require.Equal(t, kafka.Offset(99), a.Recent[recentAnomalies-1].Offset)
	r.requireRestorable(t)
	a.Recent[0].Reason = "changed by the caller"
	require.NotEqual(t, a.Recent[0], r.anomalies.Recent[0])
}

func TestNamesOfKinds(t *testing.T) {
	for k := range AnomalyKind(anomalyKinds) {
		require.NotContains(t, k.String(), "anomaly")
	}
	require.Equal(t, "anomaly 200", AnomalyKind(200).String())
	require.Equal(t, "none classic consumer share streams",
		strings.Join([]string{noType.String(), Classic.String(), Consumer.String(), Share.String(), Streams.String()}, " "))
}

// The assignor of a group is the one that most members prefer.
func TestPreferredAssignor(t *testing.T) {
	members := func(names ...string) (list []*Member) {
		for _, name := range names {
			list = append(list, &Member{Assignor: name})
		}
		return list
	}
	require.Equal(t, "", preferredAssignor(members("", "")))
	require.Equal(t, "uniform", preferredAssignor(members("", "uniform", "", "")))
	require.Equal(t, "range", preferredAssignor(members("uniform", "range")))
	require.Equal(t, "uniform", preferredAssignor(members("uniform", "range", "uniform")))
}

// Members mostly subscribe to the same topics: one list serves them all.
func TestMembersShareTopics(t *testing.T) {
	s := NewShard(0, Options{})
	for i := range 3 {
		key := keyBytes(t, &record.ShareGroupMemberMetadataKey{GroupID: "g", MemberID: fmt.Sprint(i)})
		value := valueBytes(t, &record.ShareGroupMemberMetadataValue{SubscribedTopicNames: []string{"b", "a", "b"}}, 0)
		s.Replay(&Record{Offset: kafka.Offset(i), ProducerID: noProducer, Key: key, Value: value})
	}
	members := s.Freeze("g").Members
	require.Equal(t, []string{"a", "b"}, members[0].SubscribedTopics)
	require.True(t, same(members[0].SubscribedTopics, members[2].SubscribedTopics))
}
