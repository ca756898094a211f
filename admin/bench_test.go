package admin

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/kafka"
)

// feedTopics makes a cluster of 30 brokers in three racks with topics of so many
// partitions.
func (e *endpoint) feedTopics(topics, partitions int) {
	var lines []string
	for id := range 30 {
		lines = append(lines, fmt.Sprintf(`RegisterBrokerRecord {"brokerId":%d,"brokerEpoch":1,"fenced":false,"rack":"rack-%d","endPoints":[{"name":"INTERNAL","host":"b%d.example","port":9092}]}`,
			id, id%3, id))
	}
	for n := range topics {
		id := kafka.UUID{0: 1, 14: byte(n >> 8), 15: byte(n)}
		lines = append(lines, fmt.Sprintf(`TopicRecord {"name":"topic-%d","topicId":%q}`, n, id))
		for p := range partitions {
			a, b, c := (n+p)%30, (n+p+1)%30, (n+p+2)%30
			lines = append(lines, fmt.Sprintf(`PartitionRecord {"topicId":%q,"partitionId":%d,"replicas":[%d,%d,%d],"isr":[%d,%d,%d],"leader":%d,"leaderEpoch":3}`,
				id, p, a, b, c, a, b, c, a))
		}
		if len(lines) > 5000 {
			e.Metadata(lines...)
			lines = nil
		}
	}
	e.Metadata(lines...)
}

// feedGroups makes consumer groups with two members each.
func (e *endpoint) feedGroups(n int) {
	e.Metadata(`TopicRecord {"name":"__consumer_offsets","topicId":"$9"}`,
		`PartitionRecord {"topicId":"$9","partitionId":0,"replicas":[1],"isr":[1],"leader":1,"leaderEpoch":0}`)
	var lines []string
	for i := range n {
		g := fmt.Sprintf(`{"groupId":"group-%d"`, i)
		for m := range 2 {
			member := fmt.Sprintf(`%s,"memberId":"member-%d"}`, g, m)
			lines = append(lines,
				`5 `+member+` {"clientId":"client","clientHost":"/10.0.0.1","subscribedTopicNames":["topic-1"]}`,
				fmt.Sprintf(`8 %s {"memberEpoch":2,"assignedPartitions":[{"topicId":%q,"partitions":[%d]}]}`, member, kafka.UUID{0: 1, 15: 1}, m))
		}
		lines = append(lines, `6 `+g+`} {"assignmentEpoch":2}`, `3 `+g+`} {"epoch":2,"metadataHash":1}`)
	}
	e.Groups(0, lines...)
}

// answered is how large the answer to a request is.
func (e *endpoint) answered(b *testing.B, q kmsg.Request) int {
	q.SetVersion(e.server.served[q.Key()].max)
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9192}
	c := e.server.newCall(q.GetVersion(), kafka.NoNode, at, at, &session{principal: anonymous})
	buffer := e.server.buffers.Get().(*[]byte)
	*buffer = e.server.served[q.Key()].answer(c, q).AppendTo((*buffer)[:0])
	n := len(*buffer)
	e.server.buffers.Put(buffer)
	if n < 1000 {
		b.Fatal("the answer is empty")
	}
	return n
}

// BenchmarkAnswers answers what dashboards ask, without a network.
func BenchmarkAnswers(b *testing.B) {
	e := newEndpoint(b, nil)
	e.feedTopics(5000, 50)
	e.feedGroups(10_000)
	var thousand []string
	for i := range 1000 {
		thousand = append(thousand, fmt.Sprintf("group-%d", i))
	}
	all := []kmsg.Request{&kmsg.MetadataRequest{}, &kmsg.ListGroupsRequest{}, &kmsg.ConsumerGroupDescribeRequest{Groups: thousand}}
	for _, q := range all {
		b.Run(kmsg.NameForKey(q.Key())+" that has changed", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e.server.forgetAll()
				b.SetBytes(int64(e.answered(b, q)))
			}
		})
	}
	for _, q := range all {
		b.Run(strings.TrimSpace(kmsg.NameForKey(q.Key())), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.SetBytes(int64(e.answered(b, q)))
			}
		})
	}
}
