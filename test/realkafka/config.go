//go:build unix

package realkafka

import (
	"fmt"
	"maps"
	"strings"

	"github.com/kraftside/kraftside/test/jvm"
)

// Node ids: brokers count from 1, controllers from 3001.
const (
	firstBroker     = 1
	firstController = 3001
)

// Config says which cluster to start. The zero value is three controllers and three brokers of the newest release, each
// broker in a rack of its own, without security.
type Config struct {
	// Version is a Kafka release, for example "4.1.2". Empty means jvm.Newest.
	Version string
	// Controllers and Brokers count the servers of each role; 0 means 3.
	Controllers, Brokers int
	// Racks holds the rack of each broker, in order of node id. Nil means rack-1, rack-2 and so on; an empty string
	// or a missing entry means no rack.
	Racks []string
	// Properties is added to the configuration of every server and wins over what the package sets itself.
	Properties map[string]string
	// JavaOptions come after the options of every server, which have it start soon and stay small, and win over them.
	JavaOptions []string
	// Security adds secured listeners beside the plain ones. Nil means none.
	Security *Security
}

// AsDeployed are JavaOptions like those of Kafka's own start script, with so large a heap ("2g"), for who measures a
// broker.
func AsDeployed(heap string) []string {
	return []string{
		"-Xms" + heap, "-Xmx" + heap, "-XX:TieredStopAtLevel=4", "-XX:-UseSerialGC", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
		"-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent",
	}
}

func (c Config) withDefaults() Config {
	if c.Version == "" {
		c.Version = jvm.Newest
	}
	if c.Controllers == 0 {
		c.Controllers = 3
	}
	if c.Brokers == 0 {
		c.Brokers = 3
	}
	if c.Racks == nil {
		for i := range c.Brokers {
			c.Racks = append(c.Racks, fmt.Sprintf("rack-%d", i+1))
		}
	}
	if c.Security != nil {
		own := *c.Security // gets an authority of this cluster
		c.Security = &own
	}
	return c
}

// earlyAccess reports whether share and streams groups of this release must be switched on by unstable features.
func (c Config) earlyAccess() bool {
	return strings.HasPrefix(c.Version, "4.1.")
}

// formatFeatures returns the arguments that the storage tool needs to enable every group type the release has. In 4.0
// share groups have records of another shape and no hash, so they stay off.
func (c Config) formatFeatures() []string {
	if !c.earlyAccess() {
		return nil
	}
	const level41IV1 = "metadata.version=27"
	var args []string
	for _, f := range []string{level41IV1, "group.version=1", "share.version=1", "streams.version=1"} {
		args = append(args, "--feature", f)
	}
	return args
}

// shared returns the properties that every server of the cluster has. They make changes visible soon (short heartbeats
// and sessions, frequent snapshots) and a server small (few partitions, threads and buffers). A release ignores the
// names that it does not know.
func (c Config) shared() map[string]string {
	replication := fmt.Sprint(min(3, c.Brokers))
	p := map[string]string{
		"controller.listener.names":              controllerListener,
		"broker.session.timeout.ms":              "5000",
		"broker.heartbeat.interval.ms":           "1500",
		"initial.broker.registration.timeout.ms": "180000",
		"num.network.threads":                    "1",
		"num.io.threads":                         "2",
		"background.threads":                     "2",
		"num.replica.fetchers":                   "1",
		"log.cleaner.dedupe.buffer.size":         "1500000",
		"log.cleaner.io.buffer.size":             "65536",
		"log.initial.task.delay.ms":              "1000",
		"replica.lag.time.max.ms":                "4000",
		"offsets.topic.num.partitions":           "4",
		"offsets.topic.replication.factor":       replication,

		"transaction.state.log.num.partitions":             "2",
		"transaction.state.log.replication.factor":         replication,
		"transaction.state.log.min.isr":                    "1",
		"share.coordinator.state.topic.num.partitions":     "2",
		"share.coordinator.state.topic.replication.factor": replication,
		"share.coordinator.state.topic.min.isr":            "1",

		"metadata.log.max.record.bytes.between.snapshots": "20000",

		"group.coordinator.threads":                "1",
		"group.initial.rebalance.delay.ms":         "0",
		"group.streams.initial.rebalance.delay.ms": "0",
	}
	for _, kind := range []string{"consumer", "share", "streams"} {
		p["group."+kind+".heartbeat.interval.ms"] = "500"
		p["group."+kind+".min.heartbeat.interval.ms"] = "250"
		p["group."+kind+".session.timeout.ms"] = "10000"
		p["group."+kind+".min.session.timeout.ms"] = "3000"
	}
	if c.earlyAccess() {
		p["group.coordinator.rebalance.protocols"] = "classic,consumer,share,streams"
		p["unstable.feature.versions.enable"] = "true"
		p["unstable.api.versions.enable"] = "true"
	}
	return p
}

// properties returns the whole configuration of one server.
func (c *Cluster) properties(n *node) map[string]string {
	p := c.config.shared()
	p["node.id"] = fmt.Sprint(n.id)
	p["process.roles"] = n.role
	p["log.dirs"] = n.dataDir()
	p["controller.quorum.bootstrap.servers"] = strings.Join(c.ControllerBootstrap(), ",")
	p["listeners"] = n.listeners()
	if n.role == roleBroker {
		p["advertised.listeners"] = n.listeners()
		p["inter.broker.listener.name"] = plainListener
		if n.rack != "" {
			p["broker.rack"] = n.rack
		}
	}
	if c.config.Security != nil {
		maps.Copy(p, c.config.Security.properties(n))
	} else {
		p["listener.security.protocol.map"] = plainMap
	}
	maps.Copy(p, c.config.Properties)
	return p
}
