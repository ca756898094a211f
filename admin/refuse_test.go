package admin

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A request that is not served gets an answer in which all that it asks has an
// error, in its own place.
func TestRefused(t *testing.T) {
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: "one"}, {Topic: "two"}}
	offsets := kmsg.NewPtrListOffsetsRequest()
	offsets.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: "one", Partitions: []kmsg.ListOffsetsRequestTopicPartition{{Partition: 3}, {Partition: 4}}}}
	remove := kmsg.NewPtrDeleteGroupsRequest()
	remove.Groups = []string{"one", "two"}
	acls := kmsg.NewPtrCreateACLsRequest()
	acls.Creations = make([]kmsg.CreateACLsRequestCreation, 2)
	producers := kmsg.NewPtrDescribeProducersRequest()
	producers.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: "one", Partitions: []int32{3, 4}}}
	transactions := kmsg.NewPtrDescribeTransactionsRequest()
	transactions.TransactionalIDs = []string{"one"}
	silent := kmsg.NewPtrProduceRequest()
	silent.Acks = 0
	for _, test := range []struct {
		request kmsg.Request
		version int16
		want    string // of the answer, in which E is the error
	}{
		{create, 7, `one E two E`},
		{offsets, 11, `one 3 E 4 E`},
		{remove, 2, `one E two E`},
		{acls, 3, `E E`},
		{producers, 0, `one 3 E 4 E`},
		{transactions, 0, `E one`},
		{kmsg.NewPtrInitProducerIDRequest(), 5, `E`},
		{kmsg.NewPtrDescribeLogDirsRequest(), 4, `E`},
		{kmsg.NewPtrDescribeLogDirsRequest(), 2, ``}, // has no place for it
		{silent, 11, ``},
	} {
		test.request.SetVersion(test.version)
		r := (&call{}).refuse(test.request)
		if test.want == "" {
			require.Nil(t, r, "%T", test.request)
			continue
		}
		require.Equal(t, test.want, shownRefusal(t, r), "%T", test.request)
	}
}

// shownRefusal is what an answer says, of what is not its default.
func shownRefusal(t *testing.T, r kmsg.Response) string {
	raw, err := json.Marshal(r)
	require.NoError(t, err)
	var words []string
	d := json.NewDecoder(strings.NewReader(string(raw)))
	for name := ""; ; {
		token, err := d.Token()
		if err != nil {
			return strings.Join(words, " ")
		}
		switch v := token.(type) {
		case string:
			switch {
			case name == "Topic" || name == "Group" || name == "TransactionalID":
				words, name = append(words, v), ""
			default:
				name = v
			}
		case float64:
			switch {
			case name == "ErrorCode" && int16(v) == codeUnsupportedVersion:
				words = append(words, "E")
			case name == "Partition":
				words = append(words, string(rune('0'+int(v))))
			}
			name = ""
		default:
			name = ""
		}
	}
}

// Every request of every version that Kafka has can be refused, or not, but harms
// nothing.
func TestAnyRefused(t *testing.T) {
	for key := range int16(kmsg.MaxKey + 1) {
		q := kmsg.RequestForKey(key)
		for v := int16(0); q != nil && v <= q.MaxVersion(); v++ {
			q.SetVersion(v)
			if r := (&call{}).refuse(q); r != nil {
				require.NoError(t, q.ResponseKind().ReadFrom(r.AppendTo(nil)), "%T version %d", q, v)
			}
		}
	}
}
