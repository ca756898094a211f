package admin

import (
	"cmp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/pipeline"
)

// OffsetFetch v1-10 (KafkaApis.handleOffsetFetchRequest, OffsetMetadataManager):
//
//   - What is not committed is offset -1, without an error; so is everything of
//     a group that does not exist. Offsets outlive their group.
//   - Null for the topics means all that are committed, from v2 on. v8 takes
//     many groups, v9 a member and its epoch, v10 topics by id.
//   - With RequireStable an offset that an open transaction is about to change
//     is UNSTABLE_OFFSET_COMMIT, which clients try again.
func (c *call) offsetFetch(q *kmsg.OffsetFetchRequest) *kmsg.OffsetFetchResponse {
	r := reply[*kmsg.OffsetFetchResponse](q)
	if c.version >= 8 {
		for i := range q.Groups {
			r.Groups = append(r.Groups, c.groupOffsets(&q.Groups[i], q.RequireStable))
		}
		return r
	}
	one := kmsg.NewOffsetFetchRequestGroup()
	one.Group = q.Group
	for _, t := range q.Topics {
		one.Topics = append(one.Topics, kmsg.OffsetFetchRequestGroupTopic{Topic: t.Topic, Partitions: t.Partitions})
	}
	g := c.groupOffsets(&one, q.RequireStable)
	if c.version < 2 && g.ErrorCode != codeNone {
		g.Topics, g.ErrorCode = failedOffsets(one.Topics, g.ErrorCode), codeNone
	}
	r.ErrorCode = g.ErrorCode
	for _, t := range g.Topics {
		r.Topics = append(r.Topics, singleTopic(&t))
	}
	return r
}

// singleTopic is a topic in the form of the versions up to 7.
func singleTopic(t *kmsg.OffsetFetchResponseGroupTopic) kmsg.OffsetFetchResponseTopic {
	r := kmsg.OffsetFetchResponseTopic{Topic: t.Topic}
	for _, p := range t.Partitions {
		r.Partitions = append(r.Partitions, kmsg.OffsetFetchResponseTopicPartition{
			Partition: p.Partition, Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: p.Metadata, ErrorCode: p.ErrorCode,
		})
	}
	return r
}

// failedOffsets says of every partition that it failed.
func failedOffsets(topics []kmsg.OffsetFetchRequestGroupTopic, code int16) (failed []kmsg.OffsetFetchResponseGroupTopic) {
	for i := range topics {
		failed = append(failed, failedTopic(&topics[i], code))
	}
	return failed
}

func failedTopic(q *kmsg.OffsetFetchRequestGroupTopic, code int16) kmsg.OffsetFetchResponseGroupTopic {
	r := kmsg.OffsetFetchResponseGroupTopic{Topic: q.Topic, TopicID: q.TopicID}
	for _, number := range q.Partitions {
		r.Partitions = append(r.Partitions, noOffset(number, code))
	}
	return r
}

// noOffset is what is said of a partition without a committed offset.
func noOffset(number int32, code int16) kmsg.OffsetFetchResponseGroupTopicPartition {
	return kmsg.OffsetFetchResponseGroupTopicPartition{Partition: number, Offset: -1, LeaderEpoch: -1, Metadata: new(""), ErrorCode: code}
}

func (c *call) groupOffsets(q *kmsg.OffsetFetchRequestGroup, stable bool) kmsg.OffsetFetchResponseGroup {
	r := kmsg.OffsetFetchResponseGroup{Group: q.Group}
	g, code := c.findNamed(q.Group)
	if code == codeNone {
		code = mayFetch(g, q)
	}
	if code != codeNone {
		r.ErrorCode = code
		return r
	}
	all := committed{list: c.o.Offsets(q.Group), stable: stable}
	if q.Topics == nil && c.version >= 2 {
		r.Topics = c.allOffsets(&all)
		return r
	}
	for i := range q.Topics {
		r.Topics = append(r.Topics, c.topicOffsets(&q.Topics[i], &all))
	}
	return r
}

// mayFetch checks the member in whose name offsets are fetched
// (Group.validateOffsetFetch).
func mayFetch(g *pipeline.Group, q *kmsg.OffsetFetchRequestGroup) (code int16) {
	switch {
	case g == nil:
		return codeNone
	case g.Type == groups.Classic, g.Type == groups.Share, q.MemberID == nil && q.MemberEpoch < 0:
		return codeNone
	}
	i := slices.IndexFunc(g.Members, func(m *groups.Member) bool { return q.MemberID != nil && m.ID == *q.MemberID })
	if i < 0 {
		return codeUnknownMemberID
	}
	if g.Members[i].Epoch != q.MemberEpoch {
		return codeStaleMemberEpoch
	}
	return codeNone
}

// committed is the offsets of a group, sorted by topic and partition, the one
// in effect before those of open transactions.
type committed struct {
	list   []groups.CommittedOffset
	stable bool // what an open transaction is about to change is an error
}

// of is what is said of a partition, and whether anything was committed.
func (o *committed) of(topic string, number int32) (r kmsg.OffsetFetchResponseGroupTopicPartition, ok bool) {
	r = noOffset(number, codeNone)
	at, _ := slices.BinarySearchFunc(o.list, number, func(have groups.CommittedOffset, number int32) int {
		return compareOffset(&have, topic, number)
	})
	for ; at < len(o.list) && compareOffset(&o.list[at], topic, number) == 0; at++ {
		have := &o.list[at]
		if have.ProducerID != -1 {
			if o.stable {
				return noOffset(number, codeUnstableOffsetCommit), ok
			}
			continue
		}
		ok = true
		r.Offset, r.LeaderEpoch, r.Metadata = have.Offset, have.LeaderEpoch, &have.Metadata
	}
	return r, ok
}

func compareOffset(o *groups.CommittedOffset, topic string, number int32) int {
	return cmp.Or(strings.Compare(o.Topic, topic), cmp.Compare(o.Partition, number))
}

func (c *call) topicOffsets(q *kmsg.OffsetFetchRequestGroupTopic, all *committed) kmsg.OffsetFetchResponseGroupTopic {
	name := q.Topic
	if c.version >= 10 {
		t, ok := c.view.Image.Topics().ByID(q.TopicID)
		if !ok {
			return failedTopic(q, codeUnknownTopicID)
		}
		name = t.Name()
	}
	if !c.may(opDescribe, topicResource, name) {
		return failedTopic(q, codeTopicAuthorizationFailed)
	}
	r := kmsg.OffsetFetchResponseGroupTopic{Topic: q.Topic, TopicID: q.TopicID}
	for _, number := range q.Partitions {
		p, _ := all.of(name, number)
		r.Partitions = append(r.Partitions, p)
	}
	return r
}

// allOffsets are those of every topic that may be described and, where topics
// are told by their ids, exists.
func (c *call) allOffsets(all *committed) (topics []kmsg.OffsetFetchResponseGroupTopic) {
	for list := all.list; len(list) > 0; {
		n := slices.IndexFunc(list, func(o groups.CommittedOffset) bool { return o.Topic != list[0].Topic })
		if n < 0 {
			n = len(list)
		}
		if t, ok := c.allOfTopic(list[:n], all); ok {
			topics = append(topics, t)
		}
		list = list[n:]
	}
	return topics
}

func (c *call) allOfTopic(list []groups.CommittedOffset, all *committed) (r kmsg.OffsetFetchResponseGroupTopic, ok bool) {
	name := list[0].Topic
	if !c.may(opDescribe, topicResource, name) {
		return r, false
	}
	if c.version >= 10 {
		t, exists := c.view.Image.Topics().ByName(name)
		if !exists {
			return r, false
		}
		r.TopicID = t.ID()
	}
	r.Topic = name
	for i := range list {
		if i > 0 && list[i].Partition == list[i-1].Partition {
			continue
		}
		if p, committed := all.of(name, list[i].Partition); committed {
			r.Partitions = append(r.Partitions, p)
		}
	}
	return r, len(r.Partitions) > 0
}
