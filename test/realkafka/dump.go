//go:build unix

package realkafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kraftside/kraftside/test/jvm"
)

// Dump returns what Kafka's own dump tool prints for files of the metadata log or of __consumer_offsets, a line each. The
// parent directory's name says which of the two a file is; all files must be of one kind.
func Dump(ctx context.Context, version string, files ...string) ([]string, error) {
	j, err := newJava(ctx, version)
	if err != nil {
		return nil, err
	}
	return j.dump(ctx, version, files)
}

// Dump is the function Dump with the cluster's release.
func (c *Cluster) Dump(ctx context.Context, files ...string) ([]string, error) {
	return c.java.dump(ctx, c.config.Version, files)
}

func (j java) dump(ctx context.Context, version string, files []string) ([]string, error) {
	if len(files) == 0 {
		return nil, errors.New("dump: no files")
	}
	decoder := "--cluster-metadata-decoder"
	if strings.HasPrefix(filepath.Base(filepath.Dir(files[0])), "__consumer_offsets-") {
		decoder = "--offsets-decoder"
	}
	line := slices.Concat(j.options, []string{"-cp", j.classPath, dumpTool(version), decoder, "--files", strings.Join(files, ",")})
	cmd := exec.CommandContext(ctx, "java", line...)
	jvm.DieWithParent(cmd)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("dump %s: %w\n%s", strings.Join(files, ","), err, stderr.String())
	}
	return strings.Split(strings.TrimRight(string(out), "\n"), "\n"), nil
}

// dumpTool returns the class of the tool, which moved when it was rewritten in Java.
func dumpTool(version string) string {
	if slices.ContainsFunc([]string{"4.0.", "4.1.", "4.2."}, func(p string) bool { return strings.HasPrefix(version, p) }) {
		return "kafka.tools.DumpLogSegments"
	}
	return "org.apache.kafka.tools.DumpLogSegments"
}
