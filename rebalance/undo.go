package rebalance

import (
	"iter"
	"slices"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// undo is the records, as frames, that make of an image an earlier one, as far
// as explanations look at images: the names, ids, partitions and replicas of
// topics, the racks of brokers, and the timeouts of members. Nobody ever wrote
// them. The change is what is known of the records between the two.
func undo(base, next *image.MetadataImage, c *historyChange, timeouts iter.Seq[image.Config]) [][]byte {
	u := undoing{base: base, next: next}
	named := make(map[kafka.NodeID]bool)
	for i := range c.Brokers {
		if id := c.Brokers[i].Broker; !named[id] {
			named[id] = true
			u.broker(id)
		}
	}
	u.topics(c.Sources)
	u.configs(timeouts)
	return u.frames
}

// undoing collects the records.
type undoing struct {
	base, next *image.MetadataImage
	frames     [][]byte
}

// add has no error to return: the version writes every field.
func (u *undoing) add(m record.Message) {
	frame, _ := record.AppendFrame(nil, m, m.Type().HighestVersion())
	u.frames = append(u.frames, frame)
}

func (u *undoing) broker(id kafka.NodeID) {
	if b, ok := u.base.Cluster().Broker(id); ok {
		u.add(&record.RegisterBrokerRecord{BrokerID: int32(id), BrokerEpoch: b.Epoch, Rack: b.Rack})
	} else if b, ok := u.next.Cluster().Broker(id); ok {
		u.add(&record.UnregisterBrokerRecord{BrokerID: int32(id), BrokerEpoch: b.Epoch})
	}
}

// topics removes those that are new before it brings back those that are gone:
// they may have one name.
func (u *undoing) topics(sources []sourceRow) {
	var ids []kafka.TopicID
	named := make(map[kafka.TopicID]bool)
	for i := range sources {
		if id := sources[i].ID; !named[id] {
			named[id] = true
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		if _, was := u.base.Topics().ByID(id); !was {
			if _, is := u.next.Topics().ByID(id); is {
				u.add(&record.RemoveTopicRecord{TopicID: id})
			}
		}
	}
	for _, id := range ids {
		if was, ok := u.base.Topics().ByID(id); ok {
			u.topic(was)
		}
	}
}

func (u *undoing) topic(was image.Topic) {
	is, there := u.next.Topics().ByID(was.ID())
	if there && sameNumbers(was, is) {
		u.replicas(was, is)
		return
	}
	u.add(&record.TopicRecord{TopicID: was.ID(), Name: was.Name()}) // it empties one that is there
	for number, p := range was.Partitions() {
		u.add(&record.PartitionRecord{
			TopicID: was.ID(), PartitionID: number, Replicas: numbers(p.Replicas), Isr: numbers(p.Replicas), Leader: int32(kafka.NoNode),
		})
	}
}

// sameNumbers says whether two states of a topic have the same partitions.
func sameNumbers(a, b image.Topic) bool {
	if a.NumPartitions() != b.NumPartitions() {
		return false
	}
	var replicas []kafka.NodeID
	for number := range a.Partitions() {
		there := false
		if replicas, there = b.AppendReplicas(replicas[:0], number); !there {
			return false
		}
	}
	return true
}

// replicas brings back those of partitions that have others now.
func (u *undoing) replicas(was, is image.Topic) {
	var now []kafka.NodeID
	for number, p := range was.Partitions() {
		now, _ = is.AppendReplicas(now[:0], number)
		if slices.Equal(now, p.Replicas) {
			continue
		}
		m := new(record.PartitionChangeRecord)
		m.Reset()
		m.TopicID, m.PartitionID, m.Replicas, m.Isr = was.ID(), number, numbers(p.Replicas), numbers(p.Replicas)
		m.Directories = make([]kafka.UUID, len(p.Replicas)) // unassigned, since there must be as many
		u.add(m)
	}
}

func numbers(ids []kafka.NodeID) []int32 {
	list := make([]int32, len(ids))
	for i, id := range ids {
		list[i] = int32(id)
	}
	return list
}

func (u *undoing) configs(changed iter.Seq[image.Config]) {
	for c := range changed {
		m := &record.ConfigRecord{ResourceType: c.Type, ResourceName: c.Name, Name: c.Key}
		if value, ok := u.base.Configs().Get(c.ConfigResource, c.Key); ok {
			m.Value = &value
		}
		u.add(m)
	}
}

// redo replays the records that undo gave.
func redo(m *image.MetadataImage, frames [][]byte, at image.Provenance) (*image.MetadataImage, error) {
	d := delta.New(m)
	var decoder record.Decoder
	for _, frame := range frames {
		message, _, err := decoder.Decode(frame)
		if err != nil {
			return nil, err
		}
		if err := d.Replay(message); err != nil {
			return nil, err
		}
	}
	return d.Apply(at), nil
}
