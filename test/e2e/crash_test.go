//go:build e2e && unix

package e2e

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/image/loader"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/store"
)

// When a sidecar is killed.
type moment string

const (
	anywhere     moment = "some time after its start"
	atStart      moment = "at its start"
	inLoad       moment = "while it loads groups"
	inCommit     moment = "while it writes a commit"
	inCompaction moment = "while it joins tables"
)

// moments are when the sidecar is killed, one kill each; a transaction is open
// during every second one.
func moments() []moment {
	return []moment{
		inLoad, inLoad, inLoad, atStart, inCommit, anywhere, inCommit, anywhere, inCommit, anywhere,
		anywhere, inCommit, anywhere, atStart, inCommit, anywhere,
		// Each run has left a table: now there are enough of them to be joined.
		inCompaction, inCompaction, inCompaction, inCompaction,
	}
}

const (
	killSeed = 3
	// mostKills ends the wait for a moment that Pebble alone chooses.
	mostKills = 30
)

// A sidecar that is killed at any moment has in its store the state of a prefix
// of each log, by the vector of offsets that stands beside it; the next one goes
// on from just there. After all of it its state is that of the sidecar that was
// never interrupted.
func (c *cast) killed(t *testing.T) {
	random := rand.New(rand.NewPCG(killSeed, 0))
	kraftside, proxy, history := build(t), c.proxy(t), c.history(t)
	dir := filepath.Join(t.TempDir(), "store")
	c.manyOffsets(t, 40)
	stop := c.unrest(t, random.Uint64())
	transaction := c.transactions(t)
	var vector *store.Offsets
	came := map[moment]int{}
	all := moments()
	for i := 0; i < len(all); i++ {
		when := all[i]
		if i%2 == 1 {
			transaction.open(t)
		}
		proxy.forget()
		var slow []string
		if when == inLoad {
			slow = []string{"--groups.max-bytes-per-second", "4KiB"}
		}
		ends := c.offsetsEnds(t)
		held := logged(dir)
		child := kraftside.run(t, proxy, dir, slow...)
		if when != atStart && when != inCompaction {
			requireResumed(t, proxy, vector)
		}
		if c.await(t, when, random, dir, held) {
			came[when]++
		}
		child.kill(t)
		before := vector
		vector = c.requirePrefix(t, dir, history, vector, when)
		if when == inLoad {
			require.Less(t, loaded(vector, ends), offsetsPartitions, "partitions that are loaded")
		}
		if len(proxy.metadataFetches()) > 0 && len(proxy.groupFetches()) == offsetsPartitions {
			requireResumed(t, proxy, before) // where it is not known beforehand whether it lives so long
		}
		t.Logf("killed %-32s metadata offset %d, offsets %s", when, vector.Metadata.Offset, nexts(vector))
		if i%2 == 1 {
			transaction.end(t, i%4 == 1)
		}
		if i == len(all)-1 && came[inCompaction] == 0 && len(all) < mostKills {
			all = append(all, inCompaction)
		}
	}
	stop()
	require.NotZero(t, came[inCompaction], "kills %s", inCompaction)
	child := kraftside.run(t, proxy, dir)
	proxy.forget()
	requireResumed(t, proxy, vector)
	c.all.awaitCaughtUp(t)
	eventually(t, "the last sidecar has the groups of the one that was never killed", func() error {
		address, err := child.address()
		if err != nil {
			return err
		}
		if want, got := getGroups(t, c.all.Address(), "/v1/groups"), getGroups(t, address, "/v1/groups"); want != got {
			return fmt.Errorf("%s\nthe other:\n%s", got, want)
		}
		return nil
	})
	child.stop(t)
	st, p := restore(t, copyStore(t, dir))
	eventually(t, "what was never killed has the same state", func() error { return sameState(p.View(), c.all.View()) })
	require.NoError(t, st.Close())
}

// offsetsEnds is how long each partition of __consumer_offsets is.
func (c *cast) offsetsEnds(t *testing.T) map[int32]kafka.Offset {
	t.Helper()
	listed, err := c.admin.ListEndOffsets(within(t), kafka.OffsetsTopic)
	require.NoError(t, err)
	ends := map[int32]kafka.Offset{}
	listed.Each(func(o kadm.ListedOffset) {
		require.NoError(t, o.Err)
		ends[o.Partition] = kafka.Offset(o.Offset)
	})
	require.Len(t, ends, offsetsPartitions)
	return ends
}

// loaded counts the partitions that were read as far as they went. In the
// middle of a load the store may have a part of each.
func loaded(v *store.Offsets, ends map[int32]kafka.Offset) (n int) {
	for number, end := range ends {
		if at, ok := v.Partitions[number]; ok && at.Next >= end {
			n++
		}
	}
	return n
}

func nexts(v *store.Offsets) (text string) {
	for p := range int32(offsetsPartitions) {
		if at, ok := v.Partitions[p]; ok {
			text += fmt.Sprintf(" %d", at.Next)
		} else {
			text += " -"
		}
	}
	return text
}

// logged tells whether the write-ahead log of a store holds anything. It does
// not when whoever had it was killed before its first commit.
func logged(dir string) bool {
	for _, size := range files(dir, ".log") {
		if size > 0 {
			return true
		}
	}
	return false
}

// await waits for the moment; false if it did not come. If the write-ahead log
// held anything before the start, a table of that appears first.
func (c *cast) await(t *testing.T, when moment, random *rand.Rand, dir string, held bool) bool {
	const longest = 5 * time.Second
	switch when {
	case anywhere:
		pause(t, time.Duration(random.Int64N(int64(1500*time.Millisecond))))
	case atStart:
		pause(t, time.Duration(random.Int64N(int64(150*time.Millisecond))))
	case inLoad:
		pause(t, time.Duration(random.Int64N(int64(700*time.Millisecond))))
	case inCommit:
		pause(t, time.Duration(random.Int64N(int64(300*time.Millisecond))))
		require.True(t, grows(t, dir, ".log", longest), "a commit")
	case inCompaction:
		if held {
			require.True(t, appears(t, dir, ".sst", longest), "a table of what the write-ahead log held")
		}
		return appears(t, dir, ".sst", longest)
	}
	return true
}

// requireResumed waits for the first fetches of a sidecar, and compares where
// they begin with the vector that its store had. Without one nothing is known.
func requireResumed(t *testing.T, p *proxy, vector *store.Offsets) {
	t.Helper()
	metadata := metadatalog.Position{}
	if vector != nil && vector.Metadata.Offset != kafka.UnknownOffset {
		metadata = metadatalog.Position{Offset: vector.Metadata.Offset + 1, Epoch: vector.Metadata.Epoch}
	}
	eventually(t, "the first fetches", func() error {
		if n, m := len(p.metadataFetches()), len(p.groupFetches()); n == 0 || m < offsetsPartitions {
			return fmt.Errorf("%d of the metadata, %d of groups", n, m)
		}
		return nil
	})
	require.Equal(t, metadata, p.metadataFetches()[0], "the first fetch of the metadata")
	if vector == nil {
		return
	}
	first := p.groupFetches()
	for partition, at := range vector.Partitions {
		require.Equal(t, at.Next, first[partition], "the first fetch of partition %d", partition)
	}
}

// requirePrefix opens a copy of the store of a sidecar that was killed: it must
// hold the image and the groups of exactly the offsets that it names, which
// never go back. It returns them.
func (c *cast) requirePrefix(t *testing.T, dir string, history *images, before *store.Offsets, when moment) *store.Offsets {
	t.Helper()
	st, warning, err := store.Open(copyStore(t, dir), store.Options{Now: time.Now()})
	require.NoError(t, err)
	require.Nil(t, warning, "the store after a kill %s", when)
	defer func() { require.NoError(t, st.Close()) }()
	vector := st.Durable()
	if before != nil {
		require.GreaterOrEqual(t, vector.Metadata.Offset, before.Metadata.Offset)
		for p, at := range before.Partitions {
			require.GreaterOrEqual(t, vector.Partitions[p].Next, at.Next)
		}
	}
	if vector.Metadata.Offset != kafka.UnknownOffset {
		restored, err := st.LoadImage()
		require.NoError(t, err)
		eventually(t, "the image of the offset", func() error { return history.same(restored) })
	}
	for number, at := range vector.Partitions {
		var restored *groups.Shard
		_, ok, err := st.LoadGroups(number, func(rows iter.Seq[groups.Row]) (err error) {
			restored, err = groups.Restore(number, c.shardOptions(), rows)
			return err
		})
		require.NoError(t, err)
		require.True(t, ok)
		eventually(t, "the log of the partition is read", func() error {
			want, err := c.log.replay(number, at.Next, c.shardOptions())
			if err == nil && !restored.Equal(want) {
				require.Equal(t, want.String(), restored.String(), "partition %d below offset %d", number, at.Next)
				require.Fail(t, "shards differ in what their text does not show")
			}
			return err
		})
	}
	return &vector
}

// shardOptions are what the coordinators' release has to do with a shard.
func (w *world) shardOptions() groups.Options {
	if w.is("4.1") || w.is("4.2") {
		return groups.Options{}
	}
	return groups.Options{NewGroupEpoch: 1}
}

// restore makes a pipeline of a store.
func restore(t *testing.T, dir string) (*store.Store, *pipeline.Pipeline) {
	st, warning, err := store.Open(dir, store.Options{Now: time.Now()})
	require.NoError(t, err)
	require.Nil(t, warning)
	p, lost := pipeline.New(pipeline.Options{NodeID: kafka.NoNode, Scope: pipeline.All, Unknown: loader.Stop, Store: st})
	require.NoError(t, lost)
	return st, p
}

// history keeps the image of every offset from now on.
func (w *world) history(t *testing.T) *images {
	source, err := metadatalog.NewQuorum(metadatalog.QuorumConfig{
		Controllers: w.ControllerBootstrap(), ClusterID: w.ID, Dir: t.TempDir(),
	})
	require.NoError(t, err)
	s, ended := newImages(), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- source.Run(ctx, metadatalog.Position{}, s) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
	eventually(t, "images are kept", func() error { return s.same(w.all.View().Image) })
	return s
}

// manyOffsets commits offsets of many groups, so that loading lasts.
func (c *cast) manyOffsets(t *testing.T, n int) {
	for i := range n {
		var offsets kadm.Offsets
		for p := range int32(3) {
			for k := range 20 {
				offsets.AddOffset("orders", p, int64(i*k), -1)
			}
		}
		require.NoError(t, c.admin.CommitAllOffsets(within(t), fmt.Sprintf("simple-%d", i), offsets))
	}
}

// unrest makes records in both logs until it is stopped.
func (c *cast) unrest(t *testing.T, seed uint64) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() {
		random := rand.New(rand.NewPCG(seed, 0))
		for i := 0; ctx.Err() == nil; i++ {
			if err := c.disturb(ctx, random, i); err != nil && ctx.Err() == nil {
				t.Errorf("disturb the cluster: %v", err)
				return
			}
			pause(t, time.Duration(random.Int64N(int64(60*time.Millisecond))))
		}
	})
	stop = func() {
		cancel()
		wait.Wait()
	}
	t.Cleanup(stop)
	return stop
}

// disturb does one small thing.
func (c *cast) disturb(ctx context.Context, random *rand.Rand, i int) error {
	name := fmt.Sprintf("unrest-%d", random.IntN(5))
	switch random.IntN(5) {
	case 0:
		r, err := c.admin.CreateTopic(ctx, 2, 2, nil, name)
		return unless(errors.Join(err, r.Err), kerr.TopicAlreadyExists)
	case 1:
		r, err := c.admin.DeleteTopic(ctx, name)
		return unless(errors.Join(err, r.Err), kerr.UnknownTopicOrPartition)
	case 2:
		_, err := c.admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{
			{Op: kadm.SetConfig, Name: "retention.ms", Value: kadm.StringPtr(fmt.Sprint(1000000 + i))},
		}, "out")
		return err
	}
	var offsets kadm.Offsets
	offsets.AddOffset("orders", int32(random.IntN(3)), int64(i), -1)
	return c.admin.CommitAllOffsets(ctx, fmt.Sprintf("simple-%d", random.IntN(40)), offsets)
}

// unless drops an error that says that somebody was faster.
func unless(err, harmless error) error {
	if errors.Is(err, harmless) {
		return nil
	}
	return err
}

// transactions is a producer that commits offsets in transactions.
type transactions struct {
	client *kgo.Client
	id     string
	group  string
	topic  kafka.TopicID
	n      int64
	// The producer, as the transaction coordinator told last.
	producer int64
	epoch    int16
}

func (c *cast) transactions(t *testing.T) *transactions {
	topic, ok := c.all.View().Image.Topics().ByName("orders")
	require.True(t, ok)
	x := &transactions{client: c.client, id: "unrest", group: idIn(2, "transactional"), topic: topic.ID()}
	x.begin(t)
	return x
}

// begin makes the producer.
func (x *transactions) begin(t *testing.T) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &x.id, int32((5 * patience).Milliseconds())
	eventually(t, "there is a producer", func() error {
		resp, err := req.RequestWith(within(t), x.client)
		if err == nil {
			x.producer, x.epoch, err = resp.ProducerID, resp.ProducerEpoch, kerr.ErrorForCode(resp.ErrorCode)
		}
		return err
	})
}

// open begins a transaction with two pending offsets.
func (x *transactions) open(t *testing.T) {
	x.n++
	topic := kmsg.NewTxnOffsetCommitRequestTopic()
	topic.Topic, topic.TopicID = "orders", x.topic
	for p := range int32(2) {
		one := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		one.Partition, one.Offset = p, x.n
		topic.Partitions = append(topic.Partitions, one)
	}
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch = x.id, x.group, x.producer, x.epoch
	req.Generation = -1
	req.Topics = append(req.Topics, topic)
	eventually(t, "offsets are pending", func() error {
		resp, err := req.RequestWith(within(t), x.client)
		if err != nil {
			return err
		}
		for _, p := range resp.Topics[0].Partitions {
			err = errors.Join(err, kerr.ErrorForCode(p.ErrorCode))
		}
		return err
	})
}

// end ends it. The producer has another epoch then.
func (x *transactions) end(t *testing.T, commit bool) {
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = x.id, x.producer, x.epoch, commit
	eventually(t, "the transaction ends", func() error {
		resp, err := req.RequestWith(within(t), x.client)
		if err != nil {
			return err
		}
		if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
			return err
		}
		x.producer, x.epoch = resp.ProducerID, resp.ProducerEpoch
		return nil
	})
}
