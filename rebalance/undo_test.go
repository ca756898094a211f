package rebalance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// Whatever deltas do, going back from the newest image by what undo gives of each
// leads to images with the hashes, racks and timeouts of those before.
func TestUndo(t *testing.T) {
	for seed := range uint64(200) {
		w := &undoWorld{rng: rand.New(rand.NewPCG(seed, 1)), image: image.Empty()}
		w.apply(t, w.brokers()...)
		var before []*image.MetadataImage
		var undone [][][]byte
		for range 30 {
			var messages []record.Message
			for range 1 + w.rng.IntN(4) {
				messages = append(messages, w.messages()...)
			}
			before = append(before, w.image)
			undone = append(undone, w.apply(t, messages...))
		}
		back := w.image
		for i := len(before) - 1; i >= 0; i-- {
			var err error
			back, err = redo(back, undone[i], before[i].Provenance())
			require.NoError(t, err, "seed %d", seed)
			require.Equal(t, essence(before[i]), essence(back), "seed %d", seed)
		}
	}
}

// undoWorld is a cluster to which anything happens.
type undoWorld struct {
	rng   *rand.Rand
	image *image.MetadataImage
}

// apply replays what does not contradict the image, and returns how it is
// undone.
func (w *undoWorld) apply(t *testing.T, messages ...record.Message) [][]byte {
	at := w.image.Provenance()
	d := delta.New(w.image)
	for i, m := range messages {
		_ = d.ReplayAt(at.Offset+kafka.Offset(i)+1, m)
	}
	w.image = d.Apply(image.Provenance{Offset: at.Offset + kafka.Offset(len(messages)), Epoch: 1, AppendTime: at.AppendTime + 1})
	h := newHistory(d.Base(), DefaultLimits, true)
	h.rows.begin(w.image.Provenance())
	h.followSources(d, 1)
	return undo(d.Base(), d.Image(), &h.rows.change, changedTimeouts(d))
}

func (w *undoWorld) brokers() (list []record.Message) {
	for id := range int32(4) {
		list = append(list, w.register(id))
	}
	return list
}

func (w *undoWorld) register(id int32) record.Message {
	m := &record.RegisterBrokerRecord{BrokerID: id, BrokerEpoch: 1, LogDirs: []kafka.UUID{{1, byte(id)}, {2, byte(id)}}}
	if w.rng.IntN(4) > 0 {
		rack := fmt.Sprint("rack-", w.rng.IntN(3))
		m.Rack = &rack
	}
	return m
}

// replicas are some, each in a directory.
func (w *undoWorld) replicas() (ids []int32, directories []kafka.UUID) {
	for _, id := range w.rng.Perm(6)[:1+w.rng.IntN(4)] {
		ids, directories = append(ids, int32(id)), append(directories, kafka.UUID{1, byte(id)})
	}
	return ids, directories
}

func (w *undoWorld) messages() []record.Message {
	n := byte(w.rng.IntN(6))
	id, name := kafka.UUID{7, n}, fmt.Sprint("topic-", n%4)
	switch w.rng.IntN(7) {
	case 0:
		list := []record.Message{&record.TopicRecord{TopicID: id, Name: name}}
		for p := w.rng.Int32N(2); p < w.rng.Int32N(5); p++ { // some have a hole
			replicas, directories := w.replicas()
			list = append(list, &record.PartitionRecord{TopicID: id, PartitionID: p, Replicas: replicas, Isr: replicas, Leader: replicas[0], Directories: directories})
		}
		return list
	case 1:
		return []record.Message{&record.RemoveTopicRecord{TopicID: id}}
	case 2, 3:
		m := new(record.PartitionChangeRecord)
		m.Reset()
		m.TopicID, m.PartitionID = id, w.rng.Int32N(4)
		m.Replicas, m.Directories = w.replicas()
		return []record.Message{m}
	case 4:
		return []record.Message{w.register(w.rng.Int32N(6))}
	case 5:
		return []record.Message{&record.UnregisterBrokerRecord{BrokerID: w.rng.Int32N(6), BrokerEpoch: 1}}
	}
	m := &record.ConfigRecord{ResourceType: groupKind, ResourceName: "g", Name: "consumer.session.timeout.ms"}
	if w.rng.IntN(2) == 0 {
		value := fmt.Sprint(w.rng.IntN(3))
		m.Value = &value
	}
	return []record.Message{m}
}

// essence is what explanations see of an image.
func essence(m *image.MetadataImage) (lines []string) {
	for t := range m.Topics().All() {
		for number, p := range t.Partitions() {
			lines = append(lines, fmt.Sprint(t.Name(), t.ID(), number, p.Replicas))
		}
		lines = append(lines, fmt.Sprint(t.Name(), t.ID()))
	}
	for id := range kafka.NodeID(6) {
		rack, ok := m.Cluster().Rack(id)
		lines = append(lines, fmt.Sprint("broker ", id, rack, ok))
	}
	lines = append(lines, fmt.Sprint(groupConfig(m, "g", "consumer.session.timeout.ms", -1)))
	slices.Sort(lines)
	return lines
}
