package delta

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// touch notes that a record names a topic. Records of one topic come
// together, so that most repetitions are dropped at once; Apply drops the rest.
func (d *Delta) touch(ref image.TopicRef) {
	n := len(d.touched)
	if n == 0 {
		d.touched = d.first[:0]
	}
	if n == 0 || d.touched[n-1] != ref {
		d.touched = append(d.touched, ref)
	}
}

func (d *Delta) replayTopic(r *record.TopicRecord) error {
	topics := d.builder.Topics()
	if ref, ok := topics.FindID(r.TopicID); ok {
		return d.replayTopicAgain(ref, r)
	}
	if ref, ok := topics.FindName(r.Name); ok {
		return conflict("topic %s has the id %s already, the record gives it %s", r.Name, topics.Topic(ref).ID(), r.TopicID)
	}
	ref, err := topics.Add(r.TopicID, r.Name)
	if err != nil {
		return conflict("%v", err)
	}
	d.newTopics = true
	d.touch(ref)
	d.note(source{ref: ref, number: noPartition, kind: record.TypeTopicRecord})
	return nil
}

// replayTopicAgain handles a second TopicRecord of a living topic, which
// starts it anew without partitions.
func (d *Delta) replayTopicAgain(ref image.TopicRef, r *record.TopicRecord) error {
	topics := d.builder.Topics()
	if name := topics.Topic(ref).Name(); name != r.Name {
		return conflict("topic id %s is that of %s, the record calls it %s", r.TopicID, name, r.Name)
	}
	topics.Clear(ref)
	d.newTopics = true
	d.touch(ref)
	d.note(source{ref: ref, number: noPartition, kind: record.TypeTopicRecord})
	return nil
}

func (d *Delta) replayRemoveTopic(r *record.RemoveTopicRecord) error {
	topics := d.builder.Topics()
	ref, ok := topics.FindID(r.TopicID)
	if !ok {
		return fmt.Errorf("%w: no topic has the id %s", ErrUnknownTopic, r.TopicID)
	}
	name := strings.Clone(topics.Topic(ref).Name())
	topics.Remove(ref)
	d.note(source{removed: &TopicIdentity{r.TopicID, name}, number: noPartition, kind: record.TypeRemoveTopicRecord})
	if _, inBase := d.base.Topics().ByID(r.TopicID); inBase {
		d.deleted = append(d.deleted, TopicIdentity{r.TopicID, name})
		d.removeTopicConfigs(name)
	}
	return nil
}

// removeTopicConfigs drops the configuration of a deleted topic. Kafka does so
// only for what the base image holds: what was set for a topic that was
// created in the same delta stays.
func (d *Delta) removeTopicConfigs(name string) {
	resource := image.ConfigResource{Type: image.TopicConfig, Name: name}
	var keys []string
	for c := range d.builder.Configs().Of(resource) {
		keys = append(keys, c.Key)
	}
	for _, key := range keys {
		d.builder.RemoveConfig(resource, key)
		gone := record.ConfigRecord{ResourceType: resource.Type, ResourceName: name, Name: key}
		if part, ok := image.PartOf(&gone); ok && !d.snapshot {
			d.parts = append(d.parts, PartEdit{Key: part})
		}
	}
}

// settleTopics makes the list of touched topics one of distinct, living ones.
func (d *Delta) settleTopics() {
	if d.snapshot {
		d.touched = nil // all of them
		d.deleted = d.missingTopics()
		return
	}
	slices.Sort(d.touched)
	d.touched = slices.Compact(d.touched)
}

// missingTopics is the topics of the base that the new image lacks.
func (d *Delta) missingTopics() (missing []TopicIdentity) {
	for t := range d.base.Topics().All() {
		if _, ok := d.next.Topics().ByID(t.ID()); !ok {
			missing = append(missing, TopicIdentity{t.ID(), t.Name()})
		}
	}
	return missing
}

// TouchedTopics yields, as they are in the new image, the topics that some
// record named, whether or not anything about them is different: it is this
// that makes a group coordinator drop a cached hash (TopicsDelta.changedTopics).
// A snapshot names every topic.
func (d *Delta) TouchedTopics() iter.Seq[image.Topic] {
	if d.snapshot {
		return d.next.Topics().All()
	}
	return func(yield func(image.Topic) bool) {
		for _, ref := range d.touched {
			if t, ok := d.next.Topics().At(ref); ok && !yield(t) {
				return
			}
		}
	}
}

// DeletedTopics is the topics of the base image that are gone
// (TopicsDelta.deletedTopicIds). A topic that was created again under its old
// name is among them with its old id.
func (d *Delta) DeletedTopics() []TopicIdentity { return d.deleted }

// HasNewTopics says whether a topic was created.
func (d *Delta) HasNewTopics() bool { return d.newTopics }

// find returns the topic with the id.
func (d *Delta) find(id kafka.TopicID) (image.TopicRef, error) {
	ref, ok := d.builder.Topics().FindID(id)
	if !ok {
		return 0, fmt.Errorf("%w: no topic has the id %s", ErrUnknownTopic, id)
	}
	return ref, nil
}
