package offsetslog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/kafka"
)

// recorder is a sink that keeps what it is told, of each partition as text.
type recorder struct {
	mu       sync.Mutex
	resume   map[int32]Position
	events   map[int32][]string
	at       map[int32]Progress
	topics   map[int32]kafka.TopicID // of what was started
	assigned []Assignment
	quiet    bool // entries are not kept
	entries  int
	onAppend func(*Batch) error
	fail     error
}

func newRecorder() *recorder {
	return &recorder{resume: map[int32]Position{}, events: map[int32][]string{}, at: map[int32]Progress{}, topics: map[int32]kafka.TopicID{}}
}

func (r *recorder) note(partition int32, format string, args ...any) error {
	r.events[partition] = append(r.events[partition], fmt.Sprintf(format, args...))
	return r.fail
}

func (r *recorder) Assigned(a Assignment) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.assigned = append(r.assigned, a)
	return r.fail
}

func (r *recorder) Resume(partition int32) Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p, ok := r.resume[partition]; ok {
		return p
	}
	return Position{Offset: kafka.UnknownOffset, Epoch: kafka.UnknownEpoch}
}

func (r *recorder) Start(s Start) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.topics[s.Partition] = s.TopicID
	return r.note(s.Partition, "%s at %d", s.Reason, s.Offset)
}

func (r *recorder) Append(b *Batch) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.onAppend != nil {
		if err := r.onAppend(b); err != nil {
			return err
		}
	}
	var e Entry
	for b.Read(&e) {
		r.entries++
		if r.quiet {
			continue
		}
		text := fmt.Sprintf("%d %s=%s", e.Offset, e.Key, e.Value)
		if e.Value == nil {
			text = fmt.Sprintf("%d %s tombstone", e.Offset, e.Key)
		}
		if e.End != NoEnd {
			text = fmt.Sprintf("%d %s", e.Offset, map[End]string{Commit: "commit", Abort: "abort"}[e.End])
		}
		if e.ProducerID >= 0 {
			text += " in transaction"
		}
		r.events[b.Partition] = append(r.events[b.Partition], text)
	}
	return r.fail
}

func (r *recorder) Progress(p Progress) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at[p.Partition] = p
	r.resume[p.Partition] = Position{Offset: p.Next, Epoch: p.Epoch}
	return r.fail
}

func (r *recorder) Stop(partition int32) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.note(partition, "stop")
}

// take returns the events of a partition since it was last called.
func (r *recorder) take(partition int32) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.events[partition]
	r.events[partition] = nil
	return events
}

func (r *recorder) progress(partition int32) Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at[partition]
}

func (r *recorder) assignment() Assignment {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.assigned) == 0 {
		return Assignment{}
	}
	return r.assigned[len(r.assigned)-1]
}

// world is a cluster of brokers in a bubble, and what a test does to it.
type world struct {
	*testing.T
	*kfake.Cluster
	network  kfake.VirtualNetwork
	producer *kgo.Client
	counts   counts
}

// counts remembers when each broker was asked what.
type counts struct {
	mu   sync.Mutex
	sent map[int32][]time.Time
	auto int // metadata requests that would create topics
}

func (c *counts) note(node int32, req kmsg.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent[node] = append(c.sent[node], time.Now())
	if m, ok := req.(*kmsg.MetadataRequest); ok && m.AllowAutoTopicCreation {
		c.auto++
	}
}

// most is the largest number of requests that any broker saw in 5 s.
func (c *counts) most() (most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, sent := range c.sent {
		first := 0
		for i := range sent {
			for sent[i].Sub(sent[first]) > 5*time.Second {
				first++
			}
			most = max(most, i-first+1)
		}
	}
	return most
}

func (c *counts) total() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, sent := range c.sent {
		n += len(sent)
	}
	return n
}

// bubble runs a test in simulated time, with three brokers.
func bubble(t *testing.T, test func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, counts: counts{sent: map[int32][]time.Time{}}}
		var err error
		w.Cluster, err = kfake.NewCluster(kfake.Ports(9092, 9093, 9094), kfake.ListenFn(w.network.Listen), kfake.ClusterID("c"))
		require.NoError(t, err)
		t.Cleanup(w.Close)
		test(t, w)
	})
}

func (w *world) client(opts ...kgo.Opt) *kgo.Client {
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(w.ListenAddrs()...), kgo.Dialer(w.network.DialContext),
		kgo.MetadataMinAge(time.Second),
	}, opts...)...)
	require.NoError(w, err)
	w.Cleanup(client.Close)
	return client
}

func (w *world) createTopic(partitions int32) {
	require.NoError(w, w.CreateTopic(kafka.OffsetsTopic, partitions, map[string]string{"cleanup.policy": "compact"}))
}

// produce appends one batch of records "k=v" to a partition.
func (w *world) produce(partition int32, records ...string) {
	if w.producer == nil {
		w.producer = w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.UnknownTopicRetries(-1))
	}
	require.NoError(w, w.producer.ProduceSync(w.Context(), toRecords(partition, records)...).FirstErr())
}

func toRecords(partition int32, records []string) (out []*kgo.Record) {
	for _, r := range records {
		key, value, _ := strings.Cut(r, "=")
		out = append(out, &kgo.Record{Topic: kafka.OffsetsTopic, Partition: partition, Key: []byte(key), Value: []byte(value)})
	}
	return out
}

// run is a source at work.
type run struct {
	*world
	source *Kafka
	sink   *recorder
	done   chan error
	cancel context.CancelFunc
}

// start starts a source. Requests are counted from now on.
func (w *world) start(sink *recorder, change func(*KafkaConfig)) *run {
	w.ControlKey(-1, func(req kmsg.Request) (kmsg.Response, error, bool) {
		w.KeepControl()
		if req.Key() != int16(kmsg.ApiVersions) {
			w.counts.note(w.CurrentNode(), req)
		}
		return nil, nil, false
	})
	c := KafkaConfig{Client: w.client(kgo.RequestRetries(0), kgo.ClientID("source")), ClusterID: "c", Jitter: func() float64 { return 0.5 }}
	if change != nil {
		change(&c)
	}
	ctx, cancel := context.WithCancel(w.Context())
	r := &run{world: w, source: NewKafka(c), sink: sink, done: make(chan error, 1), cancel: cancel}
	go func() { r.done <- r.source.Run(ctx, sink) }()
	w.Cleanup(r.stop)
	return r
}

func (r *run) stop() {
	r.cancel()
	if err, ok := <-r.done; ok {
		close(r.done)
		require.ErrorIs(r, err, context.Canceled)
	}
}

// after lets time pass, and returns what the sink was told of partition 0.
func (r *run) after(passed time.Duration) []string {
	time.Sleep(passed) // in a bubble
	synctest.Wait()
	return r.sink.take(0)
}

// soon is time enough for whatever is not put off.
const soon = 3 * time.Second

func TestKafkaLoadsAndFollows(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.createTopic(4)
		w.produce(0, "a=1", "b=2")
		w.produce(0, "a=")
		w.produce(3, "x=1")
		r := w.start(newRecorder(), nil)
		require.Equal(t, []string{"fresh at 0", "0 a=1", "1 b=2", "2 a="}, r.after(soon))
		require.Equal(t, []string{"fresh at 0", "0 x=1"}, r.sink.take(3))
		require.Equal(t, []string{"fresh at 0"}, r.sink.take(1))
		require.Equal(t, Assignment{Known: true, Partitions: []int32{0, 1, 2, 3}}, r.sink.assignment())
		for id := range int32(4) {
			p := r.sink.progress(id)
			require.False(t, p.Loading)
			require.Nil(t, p.Problem)
			require.Equal(t, p.End, p.Next)
			require.Equal(t, w.LeaderFor(kafka.OffsetsTopic, id), int32(p.Leader))
		}
		for i := range 3 {
			w.produce(0, fmt.Sprintf("c=%d", i))
			require.Equal(t, []string{fmt.Sprintf("%d c=%d", 3+i, i)}, r.after(maxWait))
		}
		require.Zero(t, w.counts.auto, "no request may create the topic")
	})
}

func TestKafkaTombstonesAreNotEmptyValues(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.createTopic(1)
		w.produce(0, "a=1")
		require.NoError(t, w.producer.ProduceSync(t.Context(), &kgo.Record{Topic: kafka.OffsetsTopic, Key: []byte("a")}).FirstErr())
		require.Equal(t, []string{"fresh at 0", "0 a=1", "1 a tombstone"}, w.start(newRecorder(), nil).after(soon))
	})
}

// An open transaction hides nothing of what follows it, and its end comes as
// what it is.
func TestKafkaTransactions(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.createTopic(1)
		begin := func(id string, records ...string) *kgo.Client {
			c := w.client(kgo.TransactionalID(id), kgo.RecordPartitioner(kgo.ManualPartitioner()))
			require.NoError(t, c.BeginTransaction())
			require.NoError(t, c.ProduceSync(t.Context(), toRecords(0, records)...).FirstErr())
			return c
		}
		committed := begin("one", "a=1")
		aborted := begin("two", "b=1")
		begin("hanging", "c=1")
		w.produce(0, "d=1")
		r := w.start(newRecorder(), nil)
		require.Equal(t, []string{
			"fresh at 0", "0 a=1 in transaction", "1 b=1 in transaction", "2 c=1 in transaction", "3 d=1",
		}, r.after(soon))
		require.False(t, r.sink.progress(0).Loading)
		require.NoError(t, committed.EndTransaction(t.Context(), kgo.TryCommit))
		require.NoError(t, aborted.EndTransaction(t.Context(), kgo.TryAbort))
		require.Equal(t, []string{"4 commit in transaction", "5 abort in transaction"}, r.after(soon))
	})
}

func TestKafkaResumes(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.createTopic(1)
		for i := range 5 {
			w.produce(0, fmt.Sprintf("a=%d", i))
		}
		for name, c := range map[string]struct {
			at   Position
			want []string
		}{
			"in the middle": {Position{Offset: 3}, []string{"resumed at 3", "3 a=3", "4 a=4"}},
			"at the end":    {Position{Offset: 5}, []string{"resumed at 5"}},
			"past the end": {Position{Offset: 6, Epoch: 0},
				[]string{"diverged at 0", "0 a=0", "1 a=1", "2 a=2", "3 a=3", "4 a=4"}},
			"of another topic": {Position{Offset: 3, TopicID: kafka.UUID{1}},
				[]string{"recreated at 0", "0 a=0", "1 a=1", "2 a=2", "3 a=3", "4 a=4"}},
			"too old": {Position{Offset: 3, Age: 25 * time.Hour},
				[]string{"away-too-long at 0", "0 a=0", "1 a=1", "2 a=2", "3 a=3", "4 a=4"}},
			"old, but not too old": {Position{Offset: 4, Age: 23 * time.Hour}, []string{"resumed at 4", "4 a=4"}},
		} {
			sink := newRecorder()
			sink.resume[0] = c.at
			r := w.start(sink, func(c *KafkaConfig) { c.DeleteRetention = func() time.Duration { return 24 * time.Hour } })
			require.Equal(t, c.want, r.after(soon), name)
			require.False(t, r.sink.progress(0).Loading)
			r.stop()
		}
	})
}

// A partition with nothing to read is loaded at once, and not only when its
// leader no longer waits for records.
func TestKafkaHearsAtOnceThatThereIsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.createTopic(2)
		w.produce(0, "a=1")
		sink := newRecorder()
		sink.resume[0] = Position{Offset: 1}
		r := w.start(sink, nil)
		require.Equal(t, []string{"resumed at 1"}, r.after(tailInterval))
		require.Equal(t, []string{"fresh at 0"}, sink.take(1))
		for id := range int32(2) {
			require.False(t, sink.progress(id).Loading)
		}
	})
}

func TestKafkaStartsOverWhereTheLogStartPassed(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.createTopic(1)
		w.produce(0, "a=1")
		r := w.start(newRecorder(), nil)
		require.Equal(t, []string{"fresh at 0", "0 a=1"}, r.after(soon))
		r.stop()
		w.produce(0, "b=1")
		w.produce(0, "c=1")
		require.NoError(t, w.DeleteRecords(kafka.OffsetsTopic, 0, 2))
		require.Equal(t, []string{"log-start-passed at 2", "2 c=1"}, w.start(r.sink, nil).after(soon))
	})
}

// The leader says that the epoch of our last record ended before our offset.
func TestKafkaStartsOverWhereTheLogDiverged(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.createTopic(1)
		w.produce(0, "a=1")
		w.produce(0, "b=1")
		sink := newRecorder()
		sink.resume[0] = Position{Offset: 2, Epoch: 7}
		w.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
			w.KeepControl()
			asked := req.(*kmsg.FetchRequest).Topics[0].Partitions[0]
			if asked.LastFetchedEpoch != 7 {
				return nil, nil, false
			}
			resp, p := w.fetchResponse(req)
			p.HighWatermark, p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = 2, 5, 1
			return resp, nil, true
		})
		require.Equal(t, []string{"diverged at 0", "0 a=1", "1 b=1"}, w.start(sink, nil).after(soon))
	})
}

// fetchResponse is an answer about partition 0 without records.
func (w *world) fetchResponse(req kmsg.Request) (*kmsg.FetchResponse, *kmsg.FetchResponseTopicPartition) {
	resp := req.ResponseKind().(*kmsg.FetchResponse)
	topic := kmsg.NewFetchResponseTopic()
	topic.Topic = kafka.OffsetsTopic
	topic.TopicID = w.TopicInfo(kafka.OffsetsTopic).TopicID
	topic.Partitions = []kmsg.FetchResponseTopicPartition{kmsg.NewFetchResponseTopicPartition()}
	topic.Partitions[0].RecordBatches = []byte{}
	resp.Topics = append(resp.Topics, topic)
	return resp, &resp.Topics[0].Partitions[0]
}

func TestKafkaFollowsTheLeader(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.createTopic(1)
		r := w.start(newRecorder(), nil)
		require.Equal(t, []string{"fresh at 0"}, r.after(soon))
		for i := range int32(6) {
			require.NoError(t, w.MoveTopicPartition(kafka.OffsetsTopic, 0, i%3))
			w.produce(0, fmt.Sprintf("a=%d", i))
			require.Equal(t, []string{fmt.Sprintf("%d a=%d", i, i)}, r.after(soon))
			require.Equal(t, kafka.NodeID(i%3), r.sink.progress(0).Leader)
			require.Nil(t, r.sink.progress(0).Problem)
		}
	})
}

func TestKafkaWaitsForTheFirstGroup(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		r := w.start(newRecorder(), nil)
		r.after(time.Minute)
		require.Equal(t, Assignment{Known: true}, r.sink.assignment(), "a cluster without groups is no problem")
		require.Len(t, r.sink.assigned, 1)
		require.Less(t, w.counts.total(), 20)
		w.createTopic(1)
		w.produce(0, "a=1")
		require.Equal(t, []string{"fresh at 0", "0 a=1"}, r.after(topicInterval+soon))
		require.Zero(t, w.counts.auto)

		require.NoError(t, w.DeleteTopic(kafka.OffsetsTopic))
		require.Equal(t, []string{"stop"}, r.after(time.Minute))
		require.Equal(t, Assignment{Known: true}, r.sink.assignment())
		w.createTopic(1)
		r.sink.mu.Lock()
		r.sink.resume = map[int32]Position{}
		r.sink.mu.Unlock()
		require.Equal(t, []string{"fresh at 0"}, r.after(topicInterval+soon))
	})
}

// A broker that has just started knows no topics.
func TestKafkaBelievesSlowlyThatTheTopicIsGone(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.createTopic(1)
		r := w.start(newRecorder(), nil)
		require.Equal(t, []string{"fresh at 0"}, r.after(soon))
		unknown := w.Fault(kfake.Fault{
			Keys: []kmsg.Key{kmsg.Metadata}, Topic: kafka.OffsetsTopic, Err: kerr.UnknownTopicOrPartition, Count: topicGone - 1,
		})
		r.source.Refresh()
		require.Empty(t, r.after(time.Minute))
		require.Equal(t, topicGone-1, unknown.Hits())
	})
}

func TestKafkaSeesThatTheTopicIsAnother(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.createTopic(1)
		w.produce(0, "a=1")
		r := w.start(newRecorder(), nil)
		require.Len(t, r.after(soon), 2)
		require.NoError(t, w.DeleteTopic(kafka.OffsetsTopic))
		w.createTopic(1)
		w.producer = nil
		w.produce(0, "b=1")
		require.Equal(t, []string{"recreated at 0", "0 b=1"}, r.after(soon))
	})
}

func TestKafkaFollowsWhatItIsToldTo(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.createTopic(6)
		var mu sync.Mutex
		odd := int32(1)
		r := w.start(newRecorder(), func(c *KafkaConfig) {
			c.Follow = func(partition int32, replicas []kafka.NodeID) bool {
				mu.Lock()
				defer mu.Unlock()
				require.NotEmpty(t, replicas)
				return partition%2 == odd
			}
		})
		r.after(soon)
		require.Equal(t, []int32{1, 3, 5}, r.sink.assignment().Partitions)
		require.Equal(t, []string{"fresh at 0"}, r.sink.take(3))
		mu.Lock()
		odd = 0
		mu.Unlock()
		r.source.Refresh()
		require.Equal(t, []string{"fresh at 0"}, r.after(soon))
		require.Equal(t, []int32{0, 2, 4}, r.sink.assignment().Partitions)
		require.Equal(t, []string{"stop"}, r.sink.take(3))
	})
}

func TestKafkaSaysWhatIsWrong(t *testing.T) {
	topic := func(f kfake.Fault) kfake.Fault {
		f.Count = -1
		if !f.TopLevel {
			f.Topic = kafka.OffsetsTopic
		}
		return f
	}
	for name, c := range map[string]struct {
		fault    kfake.Fault
		metadata bool // the problem is the source's, not the partition's
		kind     ProblemKind
		advice   string
	}{
		"no right to describe": {kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Err: kerr.TopicAuthorizationFailed}, true, NotAuthorized, "grant the principal DESCRIBE and READ"},
		"no right to read":     {kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.TopicAuthorizationFailed}, false, NotAuthorized, "grant the principal DESCRIBE and READ"},
		"no right to list":     {kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Err: kerr.TopicAuthorizationFailed}, false, NotAuthorized, "grant the principal DESCRIBE and READ"},
		"not leader":           {kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.NotLeaderForPartition}, false, NoLeader, ""},
		"storage":              {kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.KafkaStorageError}, false, NoLeader, "disk"},
		"whole answer":         {kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.UnknownServerError, TopLevel: true}, false, BadAnswer, "broker's log"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.createTopic(1)
				w.produce(0, "a=1")
				fault := w.Fault(topic(c.fault))
				r := w.start(newRecorder(), nil)
				r.after(30 * time.Second)
				problem := r.sink.progress(0).Problem
				if c.metadata {
					problem = r.sink.assignment().Problem
				}
				require.NotNil(t, problem)
				require.Equal(t, c.kind, problem.Kind)
				require.ErrorContains(t, problem, c.advice)
				require.ErrorContains(t, problem, c.fault.Err.Message)
				require.NotContains(t, problem.Error(), c.fault.Err.Description)
				require.Greater(t, problem.Attempts, 3)
				r.sink.take(0)

				fault.Remove()
				r.after(2 * maxBackoff)
				require.Nil(t, r.sink.progress(0).Problem)
				require.Nil(t, r.sink.assignment().Problem)
				require.Equal(t, kafka.Offset(1), r.sink.progress(0).Next)
			})
		})
	}
}

func TestKafkaOfAnotherCluster(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.createTopic(1)
		r := w.start(newRecorder(), func(c *KafkaConfig) { c.ClusterID = "mine" })
		require.Empty(t, r.after(soon))
		require.Equal(t, WrongCluster, r.sink.assignment().Problem.Kind)
		require.ErrorContains(t, r.sink.assignment().Problem, "c, not mine")
	})
}

func TestKafkaUnreachable(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.createTopic(1)
		w.produce(0, "a=1")
		r := w.start(newRecorder(), nil)
		require.Len(t, r.after(soon), 2)
		w.Cluster.Close()
		r.after(time.Minute)
		require.Equal(t, Unreachable, r.sink.progress(0).Problem.Kind)
		require.Equal(t, Unreachable, r.sink.assignment().Problem.Kind)
		require.Equal(t, []int32{0}, r.sink.assignment().Partitions, "what is followed is still followed")
		require.ErrorContains(t, r.sink.progress(0).Problem, "broker")
	})
}

func TestKafkaEndsWithItsSink(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.createTopic(1)
		sink := newRecorder()
		sink.fail = errors.New("the sink is full")
		source := NewKafka(KafkaConfig{Client: w.client(kgo.RequestRetries(0))})
		require.ErrorIs(t, source.Run(t.Context(), sink), sink.fail)
	})
}
