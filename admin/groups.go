package admin

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/pipeline"
)

// What the APIs that describe groups have in common.

// find is the group of an id; a nil group without a code is one that does not
// exist. The code says that somebody else has to be asked, or later.
func (c *call) find(id string) (g *pipeline.Group, code int16) {
	if !c.may(opDescribe, groupResource, id) {
		return nil, codeGroupAuthorizationFailed
	}
	if code := c.answersFor(id); code != codeNone {
		return nil, code
	}
	g, _ = c.view.Group(id)
	return g, codeNone
}

// findNamed is find of an id that must not be empty.
func (c *call) findNamed(id string) (g *pipeline.Group, code int16) {
	if g, code = c.find(id); id == "" && code != codeGroupAuthorizationFailed {
		return nil, codeInvalidGroupID
	}
	return g, code
}

// findOfType is findNamed of a group that has to be of a type, and whose topics
// have to be such as the client may describe: else it is told nothing of the group.
// why is Kafka's message, nil where the code says it all.
func (c *call) findOfType(id string, t groups.Type) (g *pipeline.Group, code int16, why *string) {
	g, code = c.findNamed(id)
	switch {
	case code != codeNone:
		return nil, code, nil
	case g == nil || g.Type != t:
		return nil, codeGroupIDNotFound, notFound(id, g, t)
	case !c.mayDescribeTopics(g):
		return nil, codeTopicAuthorizationFailed, new(hiddenTopics)
	}
	return g, codeNone, nil
}

// hiddenTopics is what a group says some of whose topics may not be described.
const hiddenTopics = "The group has described topic(s) that the client is not authorized to describe."

// answersFor says with a code whether the connection answers for the partition
// that a group id belongs to, and whether all of it is here.
func (c *call) answersFor(id string) (code int16) {
	if c.offsetsPartitions == 0 {
		topic, ok := c.view.Image.Topics().ByName(kafka.OffsetsTopic)
		if !ok || topic.NumPartitions() == 0 {
			return codeNotCoordinator
		}
		c.offsetsPartitions = int32(topic.NumPartitions())
	}
	p, ok := c.view.Partition(groups.PartitionFor(id, c.offsetsPartitions))
	switch {
	case !ok, !p.Answers, c.broker != kafka.NoNode && p.Coordinator != c.broker:
		return codeNotCoordinator
	case !c.fresh.metadata, !c.fresh.partition(&p):
		return codeLoadInProgress
	}
	return codeNone
}

// notFound is what Kafka says of a group that is not there, or not of the type
// that is asked for.
func notFound(id string, g *pipeline.Group, t groups.Type) *string {
	if g == nil {
		return new(fmt.Sprintf("Group %s not found.", id))
	}
	return new(fmt.Sprintf("Group %s is not a %s group.", id, t))
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return new(s) // s itself would take memory in any case
}

// appendAssignment adds partitions with the names of their topics. A topic that
// was deleted is left out.
func (c *call) appendAssignment(to []kmsg.AssignmentTopicPartition, list []groups.TopicPartitions) []kmsg.AssignmentTopicPartition {
	for i := range list {
		if name, ok := c.topicName(list[i].TopicID); ok {
			to = append(to, kmsg.AssignmentTopicPartition{TopicID: list[i].TopicID, Topic: name, Partitions: list[i].Partitions})
		}
	}
	return to
}

// topicName looks for a topic. The members of a group read the same ones, one
// after the other.
func (c *call) topicName(id kafka.TopicID) (name string, ok bool) {
	if id == c.named.id && c.named.name != "" {
		return c.named.name, true
	}
	t, ok := c.view.Image.Topics().ByID(id)
	if !ok {
		return "", false
	}
	c.named.id, c.named.name = id, t.Name()
	return c.named.name, true
}

// mayDescribeTopics says whether all topics that a group subscribes to may be
// described: those of a streams group, and those that members of another name.
func (c *call) mayDescribeTopics(g *pipeline.Group) bool {
	if !c.door.closed() {
		return true
	}
	if g.Type == groups.Streams {
		return c.mayDescribeAll(g.SubscribedTopics)
	}
	for _, m := range g.Members {
		if !c.mayDescribeAll(m.SubscribedTopics) {
			return false
		}
	}
	return true
}

func (c *call) mayDescribeAll(topics []string) bool {
	for _, topic := range topics {
		if !c.may(opDescribe, topicResource, topic) {
			return false
		}
	}
	return true
}
