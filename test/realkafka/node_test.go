//go:build unix

package realkafka

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// script returns a command line that a node runs in place of Kafka.
func script(text string) []string { return []string{"sh", "-c", text} }

func newNode(t *testing.T) *node {
	n := &node{id: 1, role: roleBroker, dir: t.TempDir()}
	t.Cleanup(func() { require.NoError(t, n.kill()) })
	return n
}

func TestNodeStartsAgain(t *testing.T) {
	n := newNode(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, n.start(script("echo Kafka Server started; exec sleep 60")))
	require.NoError(t, n.await(ctx, "start", n.started))
	require.ErrorContains(t, n.start(script("true")), "is running")
	require.NoError(t, n.stop())
	require.False(t, n.running())
	require.ErrorContains(t, n.stop(), "is not running")

	// What the previous process said does not count for the next one.
	require.NoError(t, n.start(script("exec sleep 60")))
	started, err := n.started()
	require.NoError(t, err)
	require.False(t, started)
	require.NoError(t, n.kill())
	require.NoError(t, n.kill())
}

func TestNodeThatEndsIsAnErrorWithItsLog(t *testing.T) {
	n := newNode(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, n.start(script("echo 12:00 ERROR disk is full; for i in $(seq 100); do echo line $i; done; exit 3")))
	err := n.await(ctx, "start", n.started)
	require.ErrorContains(t, err, "broker-1 ended before it could start: exit status 3")
	require.ErrorContains(t, err, "ERROR disk is full\nline 76\n")
	require.ErrorContains(t, err, "line 100")
}

func TestDefaults(t *testing.T) {
	c := Config{}.withDefaults()
	require.Equal(t, []string{"rack-1", "rack-2", "rack-3"}, c.Racks)
	require.Equal(t, 3, c.Controllers)
	require.Equal(t, "1", Config{Brokers: 1}.withDefaults().shared()["offsets.topic.replication.factor"])
	require.NotEmpty(t, Config{Version: "4.1.2"}.formatFeatures())
	require.Empty(t, Config{Version: "4.0.2"}.formatFeatures())
	require.Empty(t, Config{Version: "4.2.1"}.formatFeatures())
}

func TestSecuredListener(t *testing.T) {
	s := &Security{Protocol: "SASL_SSL", Users: map[string]string{"bob": "b", "alice": `a"b`}}
	p := s.properties(&node{role: roleController, dir: "/d"})
	require.Equal(t, `org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="a\"b" user_bob="b";`,
		p["listener.name.secured_controller.plain.sasl.jaas.config"])
	require.Equal(t, "/d/key.pem", p["listener.name.secured_controller.ssl.keystore.location"])
	require.NotContains(t, p, "listener.name.secured_controller.ssl.client.auth")
}

func TestUnsecuredToken(t *testing.T) {
	token, err := UnsecuredToken("alice")
	require.NoError(t, err)
	parts := strings.Split(token, ".")
	require.Len(t, parts, 3)
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	require.NoError(t, err)
	require.Contains(t, string(claims), `"sub":"alice"`)
}

func TestFreePorts(t *testing.T) {
	ports, err := freePorts(20)
	require.NoError(t, err)
	seen := map[int]bool{}
	for _, p := range ports {
		require.False(t, seen[p])
		seen[p] = true
		require.GreaterOrEqual(t, p, lowestPort)
		require.Less(t, p, highestPort)
	}
}
