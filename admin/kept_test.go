package admin

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/internal/kafka"
)

// allTopics is the encoded answer to somebody who asks for all topics.
func (e *endpoint) allTopics(version int16, principal string) []byte {
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9192}
	c := e.server.newCall(version, kafka.NoNode, at, at, &session{principal: principal})
	q := &kmsg.MetadataRequest{Version: version}
	return c.metadata(q).AppendTo(nil)
}

// forgetAll drops all that is kept.
func (s *Server) forgetAll() {
	s.topics.clear()
	s.listed.clear()
	s.described.clear()
}

// encoded is the answer to a request.
func (e *endpoint) encoded(q kmsg.Request, version int16) []byte {
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9192}
	q.SetVersion(version)
	c := e.server.newCall(version, kafka.NoNode, at, at, &session{principal: anonymous})
	return e.server.served[q.Key()].answer(c, q).AppendTo(nil)
}

// Topics that were kept are those that would be made, after every change and in
// every version.
func TestKeptTopics(t *testing.T) {
	e := newEndpoint(t, nil)
	e.feedTopics(10, 5)
	for _, change := range []string{
		"",
		fmt.Sprintf(`PartitionChangeRecord {"topicId":%q,"partitionId":1,"leader":2,"isr":[2]}`, kafka.UUID{0: 1, 15: 2}),
		`FenceBrokerRecord {"id":3,"epoch":1}`,
		fmt.Sprintf(`RemoveTopicRecord {"topicId":%q}`, kafka.UUID{0: 1, 15: 4}),
		`ConfigRecord {"resourceType":2,"resourceName":"topic-1","name":"retention.ms","value":"1"}`,
	} {
		if change != "" {
			e.Metadata(change)
		}
		for version := range int16(14) {
			first := e.allTopics(version, anonymous)
			require.NotEmpty(t, e.server.topics.lists)
			require.True(t, bytes.Equal(first, e.allTopics(version, anonymous)), "version %d after %s", version, change)
			e.server.forgetAll()
			require.True(t, bytes.Equal(first, e.allTopics(version, anonymous)), "version %d after %s", version, change)
		}
	}
	e.server.topics.forget(e.server.o.Now().Add(keepFor + time.Second))
	require.Empty(t, e.server.topics.lists)
}

// Who may see some topics alone neither gets what was kept nor leaves it.
func TestKeptFromSome(t *testing.T) {
	e := newEndpoint(t, func(o *Options) {
		o.Login.Mechanisms = []string{"SCRAM-SHA-256"}
		o.Authorizer.SuperUsers = []string{"User:root"}
	})
	e.feedTopics(3, 1)
	e.Metadata(`AccessControlEntryRecord {"id":"$1","resourceType":2,"resourceName":"topic-1","patternType":3,"principal":"User:alice","host":"*","operation":8,"permissionType":3}`)
	e.allTopics(13, "User:alice")
	require.Empty(t, e.server.topics.lists)
	e.allTopics(13, "User:root")
	require.NotEmpty(t, e.server.topics.lists)
	var r kmsg.MetadataResponse
	r.Version = 13
	require.NoError(t, r.ReadFrom(e.allTopics(13, "User:alice")))
	require.Len(t, r.Topics, 1)
}

// Groups that were kept are those that would be listed and described, after every
// change.
func TestKeptGroups(t *testing.T) {
	e := newEndpoint(t, nil)
	e.feedTopics(2, 2)
	e.feedGroups(20)
	list := &kmsg.ListGroupsRequest{}
	empty := &kmsg.ListGroupsRequest{StatesFilter: []string{"Empty"}}
	describe := &kmsg.ConsumerGroupDescribeRequest{Groups: []string{"group-1", "group-3", "new", "none"}}
	all := []kmsg.Request{list, empty, describe}
	before := map[kmsg.Request][]byte{}
	for _, change := range []struct {
		group, topic string
		changes      []kmsg.Request
	}{
		{changes: all},
		{group: `3 {"groupId":"group-3"} null`, changes: []kmsg.Request{list, describe}},
		{group: `5 {"groupId":"new","memberId":"m"} {"clientId":"c","clientHost":"/h"}`, changes: []kmsg.Request{list, describe}},
		{group: `1 {"group":"group-4","topic":"topic-1","partition":0} {"offset":7,"metadata":"","commitTimestamp":1}`},
		{topic: fmt.Sprintf(`RemoveTopicRecord {"topicId":%q}`, kafka.UUID{0: 1, 15: 1}), changes: []kmsg.Request{describe}},
	} {
		if change.group != "" {
			e.Groups(0, change.group)
		}
		if change.topic != "" {
			e.Metadata(change.topic)
		}
		for _, q := range all {
			for version := range e.server.served[q.Key()].max + 1 {
				first := e.encoded(q, version)
				require.True(t, bytes.Equal(first, e.encoded(q, version)), "%s v%d after %v", kmsg.NameForKey(q.Key()), version, change)
				if version == e.server.served[q.Key()].max {
					require.Equal(t, slices.Contains(change.changes, q), !bytes.Equal(before[q], first), "%s after %v", kmsg.NameForKey(q.Key()), change)
					before[q] = first
				}
			}
		}
		kept := [][]byte{e.encoded(list, 5), e.encoded(empty, 5), e.encoded(describe, 1)}
		require.Len(t, e.server.listed.lists, 4+2+2, "states can be asked for from v4 on")
		require.Len(t, e.server.described.lists, 2)
		e.server.forgetAll()
		for i, q := range all {
			require.True(t, bytes.Equal(kept[i], e.encoded(q, e.server.served[q.Key()].max)), "%s after %v", kmsg.NameForKey(q.Key()), change)
		}
	}
}

// An answer that rests on what a partition is at the moment is not kept.
func TestKeptOnlyIfComplete(t *testing.T) {
	e := newEndpoint(t, nil)
	e.feedGroups(3)
	q := &kmsg.ConsumerGroupDescribeRequest{Groups: []string{"group-1"}}
	e.encoded(q, 1)
	require.Len(t, e.server.described.lists, 1)
	e.server.forgetAll()
	e.GroupsProgress(offsetslog.Progress{Partition: 0, End: 1000, Loading: true, LoadEnd: 1000})
	e.encoded(q, 1)
	require.Empty(t, e.server.described.lists)
}

// What is kept is bounded: what was not asked for the longest goes, and the newest
// stays however large it is.
func TestKeptIsBounded(t *testing.T) {
	var k kept[int]
	now := time.Unix(0, 0)
	keep := func(state int, request string, size int) {
		s := &streamed{}
		require.False(t, k.use(s, state, question{request: request}, now))
		s.keep(make([]byte, size))
		now = now.Add(time.Second)
	}
	has := func(request string) bool { return k.lists[question{request: request}] != nil }
	keep(1, "a", keepBytes/3)
	keep(1, "b", keepBytes/3)
	require.True(t, k.use(&streamed{}, 1, question{request: "a"}, now))
	keep(1, "c", keepBytes/2)
	require.True(t, has("a") && !has("b") && has("c"))
	keep(1, "d", 2*keepBytes)
	require.True(t, has("d"))
	require.Len(t, k.lists, 1)
	keep(1, strings.Repeat("e", keepBytes), 1)
	require.Len(t, k.lists, 1, "requests count, too")
	keep(2, "f", 1)
	require.Len(t, k.lists, 1, "of another state")
	require.Equal(t, k.lists[question{request: "f"}].size(question{request: "f"}), k.bytes)
	k.forget(now.Add(keepFor + time.Second))
	require.Zero(t, k.bytes)
	require.Zero(t, k.of, "nothing of the state is held")
}
