package dump

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	groups "github.com/kraftside/kraftside/groups/record"
	"github.com/kraftside/kraftside/internal/recordgen/vectors"
)

func readFile(t testing.TB, path string) []byte {
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

// classicGroups are a group with two members and one whose member has not been
// assigned anything.
func classicGroups(t testing.TB, protocolType string) []*groups.GroupMetadataValue {
	var s groups.ConsumerProtocolSubscription
	s.Reset()
	s.Topics, s.UserData = []string{`a"subscription":""`, "b"}, []byte{1, 2}
	subscription, err := s.Append([]byte{0, 3}, 3)
	require.NoError(t, err)
	var a groups.ConsumerProtocolAssignment
	a.AssignedPartitions = []groups.ProtocolTopicPartitions{{Topic: "a", Partitions: []int32{0, 1}}}
	assignment, err := a.Append([]byte{0, 1}, 1)
	require.NoError(t, err)
	member := func(id string, subscription, assignment []byte) groups.MemberMetadata {
		return groups.MemberMetadata{MemberID: id, ClientID: `"assignment":""`, ClientHost: "/h", Subscription: subscription, Assignment: assignment}
	}
	protocol := "range"
	return []*groups.GroupMetadataValue{
		{ProtocolType: protocolType, Generation: 1, Protocol: &protocol, Members: []groups.MemberMetadata{
			member("m1", subscription, assignment), member("m2", subscription, assignment),
		}},
		{ProtocolType: protocolType, Members: []groups.MemberMetadata{member("m1", []byte{}, []byte{})}},
		{ProtocolType: protocolType},
	}
}

func TestClassicGroup(t *testing.T) {
	const head = `{"protocolType":"consumer","generation":1,"protocol":"range","leader":null,"currentStateTimestamp":0,"members":[`
	const tail = `"subscription":{"topics":["a\"subscription\":\"\"","b"],"userData":"AQI=","ownedPartitions":[],"generationId":-1,"rackId":null},` +
		`"assignment":{"assignedPartitions":[{"topic":"a","partitions":[0,1]}],"userData":null}}`
	member := func(id string) string {
		return `{"memberId":"` + id + `","groupInstanceId":null,"clientId":"\"assignment\":\"\"","clientHost":"/h","rebalanceTimeout":0,"sessionTimeout":0,`
	}
	var d decoder
	all := classicGroups(t, "consumer")
	vectors.RequireSameJSON(t, []byte(head+member("m1")+tail+","+member("m2")+tail+"]}"), d.appendClassic(nil, all[0], 3), "two members")
	for _, v := range append(all[1:], classicGroups(t, "connect")...) {
		want := v.AppendJSON(nil, 3)
		require.Equal(t, string(want), string(d.appendClassic(nil, v, 3)), "Kafka's tool leaves these as they are")
	}

	// A subscription that is none stays the bytes that it is.
	broken := *all[0]
	broken.Members = []groups.MemberMetadata{{Subscription: []byte{0, 3, 9}, Assignment: []byte{0xff}}}
	require.Equal(t, string(broken.AppendJSON(nil, 3)), string(d.appendClassic(nil, &broken, 3)))
}
