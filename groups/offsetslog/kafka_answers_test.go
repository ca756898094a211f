package offsetslog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
)

// batch is a batch at an offset, with as many records as values.
func batch(t testing.TB, base kafka.Offset, h recordbatch.Header, values ...string) []byte {
	records := make([]recordbatch.Record, len(values))
	for i, v := range values {
		records[i] = recordbatch.Record{Offset: base + kafka.Offset(i), Key: []byte("k"), Value: []byte(v)}
	}
	h.BaseOffset = base
	h.LastOffsetDelta = max(h.LastOffsetDelta, int32(len(values)-1))
	b, err := recordbatch.Append(nil, h, records)
	require.NoError(t, err)
	return b
}

// reseal makes the CRC of a batch right again.
func reseal(b []byte) {
	const crc, covered = 17, 21
	binary.BigEndian.PutUint32(b[crc:], crc32.Checksum(b[covered:], crc32.MakeTable(crc32.Castagnoli)))
}

var noProducer = recordbatch.Header{ProducerID: -1}

// answer answers fetches of partition 0 in place of the cluster.
func (w *world) answer(fn func(asked *kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition)) {
	w.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		w.KeepControl()
		resp, p := w.fetchResponse(req)
		fn(&req.(*kmsg.FetchRequest).Topics[0].Partitions[0], p)
		return resp, nil, true
	})
}

// log answers with the batches that begin at or above the offset asked for.
func (w *world) log(end kafka.Offset, batches ...[]byte) {
	w.answer(func(asked *kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition) {
		p.HighWatermark = int64(end)
		for _, raw := range batches {
			if b, _, err := recordbatch.Split(raw); err != nil || b.NextOffset() > kafka.Offset(asked.FetchOffset) {
				p.RecordBatches = append(p.RecordBatches, raw...)
			}
		}
	})
}

// Compaction removes the records of a batch and keeps the batch, if it tells of
// its producer; or it removes the batch, even the last one below the high
// watermark. Neither may keep a partition from being loaded.
func TestKafkaWhereNothingIsLeft(t *testing.T) {
	emptied := recordbatch.Header{ProducerID: 7, LastOffsetDelta: 4}
	for name, c := range map[string]struct {
		batches func(t *testing.T) [][]byte
		epoch   kafka.Epoch // of the record before the end, as far as it is there
		want    []string
	}{
		"an emptied batch at the end": {
			func(t *testing.T) [][]byte { return [][]byte{batch(t, 0, noProducer, "v"), batch(t, 5, emptied)} },
			0, []string{"fresh at 0", "0 k=v"},
		},
		"no batch at the end": {
			func(t *testing.T) [][]byte { return [][]byte{batch(t, 0, noProducer, "v")} },
			kafka.UnknownEpoch, []string{"fresh at 0", "0 k=v"},
		},
		"no batch at all": {func(t *testing.T) [][]byte { return nil }, kafka.UnknownEpoch, []string{"fresh at 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.createTopic(1)
				w.log(10, c.batches(t)...)
				r := w.start(newRecorder(), nil)
				require.Equal(t, c.want, r.after(soon))
				p := r.sink.progress(0)
				require.False(t, p.Loading)
				require.Equal(t, kafka.Offset(10), p.Next)
				require.Equal(t, c.epoch, p.Epoch)
				require.Equal(t, float64(100), p.Percent())
			})
		})
	}
}

// An answer may be used up by other partitions. That an answer is empty does
// not show that nothing is there, unless the partition came first.
func TestKafkaDoesNotTakeACrowdedOutPartitionForAnEmptyOne(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.createTopic(2)
		require.NoError(t, w.MoveTopicPartition(kafka.OffsetsTopic, 0, 1))
		require.NoError(t, w.MoveTopicPartition(kafka.OffsetsTopic, 1, 1))
		const last = 20
		w.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
			w.KeepControl()
			resp, p := w.fetchResponse(req)
			asked := req.(*kmsg.FetchRequest).Topics[0].Partitions
			template := *p
			resp.Topics[0].Partitions = nil
			for i := range asked {
				p := template
				p.Partition, p.HighWatermark = asked[i].Partition, last
				if at := kafka.Offset(asked[i].FetchOffset); i == 0 && at < last {
					p.RecordBatches = batch(t, at, noProducer, fmt.Sprint("v", at))
				}
				resp.Topics[0].Partitions = append(resp.Topics[0].Partitions, p)
			}
			return resp, nil, true
		})
		r := w.start(newRecorder(), nil)
		events := r.after(30 * time.Second)
		for id, events := range [][]string{events, r.sink.take(1)} {
			require.Len(t, events, 1+last, "partition %d", id)
			require.Equal(t, kafka.Offset(last), r.sink.progress(int32(id)).Next)
		}
	})
}

func TestKafkaDeliversNothingAboveTheHighWatermark(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.createTopic(1)
		var end atomic.Int64
		end.Store(1)
		a, b := batch(t, 0, noProducer, "a"), batch(t, 1, noProducer, "b", "c")
		w.answer(func(asked *kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition) {
			p.HighWatermark = end.Load()
			p.RecordBatches = append(a[:len(a):len(a)], b...)
		})
		r := w.start(newRecorder(), nil)
		require.Equal(t, []string{"fresh at 0", "0 k=a"}, r.after(soon))
		end.Store(2)
		require.Empty(t, r.after(soon), "half a batch is not committed")
		end.Store(0)
		require.Empty(t, r.after(soon), "a new leader may know less")
		require.Nil(t, r.sink.progress(0).Problem)
		end.Store(3)
		require.Equal(t, []string{"1 k=b", "2 k=c"}, r.after(soon))
	})
}

func TestKafkaCorruptAnswers(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.createTopic(1)
		var damaged atomic.Bool
		damaged.Store(true)
		a, b := batch(t, 0, noProducer, "a"), batch(t, 1, noProducer, "b")
		w.answer(func(asked *kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition) {
			p.HighWatermark = 2
			if asked.FetchOffset == 0 {
				p.RecordBatches = append(p.RecordBatches, a...)
			}
			if asked.FetchOffset < 2 {
				p.RecordBatches = append(p.RecordBatches, b...)
			}
			if damaged.Load() && asked.FetchOffset < 2 {
				p.RecordBatches[len(p.RecordBatches)-1] ^= 1
			}
		})
		r := w.start(newRecorder(), nil)
		require.Equal(t, []string{"fresh at 0", "0 k=a"}, r.after(time.Minute))
		problem := r.sink.progress(0).Problem
		require.Equal(t, Corrupt, problem.Kind)
		require.ErrorContains(t, problem, "base offset 1")
		require.ErrorContains(t, problem, "the disk of the leader")
		damaged.Store(false)
		require.Equal(t, []string{"1 k=b"}, r.after(2*maxBackoff))
		require.Nil(t, r.sink.progress(0).Problem)
	})
}

// A batch whose CRC is right and whose records are not was written like that.
// It is passed over and counted.
func TestKafkaUnreadableRecords(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.createTopic(1)
		garbage := batch(t, 1, noProducer, "b", "c")
		garbage[recordbatch.HeaderSize] = 0x7f // the first record's length
		reseal(garbage)
		w.log(4, batch(t, 0, noProducer, "a"), garbage, batch(t, 3, noProducer, "d"))
		r := w.start(newRecorder(), nil)
		require.Equal(t, []string{"fresh at 0", "0 k=a", "3 k=d"}, r.after(soon))
		require.Equal(t, 1, r.sink.progress(0).Unreadable)
		require.Nil(t, r.sink.progress(0).Problem)
	})
}

func TestKafkaReadsABatchLargerThanAnAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.createTopic(1)
		large := batch(t, 0, noProducer, string(make([]byte, 3*partitionBytes)))
		w.answer(func(asked *kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition) {
			p.HighWatermark = 1
			if asked.FetchOffset == 0 {
				p.RecordBatches = large[:min(len(large), int(asked.PartitionMaxBytes))] // as no broker should
			}
		})
		sink := newRecorder()
		sink.quiet = true
		r := w.start(sink, nil)
		r.after(soon)
		require.Equal(t, kafka.Offset(1), sink.progress(0).Next)
		require.Equal(t, 1, sink.entries)
	})
}

// An answer is not larger than what may be read in a second.
func TestKafkaAsksForNoMoreThanItMayRead(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		const rate = 4 << 10
		w.createTopic(1)
		w.produce(0, "a=1")
		var asked, over atomic.Int32
		w.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
			w.KeepControl()
			fetch := req.(*kmsg.FetchRequest)
			asked.Add(1)
			if fetch.MaxBytes > rate || fetch.Topics[0].Partitions[0].PartitionMaxBytes > rate {
				over.Add(1)
			}
			return nil, nil, false
		})
		r := w.start(newRecorder(), func(c *KafkaConfig) { c.BytesPerSecond = rate })
		require.Equal(t, []string{"fresh at 0", "0 a=1"}, r.after(soon))
		require.NotZero(t, asked.Load())
		require.Zero(t, over.Load())
	})
}

// A quota answers without any partition until it is paid for.
func TestKafkaIsThrottled(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.createTopic(1)
		w.produce(0, "a=1")
		var throttled atomic.Bool
		throttled.Store(true)
		w.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
			w.KeepControl()
			if !throttled.Load() {
				return nil, nil, false
			}
			resp := req.ResponseKind().(*kmsg.FetchResponse)
			resp.ThrottleMillis = 5000
			return resp, nil, true
		})
		r := w.start(newRecorder(), nil)
		require.Empty(t, r.after(time.Minute))
		require.Nil(t, r.sink.progress(0).Problem)
		require.Less(t, w.counts.total(), 20)
		throttled.Store(false)
		require.Equal(t, []string{"fresh at 0", "0 a=1"}, r.after(10*time.Second))
	})
}

// Out of reach for longer than tombstones are kept: what was deleted meanwhile
// would never be known.
func TestKafkaStartsOverAfterBeingCutOffForTooLong(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.createTopic(1)
		w.produce(0, "a=1")
		r := w.start(newRecorder(), func(c *KafkaConfig) { c.DeleteRetention = func() time.Duration { return 2 * time.Minute } })
		require.Len(t, r.after(soon), 2)
		cut := w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: kafka.OffsetsTopic, Err: kerr.NotLeaderForPartition, Count: -1})
		require.Empty(t, r.after(90*time.Second))
		cut.Remove()
		require.Empty(t, r.after(2*maxBackoff))
		require.Nil(t, r.sink.progress(0).Problem)

		require.Empty(t, r.after(10*time.Minute), "nothing new is not out of reach")
		cut = w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: kafka.OffsetsTopic, Err: kerr.NotLeaderForPartition, Count: -1})
		require.Empty(t, r.after(3*time.Minute))
		cut.Remove()
		require.Equal(t, []string{"away-too-long at 0", "0 a=1"}, r.after(time.Minute))
	})
}
