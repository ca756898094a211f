//go:build e2e && unix

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/test/jvm"
	"github.com/kraftside/kraftside/test/realkafka"
	"github.com/kraftside/kraftside/web/api"
	"github.com/kraftside/kraftside/whatif"
)

// TestPredictions holds what a sidecar predicts of plans against what Kafka does
// when they are carried out: who bumps, how often, and with which hash a group
// ends. Plans, topics and subscriptions are made up from a seed.
func TestPredictions(t *testing.T) {
	if !hasNewest(t) {
		return // one release shows it; that releases compare alike, TestHashes does
	}
	o := &oracle{
		world: newWorld(t, realkafka.Config{
			Version: jvm.Newest, Controllers: 1, Racks: []string{"rack-1", "rack-1", "rack-2"},
			Properties: map[string]string{
				// A member that waits for a broker must not be missed.
				"group.consumer.session.timeout.ms": "60000", "group.share.session.timeout.ms": "60000", "group.streams.session.timeout.ms": "60000",
			},
		}),
		random: rand.New(rand.NewPCG(predictionSeed, 2)),
	}
	o.t = t
	o.populate()
	for i, kind := range o.kinds() {
		o.plan(i+1, kind)
	}
	o.conclude()
}

const predictionSeed = 20261130

// oracle is the cluster, its groups, and how well they were predicted.
type oracle struct {
	*world
	t      *testing.T
	random *rand.Rand
	pulses *pulses
	topics []string // that groups read, while they exist
	waited []string // that groups subscribe to and do not exist
	nobody int      // topics that nobody reads
	away   int32    // a broker that is stopped and unregistered, or 0

	many, none                   int // plans that concern five groups or more, and none
	certain, possible, later     int // predictions
	bumped, foreseen, came, gone int // groups that bumped; of those predicted; certain and possible ones that did
}

// populate makes topics, and 36 groups of all types that read one to three of them.
func (o *oracle) populate() {
	for i := range 8 {
		name := fmt.Sprintf("t-%d", i)
		var partitions [][]int32
		for range 1 + o.random.IntN(3) {
			partitions = append(partitions, o.pair())
		}
		o.create(o.t, name, partitions...)
		o.topics = append(o.topics, name)
	}
	o.create(o.t, "unread", []int32{1, 3}, []int32{2, 1})
	o.waited = []string{"late"}
	var all []*pulse
	for i := range 36 {
		g := &pulse{kind: []groups.Type{groups.Consumer, groups.Consumer, groups.Share, groups.Streams}[i%4], id: fmt.Sprintf("group-%d", i)}
		for _, n := range o.random.Perm(len(o.topics))[:1+o.random.IntN(3)] {
			g.topics = append(g.topics, o.topics[n])
		}
		if i%6 == 2 || i%12 == 0 {
			g.topics = append(g.topics, "late")
		}
		all = append(all, g)
	}
	all = append(all, &pulse{kind: groups.Consumer, id: "group-regex", expression: "la.*|t-0"})
	o.pulses = o.beatAll(o.t, all)
	eventually(o.t, "every group has members and topics", func() error {
		for _, g := range all {
			if shown, ok := o.all.View().Group(g.id); !ok || len(shown.Members) != 1 || len(shown.SubscribedTopics) == 0 || shown.Hash == nil {
				return fmt.Errorf("%s: %+v, last heartbeat: %v", g.id, shown, o.pulses.problem(g.id))
			}
		}
		return nil
	})
	o.quiet()
}

// pair are two brokers.
func (o *oracle) pair() []int32 {
	all := o.BrokerIDs()
	o.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:2]
}

// quiet waits until no hash was stored for some heartbeats, and the sidecar has
// read all of both logs.
func (o *oracle) quiet() {
	last, since := -1, time.Now()
	eventually(o.t, "nothing happens any more", func() error {
		all, err := o.log.all()
		if err != nil {
			return err
		}
		if len(all) != last {
			last, since = len(all), time.Now()
		}
		if err := o.all.caughtUp(); err != nil {
			return err
		}
		if rest := time.Since(since); rest < 6*heartbeat {
			return fmt.Errorf("a hash was stored %v ago", rest)
		}
		return o.shown()
	})
}

// shown says which group's newest hash the sidecar does not show.
func (o *oracle) shown() error {
	for _, g := range o.pulses.groups {
		stored, ok := o.log.newest(g.id)
		if shown, _ := o.all.newest(g.id); ok && (shown.stored != stored.Hash || shown.epoch != stored.Epoch) {
			return fmt.Errorf("%s: stored %s, shown %s", g.id, stored, shown)
		}
	}
	return nil
}

// plan predicts one plan, carries it out, and compares.
func (o *oracle) plan(number int, kind string) {
	begin := time.Now()
	changes, carryOut, after := o.invent(kind)
	text, err := json.Marshal(changes)
	require.NoError(o.t, err)
	predicted := o.predict(text)
	before := o.epochs()
	carryOut()
	o.all.awaitCaughtUp(o.t)
	o.awaitCertain(predicted, before)
	o.quiet()
	result := o.compare(string(text), predicted, before)
	o.t.Logf("plan %2d %-18s %5.1f s  %s  %.200s", number, kind, time.Since(begin).Seconds(), result, text)
	if after != nil {
		after()
		o.quiet()
	}
}

// predict asks the sidecar, by HTTP.
func (o *oracle) predict(plan []byte) map[string]api.Prediction {
	resp, err := http.Post("http://"+o.all.Address()+"/v1/whatif?limit=1000", "application/json", bytes.NewReader(plan))
	require.NoError(o.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(o.t, err)
	require.Equal(o.t, http.StatusOK, resp.StatusCode, "%s: %s", plan, body)
	var answer api.Whatif[api.Prediction]
	require.NoError(o.t, json.Unmarshal(body, &answer))
	require.Empty(o.t, answer.Missing)
	out := map[string]api.Prediction{}
	for _, p := range answer.Groups {
		out[p.Group] = p
	}
	return out
}

// epochs are the number of hashes that each group has stored.
func (o *oracle) epochs() map[string][]storedHash {
	all := map[string][]storedHash{}
	for _, g := range o.pulses.groups {
		all[g.id] = o.log.of(g.id)
	}
	return all
}

func (o *oracle) awaitCertain(predicted map[string]api.Prediction, before map[string][]storedHash) {
	eventually(o.t, "every group that is certain to bump does", func() error {
		for id, p := range predicted {
			if n := len(o.log.of(id)) - len(before[id]); p.Bump == whatif.Certain && n < p.Bumps.Min {
				return fmt.Errorf("%s bumped %d times, predicted %+v\n%s", id, n, p, o.all.text(id, 0))
			}
		}
		return nil
	})
}

// compare holds what happened against what was predicted.
func (o *oracle) compare(plan string, predicted map[string]api.Prediction, before map[string][]storedHash) string {
	require.Empty(o.t, o.pulses.rejoined(), "members that joined again")
	concerned, bumped := 0, 0
	for _, g := range o.pulses.groups {
		now := o.log.of(g.id)
		n := len(now) - len(before[g.id])
		p, ok := predicted[g.id]
		where := fmt.Sprintf("plan %s: %s (%s, topics %v) bumped %d times: %v\npredicted %+v", plan, g.id, g.kind, g.topics, n, now[max(0, len(before[g.id])-1):], p)
		if n > 0 {
			bumped++
			o.bumped++
		}
		if !ok || p.Bump == whatif.No {
			require.Zero(o.t, n, where)
			continue
		}
		concerned++
		require.GreaterOrEqual(o.t, n, p.Bumps.Min, where)
		require.LessOrEqual(o.t, n, p.Bumps.Max, where)
		o.count(p.Bump, n)
		if p.Final.After != nil && p.Bump != whatif.AtNextEvent {
			require.Equal(o.t, int64(*p.Final.After), now[len(now)-1].Hash, where)
		}
	}
	switch {
	case concerned == 0:
		o.none++
	case concerned >= 5:
		o.many++
	}
	return fmt.Sprintf("%2d groups predicted, %2d bumped", concerned, bumped)
}

func (o *oracle) count(bump whatif.Bump, n int) {
	if n > 0 {
		o.foreseen++
	}
	switch {
	case bump == whatif.Certain:
		o.certain++
		o.came++
	case bump == whatif.IfHeartbeatFallsInside:
		o.possible++
		if n > 0 {
			o.gone++
		}
	default:
		o.later++
	}
}

// conclude reports how good the predictions were.
func (o *oracle) conclude() {
	o.t.Logf("20 plans: %d concern five groups or more, %d none", o.many, o.none)
	o.t.Logf("predictions: %d certain, of which %d bumped; %d if a heartbeat falls inside, of which %d bumped; %d at the next event",
		o.certain, o.came, o.possible, o.gone, o.later)
	o.t.Logf("recall %d of %d bumped groups; precision of certain %d of %d, of certain and possible %d of %d",
		o.foreseen, o.bumped, o.came, o.certain, o.came+o.gone, o.certain+o.possible)
	require.GreaterOrEqual(o.t, o.many, 10, "plans that concern five groups or more")
	require.GreaterOrEqual(o.t, o.none, 5, "plans that concern none")
}
