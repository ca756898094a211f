package topichash

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
)

type topicVector struct {
	Case         string
	TopicID      kafka.UUID
	TopicIDHex   string
	Name, Lookup string
	Brokers      []struct {
		ID                   kafka.NodeID
		Rack                 *string
		Fenced, Unregistered bool
	}
	Partitions []struct {
		ID       int32
		Replicas []kafka.NodeID
	}
	TopicIDHashCode int32
	Hash            *int64
	Fails           bool
	StreamLength    int
	StreamHex       string
}

type groupVector struct {
	Case   string
	Topics []struct {
		Name      string
		Hash      int64
		TopicCase string
	}
	Hash int64
}

func readVectors[T any](t *testing.T, file string) (vectors []T) {
	raw, err := os.ReadFile("testdata/" + file)
	require.NoError(t, err)
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v T
		require.NoError(t, json.Unmarshal(lines.Bytes(), &v))
		vectors = append(vectors, v)
	}
	require.NoError(t, lines.Err())
	return vectors
}

// racks are those of the vector's brokers that are still registered, fenced
// ones included.
func (v topicVector) racks() *Racks {
	return NewRacks(func(yield func(kafka.NodeID, string) bool) {
		for _, b := range v.Brokers {
			if b.Rack != nil && !b.Unregistered && !yield(b.ID, *b.Rack) {
				return
			}
		}
	})
}

func (v topicVector) feed(h *Hasher, s Scheme) {
	parts := slices.Clone(v.Partitions)
	slices.SortFunc(parts, func(a, b struct {
		ID       int32
		Replicas []kafka.NodeID
	}) int {
		return cmp.Compare(a.ID, b.ID)
	})
	h.Begin(s, v.racks(), v.TopicID, v.Name, int32(len(parts)))
	for _, p := range parts {
		h.Partition(p.ID, p.Replicas)
	}
}

// TestTopicVectors compares hashes, and the bytes that go into them, with what
// Kafka's own classes made of the same topics.
func TestTopicVectors(t *testing.T) {
	for file, scheme := range map[string]Scheme{"topichash_kafka.jsonl": Kafka, "topichash_kip.jsonl": KIP} {
		t.Run(scheme.String(), func(t *testing.T) {
			var hashed, streams, failed, missing int
			h := NewHasher()
			for _, v := range readVectors[topicVector](t, file) {
				require.Equal(t, v.TopicIDHex, hex.EncodeToString(v.TopicID[:]), v.Case)
				msb, lsb := v.TopicID.Halves()
				require.Equal(t, v.TopicIDHashCode, javaHashCode(msb, lsb), v.Case)
				if v.Lookup != v.Name { // a topic that is not there has nothing to be hashed
					require.Zero(t, *v.Hash, v.Case)
					missing++
					continue
				}
				v.feed(h, scheme)
				if v.StreamHex != "" {
					require.Equal(t, v.StreamHex, hex.EncodeToString(h.buf[:h.pos]), v.Case)
					streams++
				}
				if v.StreamLength < bufferSize-shortRack && !v.Fails {
					require.Equal(t, v.StreamLength, h.pos, v.Case)
				}
				hash, err := h.Sum()
				if v.Fails {
					require.ErrorIs(t, err, ErrPartitionGap, v.Case)
					require.Nil(t, v.Hash, v.Case)
					failed++
					continue
				}
				require.NoError(t, err, v.Case)
				require.Equal(t, *v.Hash, hash, v.Case)
				hashed++
			}
			want := map[Scheme][]int{Kafka: {114, 104, 2, 1}, KIP: {116, 112, 0, 1}}[scheme]
			require.Equal(t, want, []int{hashed, streams, failed, missing}, "hashed, streams, failed, missing")
		})
	}
}

func TestGroupVectors(t *testing.T) {
	for file, scheme := range map[string]Scheme{"grouphash_kafka.jsonl": Kafka, "grouphash_kip.jsonl": KIP} {
		t.Run(scheme.String(), func(t *testing.T) {
			vectors := readVectors[groupVector](t, file)
			h := NewHasher()
			for _, v := range vectors {
				var topics []NamedHash
				for _, topic := range v.Topics {
					topics = append(topics, NamedHash{topic.Name, topic.Hash})
				}
				require.Equal(t, v.Hash, h.Group(scheme, topics), v.Case)
			}
			require.Len(t, vectors, 41)
		})
	}
}

// TestGroupsOfTopicVectors follows the hashes of groups through those of their
// topics.
func TestGroupsOfTopicVectors(t *testing.T) {
	for _, suffix := range []string{"kafka.jsonl", "kip.jsonl"} {
		byCase := map[string]int64{}
		for _, v := range readVectors[topicVector](t, "topichash_"+suffix) {
			if v.Hash != nil {
				byCase[v.Case] = *v.Hash
			}
		}
		followed := 0
		for _, v := range readVectors[groupVector](t, "grouphash_"+suffix) {
			for _, topic := range v.Topics {
				if topic.TopicCase != "" {
					require.Equal(t, byCase[topic.TopicCase], topic.Hash, v.Case)
					followed++
				}
			}
		}
		require.Greater(t, followed, 100)
	}
}

// TestKIPCollisions shows why Kafka did not ship the KIP's form: strings are
// hashed without their lengths, and of the id only 32 bits are.
func TestKIPCollisions(t *testing.T) {
	h := NewHasher()
	sums := func(s Scheme, cases ...string) (sums []int64) {
		for _, v := range readVectors[topicVector](t, "topichash_kafka.jsonl") {
			if !slices.Contains(cases, v.Case) {
				continue
			}
			v.TopicID, v.Name = kafka.TopicID{}, "t"
			v.feed(h, s)
			sum, err := h.Sum()
			require.NoError(t, err)
			sums = append(sums, sum)
		}
		require.Len(t, sums, len(cases))
		return sums
	}
	ambiguous := []string{"rack_ambiguous_ab_c", "rack_ambiguous_a_bc", "rack_ambiguous_abc"}
	require.Len(t, slices.Compact(sums(KIP, ambiguous...)), 1)
	require.Len(t, slices.Compact(sums(Kafka, ambiguous...)), 3)

	ofID := func(s Scheme, id kafka.TopicID) int64 {
		h.Begin(s, NewRacks(noBrokers), id, "t", 0)
		sum, err := h.Sum()
		require.NoError(t, err)
		return sum
	}
	one, other := kafka.NewUUID(7, 9), kafka.NewUUID(9, 7)
	require.Equal(t, ofID(KIP, one), ofID(KIP, other))
	require.NotEqual(t, ofID(Kafka, one), ofID(Kafka, other))
}

func noBrokers(func(kafka.NodeID, string) bool) {}
