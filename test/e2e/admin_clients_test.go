//go:build e2e && unix

package e2e

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/internal/config"
	"github.com/kraftside/kraftside/test/jvm"
	"github.com/kraftside/kraftside/test/realkafka"
)

// TestAdminClients asks with kadm, with Kafka's own tools and with librdkafka what
// one asks a cluster: the cluster itself; one sidecar for all of it, with one
// address and with one for each broker; and sidecars beside each broker. The
// answers have to be the same, and no broker may be asked on the way.
func TestAdminClients(t *testing.T) {
	if !hasNewest(t) {
		t.Skip("clients are those of the newest release")
	}
	s := newAdminStage(t, jvm.Newest)
	s.answerForAll(t)
	s.populate(t)
	s.settle(t)
	t.Run("a port for each broker", func(t *testing.T) {
		s.compareKadm(t, s.asked.AdminAddress(), true, func(host string, port int) bool {
			return host == "127.0.0.1" && (port == s.adminPort(t) || slices.Contains(s.BrokerIDs(), int32(port-s.first)))
		})
	})
	t.Run("one sidecar beside each broker", func(t *testing.T) {
		all := s.adminLocals(t)
		s.compareKadm(t, fmt.Sprintf("127.0.0.1:%d", all), true, func(host string, port int) bool {
			return strings.HasPrefix(host, "127.0.0.") && port == all
		})
	})
	t.Run("one port", func(t *testing.T) {
		s.asked = s.sidecar("self", t.TempDir(), func(c *config.Config) {
			c.Admin.Listen, c.Admin.MaxStaleness, c.Groups.Scope = "127.0.0.1:0", patience, config.ScopeAll
		})
		eventually(t, "the endpoint listens", s.asked.listensForKafka)
		s.settle(t)
		// To kadm the coordinator of a group is whoever lists it.
		s.compareKadm(t, s.asked.AdminAddress(), false, func(host string, port int) bool {
			return host == "127.0.0.1" && port == s.adminPort(t)
		})
		s.compareTools(t, s.asked.AdminAddress())
		s.compareLibrdkafka(t, s.asked.AdminAddress())
	})
}

// adminPort is the port of the sidecar that is asked.
func (s *adminStage) adminPort(t *testing.T) int {
	_, port, err := net.SplitHostPort(s.asked.AdminAddress())
	require.NoError(t, err)
	n, err := strconv.Atoi(port)
	require.NoError(t, err)
	return n
}

func (b *beside) listensForKafka() error {
	if b.AdminAddress() == "" {
		return errors.New("it does not")
	}
	return nil
}

// adminLocals starts a sidecar beside each broker, each on the address of its
// broker's own, and returns their port.
func (s *adminStage) adminLocals(t *testing.T) int {
	free, err := realkafka.FreePorts(1)
	require.NoError(t, err)
	for _, b := range s.locals(t, func(id int32, c *config.Config) {
		c.Admin.Listen, c.Admin.AllowAnonymous, c.Admin.MaxStaleness = fmt.Sprintf("127.0.0.%d:%d", id, free[0]), false, patience
	}) {
		eventually(t, "the endpoint of "+b.name+" listens", b.listensForKafka)
		b.awaitCaughtUp(t)
	}
	return free[0]
}

// connections are where a client has connected to.
type connections struct {
	mu  sync.Mutex
	all []endpoint
}

type endpoint struct {
	host string
	port int
}

// OnBrokerConnect implements kgo.HookBrokerConnect.
func (c *connections) OnBrokerConnect(m kgo.BrokerMetadata, _ time.Duration, _ net.Conn, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, endpoint{m.Host, int(m.Port)})
}

func (c *connections) distinct() []endpoint {
	slices.SortFunc(c.all, func(a, b endpoint) int { return cmp.Or(strings.Compare(a.host, b.host), a.port-b.port) })
	return slices.Compact(c.all)
}

// question is one that kadm can ask.
type question struct {
	name string
	ask  func(*kadm.Client) (any, error)
	// inAnyOrder: lists are in another order each time.
	inAnyOrder bool
}

func (s *adminStage) questions(t *testing.T) []question {
	ids, share := s.groupIDs(), fmt.Sprintf("share:%s:0", s.topicIDText("orders"))
	return []question{
		{name: "Metadata", ask: func(c *kadm.Client) (any, error) { return c.Metadata(within(t)) }},
		{name: "ListBrokers", ask: func(c *kadm.Client) (any, error) { return c.ListBrokers(within(t)) }},
		{name: "ListTopics", ask: func(c *kadm.Client) (any, error) { return c.ListTopics(within(t)) }},
		{name: "ListTopics of some", ask: func(c *kadm.Client) (any, error) { return c.ListTopics(within(t), "orders", "absent") }},
		{name: "ListTopicsWithInternal", ask: func(c *kadm.Client) (any, error) { return c.ListTopicsWithInternal(within(t)) }},
		{name: "FindGroupCoordinators", ask: func(c *kadm.Client) (any, error) { return c.FindGroupCoordinators(within(t), ids...), nil }},
		{name: "FindTxnCoordinators", ask: func(c *kadm.Client) (any, error) { return c.FindTxnCoordinators(within(t), "transactions"), nil }},
		{name: "FindShareCoordinators", ask: func(c *kadm.Client) (any, error) { return c.FindShareCoordinators(within(t), share), nil }},
		{name: "ListGroups", ask: func(c *kadm.Client) (any, error) { return c.ListGroups(within(t)) }},
		{name: "ListGroups that are stable", ask: func(c *kadm.Client) (any, error) { return c.ListGroups(within(t), "Stable") }},
		{name: "ListGroupsByType", ask: func(c *kadm.Client) (any, error) { return c.ListGroupsByType(within(t), []string{"consumer", "share"}) }},
		{name: "DescribeGroups", ask: func(c *kadm.Client) (any, error) { return c.DescribeGroups(within(t)) }},
		{name: "DescribeGroups of each", ask: func(c *kadm.Client) (any, error) { return c.DescribeGroups(within(t), ids...) }},
		{name: "DescribeConsumerGroups", ask: func(c *kadm.Client) (any, error) { return c.DescribeConsumerGroups(within(t)) }},
		{name: "DescribeConsumerGroups of each", ask: func(c *kadm.Client) (any, error) { return c.DescribeConsumerGroups(within(t), ids...) }},
		{name: "DescribeShareGroups", ask: func(c *kadm.Client) (any, error) { return c.DescribeShareGroups(within(t)) }},
		{name: "FetchOffsets", ask: func(c *kadm.Client) (any, error) { return c.FetchOffsets(within(t), "classic") }},
		{name: "FetchManyOffsets", ask: func(c *kadm.Client) (any, error) { return c.FetchManyOffsets(within(t), ids...), nil }},
		{name: "FetchOffsetsForTopics", ask: func(c *kadm.Client) (any, error) { return c.FetchOffsetsForTopics(within(t), "consumer", "orders") }},
		{name: "FetchOffsetsByID", ask: func(c *kadm.Client) (any, error) {
			byID, err := c.FetchOffsetsByID(within(t), "consumer")
			named := map[string]any{} // such a key has no text in JSON
			for id, offsets := range byID {
				named[id.String()] = offsets
			}
			return named, err
		}},
		{name: "ListConfigResources", ask: func(c *kadm.Client) (any, error) { return c.ListConfigResources(within(t)) }, inAnyOrder: true},
		{name: "ListConfigResources of groups", ask: func(c *kadm.Client) (any, error) {
			return c.ListConfigResources(within(t), kadm.ConfigResourceType(kmsg.ConfigResourceTypeGroupConfig))
		}, inAnyOrder: true},
		{name: "DescribeTopicConfigs", ask: func(c *kadm.Client) (any, error) { return dynamic(c.DescribeTopicConfigs(within(t), "orders", "in")) }, inAnyOrder: true},
		{name: "DescribeBrokerConfigs", ask: func(c *kadm.Client) (any, error) { return dynamic(c.DescribeBrokerConfigs(within(t), 1, 2, 3)) }, inAnyOrder: true},
		{name: "DescribeBrokerConfigs of all", ask: func(c *kadm.Client) (any, error) { return dynamic(c.DescribeBrokerConfigs(within(t))) }, inAnyOrder: true},
		{name: "DescribeACLs", ask: func(c *kadm.Client) (any, error) { return c.DescribeACLs(within(t), allACLs()) }, inAnyOrder: true},
		{name: "DescribeDelegationTokens", ask: func(c *kadm.Client) (any, error) { return c.DescribeDelegationTokens(within(t)) }},
		{name: "ListPartitionReassignments", ask: func(c *kadm.Client) (any, error) { return c.ListPartitionReassignments(within(t), nil) }},
		{name: "DescribeClientQuotas", ask: func(c *kadm.Client) (any, error) { return c.DescribeClientQuotas(within(t), false, nil) }, inAnyOrder: true},
		{name: "DescribeUserSCRAMs", ask: func(c *kadm.Client) (any, error) { return c.DescribeUserSCRAMs(within(t)) }, inAnyOrder: true},
	}
}

// allACLs matches every access control entry.
func allACLs() *kadm.ACLBuilder {
	return kadm.NewACLs().AnyResource().ResourcePatternType(kadm.ACLPatternAny).Operations(kmsg.ACLOperationAny).
		Allow().AllowHosts().Deny().DenyHosts()
}

// dynamic leaves out what stands in a broker's own file, and defaults.
func dynamic(all kadm.ResourceConfigs, err error) (kadm.ResourceConfigs, error) {
	for i := range all {
		all[i].Configs = slices.DeleteFunc(all[i].Configs, func(c kadm.Config) bool { return static(c.Source) })
		for j := range all[i].Configs {
			c := &all[i].Configs[j]
			c.Synonyms = slices.DeleteFunc(c.Synonyms, func(s kadm.ConfigSynonym) bool { return static(s.Source) })
		}
	}
	return all, err
}

// unserved are questions that need a broker's disk, or change something.
func unserved(t *testing.T, c *kadm.Client) map[string]error {
	topics := kadm.TopicsSet{}
	topics.Add("orders", 0)
	ends, err := c.ListEndOffsets(within(t), "orders")
	producers, producersErr := c.DescribeProducers(within(t), topics)
	_, dirs := c.DescribeAllLogDirs(within(t), topics)
	_, transactions := c.ListTransactions(within(t), nil, nil)
	shares, sharesErr := c.DescribeShareGroupOffsets(within(t), "share")
	_, create := c.CreateTopic(within(t), 1, 1, nil, "new")
	return map[string]error{
		"ListEndOffsets":            cmp.Or(err, ends.Error()),
		"DescribeProducers":         cmp.Or(producersErr, producers["orders"].Partitions[0].Err),
		"DescribeAllLogDirs":        dirs,
		"ListTransactions":          transactions,
		"DescribeShareGroupOffsets": cmp.Or(sharesErr, shares.Error()),
		"CreateTopic":               create,
	}
}

// compareKadm asks the cluster, and what is at an address, and allows no
// connection but to the addresses that good accepts.
func (s *adminStage) compareKadm(t *testing.T, address string, coordinators bool, good func(host string, port int) bool) {
	seen := &connections{}
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.WithHooks(seen))
	require.NoError(t, err)
	defer client.Close()
	ours, questions := kadm.NewClient(client), s.questions(t)
	for _, q := range questions {
		// Groups that have just settled may still move.
		var want, got string
		for late := time.Now().Add(10 * time.Second); time.Now().Before(late); pause(t, pollInterval) {
			if want, got = q.answer(t, s.admin, coordinators), q.answer(t, ours, coordinators); want == got {
				break
			}
		}
		assert.Equal(t, want, got, q.name)
	}
	for name, err := range unserved(t, ours) {
		require.ErrorIs(t, err, kerr.UnsupportedVersion, name)
	}
	for _, at := range seen.all {
		require.True(t, good(at.host, at.port), "the client connected to %v", at)
	}
	t.Logf("%d questions, the same answers; connections to %v", len(questions), seen.distinct())
}

// answer is an answer as text, without addresses.
func (q question) answer(t *testing.T, c *kadm.Client, coordinators bool) string {
	v, err := q.ask(c)
	raw, failed := json.Marshal(map[string]any{"answer": v, "error": fmt.Sprint(err)})
	require.NoError(t, failed)
	var plain any
	require.NoError(t, json.Unmarshal(raw, &plain))
	left := []string{"Host", "Port", "Controller", "AuthorizedOperations"}
	if !coordinators {
		left = append(left, "Coordinator")
	}
	text, err := json.MarshalIndent(q.comparable(plain, left), "", " ")
	require.NoError(t, err)
	return string(text)
}

// comparable is decoded JSON without some fields.
func (q question) comparable(v any, left []string) any {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if slices.Contains(left, name) {
				delete(v, name)
			} else {
				v[name] = q.comparable(inner, left)
			}
		}
	case []any:
		for i := range v {
			v[i] = q.comparable(v[i], left)
		}
		if q.inAnyOrder {
			slices.SortFunc(v, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
	}
	return v
}
