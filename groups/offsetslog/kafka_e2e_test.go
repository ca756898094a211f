//go:build e2e && unix

package offsetslog_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/test/jvm"
	"github.com/kraftside/kraftside/test/realkafka"
)

// Real brokers, the oldest and the newest: what is fetched from the leaders is
// what a broker has on disk, through a restart, transactions and compaction,
// and every position holds after it or is refused for the right reason.
func TestRealOffsetsLog(t *testing.T) {
	versions := jvm.Versions()
	for _, version := range []string{versions[len(versions)-1], versions[0]} {
		t.Run(version, func(t *testing.T) { offsetsStory(t, version) })
	}
}

func offsetsStory(t *testing.T, version string) {
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()
	c := realkafka.Start(t, realkafka.Config{Version: version, Controllers: 1, Brokers: 2, Properties: map[string]string{
		"log.cleaner.backoff.ms": "500", "log.initial.task.delay.ms": "500", "log.retention.check.interval.ms": "1000",
	}})
	s := &story{t: t, Cluster: c, admin: c.Admin()}
	orders, err := s.admin.CreateTopic(ctx, 2, 2, nil, "orders")
	require.NoError(t, err)
	s.orders = orders.ID

	fetched := s.watch(newMirror(t), s.fromKafka(nil))
	fetched.await(ctx, "a cluster without groups", func() bool { return fetched.known })
	read := s.watch(newMirror(t), offsetslog.NewDir(offsetslog.DirConfig{LogDirs: []string{c.LogDir(1)}, ClusterID: c.ID}))
	s.commit(ctx, 0, 40)
	s.transaction(ctx, "t-committed", kgo.TryCommit)
	s.transaction(ctx, "t-aborted", kgo.TryAbort)
	hanging := s.begin(ctx, "t-hanging")
	s.commit(ctx, 40, 41)
	s.bothHave(ctx, fetched, read, 40)
	require.NoError(t, hanging.EndTransaction(ctx, kgo.TryAbort))
	fetched.await(ctx, "the ends of three transactions", func() bool { return fetched.commits == 1 && fetched.aborts == 2 })

	// Leaders move, and their epochs rise.
	require.NoError(t, c.StopBroker(2))
	s.commit(ctx, 41, 43)
	require.NoError(t, c.StartBroker(2))
	s.commit(ctx, 43, 45)
	s.bothHave(ctx, fetched, read, 44)
	positions := fetched.stop()
	require.Empty(t, fetched.startedOver, "nothing was started over")

	s.resume(ctx, positions)
	s.diverge(ctx, positions)
	s.compact(ctx)
	anew := s.watch(newMirror(t), s.fromKafka(nil))
	anew.await(ctx, "a compacted log", anew.loaded)
	read.await(ctx, "the high watermarks on disk", func() bool { return read.reaches(anew) })
	read.stop()
	anew.stop()
	require.Equal(t, anew.state(), read.state())

	offline := newMirror(t)
	require.NoError(t, offsetslog.ReadFiles(ctx, []string{c.LogDir(1)}, offline))
	require.Equal(t, anew.state(), offline.state())
	require.Less(t, offline.records, read.records, "the log was compacted")
	t.Logf("%d records read, %d of them left", read.records, offline.records)
}

// story is a cluster and what the test does to it.
type story struct {
	t *testing.T
	*realkafka.Cluster
	admin  *kadm.Client
	orders kadm.TopicID
}

func (s *story) fromKafka(change func(*offsetslog.KafkaConfig)) *offsetslog.Kafka {
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Bootstrap()...), kgo.RequestRetries(0), kgo.DialTimeout(2*time.Second))
	require.NoError(s.t, err)
	s.t.Cleanup(client.Close)
	config := offsetslog.KafkaConfig{Client: client, ClusterID: s.ID}
	if change != nil {
		change(&config)
	}
	return offsetslog.NewKafka(config)
}

// commit commits an offset in groups group-FROM to group-(TO-1).
func (s *story) commit(ctx context.Context, from, to int) {
	for i := from; i < to; i++ {
		offsets := make(kadm.Offsets)
		offsets.AddOffset("orders", 0, int64(i), -1)
		require.NoError(s.t, s.retry(ctx, func() error { return s.admin.CommitAllOffsets(ctx, group(i), offsets) }))
	}
}

// retry is for coordinators that are on the move.
func (s *story) retry(ctx context.Context, fn func() error) (err error) {
	for begin := time.Now(); time.Since(begin) < 30*time.Second; time.Sleep(100 * time.Millisecond) {
		if err = fn(); err == nil {
			return nil
		}
	}
	return err
}

func group(i int) string { return fmt.Sprintf("group-%d", i) }

// begin leaves a transaction open that has committed an offset.
func (s *story) begin(ctx context.Context, id string) *kgo.Client {
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Bootstrap()...), kgo.TransactionalID(id), kgo.DefaultProduceTopic("orders"))
	require.NoError(s.t, err)
	s.t.Cleanup(client.Close)
	require.NoError(s.t, client.BeginTransaction())
	require.NoError(s.t, client.ProduceSync(ctx, kgo.StringRecord("x")).FirstErr())
	producer, epoch, err := client.ProducerID(ctx)
	require.NoError(s.t, err)
	require.NoError(s.t, s.retry(ctx, func() error { return txnOffsetCommit(ctx, client, s.orders, id, producer, epoch) }))
	return client
}

func (s *story) transaction(ctx context.Context, id string, end kgo.TransactionEndTry) {
	require.NoError(s.t, s.begin(ctx, id).EndTransaction(ctx, end))
}

// bothHave waits until both have the offset of a group.
func (s *story) bothHave(ctx context.Context, fetched, read *mirror, last int) {
	for _, m := range []*mirror{fetched, read} {
		m.await(ctx, group(last), func() bool { return m.mentions(group(last)) })
	}
}

// resume goes on from good positions.
func (s *story) resume(ctx context.Context, positions map[int32]offsetslog.Position) {
	m := newMirror(s.t)
	m.positions = positions
	s.watch(m, s.fromKafka(nil))
	m.await(ctx, "the end", m.loaded)
	m.stop()
	require.Empty(s.t, m.startedOver)
}

// diverge goes on from positions that no log of these epochs ever had.
func (s *story) diverge(ctx context.Context, positions map[int32]offsetslog.Position) {
	m := newMirror(s.t)
	m.positions = make(map[int32]offsetslog.Position)
	want := make(map[int32]offsetslog.Reason)
	for id, p := range positions {
		if p.Epoch < 1 || p.Offset < 1 {
			continue
		}
		m.positions[id], want[id] = offsetslog.Position{Offset: p.Offset, Epoch: p.Epoch - 1}, offsetslog.Diverged
	}
	require.NotEmpty(s.t, want, "some leader has moved")
	s.watch(m, s.fromKafka(func(c *offsetslog.KafkaConfig) {
		c.Follow = func(id int32, _ []kafka.NodeID) bool { return want[id] != "" }
	}))
	m.await(ctx, "the end", m.loaded)
	m.stop()
	require.Equal(s.t, want, m.startedOver, "the leader compares our last epoch with its log")
}

// compact rolls the segments and waits until the cleaner was at work.
func (s *story) compact(ctx context.Context) {
	for range 4 {
		s.commit(ctx, 0, 40)
	}
	configs := []kadm.AlterConfig{
		{Name: "segment.ms", Value: kadm.StringPtr("500")}, {Name: "min.cleanable.dirty.ratio", Value: kadm.StringPtr("0.01")},
		{Name: "delete.retention.ms", Value: kadm.StringPtr("100")},
	}
	_, err := s.admin.AlterTopicConfigs(ctx, configs, kafka.OffsetsTopic)
	require.NoError(s.t, err)
	for {
		if _, err := s.admin.DeleteGroups(ctx, "group-39"); err == nil {
			break
		}
		require.NoError(s.t, ctx.Err())
	}
	for begin := time.Now(); !s.cleaned(); time.Sleep(200 * time.Millisecond) {
		require.Less(s.t, time.Since(begin), time.Minute, "the cleaner does not come")
		s.commit(ctx, 0, 40) // only an append rolls a segment
	}
}

// cleaned says whether the cleaner has noted its progress in some partition.
func (s *story) cleaned() bool {
	b, err := os.ReadFile(filepath.Join(s.LogDir(1), "cleaner-offset-checkpoint"))
	return err == nil && strings.Contains(string(b), kafka.OffsetsTopic+" ")
}

// source is what all sources are.
type source interface {
	Run(ctx context.Context, sink offsetslog.Sink) error
}

func (s *story) watch(m *mirror, from source) *mirror {
	ctx, cancel := context.WithCancel(s.t.Context())
	m.cancel = cancel
	go func() { m.ended <- from.Run(ctx, m) }()
	return m
}

// mirror is a sink that keeps the last value of every key.
type mirror struct {
	t      *testing.T
	cancel context.CancelFunc
	ended  chan error

	mu          sync.Mutex
	positions   map[int32]offsetslog.Position // to resume from
	known       bool
	followed    []int32
	values      map[string]string
	pending     map[string]map[string]string // by partition and producer
	at          map[int32]offsetslog.Progress
	startedOver map[int32]offsetslog.Reason
	records     int
	commits     int
	aborts      int
}

func newMirror(t *testing.T) *mirror {
	return &mirror{
		t: t, ended: make(chan error, 1), values: map[string]string{}, pending: map[string]map[string]string{}, at: map[int32]offsetslog.Progress{},
		startedOver: map[int32]offsetslog.Reason{},
	}
}

func (m *mirror) stop() map[int32]offsetslog.Position {
	m.cancel()
	require.ErrorIs(m.t, <-m.ended, context.Canceled)
	positions := make(map[int32]offsetslog.Position)
	for id, p := range m.at {
		positions[id] = offsetslog.Position{Offset: p.Next, Epoch: p.Epoch}
	}
	return positions
}

// await polls until ok, which is called with the lock held.
func (m *mirror) await(ctx context.Context, what string, ok func() bool) {
	m.t.Helper()
	locked := func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return ok()
	}
	for !locked() {
		select {
		case err := <-m.ended:
			require.NoError(m.t, err, "the source ended while the test waited for %s", what)
		case <-ctx.Done():
			m.mu.Lock()
			defer m.mu.Unlock()
			require.Fail(m.t, "timed out", "waiting for %s: %+v", what, m.at)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// loaded says that all that is followed is at its end.
func (m *mirror) loaded() bool {
	for _, id := range m.followed {
		if p, ok := m.at[id]; !ok || p.Loading || p.Problem != nil {
			return false
		}
	}
	return len(m.followed) > 0
}

func (m *mirror) mentions(text string) bool {
	for key := range m.values {
		if strings.Contains(key, text) {
			return true
		}
	}
	return false
}

// reaches says whether m is as far as another.
func (m *mirror) reaches(other *mirror) bool {
	other.mu.Lock()
	defer other.mu.Unlock()
	for id, p := range other.at {
		if m.at[id].Next < p.Next {
			return false
		}
	}
	return true
}

// state is the values that are there.
func (m *mirror) state() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	state := make(map[string]string)
	for key, value := range m.values {
		if value != "" {
			state[key] = value
		}
	}
	return state
}

func (m *mirror) Assigned(a offsetslog.Assignment) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known, m.followed = a.Known, a.Partitions
	return nil
}

func (m *mirror) Resume(partition int32) offsetslog.Position {
	if p, ok := m.positions[partition]; ok {
		return p
	}
	return offsetslog.Position{Offset: kafka.UnknownOffset, Epoch: kafka.UnknownEpoch}
}

func (m *mirror) Start(s offsetslog.Start) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.Reason != offsetslog.Fresh && s.Reason != offsetslog.Resumed {
		m.startedOver[s.Partition] = s.Reason
	}
	return nil
}

func (m *mirror) Append(b *offsetslog.Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.at[b.Partition].Next - 1
	var e offsetslog.Entry
	for b.Read(&e) {
		if e.Offset < last {
			return fmt.Errorf("offset %d of partition %d comes after %d", e.Offset, b.Partition, last)
		}
		last = e.Offset
		m.records++
		m.apply(b.Partition, &e)
	}
	return b.Err()
}

// apply keeps the values of a transaction until its end: the cleaner removes
// those of an aborted one.
func (m *mirror) apply(partition int32, e *offsetslog.Entry) {
	transaction := fmt.Sprintf("%d %d", partition, e.ProducerID)
	values := m.values
	switch {
	case e.End == offsetslog.Commit:
		m.commits++
		maps.Copy(values, m.pending[transaction])
	case e.End == offsetslog.Abort:
		m.aborts++
	case e.ProducerID >= 0 && m.pending[transaction] == nil:
		values = make(map[string]string)
		m.pending[transaction] = values
	case e.ProducerID >= 0:
		values = m.pending[transaction]
	}
	if e.End != offsetslog.NoEnd {
		delete(m.pending, transaction)
		return
	}
	values[fmt.Sprintf("%d %q", partition, e.Key)] = string(e.Value)
}

func (m *mirror) Progress(p offsetslog.Progress) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at[p.Partition] = p
	if p.Unreadable > 0 {
		return errors.New("unreadable records")
	}
	return nil
}

func (m *mirror) Stop(int32) error { return nil }

// txnOffsetCommit commits an offset of group-txn within a transaction.
func txnOffsetCommit(ctx context.Context, client *kgo.Client, orders kadm.TopicID, id string, producer int64, epoch int16) error {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch = id, "group-"+id, producer, epoch
	req.Generation = -1
	topic := kmsg.NewTxnOffsetCommitRequestTopic()
	topic.Topic, topic.TopicID = "orders", orders
	p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	p.Offset = 1
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)

	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.Group, add.ProducerID, add.ProducerEpoch = id, req.Group, producer, epoch
	added, err := add.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	if err := kerr.ErrorForCode(added.ErrorCode); err != nil {
		return err
	}
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
}
