//go:build e2e && unix

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/test/jvm"
)

// compareLibrdkafka asks the cluster and what is at an address with librdkafka: by
// its Python binding, and by kcat.
func (s *adminStage) compareLibrdkafka(t *testing.T, address string) {
	cluster := strings.Join(s.Bootstrap(), ",")
	python := func(at string) string {
		return run(t, []string{"PYTHONPATH=" + confluentKafka(t)}, "python3", append([]string{filepath.Join("testdata", "librdkafka.py"), at}, s.groupIDs()...)...)
	}
	assert.Equal(t, python(cluster), python(address), "confluent-kafka")
	program, libraries := kcat(t)
	list := func(at string) string {
		return plainKcat(t, run(t, []string{"LD_LIBRARY_PATH=" + libraries}, program, "-b", at, "-L", "-J"))
	}
	assert.Equal(t, list(cluster), list(address), "kcat -L")
}

// plainKcat is what kcat lists, its topics sorted, without addresses, the
// controller, and its own connection.
func plainKcat(t *testing.T, said string) string {
	var all map[string]any
	require.NoError(t, json.Unmarshal([]byte(said), &all), said)
	delete(all, "controllerid")
	delete(all, "originating_broker")
	for _, b := range all["brokers"].([]any) {
		delete(b.(map[string]any), "name")
	}
	slices.SortFunc(all["topics"].([]any), func(a, b any) int {
		return strings.Compare(a.(map[string]any)["topic"].(string), b.(map[string]any)["topic"].(string))
	})
	text, err := json.MarshalIndent(all, "", " ")
	require.NoError(t, err)
	return string(text)
}

// confluentKafka is a directory with librdkafka's Python binding.
func confluentKafka(t *testing.T) string {
	const version = "2.16.1"
	dir, err := jvm.Cached("confluent-kafka-"+version+"-"+pythonVersion(t), func(dir string) error {
		return download(t.Context(), dir, "python3", "-m", "pip", "install", "--quiet", "--target", dir, "confluent-kafka=="+version)
	})
	require.NoError(t, err)
	return dir
}

func pythonVersion(t *testing.T) string {
	return strings.TrimSpace(strings.TrimPrefix(run(t, nil, "python3", "--version"), "Python "))
}

// kcat is the command that is installed, else that of Debian's packages.
func kcat(t *testing.T) (program, libraries string) {
	if program, err := exec.LookPath("kcat"); err == nil {
		return program, ""
	}
	dir, err := jvm.Cached("kcat", func(dir string) error {
		if err := download(t.Context(), dir, "apt-get", "download", "kcat", "librdkafka1", "libyajl2"); err != nil {
			return fmt.Errorf("kcat is not installed, and could not be taken from Debian's packages: %w", err)
		}
		packages, err := filepath.Glob(filepath.Join(dir, "*.deb"))
		if err != nil {
			return err
		}
		for _, p := range packages {
			if err := download(t.Context(), dir, "dpkg-deb", "--extract", p, dir); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
	found, err := filepath.Glob(filepath.Join(dir, "usr", "lib", "*-linux-gnu"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	return filepath.Join(dir, "usr", "bin", "kcat"), found[0]
}

func download(ctx context.Context, dir, command string, args ...string) error {
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", command, err, out)
	}
	return nil
}

// run returns what a command prints, with 127.0.0.N of addresses left out.
func run(t *testing.T, environment []string, command string, args ...string) string {
	cmd := exec.CommandContext(within(t), command, args...)
	cmd.Env = append(os.Environ(), environment...)
	jvm.DieWithParent(cmd)
	out, err := cmd.Output()
	var failed *exec.ExitError
	if err != nil {
		require.ErrorAs(t, err, &failed)
		require.NoError(t, err, "%s %v: %s", command, args, failed.Stderr)
	}
	return loopback.ReplaceAllString(string(out), "HOST")
}

var loopback = regexp.MustCompile(`127\.0\.0\.\d+:\d+`)
