package image

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
)

// model is what a TopicsImage must hold, in plain maps.
type model map[string]*modelTopic

type modelTopic struct {
	id         kafka.TopicID
	partitions map[int32]Partition
}

func (m model) clone() model {
	c := make(model, len(m))
	for name, t := range m {
		c[name] = &modelTopic{t.id, maps.Clone(t.partitions)}
	}
	return c
}

func requireModel(t *testing.T, want model, got *TopicsImage) {
	t.Helper()
	require.Equal(t, len(want), got.NumTopics())
	partitions := 0
	for name, topic := range want {
		byName, ok := got.ByName(name)
		require.True(t, ok, "topic %s by name", name)
		byID, ok := got.ByID(topic.id)
		require.True(t, ok, "topic %s by id", name)
		require.True(t, byName.SameRows(byID))
		require.Equal(t, topic.id, byName.ID())
		require.Equal(t, name, byID.Name())
		require.Equal(t, len(topic.partitions), byName.NumPartitions())
		last := int32(-1)
		for number, p := range byName.Partitions() {
			w, ok := topic.partitions[number]
			require.True(t, ok && number > last, "topic %s has partition %d after %d", name, number, last)
			require.True(t, w.Equal(p), "topic %s partition %d: want %+v, got %+v", name, number, w, *p)
			replicas, ok := byName.AppendReplicas(nil, number)
			require.True(t, ok && slices.Equal(w.Replicas, replicas))
			last = number
		}
		walk, dense := byName.Replicas(), int32(0)
		for ; ; dense++ {
			replicas, ok := walk.Next(nil)
			w, exists := topic.partitions[dense]
			require.Equal(t, exists, ok)
			if !ok {
				break
			}
			require.Equal(t, w.Replicas, replicas)
		}
		partitions += len(topic.partitions)
	}
	require.Equal(t, partitions, got.NumPartitions())
}

// generator makes partitions of every shape: mostly plain ones, now and then
// one that no row layout holds.
type generator struct{ *rand.Rand }

func (g generator) oneIn(n int) bool { return g.IntN(n) == 0 }

func (g generator) partition() (p Partition) {
	for _, id := range g.Perm(9)[:g.replicas()] {
		node := kafka.NodeID(id)
		if g.oneIn(50) {
			node = kafka.NodeID(70_000 + id)
		}
		p.Replicas = append(p.Replicas, node)
		p.Directories = append(p.Directories, g.directory(node))
	}
	p.Isr = g.some(p.Replicas)
	p.Leader = kafka.NoNode
	if len(p.Replicas) > 0 && !g.oneIn(8) {
		p.Leader = p.Replicas[g.IntN(len(p.Replicas))]
	}
	p.LeaderRecoveryState = int8(g.IntN(2))
	p.LeaderEpoch = kafka.Epoch(g.Uint32() >> (1 + g.IntN(31)))
	p.PartitionEpoch = int32(g.Uint32() >> (1 + g.IntN(31)))
	if g.oneIn(10) {
		p.Elr, p.LastKnownElr = g.some(p.Replicas), g.some(p.Replicas)
	}
	if g.oneIn(20) {
		g.distort(&p)
	}
	return p
}

func (g generator) replicas() int {
	if g.oneIn(20) {
		return g.IntN(8)
	}
	return 3
}

func (g generator) directory(node kafka.NodeID) kafka.UUID {
	switch g.IntN(12) {
	case 0:
		return kafka.DirMigrating
	case 1:
		return kafka.DirUnassigned
	case 2:
		return kafka.DirLost
	case 3:
		return kafka.NewUUID(uint64(node), 100+uint64(g.IntN(20))) // some get no slot
	}
	return kafka.NewUUID(uint64(node), 100)
}

func (g generator) some(ids []kafka.NodeID) []kafka.NodeID {
	picked := make([]kafka.NodeID, 0, len(ids))
	for _, i := range g.Perm(len(ids))[:g.IntN(len(ids)+1)] {
		picked = append(picked, ids[i])
	}
	return picked
}

// distort makes what a reassignment, or a bug, would.
func (g generator) distort(p *Partition) {
	switch g.IntN(5) {
	case 0:
		p.AddingReplicas, p.RemovingReplicas = []kafka.NodeID{90, 91}, g.some(p.Replicas)
	case 1:
		p.Isr = append(p.Isr, 1234)
	case 2:
		p.Leader = 1 << 30
	case 3:
		p.Elr = []kafka.NodeID{5, 5}
	case 4:
		p.Isr = append(p.Isr, p.Isr...)
	}
}

// The image is what plain maps are, whatever was done to it, and stays so when
// later images are made from it (invariant 2).
func TestTopicsAreAsInPlainMaps(t *testing.T) {
	for seed := range uint64(30) {
		g := generator{rand.New(rand.NewPCG(seed, 1))}
		img, want := emptyTopics, model{}
		type version struct {
			img  *TopicsImage
			want model
		}
		var history []version
		for range 60 {
			b := NewTopicsBuilder(img)
			for range g.IntN(40) {
				step(t, g, &b, want)
			}
			img = b.Build()
			requireModel(t, want, img)
			if g.oneIn(5) {
				history = append(history, version{img, want.clone()})
			}
		}
		for _, v := range history {
			requireModel(t, v.want, v.img)
		}
	}
}

// step does one random thing to both.
func step(t *testing.T, g generator, b *TopicsBuilder, want model) {
	name := fmt.Sprintf("topic-%d", g.IntN(30))
	topic, exists := want[name]
	switch {
	case !exists:
		id := kafka.NewUUID(g.Uint64(), g.Uint64())
		_, err := b.Add(id, name)
		require.NoError(t, err)
		want[name] = &modelTopic{id, map[int32]Partition{}}
		return
	case g.oneIn(15):
		ref, ok := b.FindName(name)
		require.True(t, ok)
		b.Remove(ref)
		delete(want, name)
		return
	case g.oneIn(40):
		ref, _ := b.FindID(topic.id)
		b.Clear(ref)
		clear(topic.partitions)
		return
	}
	ref, ok := b.FindID(topic.id)
	require.True(t, ok)
	number := int32(g.IntN(10))
	if g.oneIn(10) {
		number = int32(g.IntN(900))
	}
	p := g.partition()
	require.NoError(t, b.SetPartition(ref, number, &p))
	topic.partitions[number] = p
	var got Partition
	require.True(t, b.Partition(ref, number, &got))
	require.True(t, p.Equal(&got), "want %+v, got %+v", p, got)
}

// A topic of thousands of partitions that is filled in order, as in a snapshot,
// and moved from two replicas to three.
func TestLargeTopic(t *testing.T) {
	b := NewTopicsBuilder(emptyTopics)
	ref, err := b.Add(kafka.UUID{7}, "large")
	require.NoError(t, err)
	const n = 5000
	set := func(number int32, replicas ...kafka.NodeID) {
		p := Partition{Replicas: replicas, Isr: replicas, Leader: replicas[0], Directories: make([]kafka.UUID, len(replicas))}
		require.NoError(t, b.SetPartition(ref, number, &p))
	}
	for i := range int32(n) {
		set(i, 1, 2)
	}
	two := b.Build()
	size := packedBytes(two)
	b = NewTopicsBuilder(two)
	for i := range int32(n) {
		set(i, 1, 2, 3)
	}
	three := b.Build()
	for _, img := range []*TopicsImage{two, three} {
		topic, ok := img.ByName("large")
		require.True(t, ok)
		require.Equal(t, n, topic.NumPartitions())
	}
	require.LessOrEqual(t, packedBytes(three), size+3*n, "the rows are packed again once all have three replicas")
}

func packedBytes(img *TopicsImage) (n int) {
	for topic := range img.All() {
		n += len(topic.row.data)
		for _, c := range topic.row.farChunks() {
			n += len(c.rows)
		}
	}
	return n
}

func TestSetPartitionRefusesImpossibleNumbers(t *testing.T) {
	b := NewTopicsBuilder(emptyTopics)
	ref, err := b.Add(kafka.UUID{7}, "t")
	require.NoError(t, err)
	require.Error(t, b.SetPartition(ref, -1, &Partition{}))
	require.Error(t, b.SetPartition(ref, MaxPartitions, &Partition{}))
	require.NoError(t, b.SetPartition(ref, MaxPartitions-1, &Partition{Leader: kafka.NoNode}))
	require.Less(t, packedBytes(b.Build()), 1<<16, "a far partition costs a chunk, not all before it")
}

func TestSubsetsAreACode(t *testing.T) {
	seen := map[subset]bool{}
	replicas := []kafka.NodeID{10, 11, 12, 13}
	for code := range uint8(subsetCodes) {
		list := appendSubset(nil, replicas, code)
		back, ok := packSubset(replicas, list)
		require.True(t, ok)
		require.Equal(t, code, back)
		seen[subsets[code]] = true
	}
	require.Len(t, seen, subsetCodes)
}

// Rows that leave an image and come back give the same topics, and damaged
// ones give an error and no panic.
func TestRowsLeaveAndComeBack(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(7, 7))}
	b := NewTopicsBuilder(emptyTopics)
	want := model{}
	for range 3000 {
		step(t, g, &b, want)
	}
	img := b.Build()
	restored := NewTopicsBuilder(emptyTopics)
	require.NoError(t, restored.LoadDirectories(img.Directories()))
	for topic := range img.All() {
		ref, err := restored.Add(topic.ID(), topic.Name())
		require.NoError(t, err)
		for key, rows := range topic.Rows() {
			require.NoError(t, restored.LoadRows(ref, key, rows))
		}
	}
	back := restored.Build()
	requireModel(t, want, back)
	require.True(t, img.Equal(back))
}

func TestDamagedRowsAreRefused(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(8, 8))}
	b := NewTopicsBuilder(emptyTopics)
	want := model{}
	for range 2000 {
		step(t, g, &b, want)
	}
	img := b.Build()
	for topic := range img.All() {
		for _, rows := range topic.Rows() {
			for range min(200, 200*len(rows)) {
				damaged := []byte(rows)
				damaged[g.IntN(len(damaged))] ^= 1 << g.IntN(8)
				tryRows(t, img, string(damaged[:len(damaged)-g.IntN(3)]))
			}
		}
	}
}

// tryRows loads rows and, if they are taken, reads all of them.
func tryRows(t *testing.T, img *TopicsImage, rows string) {
	b := NewTopicsBuilder(emptyTopics)
	require.NoError(t, b.LoadDirectories(img.Directories()))
	ref, err := b.Add(kafka.UUID{1}, "t")
	require.NoError(t, err)
	if err := b.LoadRows(ref, 0, rows); err != nil {
		require.ErrorIs(t, err, ErrBadRows)
		return
	}
	for range b.Topic(ref).Partitions() {
	}
	require.NotNil(t, b.Build())
}

func TestChangedRows(t *testing.T) {
	b := NewTopicsBuilder(emptyTopics)
	ref, err := b.Add(kafka.UUID{1}, "t")
	require.NoError(t, err)
	p := Partition{Leader: kafka.NoNode}
	for i := range int32(600) {
		require.NoError(t, b.SetPartition(ref, i, &p))
	}
	first := b.Build()
	b = NewTopicsBuilder(first)
	require.NoError(t, b.SetPartition(ref, 300, &p))
	second := b.Build()
	before, _ := first.ByName("t")
	after, _ := second.ByName("t")
	var keys []uint32
	for key := range after.ChangedRows(before) {
		keys = append(keys, key)
	}
	require.Equal(t, []uint32{1}, keys)
	b = NewTopicsBuilder(second)
	b.Clear(ref)
	cleared, _ := b.Build().ByName("t")
	keys = nil
	for key, rows := range cleared.ChangedRows(after) {
		keys = append(keys, key)
		require.Empty(t, rows)
	}
	require.ElementsMatch(t, []uint32{0, 1, 2}, keys)
}
