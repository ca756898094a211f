//go:build unix

package realkafka

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/kraftside/kraftside/test/jvm"
)

// A Topology is what a StreamsMember does with its sources.
type Topology string

const (
	// Pass copies the sources to the sink.
	Pass Topology = "pass"
	// Count counts by value: the broker makes a repartition topic and a changelog for it.
	Count Topology = "count"
)

// StreamsMember is a member of a streams group (KIP-1071): a Java program, because no Go client speaks that protocol. Its
// methods are for one goroutine. It ends with the cluster.
type StreamsMember struct {
	process *jvm.Process
}

// NewStreamsMember starts the program, which does not join the group yet. The client id must be new in this cluster.
func (c *Cluster) NewStreamsMember(ctx context.Context, group, clientID string) (*StreamsMember, error) {
	dir := filepath.Join(c.dir, "streams-"+clientID)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	options := append([]string{"-Xmx96m"}, c.java.options...)
	p, err := jvm.StartProcess(ctx, c.config.Version, "StreamsMember", filepath.Join(dir, "member.log"), options,
		strings.Join(c.Bootstrap(), ","), group, clientID, filepath.Join(dir, "state"))
	if err != nil {
		return nil, err
	}
	m := &StreamsMember{process: p}
	c.members = append(c.members, m)
	return m, nil
}

// Set sets a property of the client for the next Start, for example group.instance.id.
func (m *StreamsMember) Set(key, value string) error {
	_, err := m.process.Ask("set", key, value)
	return err
}

// Start joins the group with a topology from the sources to the sink.
func (m *StreamsMember) Start(topology Topology, sink string, sources ...string) error {
	_, err := m.process.Ask(append([]string{"start", string(topology), sink}, sources...)...)
	return err
}

// State returns what the client says of itself: NONE before Start, then REBALANCING, RUNNING and so on.
func (m *StreamsMember) State() (string, error) { return m.process.Ask("state") }

// Stop leaves the group. Start may join it again.
func (m *StreamsMember) Stop() error {
	_, err := m.process.Ask("stop")
	return err
}

// Kill ends the member without a word to the group, which misses it when its session times out.
func (m *StreamsMember) Kill() error { return m.process.Kill() }
