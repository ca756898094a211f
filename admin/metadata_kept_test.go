package admin

import (
	"bytes"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/kafka"
)

// allTopics is the encoded answer to somebody who asks for all topics.
func (e *endpoint) allTopics(version int16, principal string) []byte {
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9192}
	c := e.server.newCall(version, kafka.NoNode, at, at, &session{principal: principal})
	q := &kmsg.MetadataRequest{Version: version}
	return c.metadata(q).AppendTo(nil)
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
			require.NotNil(t, e.server.kept.Load())
			require.True(t, bytes.Equal(first, e.allTopics(version, anonymous)), "version %d after %s", version, change)
			e.server.kept.Store(nil)
			require.True(t, bytes.Equal(first, e.allTopics(version, anonymous)), "version %d after %s", version, change)
		}
	}
	e.server.forgetTopics(e.server.o.Now().Add(keepTopics + time.Second))
	require.Nil(t, e.server.kept.Load())
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
	require.Nil(t, e.server.kept.Load())
	e.allTopics(13, "User:root")
	require.NotNil(t, e.server.kept.Load())
	var r kmsg.MetadataResponse
	r.Version = 13
	require.NoError(t, r.ReadFrom(e.allTopics(13, "User:alice")))
	require.Len(t, r.Topics, 1)
}
