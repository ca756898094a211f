// Package delta turns metadata records into the next image by Kafka's own
// replay rules (the *Delta classes of org.apache.kafka.image) and tells what
// changed in a form that can be explained. It has no goroutine, clock, log or
// I/O.
package delta

import (
	"errors"
	"fmt"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog/record"
)

var (
	// ErrUnknownTopic means that a record names a topic id or a topic name
	// that is neither in the image nor created before the record.
	ErrUnknownTopic = errors.New("unknown topic")
	// ErrUnknownPartition means that a record changes a partition that does
	// not exist.
	ErrUnknownPartition = errors.New("unknown partition")
	// ErrUnknownBroker means that a record changes a broker that is not
	// registered.
	ErrUnknownBroker = errors.New("broker is not registered")
	// ErrConflict means that a record contradicts what is there: another
	// broker epoch, a topic name in use, a directory list of another length
	// than the replica list, a number that has no meaning.
	ErrConflict = errors.New("contradicts the image")
	// ErrUnknownRecord means that the record is of a kind that has no place
	// in a metadata log.
	ErrUnknownRecord = errors.New("not a metadata record")
)

// Delta is the changes from one image to the next. Replay adds records, Apply
// makes the image; after it the delta only answers what changed. The base
// image stays as it is. A Delta belongs to one goroutine until Apply; after it
// any number may read it.
type Delta struct {
	base, next *image.MetadataImage
	snapshot   bool
	builder    image.Builder // until Apply

	first     [1]image.TopicRef // memory of touched, enough for most
	touched   []image.TopicRef
	firstRow  [1]source // memory of sources, likewise
	sources   []source
	at        kafka.Offset // of the record that is being replayed
	deleted   []TopicIdentity
	newTopics bool
	brokers   []kafka.NodeID
	parts     []PartEdit
}

// TopicIdentity is a topic that may no longer exist.
type TopicIdentity struct {
	ID   kafka.TopicID
	Name string
}

// New starts a delta of log records.
func New(base *image.MetadataImage) *Delta {
	return &Delta{base: base, builder: image.NewBuilder(base)}
}

// NewSnapshot starts a delta of a snapshot's records, which stand for the
// whole image: what they do not mention is deleted
// (MetadataDelta.finishSnapshot). The one exception is Kafka's: without a
// ProducerIdsRecord the next producer id stays.
func NewSnapshot(base *image.MetadataImage) *Delta {
	d := &Delta{base: base, snapshot: true, builder: image.NewBuilder(image.Empty())}
	d.builder.SetNextProducerID(base.NextProducerID())
	return d
}

// ForgetProducerID makes a snapshot's delta forget the next producer id of the
// base image as well.
func (d *Delta) ForgetProducerID() { d.builder.SetNextProducerID(-1) }

// Replay adds a record whose offset is not known.
func (d *Delta) Replay(m record.Message) error { return d.ReplayAt(kafka.UnknownOffset, m) }

// ReplayAt adds the record at an offset of the log. It keeps no reference to
// m. After an error the delta is what it was before the record.
func (d *Delta) ReplayAt(offset kafka.Offset, m record.Message) error {
	d.at = offset
	switch r := m.(type) {
	case *record.PartitionRecord:
		return d.replayPartition(r)
	case *record.PartitionChangeRecord:
		return d.replayPartitionChange(r)
	case *record.TopicRecord:
		return d.replayTopic(r)
	case *record.RemoveTopicRecord:
		return d.replayRemoveTopic(r)
	case *record.ClearElrRecord:
		return d.replayClearElr(r)
	}
	if handled, err := d.replayCluster(m); handled {
		if err != nil {
			return err
		}
		return d.editPart(m)
	}
	if err := d.replayRest(m); err != nil {
		return err
	}
	return d.editPart(m)
}

// Apply makes the image that the records lead to. It may be called once.
func (d *Delta) Apply(p image.Provenance) *image.MetadataImage {
	d.next = d.builder.Build(p)
	d.builder = image.Builder{}
	d.settleTopics()
	return d.next
}

// Base is the image that the delta started from.
func (d *Delta) Base() *image.MetadataImage { return d.base }

// Image is what Apply made.
func (d *Delta) Image() *image.MetadataImage { return d.next }

// IsSnapshot says whether the records stand for the whole image.
func (d *Delta) IsSnapshot() bool { return d.snapshot }

func conflict(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrConflict, fmt.Sprintf(format, args...))
}
