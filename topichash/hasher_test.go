package topichash

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
)

var bothSchemes = []Scheme{Kafka, KIP}

// randomTopic is a topic over a few brokers with awkward racks.
type randomTopic struct {
	id       kafka.TopicID
	name     string
	racks    map[kafka.NodeID]string
	replicas [][]kafka.NodeID
}

func newRandomTopic(r *rand.Rand) randomTopic {
	t := randomTopic{id: kafka.NewUUID(r.Uint64(), r.Uint64()), name: randomName(r, 60), racks: map[kafka.NodeID]string{}}
	longest := []int{8, 30, 80}[r.IntN(3)]
	for id := range kafka.NodeID(1 + r.IntN(12)) {
		if r.IntN(5) > 0 {
			t.racks[id] = randomName(r, longest)
		}
	}
	if r.IntN(4) == 0 { // far from the others
		t.racks[math.MaxInt32-kafka.NodeID(r.IntN(3))] = randomName(r, 5)
	}
	known := slices.Sorted(maps.Keys(t.racks))
	for range r.IntN(40) {
		var replicas []kafka.NodeID
		for range []int{3, 3, 3, r.IntN(20)}[r.IntN(4)] {
			if len(known) > 0 && r.IntN(3) > 0 {
				replicas = append(replicas, known[r.IntN(len(known))])
				continue
			}
			replicas = append(replicas, kafka.NodeID(r.IntN(14)-1))
		}
		t.replicas = append(t.replicas, replicas)
	}
	return t
}

// randomName mixes characters on both sides of where UTF-8 and UTF-16 order
// differently.
func randomName(r *rand.Rand, length int) string {
	alphabet := []rune("aAzZ09-._\x00éЖ東\ud7ff\ue000\uffef\uffff\U00010000\U0001F600\U0010FFFF")
	var b strings.Builder
	for range r.IntN(length) {
		b.WriteRune(alphabet[r.IntN(len(alphabet))])
	}
	return b.String()
}

func (t randomTopic) sum(h *Hasher, s Scheme) int64 {
	h.Begin(s, NewRacks(maps.All(t.racks)), t.id, t.name, int32(len(t.replicas)))
	for p, replicas := range t.replicas {
		h.Partition(int32(p), replicas)
	}
	sum, err := h.Sum()
	if err != nil {
		panic(err)
	}
	return sum
}

// stream writes the bytes to be hashed as docs/hashes.md has them, with no
// regard to speed.
func (t randomTopic) stream(s Scheme) []byte {
	le, b := binary.LittleEndian, []byte{0}
	str := func(v string) {
		if s == KIP {
			b = append(b, v...)
			return
		}
		units := utf16.Encode([]rune(v))
		for _, u := range units {
			b = le.AppendUint16(b, u)
		}
		b = le.AppendUint32(b, uint32(len(units)))
	}
	msb, lsb := t.id.Halves()
	if s == Kafka {
		b = le.AppendUint64(le.AppendUint64(b, msb), lsb)
		str(t.name)
		b = le.AppendUint32(b, uint32(len(t.replicas)))
	} else {
		b = le.AppendUint64(b, uint64(javaHashCode(msb, lsb)))
		str(t.name)
		b = le.AppendUint64(b, uint64(len(t.replicas)))
	}
	for p, replicas := range t.replicas {
		b = le.AppendUint32(b, uint32(p))
		var racks []string
		for _, id := range replicas {
			if rack, ok := t.racks[id]; ok {
				racks = append(racks, rack)
			}
		}
		slices.SortFunc(racks, func(a, b string) int {
			return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		})
		for _, rack := range racks {
			if s == Kafka {
				b = le.AppendUint32(b, uint32(len(utf16.Encode([]rune(rack)))))
			}
			str(rack)
		}
	}
	return b
}

// TestStreamAgainstPlainForm: whatever shape a topic has, the bytes are those
// of the plain way to write them.
func TestStreamAgainstPlainForm(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	h := newHasher(1 << 20)
	for range 1000 {
		topic := newRandomTopic(r)
		for _, s := range bothSchemes {
			topic.sum(h, s)
			require.Equal(t, topic.stream(s), h.buf[:h.pos], "%s: %+v", s, topic)
		}
	}
}

// TestReplicaOrderDoesNotMatter: a reassignment that only reorders replicas
// moves no hash.
func TestReplicaOrderDoesNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	h := NewHasher()
	for range 300 {
		topic := newRandomTopic(r)
		for _, s := range bothSchemes {
			want := topic.sum(h, s)
			for _, replicas := range topic.replicas {
				r.Shuffle(len(replicas), func(i, j int) { replicas[i], replicas[j] = replicas[j], replicas[i] })
			}
			require.Equal(t, want, topic.sum(h, s))
		}
	}
}

// TestBufferSizeDoesNotMatter: the hash of a topic that is passed on in pieces
// is that of one call over all its bytes.
func TestBufferSizeDoesNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	whole := newHasher(1 << 20)
	for range 300 {
		topic := newRandomTopic(r)
		pieces := newHasher(minBuffer + r.IntN(400))
		for _, s := range bothSchemes {
			want := topic.sum(whole, s)
			require.False(t, whole.passed)
			require.Equal(t, want, topic.sum(pieces, s))
			require.Equal(t, want, topic.sum(pieces, s), "a hasher that was used before")
		}
	}
}

// TestLongStrings: what does not fit the buffer is still hashed whole.
func TestLongStrings(t *testing.T) {
	topic := randomTopic{
		name:     strings.Repeat("東\U0001F600", 3*bufferSize),
		racks:    map[kafka.NodeID]string{1: strings.Repeat("r", 5*bufferSize), 2: ""},
		replicas: [][]kafka.NodeID{{1, 2}, {2, 1, 1}},
	}
	for _, s := range bothSchemes {
		require.Equal(t, topic.sum(newHasher(1<<22), s), topic.sum(NewHasher(), s))
	}
}

// TestRacksAgainstPlainSort compares the ranks with sorting UTF-16 code units.
func TestRacksAgainstPlainSort(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		topic := newRandomTopic(r)
		racks := NewRacks(maps.All(topic.racks))
		for a, rackA := range topic.racks {
			for b, rackB := range topic.racks {
				want := slices.Compare(utf16.Encode([]rune(rackA)), utf16.Encode([]rune(rackB)))
				require.Equal(t, want, compareUTF16(rackA, rackB))
				require.Equal(t, want < 0, racks.rank(a) < racks.rank(b), "%q %q", rackA, rackB)
				require.Equal(t, want == 0, racks.rank(a) == racks.rank(b), "%q %q", rackA, rackB)
			}
		}
	}
}

// TestUTF16OrderDiffersFromUTF8 holds the case that makes compareUTF16
// necessary.
func TestUTF16OrderDiffersFromUTF8(t *testing.T) {
	require.Less(t, "\uffef", "\U00010000")
	require.Positive(t, compareUTF16("\uffef", "\U00010000"))
	require.Negative(t, compareUTF16("\ud7ff", "\U00010000"))
	require.Negative(t, compareUTF16("a", "ab"))
	require.Zero(t, compareUTF16("ab", "ab"))
}

// TestWhatTheHashLeavesOut: brokers that are unknown, and ids that no broker
// can have, add nothing.
func TestWhatTheHashLeavesOut(t *testing.T) {
	racks := map[kafka.NodeID]string{5: "a", 7: "b"}
	h := NewHasher()
	for _, far := range []kafka.NodeID{8, math.MaxInt32} { // dense and sparse table
		racks[far] = "c"
		for _, s := range bothSchemes {
			base := randomTopic{racks: racks, replicas: [][]kafka.NodeID{{5, 7}}}
			more := base
			more.replicas = [][]kafka.NodeID{{kafka.NoNode, 5, 4, 6, 7, 9, math.MinInt32, math.MaxInt32 - 1}}
			require.Equal(t, base.sum(h, s), more.sum(h, s))
			more.replicas = [][]kafka.NodeID{{5, 7, far}}
			require.NotEqual(t, base.sum(h, s), more.sum(h, s))
		}
		delete(racks, far)
	}
}

func TestPartitionGap(t *testing.T) {
	h := NewHasher()
	sum := func(s Scheme, announced int32, ids ...int32) error {
		h.Begin(s, NewRacks(noBrokers), kafka.TopicID{}, "t", announced)
		for _, p := range ids {
			h.Partition(p, nil)
		}
		_, err := h.Sum()
		return err
	}
	require.NoError(t, sum(Kafka, 2, 0, 1))
	require.ErrorIs(t, sum(Kafka, 2, 0, 2), ErrPartitionGap)
	require.ErrorIs(t, sum(Kafka, 2, 1, 2), ErrPartitionGap)
	require.NoError(t, sum(KIP, 2, 0, 2))
	for _, s := range bothSchemes {
		require.ErrorIs(t, sum(s, 2, 0), ErrPartitionGap)
		require.ErrorIs(t, sum(s, 1, 0, 1), ErrPartitionGap)
	}
}

// TestGroupOrderDoesNotMatter: topics are sorted by name, however they come.
func TestGroupOrderDoesNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	h := NewHasher()
	for range 100 {
		var topics []NamedHash
		for i := range r.IntN(50) {
			topics = append(topics, NamedHash{fmt.Sprintf("%s%d", randomName(r, 5), i), int64(r.Uint64())})
		}
		for _, s := range bothSchemes {
			want := h.Group(s, topics)
			r.Shuffle(len(topics), func(i, j int) { topics[i], topics[j] = topics[j], topics[i] })
			require.Equal(t, want, h.Group(s, topics))
		}
	}
}

// TestNoAllocation: hashing allocates nothing, in the buffer or beyond it.
func TestNoAllocation(t *testing.T) {
	h := NewHasher()
	racks, ids := benchmarkCluster(1000)
	groups := []NamedHash{{"b", 1}, {"a", 2}}
	for _, s := range bothSchemes {
		for _, partitions := range []int{10, 1000} {
			require.Zero(t, testing.AllocsPerRun(10, func() { hashBenchmarkTopic(h, s, racks, ids[:partitions]) }))
		}
		require.Zero(t, testing.AllocsPerRun(10, func() { h.Group(s, groups) }))
	}
}
