//go:build unix

// Package realkafka starts released Kafka for tests, because only Kafka itself shows what Kafka does.
//
// A Cluster is a KRaft quorum and its brokers, each server a process of its own on the loopback interface, with a small
// heap. Servers end with the cluster's Close, and on Linux at the latest with the process that started them. The methods of
// a Cluster are for one goroutine. Every method that starts or stops a server waits until the rest of the cluster sees
// it; an error holds the end of the server's log.
package realkafka

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kraftside/kraftside/test/jvm"
)

// startTimeout bounds the start of a server or of the whole cluster; on two idle cores it takes a tenth of this.
const startTimeout = 3 * time.Minute

// Cluster is a running cluster.
type Cluster struct {
	// ID is the cluster id.
	ID string

	config      Config
	dir         string
	java        java
	controllers []*node
	brokers     []*node
	client      *kgo.Client
	members     []*StreamsMember
}

// Start starts a cluster and waits until every broker sees all of them. When the test ends, so does the cluster; if the
// test failed, the end of every server's log is printed and the servers' directory is kept.
func Start(t testing.TB, config Config) *Cluster {
	t.Helper()
	dir, err := os.MkdirTemp("", "realkafka-")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Run(dir, config)
	if err != nil {
		t.Fatalf("start Kafka: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("servers' files are kept in %s\n%s", dir, c.Tails())
		}
		if err := c.Close(); err != nil {
			t.Errorf("close cluster: %v", err)
		}
		if !t.Failed() {
			os.RemoveAll(dir)
		}
	})
	return c
}

// Run is Start without a test: the servers' files go to dir, which must exist and be empty, and the caller closes the cluster.
func Run(dir string, config Config) (*Cluster, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	config = config.withDefaults()
	java, err := newJava(ctx, config.Version)
	if err != nil {
		return nil, err
	}
	c := &Cluster{ID: randomID(), config: config, dir: dir, java: java}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	if err := c.layOut(); err != nil {
		return err
	}
	if err := c.format(ctx); err != nil {
		return err
	}
	var err error
	if c.client, err = kgo.NewClient(kgo.SeedBrokers(c.Bootstrap()...)); err != nil {
		return err
	}
	return c.runAll(ctx)
}

// runAll starts all servers.
func (c *Cluster) runAll(ctx context.Context) error {
	// The controllers elect their leader while nothing else takes the processor: brokers that start beside them make
	// elections fail on a small machine.
	for _, nodes := range [][]*node{c.controllers, c.brokers} {
		for _, n := range nodes {
			if err := c.run(n); err != nil {
				return err
			}
		}
		if err := c.waitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// layOut decides the identity and the ports of every server.
func (c *Cluster) layOut() error {
	count := c.config.Controllers + c.config.Brokers
	ports, err := freePorts(2 * count)
	if err != nil {
		return err
	}
	for i := range count {
		n := &node{port: ports[i]}
		if c.config.Security != nil {
			n.securedPort = ports[count+i]
		}
		if i < c.config.Controllers {
			n.id, n.role, n.directoryID = firstController+int32(i), roleController, randomID()
			c.controllers = append(c.controllers, n)
		} else {
			n.id, n.role = firstBroker+int32(len(c.brokers)), roleBroker
			if r := len(c.brokers); r < len(c.config.Racks) {
				n.rack = c.config.Racks[r]
			}
			c.brokers = append(c.brokers, n)
		}
		n.dir = filepath.Join(c.dir, n.name())
		if err := os.MkdirAll(n.dir, 0o755); err != nil {
			return err
		}
	}
	return c.writeCertificates()
}

func (c *Cluster) writeCertificates() error {
	s := c.config.Security
	if s == nil {
		return nil
	}
	var err error
	if s.authority, err = newAuthority(); err != nil {
		return err
	}
	for _, n := range c.nodes() {
		if err := s.authority.writeStores(n); err != nil {
			return err
		}
	}
	return nil
}

// format prepares the storage of every server. The controllers are the voters of a dynamic quorum.
func (c *Cluster) format(ctx context.Context) error {
	var voters, lines []string
	for _, n := range c.controllers {
		voters = append(voters, fmt.Sprintf("%d@%s:%s", n.id, n.address(), n.directoryID))
	}
	for _, n := range c.nodes() {
		if err := n.writeConfig(c.properties(n)); err != nil {
			return err
		}
		args := []string{"format", "-t", c.ID, "-c", n.configFile(), "--no-initial-controllers"}
		if n.role == roleController {
			args = append(args[:len(args)-1], "--initial-controllers", strings.Join(voters, ","))
		}
		lines = append(lines, strings.Join(append(args, c.config.formatFeatures()...), "\t"))
	}
	file := filepath.Join(c.dir, "format.txt")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		return err
	}
	cmd, err := jvm.Command(ctx, c.config.Version, "Format", c.java.options, file)
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("format storage: %w\n%s", err, out)
	}
	return nil
}

// Close kills the streams members and the servers, brokers before controllers, and keeps their files.
func (c *Cluster) Close() error {
	if c.client != nil {
		c.client.Close()
	}
	var errs []error
	for _, m := range c.members {
		errs = append(errs, m.Kill())
	}
	for _, n := range append(c.brokers, c.controllers...) {
		errs = append(errs, n.kill())
	}
	return errors.Join(errs...)
}

// Tails returns the end of every server's log.
func (c *Cluster) Tails() string {
	var b strings.Builder
	for _, n := range c.nodes() {
		fmt.Fprintf(&b, "--- %s\n%s\n", n.name(), n.tail())
	}
	return b.String()
}

// Version returns the Kafka release that runs.
func (c *Cluster) Version() string { return c.config.Version }

// Admin returns an admin client of the cluster's plain listener. It ends with the cluster.
func (c *Cluster) Admin() *kadm.Client { return kadm.NewClient(c.client) }

// Bootstrap returns host:port of every broker's plain listener, running or not.
func (c *Cluster) Bootstrap() []string { return addresses(c.brokers, (*node).address) }

// ControllerBootstrap returns host:port of every controller's plain listener, running or not.
func (c *Cluster) ControllerBootstrap() []string { return addresses(c.controllers, (*node).address) }

func addresses(nodes []*node, address func(*node) string) []string {
	var out []string
	for _, n := range nodes {
		out = append(out, address(n))
	}
	return out
}

// nodes returns the servers, controllers first.
func (c *Cluster) nodes() []*node {
	return append(append([]*node(nil), c.controllers...), c.brokers...)
}

// find returns the server with a node id; an unknown id is a mistake in the test.
func (c *Cluster) find(id int32) *node {
	for _, n := range c.nodes() {
		if n.id == id {
			return n
		}
	}
	panic(fmt.Sprintf("realkafka: no server with node id %d", id))
}

// randomID returns a new id in Kafka's text form of a UUID. Kafka refuses ids that begin with a dash on a command line.
func randomID() string {
	for {
		var b [16]byte
		rand.Read(b[:])
		if id := base64.RawURLEncoding.EncodeToString(b[:]); id[0] != '-' {
			return id
		}
	}
}
