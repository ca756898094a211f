package whatif_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog/record"
	"github.com/kraftside/kraftside/topichash"
	"github.com/kraftside/kraftside/whatif"
)

// model is a cluster as one would write it down: no log, no epochs.
type model struct {
	racks  map[kafka.NodeID]string // "" is none
	topics map[string][][]kafka.NodeID
	ids    map[string]kafka.TopicID
}

// newModel makes up a cluster of four brokers and three topics.
func newModel(r *rand.Rand) *model {
	m := &model{racks: map[kafka.NodeID]string{}, topics: map[string][][]kafka.NodeID{}, ids: map[string]kafka.TopicID{}}
	for id := range kafka.NodeID(4) {
		m.racks[id+1] = []string{"a", "b", "c", ""}[r.IntN(4)]
	}
	for i, name := range []string{"x", "y", "z", kafka.OffsetsTopic} {
		m.ids[name] = kafka.NewUUID(1, uint64(i+1))
		for range 1 + r.IntN(3) {
			m.topics[name] = append(m.topics[name], m.replicas(r))
		}
	}
	return m
}

func (m *model) replicas(r *rand.Rand) []kafka.NodeID {
	all := slices.Sorted(maps.Keys(m.racks))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:1+r.IntN(min(3, len(all)))]
}

// image is the model as an image, by a snapshot's records.
func (m *model) image(t *testing.T) *image.MetadataImage {
	d := delta.New(image.Empty())
	for _, id := range slices.Sorted(maps.Keys(m.racks)) {
		b := &record.RegisterBrokerRecord{BrokerID: int32(id), BrokerEpoch: 1}
		if rack := m.racks[id]; rack != "" {
			b.Rack = &rack
		}
		require.NoError(t, d.Replay(b))
	}
	for _, name := range slices.Sorted(maps.Keys(m.topics)) {
		require.NoError(t, d.Replay(&record.TopicRecord{Name: name, TopicID: m.ids[name]}))
		for i, replicas := range m.topics[name] {
			require.NoError(t, d.Replay(&record.PartitionRecord{
				TopicID: m.ids[name], PartitionID: int32(i), Replicas: numbers(replicas), Isr: numbers(replicas), Leader: int32(replicas[0]),
			}))
		}
	}
	return d.Apply(image.Provenance{Offset: 100, Epoch: 1})
}

func numbers(ids []kafka.NodeID) (list []int32) {
	for _, id := range ids {
		list = append(list, int32(id))
	}
	return list
}

// change makes up a change and carries it out on the model.
func (m *model) change(r *rand.Rand) whatif.Change {
	broker := slices.Sorted(maps.Keys(m.racks))[r.IntN(len(m.racks))]
	var names []string
	for name := range m.topics {
		if name != kafka.OffsetsTopic {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return whatif.Change{Kind: whatif.RestartBroker, Broker: &broker}
	}
	name := names[r.IntN(len(names))]
	switch r.IntN(6) {
	case 0:
		delete(m.topics, name)
		return whatif.Change{Kind: whatif.DeleteTopic, Topic: name}
	case 1:
		rack := []string{"a", "b", "c", ""}[r.IntN(4)]
		m.racks[broker] = rack
		return whatif.Change{Kind: whatif.Rack, Broker: &broker, Rack: &rack}
	case 2:
		if len(m.racks) > 2 {
			delete(m.racks, broker)
			return whatif.Change{Kind: whatif.UnregisterBroker, Broker: &broker}
		}
		fallthrough
	case 3:
		return whatif.Change{Kind: whatif.RestartBroker, Broker: &broker}
	}
	plan := ""
	for i := range m.topics[name] {
		if i > 0 && r.IntN(2) == 0 {
			continue
		}
		if i > 0 {
			plan += ","
		}
		m.topics[name][i] = m.replicas(r)
		plan += fmt.Sprintf(`{"topic":%q,"partition":%d,"replicas":%s}`, name, i, list(m.topics[name][i]))
	}
	return whatif.Change{Kind: whatif.Reassign, Plan: fmt.Appendf(nil, `{"version":1,"partitions":[%s]}`, plan)}
}

func list(ids []kafka.NodeID) string {
	text := "["
	for i, id := range ids {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprint(id)
	}
	return text + "]"
}

// TestEndIsWhatTheChangeLeadsTo: every topic has the hash after a plan that it
// has in a cluster that is as the changes say.
func TestEndIsWhatTheChangeLeadsTo(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := newModel(r)
		start := m.image(t)
		var changes []whatif.Change
		for range 1 + r.IntN(4) {
			changes = append(changes, m.change(r))
		}
		p, err := whatif.NewPlan(start, changes)
		require.NoError(t, err, "seed %d", seed)
		want, got := m.image(t), p.End()
		for name := range m.topics {
			requireSame(t, want, got, name, seed)
		}
		for _, name := range []string{"x", "y", "z"} {
			_, exists := got.Topics().ByName(name)
			require.Equal(t, m.topics[name] != nil, exists, "seed %d: %s", seed, name)
		}
	}
}

// requireSame compares a topic's hash, but for one that a broker without
// others in sync keeps from being reassigned.
func requireSame(t *testing.T, want, got *image.MetadataImage, name string, seed uint64) {
	topic, ok := got.Topics().ByName(name)
	require.True(t, ok, "seed %d: %s", seed, name)
	for _, p := range topic.Partitions() {
		if len(p.AddingReplicas) > 0 {
			return // the broker that it is to go to is fenced
		}
	}
	a, _ := topichash.NewCache(topichash.Kafka, want).Hash(topichash.Kafka, name)
	b, _ := topichash.NewCache(topichash.Kafka, got).Hash(topichash.Kafka, name)
	require.Equal(t, a, b, "seed %d: %s", seed, name)
}

// coordinator is a group coordinator as Kafka's is: a cache of hashes, and a
// group that is marked when one of them is dropped.
type coordinator struct {
	topics  []string
	cached  map[string]int64 // no entry: dropped
	exists  map[string]bool
	marked  bool
	stored  int64
	bumps   int
	hasher  *topichash.Hasher
	isAlive bool
}

func newCoordinator(m *image.MetadataImage, topics []string) *coordinator {
	c := &coordinator{topics: topics, cached: map[string]int64{}, exists: map[string]bool{}, hasher: topichash.NewHasher(), isAlive: true, marked: true}
	c.heartbeat(m)
	c.bumps = 0
	return c
}

func (c *coordinator) heartbeat(m *image.MetadataImage) {
	if !c.marked || !c.isAlive {
		return
	}
	c.marked = false
	var named []topichash.NamedHash
	for _, name := range c.topics {
		if _, ok := c.cached[name]; !ok {
			c.cached[name], c.exists[name] = topichash.NewCache(topichash.Kafka, m).Hash(topichash.Kafka, name)
		}
		if c.exists[name] {
			named = append(named, topichash.NamedHash{Name: name, Hash: c.cached[name]})
		}
	}
	if hash := c.hasher.Group(topichash.Kafka, named); hash != c.stored {
		c.stored = hash
		c.bumps++
	}
}

// update is what a new image does to the coordinator.
func (c *coordinator) update(d *delta.Delta) {
	drop := func(name string) {
		if slices.Contains(c.topics, name) {
			delete(c.cached, name)
			c.marked = true
		}
	}
	for topic := range d.TouchedTopics() {
		drop(topic.Name())
	}
	for _, topic := range d.DeletedTopics() {
		drop(topic.Name)
	}
	before, after := coordinatorOf(d.Base()), coordinatorOf(d.Image())
	c.isAlive = after.Leader != kafka.NoNode
	if before.Leader != after.Leader || before.LeaderEpoch != after.LeaderEpoch {
		clear(c.cached)
		c.marked = true
	}
}

func coordinatorOf(m *image.MetadataImage) (p image.Partition) {
	t, _ := m.Topics().ByName(kafka.OffsetsTopic)
	t.Partition(0, &p)
	return p
}

// TestCountsAreInTheRange plays plans record by record, in any order where the
// records of a step are independent, with heartbeats at random between them.
func TestCountsAreInTheRange(t *testing.T) {
	seen := map[whatif.Bump]int{}
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 2))
		m := newModel(r)
		start := m.image(t)
		var changes []whatif.Change
		for range 1 + r.IntN(3) {
			changes = append(changes, m.change(r))
		}
		p, err := whatif.NewPlan(start, changes)
		require.NoError(t, err)
		for _, topics := range [][]string{{"x"}, {"x", "y"}, {"y", "z"}, {"x", "y", "z"}} {
			prediction, affected := p.Predict(groupOf(start, topics))
			if affected {
				seen[prediction.Bump]++
			}
			for range 8 {
				checkRun(t, r, p, start, topics, prediction, affected, seed)
			}
		}
	}
	for _, bump := range []whatif.Bump{whatif.Certain, whatif.IfHeartbeatFallsInside, whatif.AtNextEvent} {
		require.Greater(t, seen[bump], 20, "predictions: %v", seen)
	}
}

func groupOf(m *image.MetadataImage, topics []string) whatif.Group {
	c := newCoordinator(m, topics)
	return whatif.Group{
		Group: &groups.Group{
			ID: "g", Type: groups.Consumer, SubscribedTopics: topics, Hash: &groups.StoredHash{Value: c.stored},
			Members: []*groups.Member{{ID: "m", SubscribedTopics: topics}},
		},
		Answer: topichash.Answer{Verdict: topichash.Match, Computed: c.stored},
	}
}

func checkRun(t *testing.T, r *rand.Rand, p *whatif.Plan, start *image.MetadataImage, topics []string, want *whatif.Prediction, affected bool, seed uint64) {
	c := newCoordinator(start, topics)
	before := c.stored
	often := r.IntN(4)
	last := whatif.Replay(p, r, func(d *delta.Delta) {
		c.update(d)
		if r.IntN(4) < often {
			c.heartbeat(d.Image())
		}
	})
	c.heartbeat(last)
	where := fmt.Sprintf("seed %d, topics %v: %d bumps, predicted %+v", seed, topics, c.bumps, want)
	if !affected {
		require.Zero(t, c.bumps, where)
		require.Equal(t, before, c.stored, where)
		return
	}
	switch want.Bump {
	case whatif.AtNextEvent:
		require.Zero(t, c.bumps, where)
		c.cached, c.marked, c.isAlive = map[string]int64{}, true, true
		c.heartbeat(last)
		require.Equal(t, 1, c.bumps, where)
	default:
		require.GreaterOrEqual(t, c.bumps, want.Min, where)
		require.LessOrEqual(t, c.bumps, want.Max, where)
	}
	if want.After != nil {
		require.Equal(t, *want.After, c.stored, where)
	}
}
