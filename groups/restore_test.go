package groups

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups/record"
)

const (
	histories     = 18
	historyLength = 220
)

// A shard that replays what the coordinator wrote finds nothing wrong with it,
// and knows what the coordinator knew.
func TestReplayAgreesWithCoordinator(t *testing.T) {
	for seed := range uint64(200) {
		c := newCoordinator(t, seed)
		r := newReplica(Options{NewGroupEpoch: 1})
		for _, e := range c.run(historyLength) {
			out := r.step(&e)
			require.Nil(t, out.Anomaly, "seed %d: %s", seed, out.Anomaly)
		}
		for id, g := range c.groups {
			requireSameGroup(t, g, r.Freeze(id))
		}
		for _, id := range r.GroupIDs() {
			if c.groups[id] == nil {
				require.True(t, r.groups[id].simple(), id)
			}
		}
	}
}

func requireSameGroup(t *testing.T, want *simGroup, got *Group) {
	require.NotNil(t, got, want.id)
	require.Equal(t, want.kind, got.Type)
	require.Len(t, got.Members, len(want.members))
	if want.kind == Classic {
		require.Equal(t, want.generation, got.Epoch)
	} else {
		require.Equal(t, want.epoch, got.Epoch)
		require.Equal(t, want.target, got.AssignmentEpoch)
	}
	require.Equal(t, want.kind == Consumer && want.withoutMetadata, got.Type == Consumer && got.Hash == nil)
	for _, m := range got.Members {
		w := want.members[m.ID]
		require.NotNil(t, w, m.ID)
		require.Equal(t, w.instance, cmpInstance(want, m, w))
		if want.kind == Consumer {
			require.Equal(t, w.epoch, m.Epoch)
			require.Equal(t, w.regex, m.SubscribedRegex)
			require.Equal(t, w.classic, m.ClassicProtocol)
			require.ElementsMatch(t, w.topics, m.SubscribedTopics)
			require.ElementsMatch(t, w.target, partitionNumbers(m.Target))
			require.ElementsMatch(t, w.assigned, partitionNumbers(m.Assigned))
		}
	}
}

// cmpInstance is the instance id; share members have none.
func cmpInstance(g *simGroup, m *Member, want *simMember) string {
	if g.kind == Share {
		return want.instance
	}
	return m.InstanceID
}

func partitionNumbers(list []TopicPartitions) (all []int32) {
	for _, t := range list {
		all = append(all, t.Partitions...)
	}
	return all
}

// The law of the rows: wherever the log is cut, the rows make a shard that
// equals the one they came from, and both make the same of the rest, rows and
// outcomes included. It holds for what coordinators write, for logs that are
// compacted while they are read, and for logs with any other damage.
func TestRestoreLaw(t *testing.T) {
	for seed := range uint64(histories) {
		log := newCoordinator(t, seed).run(historyLength)
		rng := rand.New(rand.NewPCG(seed, 2))
		switch seed % 3 {
		case 1:
			log = compact(log, rng)
		case 2:
			log = damage(compact(log, rng), rng)
		}
		requireRestoreLaw(t, log, 1+int(seed%2))
	}
}

// requireRestoreLaw checks the law for every step-th cut of a log.
func requireRestoreLaw(tb testing.TB, log []event, step int) {
	r := newReplica(Options{NewGroupEpoch: 1})
	ends := make([]*replica, 0, len(log)/step+1)
	for i := range log {
		if i%step == 0 {
			s := r.restored(tb, i%2 == 0)
			if !r.Equal(s.Shard) {
				require.Equal(tb, r.String(), s.String(), "cut at %d", i)
				require.FailNow(tb, "shards differ in what their text does not show")
			}
			requireSound(tb, s.Shard)
			ends = append(ends, s)
		}
		want := describe(r.step(&log[i]))
		for _, s := range ends {
			if got := describe(s.step(&log[i])); got != want {
				require.Equal(tb, want, got, "record %d", i)
			}
		}
	}
	requireSound(tb, r.Shard)
	for i, s := range ends {
		require.True(tb, r.Equal(s.Shard), "cut at %d", i*step)
		require.True(tb, maps.EqualFunc(r.mirror, s.mirror, sameRow), "rows after cut at %d", i*step)
	}
}

// outcome is what of an Outcome can be compared.
type outcome struct {
	group                 string
	change                Change
	effects, topics, gone int
	anomaly               string
}

func describe(o Outcome) outcome {
	d := outcome{o.Group, o.Change, len(o.Effects), len(o.Subscribed), len(o.Unsubscribed), ""}
	if o.Anomaly != nil {
		d.anomaly = o.Anomaly.String()
	}
	return d
}

func sameRow(a, b Row) bool {
	return a.Kind == b.Kind && a.ProducerID == b.ProducerID && a.Offset == b.Offset && a.Timestamp == b.Timestamp &&
		string(a.Key) == string(b.Key) && string(a.Value) == string(b.Value)
}

// compact does to a log what the cleaner does while somebody reads it: in a
// part of it only the last record of each key is left, and its older
// tombstones may be gone.
func compact(log []event, rng *rand.Rand) []event {
	start, end := rng.IntN(len(log)/2), len(log)/2+rng.IntN(len(log)/2)
	last := map[string]int{}
	for i := range log[:end] {
		last[string(log[i].Key)] = i
	}
	kept := slices.Clone(log[:start])
	for i := start; i < len(log); i++ {
		e := log[i]
		stale := i < end && !e.end && (last[string(e.Key)] != i || e.Value == nil && rng.IntN(2) == 0)
		if !stale {
			kept = append(kept, e)
		}
	}
	return kept
}

// damage loses records, repeats others with another value, and adds some that
// mean nothing.
func damage(log []event, rng *rand.Rand) (out []event) {
	for _, e := range log {
		switch rng.IntN(20) {
		case 0:
			continue
		case 1:
			if len(e.Value) > 0 {
				e.Value = e.Value[:rng.IntN(len(e.Value))]
			}
		case 2:
			if len(e.Key) > 1 {
				e.Key = slices.Clone(e.Key)
				e.Key[1] = byte(rng.IntN(25))
			}
		case 3:
			e.Value = nil
		}
		out = append(out, e)
	}
	return out
}

// Rows that no shard has written are refused, and do not panic.
func TestRestoreRefuses(t *testing.T) {
	key := keyBytes(t, &record.ConsumerGroupMetadataKey{GroupID: "g"})
	value := valueBytes(t, &record.ConsumerGroupMetadataValue{Epoch: 1}, 0)
	member := keyBytes(t, &record.ShareGroupMemberMetadataKey{GroupID: "g", MemberID: "m"})
	memberValue := valueBytes(t, &record.ShareGroupMemberMetadataValue{}, 0)
	offset := keyBytes(t, &record.OffsetCommitKey{Group: "g", Topic: "t"})
	for name, rows := range map[string][]Row{
		"kind":                {{Kind: 99}},
		"no key":              {{Kind: RowRecord}},
		"key":                 {{Kind: RowRecord, Key: []byte{0, 3, 0, 9}}},
		"value":               {{Kind: RowRecord, Key: key, Value: []byte{0, 0}}},
		"tombstone":           {{Kind: RowRecord, Key: key}},
		"pending group":       {{Kind: RowPending, Key: key, Value: value}},
		"two types":           {{Kind: RowRecord, Key: key, Value: value}, {Kind: RowRecord, Key: member, Value: memberValue}},
		"group type":          {{Kind: RowGroup, Key: []byte("g"), Value: []byte{rowFormat, 9, 0}}},
		"group format":        {{Kind: RowGroup, Key: []byte("g"), Value: []byte{7, 1, 0}}},
		"group cut off":       {{Kind: RowGroup, Key: []byte("g"), Value: []byte{rowFormat, 1, 2}}},
		"shard":               {{Kind: RowShard, Value: []byte{rowFormat}}},
		"offset":              {{Kind: RowRecord, Key: offset}},
		"offset key":          {{Kind: RowRecord, Key: offset[:5], Value: value}},
		"negative log offset": {{Kind: RowRecord, Key: key, Value: value, Offset: -1}},
	} {
		_, err := Restore(3, Options{}, slices.Values(rows))
		require.ErrorIs(t, err, ErrBadRow, name)
	}
}

// The keys of effects that are not the record's own are those that Kafka
// writes.
func TestKeysOfRows(t *testing.T) {
	s := NewShard(0, Options{})
	for number, make := range newRecord {
		key, _ := make()
		var texts []string
		fields := reflect.ValueOf(key).Elem()
		for i := range fields.NumField() {
			if f := fields.Field(i); f.Kind() == reflect.String {
				texts = append(texts, "text of "+fields.Type().Field(i).Name)
				f.SetString(texts[i])
			}
		}
		switch number {
		case record.TypeLegacyOffsetCommit: // has the row of the next
		case record.TypeOffsetCommit:
			require.Equal(t, keyBytes(t, key), s.key1(texts[0], texts[1], 0))
		default:
			require.Equal(t, keyBytes(t, key), s.key(number, texts...), number)
		}
	}
}
