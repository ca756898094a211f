//go:build unix

package main

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/web"
)

// interrupting takes what is printed, and interrupts whoever prints it.
type interrupting struct{ bytes.Buffer }

func (w *interrupting) Write(b []byte) (int, error) {
	n, _ := w.Buffer.Write(b)
	return n, syscall.Kill(os.Getpid(), syscall.SIGINT)
}

// TestWatching: -w shows an answer, and ends well when it is interrupted.
func TestWatching(t *testing.T) {
	t.Chdir(t.TempDir())
	c := &askedCluster{t: t, port: "0", sidecars: make(map[kafka.NodeID]*askedSidecar)}
	c.start(kafka.NoNode, web.Access{})
	c.sidecars[kafka.NoNode].Metadata(
		`TopicRecord {"name":"__consumer_offsets","topicId":"$9"}`, `PartitionRecord {"topicId":"$9","partitionId":0,"replicas":[1],"isr":[1],"leader":1}`)
	c.sidecars[kafka.NoNode].Groups(0,
		`5 {"groupId":"g","memberId":"m"} {"clientId":"c","clientHost":"/10.0.0.1","subscribedTopicNames":["orders"]}`,
		`3 {"groupId":"g"} {"epoch":2}`)
	for line, want := range map[string]string{
		"explain g -w": "member m (host 10.0.0.1) joined", "explain --all -w --since 1h": "1 rebalance of 1 group in the last 1h", "status -w": "1 rebalance is open",
	} {
		var stdout interrupting
		var stderr bytes.Buffer
		now := func() time.Time { return time.Date(2023, 11, 14, 22, 30, 0, 0, time.UTC) }
		code := run(strings.Fields(c.expand(line+" --server $0")), &cli.Output{Out: &stdout, Err: &stderr, Format: cli.TextFormat, Clock: cli.Clock{Now: now()}, Now: now})
		require.Equal(t, cli.OK, code, stderr.String())
		require.Contains(t, stdout.String(), want)
		require.Empty(t, stderr.String())
	}
}
