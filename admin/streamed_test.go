package admin

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Topics that are made one after the other are encoded like those that are there
// all at once, in every version.
func TestStreamedMetadata(t *testing.T) {
	rack, cluster := "rack-1", "cluster"
	for version := range int16(14) {
		for _, n := range []int{0, 1, 200} {
			whole := &kmsg.MetadataResponse{
				Version: version, ThrottleMillis: 7, ClusterID: &cluster, ControllerID: 3, AuthorizedOperations: 11, ErrorCode: 5,
				Brokers: []kmsg.MetadataResponseBroker{{NodeID: 1, Host: "h", Port: 9092, Rack: &rack}},
				Topics:  []kmsg.MetadataResponseTopic{},
			}
			head := *whole
			for i := range n {
				name := "topic"
				whole.Topics = append(whole.Topics, kmsg.MetadataResponseTopic{
					ErrorCode: int16(i), Topic: &name, TopicID: [16]byte{1: byte(i)}, IsInternal: i%2 == 0, AuthorizedOperations: 13,
					Partitions: []kmsg.MetadataResponseTopicPartition{{Partition: int32(i), Leader: 2, LeaderEpoch: 4, Replicas: []int32{1, 2}, ISR: []int32{2}}},
				})
			}
			s := streamedMetadata(&head)
			s.count = n
			s.elements = func(yield func(kmsg.Response) bool) {
				for i := range whole.Topics {
					if !yield(&kmsg.MetadataResponse{Version: version, Topics: whole.Topics[i : i+1]}) {
						return
					}
				}
			}
			want := whole.AppendTo([]byte("before"))
			require.True(t, slices.Equal(want, s.AppendTo([]byte("before"))), "version %d, %d topics", version, n)
		}
	}
}
