package delta

import (
	"iter"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// Source is a record that named a topic or registered a broker: what a group
// coordinator may have reacted to.
type Source struct {
	// Offset is kafka.UnknownOffset if Replay was not told it.
	Offset kafka.Offset
	// Record is the name of its type.
	Record string
	// Topic is that of a record of a topic, as it is in the new image; of
	// RemoveTopicRecord, as it was. It is empty in a record of a broker.
	Topic TopicIdentity
	// Partition is -1 in a record of the whole topic.
	Partition int32
	// Broker is kafka.NoNode in a record of a topic.
	Broker kafka.NodeID
	// Assigns says that the record gives the partition its replicas, Elects
	// that it starts a leader epoch of it.
	Assigns, Elects bool
}

// effects of a record of a partition.
type effects uint8

const (
	assigns effects = 1 << iota
	elects
)

// source is a Source before the new image exists. Most deltas of a busy
// cluster hold thousands.
type source struct {
	offset  kafka.Offset
	removed *TopicIdentity // of RemoveTopicRecord, which ref no longer finds
	ref     image.TopicRef
	number  int32 // of the partition, or of the broker
	kind    record.Type
	effects effects
}

const noPartition = -1

// note keeps where a record came from. The records of a snapshot say nothing
// of when something happened.
func (d *Delta) note(s source) {
	if d.snapshot {
		return
	}
	if d.sources == nil {
		d.sources = d.firstRow[:0]
	}
	s.offset = d.at
	d.sources = append(d.sources, s)
}

// Sources yields, in the order of the log, the records of topics and of
// brokers' registrations, but for those of topics that are gone again in the
// same delta. A snapshot has none. It is to be called after Apply.
func (d *Delta) Sources() iter.Seq[Source] {
	return func(yield func(Source) bool) {
		for i := range d.sources {
			if s, ok := d.source(&d.sources[i]); ok && !yield(s) {
				return
			}
		}
	}
}

func (d *Delta) source(s *source) (Source, bool) {
	out := Source{
		Offset: s.offset, Record: s.kind.RecordName(), Partition: s.number, Broker: kafka.NoNode,
		Assigns: s.effects&assigns != 0, Elects: s.effects&elects != 0,
	}
	switch {
	case s.kind == record.TypeRegisterBrokerRecord || s.kind == record.TypeUnregisterBrokerRecord:
		out.Broker, out.Partition = kafka.NodeID(s.number), noPartition
	case s.removed != nil:
		out.Topic = *s.removed
	default:
		t, ok := d.next.Topics().At(s.ref)
		if !ok {
			return out, false
		}
		out.Topic = TopicIdentity{t.ID(), t.Name()}
	}
	return out, true
}
