package pipeline

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	grouprecord "github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/internal/wire"
	"github.com/kraftside/kraftside/metadatalog/record"
	"github.com/kraftside/kraftside/test/simquorum"
)

// story is both logs of a cluster, in the order in which a sidecar that is
// never stopped reads them.
type story struct{ events []event }

// last is when the last event is.
func (s *story) last() int64 { return s.events[len(s.events)-1].at }

// event is one step of the story.
type event struct {
	at int64 // the sidecar's clock
	// partition of __consumer_offsets, or metadataLog; batch is the next one
	// of its log, nil if only time passes.
	partition int32
	batch     []byte
	// snapshot stands, unless it is nil, for the metadata log before end.
	snapshot []byte
	end      kafka.Offset
	// follow is, unless it is nil, which partitions are followed from now on.
	follow []int32
}

// teller writes a story.
type teller struct {
	*cluster
	story
}

func (s *teller) add(e event) {
	e.at = s.now
	s.events = append(s.events, e)
}

// follow says which partitions are followed from now on.
func (s *teller) follow(partitions ...int32) { s.add(event{follow: partitions}) }

// pause lets time pass.
func (s *teller) pause(seconds int64) {
	s.now += seconds * 1000
	s.add(event{})
}

// snapshot has a snapshot of the image as it is now come in the place of a part
// of the log that nobody can read any more.
func (s *teller) snapshot() {
	var values [][]byte
	require.NoError(s.t, s.p.View().Image.Write(func(m record.Message, version int16) error {
		frame, err := record.AppendFrame(nil, m, version)
		values = append(values, frame)
		return err
	}))
	s.metadata += 5
	s.add(event{partition: metadataLog, snapshot: simquorum.Snapshot(1, values...), end: s.metadata})
}

// transaction appends offsets of a producer whose transaction is open then.
func (s *teller) transaction(partition int32, producer int64, records ...keyed) {
	var all []recordbatch.Record
	for i := range records {
		key, value := records[i].encode(s.t)
		all = append(all, recordbatch.Record{Key: key, Value: value})
	}
	s.appendRaw(partition, recordbatch.Transactional, producer, all...)
}

// end appends the marker that ends a producer's transaction.
func (s *teller) end(partition int32, producer int64, kind recordbatch.ControlType) {
	s.appendRaw(partition, recordbatch.Transactional|recordbatch.Control, producer, recordbatch.Record{
		Key: wire.AppendInt16(wire.AppendInt16(nil, 0), int16(kind)), Value: make([]byte, 6),
	})
}

func offset(group string, partition int32, offset int64) keyed {
	return keyed{&grouprecord.OffsetCommitKey{Group: group, Topic: "orders", Partition: partition}, &grouprecord.OffsetCommitValue{Offset: offset}}
}

func subscriber(group, id string, topics ...string) keyed {
	return keyed{&grouprecord.ConsumerGroupMemberMetadataKey{GroupID: group, MemberID: id},
		&grouprecord.ConsumerGroupMemberMetadataValue{SubscribedTopicNames: topics}}
}

// tellStory writes a story that has something of everything which is stored:
// every kind of row, every verdict but drift, an election, a snapshot,
// transactions of both logs that are open for a while, records that Kafka would
// not replay, a partition that leaves, and a topic that loses its last
// subscriber.
func tellStory(t *testing.T) *story {
	s := &teller{cluster: newCluster(t, Options{Scope: All, NodeID: kafka.NoNode})}
	s.written = func(partition int32, batch []byte) {
		s.add(event{partition: partition, batch: slices.Clone(batch)})
	}
	s.found()
	s.join()
	s.change()
	s.leave()
	return &s.story
}

// found makes the cluster.
func (s *teller) found() {
	s.apply(broker(1, "rack-1"), broker(2, "rack-2"), broker(3, "rack-3"))
	s.apply(topic(9, kafka.OffsetsTopic), partition(9, 0, "[1,2]", 1), partition(9, 1, "[2,3]", 2), partition(9, 2, "[3,1]", 3))
	s.follow(0, 1, 2)
	s.apply(topic(1, "orders"), partition(1, 0, "[1,2]", 1), partition(1, 1, "[2,3]", 2), partition(1, 2, "[3,1]", 3),
		topic(5, "archive"), partition(5, 0, "[1]", 1), partition(5, 700, "[2]", 2))
	s.snapshot()
	s.apply(topic(2, "payments"), partition(2, 0, "[1,2]", 1), topic(3, "returns"), partition(3, 0, "[3,2]", 3))
}

// join makes the groups, and offsets of transactions.
func (s *teller) join() {
	s.write(0, subscriber("g", "m", "orders", "payments"), epoch("g", 2, s.fresh("orders", "payments")))
	s.write(1, subscriber("h", "m", "orders"), epoch("h", 2, s.fresh("orders")), offset("classic", 1, 5))
	s.write(2, subscriber("away", "m", "returns"), epoch("away", 2, s.fresh("returns")))
	s.transaction(1, 77, offset("h", 0, 10), offset("h", 1, 11))
	s.transaction(0, 78, offset("g", 0, 20))
	s.appendRaw(0, 0, -1, recordbatch.Record{Key: []byte{0, 3, 0}, Value: []byte{0}}) // nobody can decode it
	s.write(0, subscriber("i", "m", "payments", "nowhere"))
}

// change makes stored hashes untrue, in a transaction of the metadata log, and
// moves a coordinator.
func (s *teller) change() {
	s.apply(`ConfigRecord {"resourceType":2,"resourceName":"orders","name":"retention.ms","value":"1000"}`, `BeginTransactionRecord {"name":"move"}`,
		change(1, 0, `"replicas":[2,3],"isr":[2,3],"leader":2`))
	s.write(0, offset("g", 1, 21))
	s.apply(change(2, 0, `"replicas":[2,3],"isr":[2,3],"leader":2`))
	s.end(1, 77, recordbatch.CommitMarker)
	s.apply(`EndTransactionRecord {}`, `RemoveTopicRecord {"topicId":"`+topicID(3).String()+`"}`)
	s.apply(change(9, 0, `"isr":[2],"leader":2`))
	s.write(0, epoch("g", 3, s.fresh("orders", "payments")))
	s.follow(0, 1)
	s.apply(`UnregisterBrokerRecord {"brokerId":3,"brokerEpoch":1}`)
	s.pause(20)
	s.apply(`UserScramCredentialRecord {"name":"u","mechanism":1,"salt":"AQ==","storedKey":"Ag==","serverKey":"Aw==","iterations":4096}`)
}

// leave ends some of it.
func (s *teller) leave() {
	s.write(1, subscriber("j", "m", "returns"), epoch("j", 1, 0), keyed{key: &grouprecord.ConsumerGroupMemberMetadataKey{GroupID: "h", MemberID: "nobody"}})
	s.write(0, subscriber("i", "m", "nowhere"), offset("g", 2, 22))
	s.apply(topic(4, "returns"), partition(4, 0, "[1,2]", 1))
	s.end(0, 78, recordbatch.AbortMarker)
	s.pause(30)
	s.transaction(1, 79, offset("h", 2, 30))
	s.write(1, keyed{key: &grouprecord.OffsetCommitKey{Group: "classic", Topic: "orders", Partition: 1}})
	s.apply(change(2, 0, `"leader":3`), `ConfigRecord {"resourceType":2,"resourceName":"orders","name":"retention.ms"}`)
	s.pause(3)
}
