//go:build unix

package realkafka

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kraftside/kraftside/test/jvm"
)

// Heaps that hold what a test cluster does: a broker replays and serves a few hundred partitions.
var heaps = map[string]string{roleController: "-Xmx128m", roleBroker: "-Xmx256m", roleTraining: "-Xmx256m"}

// startSoon are the options of a virtual machine that lives for a minute: what it saves at start matters more than its speed later.
var startSoon = []string{"-Xms64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"}

// java knows how to run the servers of one release.
type java struct {
	classPath string
	options   []string // of every virtual machine
}

// newJava downloads and prepares what the release needs.
func newJava(ctx context.Context, version string) (java, error) {
	classPath, err := jvm.ClassPath(ctx, version)
	if err != nil {
		return java{}, err
	}
	logging, err := jvm.LogConfig()
	if err != nil {
		return java{}, err
	}
	j := java{classPath: classPath, options: append(slices.Clone(startSoon), logging)}
	classes, err := classArchive(ctx, version, j)
	if err != nil {
		return java{}, fmt.Errorf("class data archive of Kafka %s: %w", version, err)
	}
	j.options = append(j.options, "-XX:SharedArchiveFile="+classes)
	return j, nil
}

// server returns the command line of a server.
func (j java) server(n *node, extra ...string) []string {
	line := slices.Concat([]string{"java", heaps[n.role]}, j.options, extra)
	return append(line, "-cp", j.classPath, "kafka.Kafka", n.configFile())
}

// classArchive returns the file of loaded classes (Java's class data sharing) that a server of the release maps instead of
// parsing its jars again. It halves the processor time of a start and takes about 10 s to make, once for a release. A virtual
// machine to which it does not apply starts without it.
func classArchive(ctx context.Context, version string, j java) (string, error) {
	const name = "classes.jsa"
	key := jvm.Digest([]byte(j.classPath + strings.Join(startSoon, " ")))
	dir, err := jvm.Cached("classes-"+version+"-"+key, func(dir string) error {
		return train(ctx, j, dir, filepath.Join(dir, name))
	})
	return filepath.Join(dir, name), err
}

// train starts one server with both roles, which loads what either needs, and has it write its classes when it stops.
func train(ctx context.Context, j java, dir, file string) error {
	ports, err := freePorts(2)
	if err != nil {
		return err
	}
	n := &node{id: 1, role: roleTraining, dir: filepath.Join(dir, "training"), port: ports[0]}
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(n.dir)
	controller := fmt.Sprintf("127.0.0.1:%d", ports[1])
	p := Config{Brokers: 1}.shared()
	p["node.id"] = "1"
	p["process.roles"] = roleBroker + "," + roleController
	p["log.dirs"] = n.dataDir()
	p["listeners"] = plainListener + "://" + n.address() + "," + controllerListener + "://" + controller
	p["controller.quorum.bootstrap.servers"] = controller
	if err := n.writeConfig(p); err != nil {
		return err
	}
	format := exec.CommandContext(ctx, "java", "-cp", j.classPath, "kafka.tools.StorageTool",
		"format", "-t", randomID(), "-c", n.configFile(), "--standalone")
	if out, err := format.CombinedOutput(); err != nil {
		return fmt.Errorf("format storage: %w\n%s", err, out)
	}
	if err := n.start(j.server(n, "-XX:ArchiveClassesAtExit="+file)); err != nil {
		return err
	}
	if err := n.await(ctx, "start", n.started); err != nil {
		return errors.Join(err, n.kill())
	}
	return n.stop()
}
