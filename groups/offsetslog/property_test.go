package offsetslog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/kafka"
)

// Whatever happens to leaders, connections and the process, every record is
// delivered once, and in order.
func TestKafkaDeliversEverythingOnce(t *testing.T) {
	codes := []*kerr.Error{ // the producer has to survive them too
		kerr.NotLeaderForPartition, kerr.LeaderNotAvailable, kerr.FencedLeaderEpoch, kerr.UnknownTopicOrPartition,
		kerr.KafkaStorageError, kerr.RequestTimedOut,
	}
	keys := []kmsg.Key{kmsg.Fetch, kmsg.ListOffsets, kmsg.Metadata}
	for seed := range uint64(25) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				const partitions = 4
				random := rand.New(rand.NewPCG(seed, 0))
				w.createTopic(partitions)
				want := make([][]string, partitions)
				sink := newRecorder()
				sink.onAppend = func(b *Batch) error { // as a store does
					sink.resume[b.Partition] = Position{Offset: b.Next, Epoch: b.Epoch}
					return nil
				}
				r := w.start(sink, nil)
				for range 60 {
					id := random.Int32N(partitions)
					switch random.IntN(8) {
					case 0, 1, 2:
						var records []string
						for range 1 + random.IntN(3) {
							record := fmt.Sprintf("k=%d", len(want[id])+len(records))
							records = append(records, record)
						}
						for _, record := range records {
							want[id] = append(want[id], fmt.Sprintf("%d %s", len(want[id]), record))
						}
						w.produce(id, records...)
					case 3:
						require.NoError(t, w.MoveTopicPartition(kafka.OffsetsTopic, id, random.Int32N(3)))
					case 4:
						w.Fault(kfake.Fault{
							Keys: []kmsg.Key{keys[random.IntN(len(keys))]}, Topic: kafka.OffsetsTopic,
							Err: codes[random.IntN(len(codes))], Count: 1 + random.IntN(3),
						})
					case 5:
						time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
					case 6:
						r.source.Refresh()
					case 7:
						r.stop()
						r = w.start(sink, nil)
					}
				}
				time.Sleep(time.Minute)
				r.stop()
				for id := range int32(partitions) {
					got := slices.DeleteFunc(sink.take(id), func(s string) bool { return s == "stop" || strings.Contains(s, " at ") })
					require.Equal(t, want[id], append([]string(nil), got...), "partition %d", id)
				}
			})
		})
	}
}
