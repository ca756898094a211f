package pipeline

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/recordbatch"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/rebalance"
	"github.com/kraftside/kraftside/store"
	"github.com/kraftside/kraftside/topichash"
)

// run is a sidecar that is given a story in the place of its sources. It does
// what they do: it goes on from where the pipeline is, and starts those of the
// groups again when the store was rebuilt.
type run struct {
	t     *testing.T
	story *story
	store *store.Store // nil: nothing is kept
	p     *Pipeline
	told  []error // what was said to be lost
	again bool    // the sources of the groups are to be started again
	// rebuilt is how often the store was made to hold the state again.
	rebuilt     int
	whenRebuilt func() // may be nil
	checks      []Check
	// next is how far each partition that is followed was given to the
	// pipeline, ends how long it is, whether or not it is followed.
	next, ends map[int32]kafka.Offset
	resumed    map[int32]kafka.Offset // what next was when catchUp began
	decoder    recordbatch.Decoder
}

// startRun starts a sidecar.
func startRun(t *testing.T, s *story, st *store.Store) *run {
	r := &run{t: t, story: s, store: st, next: map[int32]kafka.Offset{}, ends: map[int32]kafka.Offset{}}
	p, lost := New(Options{Scope: All, NodeID: kafka.NoNode, ClusterID: "cluster-a", Store: st, Exports: &Exports{SlowAfter: time.Hour}, OnRebuilt: r.onRebuilt, OnCheck: r.onCheck})
	if lost != nil {
		r.told = append(r.told, lost)
	}
	r.p = p
	return r
}

func (r *run) onRebuilt(w *store.Warning) {
	r.again = true
	r.rebuilt++
	if r.whenRebuilt != nil {
		r.whenRebuilt()
	}
	if w != nil {
		r.told = append(r.told, w)
	}
}

// onCheck requires that no record is checked twice.
func (r *run) onCheck(c Check) {
	for _, before := range r.checks {
		require.False(r.t, before.Partition == c.Partition && before.Offset == c.Offset, "%+v", c)
	}
	r.checks = append(r.checks, c)
}

// catchUp gives a sidecar that has just been started the first n events, as
// far as it lacks them.
func (r *run) catchUp(n int) {
	var followed []int32
	for _, e := range r.story.events[:n] {
		if e.follow != nil {
			followed = e.follow
		}
		if e.batch != nil && e.partition != metadataLog {
			r.ends[e.partition] = r.split(&e).NextOffset()
		}
	}
	r.follow(followed)
	r.resumed = maps.Clone(r.next)
	for i := range n {
		if r.story.events[i].follow == nil {
			r.play(i)
		}
	}
}

// play gives the sidecar an event.
func (r *run) play(i int) {
	e := &r.story.events[i]
	r.tick(e.at)
	switch {
	case e.follow != nil:
		r.follow(e.follow)
	case e.snapshot != nil:
		r.snapshot(e)
	case e.batch != nil && e.partition == metadataLog:
		if b := r.split(e); b.NextOffset() > r.p.MetadataPosition().Offset {
			require.NoError(r.t, r.p.MetadataSink().Append(b))
		}
	case e.batch != nil:
		r.group(e)
	}
	r.startAgain()
}

func (r *run) tick(at int64) {
	r.p.Tick(time.UnixMilli(at))
	r.startAgain()
}

func (r *run) split(e *event) *recordbatch.Batch {
	b, _, err := recordbatch.Split(e.batch)
	require.NoError(r.t, err)
	return &b
}

func (r *run) snapshot(e *event) {
	if e.end <= r.p.MetadataPosition().Offset {
		return
	}
	loadSnapshot(r.t, r.p, e)
}

func loadSnapshot(t *testing.T, p *Pipeline, e *event) {
	reader, err := metadatalog.NewSnapshotReader(metadatalog.SnapshotID{EndOffset: e.end, Epoch: 1}, bytes.NewReader(e.snapshot))
	require.NoError(t, err)
	defer reader.Close()
	require.NoError(t, p.MetadataSink().LoadSnapshot(reader))
}

func (r *run) group(e *event) {
	b := r.split(e)
	r.ends[e.partition] = max(r.ends[e.partition], b.NextOffset())
	next, followed := r.next[e.partition]
	if !followed || b.NextOffset() <= next {
		return
	}
	batch := offsetslog.NewBatch(e.partition, b, &r.decoder)
	require.NoError(r.t, r.p.GroupsSink().Append(batch))
	require.NoError(r.t, batch.Err())
	r.next[e.partition] = b.NextOffset()
	r.progress(e.partition)
}

func (r *run) progress(partition int32) {
	next, end := r.next[partition], r.ends[partition]
	require.NoError(r.t, r.p.GroupsSink().Progress(offsetslog.Progress{Partition: partition, Next: next, End: end, Loading: next < end}))
}

// follow makes the partitions those that are followed.
func (r *run) follow(partitions []int32) {
	sink := r.p.GroupsSink()
	for _, number := range slices.Sorted(maps.Keys(r.next)) {
		if !slices.Contains(partitions, number) {
			delete(r.next, number)
			require.NoError(r.t, sink.Stop(number))
		}
	}
	for _, number := range partitions {
		if _, followed := r.next[number]; !followed {
			r.resume(number)
		}
	}
	require.NoError(r.t, sink.Assigned(offsetslog.Assignment{Known: true, Partitions: partitions}))
}

// resume begins to read a partition from where the pipeline is.
func (r *run) resume(number int32) {
	sink := r.p.GroupsSink()
	start := offsetslog.Start{Partition: number, TopicID: topicID(9), Reason: offsetslog.Fresh}
	if at := sink.Resume(number); at.Offset >= 0 {
		start.Offset, start.Reason = at.Offset, offsetslog.Resumed
	}
	require.NoError(r.t, sink.Start(start))
	r.next[number] = start.Offset
	r.progress(number)
}

// startAgain starts the sources of the groups again, if they have to be. What
// is shown stays as it is while they go back.
func (r *run) startAgain() {
	for r.again {
		r.again = false
		before := r.p.View()
		hidden := slices.ContainsFunc(before.Partitions, func(p Partition) bool { return p.Hidden })
		for _, number := range slices.Sorted(maps.Keys(r.next)) {
			r.resume(number)
			if !hidden {
				requireShown(r.t, before, r.p.View(), "while the sources start again")
			}
			for i := range r.story.events {
				if e := &r.story.events[i]; e.batch != nil && e.partition == number && r.split(e).NextOffset() <= r.ends[number] {
					r.group(e)
				}
			}
		}
	}
}

// views are those of a sidecar that is never stopped and stores nothing, after
// each event.
func (s *story) views(t *testing.T) (all []*View) {
	r := startRun(t, s, nil)
	for i := range s.events {
		r.play(i)
		all = append(all, r.p.View())
	}
	return all
}

// requireView compares all that two views tell of the cluster.
func requireView(t *testing.T, want, got *View, where string) {
	t.Helper()
	requireShown(t, want, got, where)
	if !reflect.DeepEqual(want.Partitions, got.Partitions) {
		require.Equal(t, want.Partitions, got.Partitions, where)
	}
	require.Equal(t, touched(want), touched(got), where)
}

// requireShown compares images, and groups with their hashes and verdicts.
func requireShown(t *testing.T, want, got *View, where string) {
	t.Helper()
	require.Equal(t, want.Image.Provenance(), got.Image.Provenance(), where)
	require.True(t, want.Image.Equal(got.Image), where)
	if a, b := shown(want), shown(got); !reflect.DeepEqual(a, b) {
		require.Equal(t, text(a), text(b), where)
		require.Fail(t, "groups differ in what their text does not show", where)
	}
}

// requireRebalances compares all that is known of rebalances, which of them are
// to be exported, and how the metadata changed. That is told once it is durable.
func requireRebalances(t *testing.T, want, got *run, where string) {
	t.Helper()
	require.NoError(t, got.p.Flush(), where)
	a, b := rebalances(want.p.View()), rebalances(got.p.View())
	require.NotEmpty(t, a)
	if !reflect.DeepEqual(a, b) {
		require.Equal(t, a, b, where)
	}
	const newest = kafka.Offset(math.MaxInt64)
	if a, b := slices.Collect(want.p.View().Changes(newest)), slices.Collect(got.p.View().Changes(newest)); len(a) == 0 || !reflect.DeepEqual(a, b) {
		require.Equal(t, a, b, where)
		require.NotEmpty(t, a)
	}
	if a, b := pending(t, want.p), pending(t, got.p); !reflect.DeepEqual(a, b) {
		require.Equal(t, a, b, where)
	}
}

// pending is what is to be exported, once it is durable how.
func pending(t *testing.T, p *Pipeline) []Export {
	p.Pending(1000)
	require.NoError(t, p.Flush())
	return p.Pending(1000)
}

func rebalances(v *View) map[string][]*rebalance.Rebalance {
	all := map[string][]*rebalance.Rebalance{}
	v.rebalances.Scan(func(group string, list []*rebalance.Rebalance) bool {
		all[group] = list
		return true
	})
	return all
}

func shown(v *View) (all []Group) {
	for g := range v.GroupsFrom("") {
		all = append(all, *g)
	}
	return all
}

// text is a line for each group, to be read when they differ.
func text(all []Group) string {
	var b strings.Builder
	for _, g := range all {
		fmt.Fprintf(&b, "%s in %d of %d: %+v\n%v\n", g.ID, g.Partition, g.Coordinator, g.Answer, g.Group)
	}
	return b.String()
}

func touched(v *View) map[string]image.Provenance {
	all := map[string]image.Provenance{}
	v.touched.Scan(func(name string, at image.Provenance) bool {
		all[name] = at
		return true
	})
	return all
}

// The story is worth playing: it has every verdict but drift, and some of them
// at its end.
func TestStory(t *testing.T) {
	views := tellStory(t).views(t)
	seen, last := map[topichash.Verdict]int{}, map[string]topichash.Verdict{}
	for _, v := range views {
		for _, g := range shown(v) {
			seen[g.Answer.Verdict]++
		}
	}
	for _, g := range shown(views[len(views)-1]) {
		last[g.ID] = g.Answer.Verdict
	}
	require.Len(t, seen, 5, "%v", seen)
	require.Zero(t, seen[topichash.Drift])
	require.Equal(t, map[string]topichash.Verdict{
		"classic": topichash.None, "g": topichash.Pending, "h": topichash.Stale, "i": topichash.Unknown, "j": topichash.Pending,
	}, last)
}
