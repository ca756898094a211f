//go:build e2e && unix

package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/test/realkafka"
	"github.com/kraftside/kraftside/topichash"
)

// group is a group of real members.
type group struct {
	w      *world
	kind   groups.Type
	id     string
	topics []string    // that its hash is of, those that do not exist included
	leave  func()      // ends the members; nil if there are none
	client *kgo.Client // of the member, unless that is a program
}

// consumers starts a consumer group with one member.
func (w *world) consumers(id string, topics []string, options ...kgo.Opt) *group {
	return w.join(groups.Consumer, id, topics, append([]kgo.Opt{
		kgo.ConsumerGroup(id), kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer()), kgo.ConsumeTopics(topics...),
	}, options...))
}

// regexConsumers starts a consumer group whose member subscribes to an expression.
func (w *world) regexConsumers(id, expression string, topics []string) *group {
	return w.join(groups.Consumer, id, topics, []kgo.Opt{
		kgo.ConsumerGroup(id), kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer()), kgo.ConsumeRegex(), kgo.ConsumeTopics(expression),
	})
}

// shares starts a share group with one member.
func (w *world) shares(id string, topics []string) *group {
	return w.join(groups.Share, id, topics, []kgo.Opt{kgo.ShareGroup(id), kgo.ConsumeTopics(topics...)})
}

// join starts a member of a group that notices soon when it is gone.
func (w *world) join(kind groups.Type, id string, topics []string, options []kgo.Opt) *group {
	w.configureGroup(w.t, kind.String(), id)
	return w.connect(w.t, kind, id, topics, options)
}

// connect starts a member. It polls until it leaves.
func (w *world) connect(t testing.TB, kind groups.Type, id string, topics []string, options []kgo.Opt) *group {
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(w.Bootstrap()...), kgo.ClientID("member-of-" + id),
		kgo.MetadataMinAge(100 * time.Millisecond), kgo.MetadataMaxAge(2 * time.Second),
		kgo.FetchMaxWait(time.Second), kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()),
	}, options...)...)
	require.NoError(t, err)
	polled := make(chan struct{})
	go func() {
		defer close(polled)
		for !client.PollFetches(context.Background()).IsClientClosed() {
		}
	}()
	g := &group{w: w, kind: kind, id: id, topics: topics, client: client}
	g.leave = func() {
		client.Close()
		<-polled
	}
	t.Cleanup(g.end)
	return g
}

// streams starts a streams group with one member that copies its sources.
func (w *world) streams(id, sink string, sources ...string) *group {
	return w.joinStreams(id, realkafka.Pass, sources, sink, sources...)
}

// counting starts a streams group with one member that counts: its hash is of
// two internal topics, too.
func (w *world) counting(id, sink, source string) *group {
	return w.joinStreams(id, realkafka.Count, []string{source, id + "-by-value-repartition", id + "-count-changelog"}, sink, source)
}

func (w *world) joinStreams(id string, topology realkafka.Topology, topics []string, sink string, sources ...string) *group {
	t := w.t
	w.configureGroup(t, "streams", id)
	m, err := w.NewStreamsMember(context.WithoutCancel(t.Context()), id, id+"-client")
	require.NoError(t, err)
	require.NoError(t, m.Start(topology, sink, sources...))
	g := &group{w: w, kind: groups.Streams, id: id, topics: topics}
	g.leave = func() {
		if err := m.Stop(); err != nil {
			t.Errorf("stop the member of %s: %v", id, err)
		}
	}
	t.Cleanup(g.end)
	return g
}

// end makes the members leave.
func (g *group) end() {
	if g.leave != nil {
		g.leave()
		g.leave = nil
	}
}

// settled waits until three agree on the group's hash, and the sidecar says
// so: the broker's log, the sidecar, and Kafka's own classes; and until nothing
// more is to come of what happened before.
func (g *group) settled(t testing.TB) storedHash {
	t.Helper()
	var last storedHash
	m := g.w.all.now(g.id)
	eventually(t, "hashes of group "+g.id+" agree", func() (err error) {
		if last, err = g.agrees(t, topichash.Match); err == nil {
			err = g.rests(t)
		}
		return g.explain(err, m)
	})
	return last
}

// agrees says what is wrong: the sidecar must show what the broker stored, must
// have computed what Kafka's own classes give, and have come to the verdict.
func (g *group) agrees(t testing.TB, verdict topichash.Verdict) (storedHash, error) {
	stored, ok := g.w.log.newest(g.id)
	if !ok {
		return stored, errors.New("the broker stored no hash")
	}
	shown, ok := g.w.all.newest(g.id)
	if !ok {
		return stored, errors.New("the sidecar does not show the group")
	}
	want, err := g.w.expected(within(t), g.topics)
	switch {
	case err != nil:
		return stored, err
	case !shown.hasHash || shown.stored != stored.Hash || int64(shown.record) != stored.Offset || shown.epoch != stored.Epoch:
		return stored, fmt.Errorf("the broker stored %s, the sidecar shows %s", stored, shown)
	case shown.answer.Computed != want:
		return stored, fmt.Errorf("Kafka computes %d, the sidecar shows %s", want, shown)
	case shown.answer.Verdict != verdict:
		return stored, fmt.Errorf("the verdict is not %s: %s", verdict, shown)
	}
	return stored, nil
}

// rests says what the group is still about to do.
func (g *group) rests(t testing.TB) error {
	shown, ok := g.w.all.View().Group(g.id)
	switch {
	case !ok:
		return errors.New("the sidecar does not show the group")
	case shown.State != groups.Stable && shown.State != groups.Empty:
		return fmt.Errorf("the group is %s", shown.State)
	case g.kind != groups.Share || len(shown.Members) == 0:
		return nil
	}
	// A share group bumps once more when the state of its partitions is there.
	topics, err := g.w.admin.ListTopics(within(t), g.topics...)
	if err != nil {
		return err
	}
	want := 0
	for _, topic := range topics {
		want += len(topic.Partitions)
	}
	if initialized, target := count(shown.Share.Initialized), count(shown.Members[0].Target); initialized != want || target != want {
		return fmt.Errorf("of %d partitions %d are initialized and %d assigned", want, initialized, target)
	}
	return nil
}

func count(partitions []groups.TopicPartitions) (n int) {
	for _, p := range partitions {
		n += len(p.Partitions)
	}
	return n
}

// bump runs an event that must move the hash of every group, and waits until
// all agree again. Each verdict meanwhile is match or one of those allowed, and
// between the first and the last something else than match was seen.
func bump(t testing.TB, all []*group, allowed []topichash.Verdict, event func()) {
	t.Helper()
	before, marks := settleAll(t, all)
	event()
	seen := map[topichash.Verdict]bool{}
	for i, g := range all {
		for _, v := range g.bumped(t, before[i], marks[i], allowed) {
			seen[v] = true
		}
	}
	if len(all) > 1 { // of one group it may last less than a sample
		require.NotEmpty(t, seen, "verdicts between two matches")
	}
}

func settleAll(t testing.TB, all []*group) ([]storedHash, []mark) {
	t.Helper()
	before, marks := make([]storedHash, len(all)), make([]mark, len(all))
	for i, g := range all {
		before[i] = g.settled(t)
		marks[i] = g.w.all.now(g.id)
	}
	return before, marks
}

// bumped waits until a group has another hash than before, and returns the
// verdicts other than match that it had since a moment.
func (g *group) bumped(t testing.TB, before storedHash, m mark, allowed []topichash.Verdict) []topichash.Verdict {
	t.Helper()
	eventually(t, "group "+g.id+" bumps", func() error {
		now, err := g.agrees(t, topichash.Match)
		if err == nil && now.Hash == before.Hash {
			err = fmt.Errorf("the hash is still %d", now.Hash)
		}
		if err == nil && now.Epoch <= before.Epoch {
			err = fmt.Errorf("epoch %d after %d", now.Epoch, before.Epoch)
		}
		return g.explain(err, m)
	})
	var others []topichash.Verdict
	for _, s := range g.w.all.since(g.id, m) {
		switch {
		case s.answer.Verdict == topichash.Match:
			continue
		case s.answer.Verdict == topichash.Unknown && s.answer.Reason == topichash.BehindCoordinator:
			// The record of the bump came before the one that it rests on.
		default:
			require.Contains(t, allowed, s.answer.Verdict, "group %s:\n%s", g.id, g.w.all.text(g.id, m))
		}
		others = append(others, s.answer.Verdict)
	}
	return others
}

// explain adds to an error what there is to know of the group.
func (g *group) explain(err error, m mark) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w\nstored: %v\nthe sidecar showed:\n%s", err, g.w.log.of(g.id), g.w.all.text(g.id, m))
}

// keepHash runs an event that must not move the hash of any group, nor its
// epoch, and waits for some heartbeats after it. The verdict is match all the
// time.
func keepHash(t testing.TB, all []*group, event func()) {
	t.Helper()
	before, marks := settleAll(t, all)
	event()
	all[0].w.all.awaitCaughtUp(t)
	throughout(t, 3*heartbeat, "no group bumps", func() error { return unmoved(all, before) })
	for i, g := range all {
		require.Equal(t, before[i], g.settled(t))
		require.Equal(t, []topichash.Verdict{topichash.Match}, verdicts(g.w.all.since(g.id, marks[i])),
			"group %s:\n%s", g.id, g.w.all.text(g.id, marks[i]))
	}
}

// unmoved says which group has stored a hash since.
func unmoved(all []*group, before []storedHash) error {
	for i, g := range all {
		if now, _ := g.w.log.newest(g.id); now != before[i] {
			return fmt.Errorf("the broker stored %s after %s", now, before[i])
		}
	}
	return nil
}

var (
	onlyPending    = []topichash.Verdict{topichash.Pending}
	pendingOrStale = []topichash.Verdict{topichash.Pending, topichash.Stale}
)

// idIn makes a group id whose records are in a partition of __consumer_offsets.
func idIn(partition int32, prefix string) string {
	for i := 0; ; i++ {
		id := fmt.Sprintf("%s-%d", prefix, i)
		if partitionOf(id) == partition {
			return id
		}
	}
}

const offsetsPartitions = 4

// partitionOf is the partition of a group by Java's hash of its ASCII id.
func partitionOf(id string) int32 {
	var h int32
	for _, c := range id {
		h = 31*h + c
	}
	if h < 0 {
		h = -h
	}
	return h % offsetsPartitions
}
