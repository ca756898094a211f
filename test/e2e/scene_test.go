//go:build e2e && unix

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/internal/answer"
	"github.com/kraftside/kraftside/internal/ask"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/test/realkafka"
	"github.com/kraftside/kraftside/web/api"
)

// stage is where scenes are played: a cluster, and a sidecar beside it that is
// asked why groups rebalanced.
type stage struct {
	*world
	asked *ask.Client

	mu     sync.Mutex // the methods of a cluster are for one goroutine
	played map[string]*played
	ids    map[string]bool // of the groups of all scenes
}

// played is what was explained of a scenario.
type played struct {
	text    string // what must be the same each time
	example string // what explain prints
}

func newStage(w *world) *stage {
	eventually(w.t, "the HTTP server listens", w.all.listens)
	client, err := ask.New(ask.Config{Servers: []string{w.all.Address()}})
	require.NoError(w.t, err)
	s := &stage{world: w, asked: client, played: map[string]*played{}, ids: map[string]bool{}}
	s.awaitCoordinators()
	return s
}

// awaitCoordinators has Kafka create __consumer_offsets, and waits until the
// sidecar has read all of it.
func (s *stage) awaitCoordinators() {
	t := s.world.t
	eventually(t, "coordinators are there", func() error {
		for p := range int32(offsetsPartitions) {
			if r := s.admin.FindGroupCoordinators(within(t), idIn(p, "anybody")); r.Error() != nil {
				return r.Error()
			}
			if p, read := s.all.View().Partition(p); !read || p.Loading || p.Hidden {
				return errors.New("not all partitions are read")
			}
		}
		return s.all.caughtUp()
	})
}

// scene is a few scenarios in a row, with groups and topics of its own. It
// belongs to one goroutine; several are played at once.
type scene struct {
	*stage
	t     *testing.T
	name  string
	group string // the id of the group
	kind  groups.Type
	part  string // the scenario under way
	cast  []string
	// open: its last rebalance is not to be completed.
	open bool
	// showFirst: the documentation shows its first rebalance, not its last.
	showFirst bool
	before    map[string]int // rebalances of each group when it began
}

// patient is longer than a scene takes: a member is gone only if that is part
// of the scene.
const patient = 40 * time.Second

func (s *stage) scene(t *testing.T, name string, kind groups.Type) *scene {
	c := &scene{stage: s, t: t, name: name, group: name, kind: kind}
	if kind != groups.Classic {
		c.configure(map[string]string{"session.timeout.ms": fmt.Sprint(patient.Milliseconds())})
		pause(t, 3*time.Second) // what explains a departure is what was configured three seconds before
	}
	return c
}

// configure sets configurations of the group.
func (s *scene) configure(values map[string]string) {
	s.t.Helper()
	all := map[string]string{s.kind.String() + ".heartbeat.interval.ms": fmt.Sprint(heartbeat.Milliseconds())}
	for key, value := range values {
		all[s.kind.String()+"."+key] = value
	}
	s.alterConfig(s.t, kmsg.ConfigResourceTypeGroupConfig, s.group, all)
	s.awaitApplied(s.t)
}

// topic is the scene's own name of a topic.
func (s *scene) topic(name string) string { return s.name + "-" + name }

// create makes a topic of the scene, with two replicas for each partition
// where there are brokers for them.
func (s *scene) create(name string, partitions int) {
	s.t.Helper()
	var replicas [][]int32
	for p := range partitions {
		replicas = append(replicas, s.replicas(p))
	}
	s.world.create(s.t, s.topic(name), replicas...)
	s.awaitApplied(s.t)
}

func (s *scene) remove(name string) {
	s.t.Helper()
	s.delete(s.t, s.topic(name))
	s.awaitApplied(s.t)
}

// awaitApplied waits until what was done is in the images of all coordinators,
// but those on brokers that are away, so that the next heartbeat finds it.
func (w *world) awaitApplied(t testing.TB, away ...int32) {
	t.Helper()
	end := w.metadataEnd(t)
	for _, id := range w.BrokerIDs() {
		if slices.Contains(away, id) {
			continue
		}
		first := kafka.UnknownOffset
		bound := &metadatalog.AppliedBound{Client: w.client, Node: kafka.NodeID(id)}
		eventually(t, fmt.Sprintf("broker %d has applied the metadata", id), func() error {
			at, err := bound.CommittedEnd(within(t))
			if err == nil && at >= end && first < 0 {
				first = at
			}
			// It tells of an image before its coordinators have it, and gives
			// them each one before it tells of the next.
			if err == nil && (first < 0 || at == first) {
				err = fmt.Errorf("it is at %d, and the log at %d", at, end)
			}
			return err
		})
	}
}

// metadataEnd is the high watermark of the metadata log.
func (w *world) metadataEnd(t testing.TB) kafka.Offset {
	t.Helper()
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic = kafka.MetadataTopic
	topic.Partitions = []kmsg.DescribeQuorumRequestTopicPartition{kmsg.NewDescribeQuorumRequestTopicPartition()}
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(within(t), w.client)
	require.NoError(t, err)
	require.NoError(t, kerr.ErrorForCode(resp.ErrorCode))
	return kafka.Offset(resp.Topics[0].Partitions[0].HighWatermark)
}

func (s *scene) replicas(partition int) []int32 {
	ids := s.BrokerIDs()
	if len(ids) == 1 {
		return ids
	}
	return []int32{ids[partition%len(ids)], ids[(partition+1)%len(ids)]}
}

// grow gives a topic of the scene one more partition.
func (s *scene) grow(name string) {
	s.t.Helper()
	s.addPartition(s.t, s.topic(name), s.replicas(0)...)
	s.awaitApplied(s.t)
}

// client starts a real client in the scene's group.
func (s *scene) client(id string, topics []string, options ...kgo.Opt) *group {
	s.t.Helper()
	var names []string
	for _, name := range topics {
		names = append(names, s.topic(name))
	}
	options = append([]kgo.Opt{kgo.ClientID(id), kgo.ConsumeTopics(names...)}, options...)
	switch s.kind {
	case groups.Share:
		options = append(options, kgo.ShareGroup(s.group))
	case groups.Consumer:
		options = append(options, kgo.ConsumerGroup(s.group), kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer()))
	default:
		options = append(options, kgo.ConsumerGroup(s.group), kgo.Balancers(kgo.RangeBalancer()), kgo.HeartbeatInterval(heartbeat))
	}
	return s.connect(s.t, s.kind, s.group, names, options)
}

// program starts a member of the scene's streams group.
func (s *scene) program(id string) *realkafka.StreamsMember {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.NewStreamsMember(context.WithoutCancel(s.t.Context()), s.group, s.name+"-"+id)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, m.Kill()) })
	return m
}

// begin ends the scenario before, if there is one, and begins the next. It is
// about the scene's group, unless others are given.
func (s *scene) begin(part string, cast ...string) {
	s.t.Helper()
	s.end()
	if cast == nil {
		cast = []string{s.group}
	}
	s.part, s.cast, s.before = part, cast, map[string]int{}
	for _, id := range cast {
		s.before[id] = len(s.settled(id))
	}
}

// end ends the scenario under way: nothing more must come of it.
func (s *scene) end() {
	s.t.Helper()
	if s.part == "" {
		return
	}
	pause(s.t, 6*heartbeat)
	p := &played{}
	for _, id := range s.cast {
		if !s.open {
			s.awaitCompleted(id)
		}
		all := s.settled(id)
		if all = all[s.before[id]:]; len(all) > 0 && p.example == "" {
			shown := len(all) - 1
			if s.showFirst {
				shown = 0
			}
			p.example = s.explanation(id, all[shown])
		}
		if len(s.cast) > 1 {
			p.text += "group " + strings.TrimPrefix(id, s.name+"-") + "\n"
		}
		p.text += s.transcript(all)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.played[s.part] = p
	for _, id := range s.cast {
		s.ids[id] = true
	}
	s.part, s.open, s.showFirst = "", false, false
}

// awaitCompleted waits until every member has what it is to get.
func (s *scene) awaitCompleted(id string) {
	s.t.Helper()
	eventually(s.t, s.part+": rebalances of group "+id+" are completed", func() error {
		all := s.rebalances(id)
		if slices.ContainsFunc(all, func(r api.Rebalance) bool { return r.CompletedAt == nil && r.SupersededBy == nil }) {
			return errors.New(s.transcript(all))
		}
		return nil
	})
}

// await waits until the scenario has brought the group so many rebalances,
// and their causes are known.
func (s *scene) await(n int) {
	s.t.Helper()
	for _, id := range s.cast {
		eventually(s.t, fmt.Sprintf("%s: %d rebalances of group %s are explained", s.part, n, id), func() error {
			all := s.rebalances(id)
			if all = all[min(s.before[id], len(all)):]; len(all) < n || !settled(all) {
				return fmt.Errorf("it has %d:\n%s", len(all), s.transcript(all))
			}
			return nil
		})
	}
}

// after waits for the rebalances that come before the first scenario.
func (s *scene) after(n int) {
	s.t.Helper()
	s.cast = []string{s.group}
	s.await(n)
}

// settled are all rebalances of a group, once the causes of all are known and
// the sidecar has seen what its coordinator wrote.
func (s *scene) settled(id string) (all []api.Rebalance) {
	s.t.Helper()
	eventually(s.t, "the rebalances of group "+id+" are explained", func() error {
		all = s.rebalances(id)
		stored, ok := s.log.newest(id)
		switch {
		case !settled(all):
			return errors.New("not all are")
		case ok && (len(all) == 0 || all[len(all)-1].Epoch < stored.Epoch):
			return fmt.Errorf("the broker stored %s", stored)
		}
		return nil
	})
	return all
}

func settled(all []api.Rebalance) bool {
	return !slices.ContainsFunc(all, func(r api.Rebalance) bool { return !r.Settled })
}

// rebalances are those of a group, oldest first.
func (s *scene) rebalances(id string) []api.Rebalance {
	return rebalances(s.t, s.all.Address(), id)
}

// rebalances are what a sidecar says of a group, oldest first.
func rebalances(t testing.TB, address, id string) []api.Rebalance {
	var body api.Rebalances
	getJSON(t, address, "/v1/groups/"+id+"/rebalances?last=100", &body)
	slices.Reverse(body.Rebalances)
	return body.Rebalances
}

// explanation is what explain prints of one rebalance.
func (s *stage) explanation(id string, r api.Rebalance) string {
	e := &answer.Explanation{Group: id, Rebalances: []api.Rebalance{r}}
	if g, err := s.asked.Group(context.Background(), id); err == nil {
		e.Now = g
	}
	t := cli.NewText(&cli.Output{Clock: cli.Clock{Now: time.Now(), Zone: time.UTC}})
	e.Text(t)
	return string(t.Bytes())
}
