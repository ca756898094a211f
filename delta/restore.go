package delta

import (
	"fmt"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// Restore makes an image of the rows that a store kept of one. The rows must
// come in this order: the directories, the parts, the topics, each topic with
// its chunks by ascending number. Rows that are not what was kept give
// image.ErrBadRows; after an error the Restore is of no use. It belongs to one
// goroutine.
type Restore struct {
	delta   *Delta
	records record.Decoder
	topic   image.TopicRef
	started bool // topic is one
}

// NewRestore starts from nothing.
func NewRestore() *Restore { return &Restore{delta: NewSnapshot(image.Empty())} }

// Directories takes what image.TopicsImage.Directories gave.
func (r *Restore) Directories(all []image.BrokerDirectories) error {
	return r.delta.builder.Topics().LoadDirectories(all)
}

// Part takes the frame of a part: one of image.MetadataImage.WriteParts, or of
// a PartEdit. It keeps no reference to it.
func (r *Restore) Part(frame []byte) error {
	m, _, err := r.records.Decode(frame)
	if err != nil {
		return fmt.Errorf("%w: %w", image.ErrBadRows, err)
	}
	if _, ok := image.PartOf(m); !ok {
		return fmt.Errorf("%w: %s", image.ErrBadRows, m.Type().RecordName())
	}
	if err := r.delta.Replay(m); err != nil {
		return fmt.Errorf("%w: %s: %w", image.ErrBadRows, m.Type().RecordName(), err)
	}
	return nil
}

// Topic starts a topic with its chunk 0, as image.Topic.Rows gave it. Neither
// string is kept.
func (r *Restore) Topic(id kafka.TopicID, name, rows string) error {
	topics := r.delta.builder.Topics()
	_, idUsed := topics.FindID(id)
	_, nameUsed := topics.FindName(name)
	if name == "" || idUsed || nameUsed {
		return fmt.Errorf("%w: topic %.300q is there already, or has no name", image.ErrBadRows, name)
	}
	ref, err := topics.Add(id, name)
	if err != nil {
		return fmt.Errorf("%w: %w", image.ErrBadRows, err)
	}
	r.topic, r.started = ref, true
	return topics.LoadRows(ref, 0, rows)
}

// Chunk takes a further chunk of the topic that was started last.
func (r *Restore) Chunk(key uint32, rows string) error {
	if !r.started || key == 0 {
		return fmt.Errorf("%w: chunk %d follows no topic", image.ErrBadRows, key)
	}
	return r.delta.builder.Topics().LoadRows(r.topic, key, rows)
}

// Apply makes the image. It may be called once.
func (r *Restore) Apply(p image.Provenance) *image.MetadataImage { return r.delta.Apply(p) }
