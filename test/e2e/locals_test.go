//go:build e2e && unix

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/config"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/web/api"
)

// locals starts a sidecar of scope local beside each broker. They find each
// other on loopback addresses that end in the broker's id.
func (w *world) locals(t *testing.T, options ...func(id int32, c *config.Config)) map[int32]*beside {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	free := port(l.Addr().String())
	require.NoError(t, l.Close())
	all := map[int32]*beside{}
	for _, id := range w.BrokerIDs() {
		all[id] = w.sidecar(fmt.Sprintf("local-%d", id), w.t.TempDir(), func(c *config.Config) {
			c.NodeID, c.Groups.Scope = kafka.NodeID(id), config.ScopeLocal
			c.Peers.Address = "127.0.0.{id}"
			c.HTTP.Listen = fmt.Sprintf("127.0.0.%d:%d", id, free)
			for _, o := range options {
				o(id, c)
			}
		})
	}
	for _, b := range all {
		b.awaitCaughtUp(t)
		eventually(t, "the HTTP server listens", func() error { return b.listens() })
	}
	return all
}

func (b *beside) listens() error {
	if b.Address() == "" {
		return fmt.Errorf("sidecar %s does not listen", b.name)
	}
	return nil
}

// When the coordinator of a group moves, the sidecar beside the new one answers
// for it at once: it has followed the partition all the time.
func (c *cast) localSidecars(t *testing.T) {
	settleAll(t, c.groups())
	locals := c.locals(t)
	hides, loads := map[int32]int{}, map[int32]map[int32]time.Time{}
	for id, b := range locals {
		eventually(t, fmt.Sprintf("sidecar %d follows every partition", id), func() error {
			if n := len(b.loadedAt()); n != offsetsPartitions {
				return fmt.Errorf("it follows %d of %d", n, offsetsPartitions)
			}
			return nil
		})
		hides[id], loads[id] = b.hides(), b.loadedAt()
	}
	for _, g := range c.groups() {
		partition := c.log.mustNewest(t, g.id).Partition
		from := c.leader(t, kafka.OffsetsTopic, partition)
		c.answeredBy(t, locals, g, from)
		to := c.moveCoordinator(t, partition)
		require.NotEqual(t, from, to)
		g.settled(t)
		c.answeredBy(t, locals, g, to)
	}
	for id, b := range locals {
		require.Equal(t, hides[id], b.hides(), "sidecar %d hides no group while it loads", id)
		require.Equal(t, loads[id], b.loadedAt(), "sidecar %d loads nothing", id)
	}
	for _, b := range locals {
		c.sameAnswers(t, b)
	}
	for _, b := range locals {
		b.end(t)
	}
}

// loadedAt says when each partition was last begun to be read.
func (b *beside) loadedAt() map[int32]time.Time {
	at := map[int32]time.Time{}
	for _, p := range b.View().Partitions {
		at[p.Partition] = p.Since
	}
	return at
}

// answeredBy waits until the sidecar beside a broker, and no other, answers for
// a group, with the hash that the broker stored.
func (c *cast) answeredBy(t *testing.T, locals map[int32]*beside, g *group, broker int32) {
	t.Helper()
	eventually(t, fmt.Sprintf("sidecar %d answers for group %s", broker, g.id), func() error {
		stored := c.log.mustNewest(t, g.id)
		for id, b := range locals {
			v := b.View()
			shown, ok := v.Group(g.id)
			if !ok {
				return fmt.Errorf("sidecar %d does not show it", id)
			}
			if v.Answers(shown) != (id == broker) {
				return fmt.Errorf("sidecar %d answers: %t", id, v.Answers(shown))
			}
			if shown.Hash == nil || shown.Hash.Value != stored.Hash || shown.Answer.Computed != stored.Hash {
				return fmt.Errorf("sidecar %d: %v %v, stored %s", id, shown.Hash, shown.Answer, stored)
			}
		}
		return nil
	})
}

// sameAnswers asks one sidecar of three for all groups and topics of the
// cluster, and compares with the sidecar that follows everything.
func (c *cast) sameAnswers(t *testing.T, b *beside) {
	var topics struct {
		Topics  []api.Topic
		Missing []api.Missing
	}
	for _, path := range []string{"/v1/groups", "/v1/verify"} {
		eventually(t, path+" of sidecar "+b.name+" is that of the cluster", func() error {
			one, all := getGroups(t, b.Address(), path), getGroups(t, c.all.Address(), path)
			if one != all {
				return fmt.Errorf("%s\nthe one that follows everything:\n%s", one, all)
			}
			return nil
		})
	}
	getJSON(t, b.Address(), "/v1/topics", &topics)
	require.Empty(t, topics.Missing)
	require.Len(t, topics.Topics, c.all.View().Image.Topics().NumTopics())
	shown := map[string]api.Topic{}
	for _, topic := range topics.Topics {
		shown[topic.Name] = topic
	}
	for _, g := range c.groups() {
		for _, name := range g.topics {
			if topic, ok := shown[name]; ok {
				require.Contains(t, topic.Groups, g.id, name)
			}
		}
	}
}

// getGroups is what a list of groups says of each hash.
func getGroups(t testing.TB, address, path string) (text string) {
	var body struct {
		Groups  []api.Group
		Missing []api.Missing
	}
	getJSON(t, address, path, &body)
	text = fmt.Sprintf("missing %v\n", body.Missing)
	for _, g := range body.Groups {
		stored, computed := "-", "-"
		if h := g.MetadataHash.Stored; h != nil {
			stored = fmt.Sprint(*h)
		}
		if h := g.MetadataHash.Computed; h != nil {
			computed = fmt.Sprint(*h)
		}
		text += fmt.Sprintf("%s %s epoch %d stored %s computed %s %s\n", g.Type, g.Group, g.Epoch, stored, computed, g.MetadataHash.Verdict)
	}
	return text
}

func getJSON(t testing.TB, address, path string, to any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(get(t, address, path), to), path)
}

func get(t testing.TB, address, path string) []byte {
	t.Helper()
	resp, err := http.Get("http://" + address + path)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Less(t, resp.StatusCode, 500, "%s: %s", path, body)
	return body
}
