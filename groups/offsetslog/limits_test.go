package offsetslog

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/kafka"
)

// What a broker may see, at most, in any 5 s, and three of them together in two
// minutes. Two fetches a second, held back by the broker while there is nothing
// new, are what it sees when all is well.
const (
	mostIn5s   = 20
	mostIn120s = 3*2*120 + 100
)

// Whatever brokers answer, they are asked no more often than if all was well,
// but for a moment.
func TestKafkaIsGentle(t *testing.T) {
	type control func(*world, kmsg.Request) (kmsg.Response, error, bool)
	failures := map[string]control{
		"nothing": func(*world, kmsg.Request) (kmsg.Response, error, bool) { return nil, nil, false },
		"closed connections": func(w *world, req kmsg.Request) (kmsg.Response, error, bool) {
			return nil, errors.New("closed"), true
		},
		"no answer": func(w *world, req kmsg.Request) (kmsg.Response, error, bool) { return nil, nil, true },
		"empty answers": func(w *world, req kmsg.Request) (kmsg.Response, error, bool) {
			return req.ResponseKind(), nil, true
		},
		"empty fetches": func(w *world, req kmsg.Request) (kmsg.Response, error, bool) {
			if req.Key() != int16(kmsg.Fetch) {
				return nil, nil, false
			}
			return req.ResponseKind(), nil, true
		},
		"closed fetches": func(w *world, req kmsg.Request) (kmsg.Response, error, bool) {
			return nil, errors.New("closed"), req.Key() == int16(kmsg.Fetch)
		},
		"a high watermark far away": func(w *world, req kmsg.Request) (kmsg.Response, error, bool) {
			if req.Key() != int16(kmsg.Fetch) {
				return nil, nil, false
			}
			resp, p := w.fetchResponse(req)
			p.HighWatermark = 1 << 40
			p.RecordBatches = []byte{0}
			return resp, nil, true
		},
		"always diverging": func(w *world, req kmsg.Request) (kmsg.Response, error, bool) {
			if req.Key() != int16(kmsg.Fetch) {
				return nil, nil, false
			}
			resp, p := w.fetchResponse(req)
			p.DivergingEpoch.EndOffset = 0
			return resp, nil, true
		},
		"garbage": func(w *world, req kmsg.Request) (kmsg.Response, error, bool) {
			if req.Key() != int16(kmsg.Fetch) {
				return nil, nil, false
			}
			resp, p := w.fetchResponse(req)
			p.HighWatermark, p.RecordBatches = 10, []byte(strings.Repeat("garbage", 100))
			return resp, nil, true
		},
	}
	for _, code := range []*kerr.Error{
		kerr.UnknownServerError, kerr.OffsetOutOfRange, kerr.CorruptMessage, kerr.UnknownTopicOrPartition, kerr.NotLeaderForPartition,
		kerr.RequestTimedOut, kerr.TopicAuthorizationFailed, kerr.KafkaStorageError, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch,
		kerr.OffsetNotAvailable, kerr.UnknownTopicID, kerr.InconsistentTopicID, kerr.ThrottlingQuotaExceeded, kerr.UnsupportedVersion,
	} {
		for _, key := range []kmsg.Key{kmsg.Fetch, kmsg.ListOffsets, kmsg.Metadata} {
			failures[fmt.Sprintf("%s of %s", code.Message, key.Name())] = func(w *world, req kmsg.Request) (kmsg.Response, error, bool) {
				w.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Topic: kafka.OffsetsTopic, Err: code})
				return nil, nil, false
			}
		}
	}
	for name, fail := range failures {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.createTopic(6)
				w.produce(0, "a=1")
				r := w.start(newRecorder(), nil)
				w.ControlKey(-1, func(req kmsg.Request) (kmsg.Response, error, bool) {
					w.KeepControl()
					if req.Key() == int16(kmsg.ApiVersions) {
						return nil, nil, false
					}
					return fail(w, req)
				})
				r.after(2 * time.Minute)
				require.LessOrEqual(t, w.counts.most(), mostIn5s)
				require.LessOrEqual(t, w.counts.total(), mostIn120s)
				t.Logf("at most %d in 5 s, %d in 120 s of three brokers", w.counts.most(), w.counts.total())
			})
		})
	}
}

// Loading takes its time, and partitions that are loaded do not wait for it.
func TestKafkaKeepsToItsBudget(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.createTopic(2)
		for id := range int32(2) {
			require.NoError(t, w.MoveTopicPartition(kafka.OffsetsTopic, id, 1))
		}
		value := strings.Repeat("v", 100<<10)
		const batches = 100
		for i := range batches {
			w.produce(1, fmt.Sprintf("%d=%s", i, value))
		}
		sink := newRecorder()
		sink.quiet = true
		r := w.start(sink, func(c *KafkaConfig) { c.BytesPerSecond = 1 << 20 })
		percent := -1.0
		for i := range 7 {
			r.after(time.Second)
			w.produce(0, "a=1")
			r.after(300 * time.Millisecond)
			require.Equal(t, kafka.Offset(i+1), sink.progress(0).Next, "the loaded partition is read on")
			p := sink.progress(1)
			require.True(t, p.Loading, "after %d s", i)
			require.Greater(t, p.Percent(), percent)
			percent = p.Percent()
			if i > 2 {
				left := p.Remaining(time.Now())
				passed := time.Since(p.Since)
				require.InDelta(t, 10, (left + passed).Seconds(), 3)
			}
			require.LessOrEqual(t, p.Bytes, int64(time.Since(p.Since).Seconds()*(1<<20))+2*fetchBytes)
		}
		r.after(5 * time.Second)
		p := sink.progress(1)
		require.False(t, p.Loading)
		require.Equal(t, kafka.Offset(batches), p.Next)
		require.Zero(t, p.Remaining(time.Now()))
		require.Zero(t, p.Lag())
	})
}
