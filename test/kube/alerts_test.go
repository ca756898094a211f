package kube

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/kraftside/kraftside/test/jvm"
)

// promtool is the command that is installed, else that of Debian's package of
// Prometheus.
func promtool(t *testing.T) string {
	t.Helper()
	if program, err := exec.LookPath("promtool"); err == nil {
		return program
	}
	dir, err := jvm.Cached("promtool", func(dir string) error {
		if err := run(dir, "apt-get", "download", "prometheus"); err != nil {
			return fmt.Errorf("promtool is not installed, and could not be taken from Debian's package prometheus: %w", err)
		}
		packages, err := filepath.Glob(filepath.Join(dir, "*.deb"))
		if err != nil {
			return err
		}
		for _, p := range packages {
			if err := run(dir, "dpkg-deb", "--extract", p, dir); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
	return filepath.Join(dir, "usr", "bin", "promtool")
}

func run(dir, command string, args ...string) error {
	cmd := exec.Command(command, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", command, strings.Join(args, " "), err, out)
	}
	return nil
}

// alert is a rule as it is installed.
type alert struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

// installedRules are all alerts that the chart installs, and the file that
// Prometheus reads of them.
func installedRules(t *testing.T) ([]alert, []byte) {
	t.Helper()
	objects, err := render(t, `{cluster: prod, monitoring: {rules: {enabled: true}}}`)
	require.NoError(t, err)
	file, err := yaml.Marshal(one(t, objects, "PrometheusRule")["spec"])
	require.NoError(t, err)
	var groups struct{ Groups []struct{ Rules []alert } }
	require.NoError(t, yaml.Unmarshal(file, &groups))
	require.Len(t, groups.Groups, 1)
	return groups.Groups[0].Rules, file
}

// Each alert fires when it should, and not before or for others, by Prometheus' own
// test of rules.
func TestAlerts(t *testing.T) {
	program := promtool(t)
	alerts, file := installedRules(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yaml"), file, 0o600))
	require.NoError(t, run(dir, program, "check", "rules", "rules.yaml"))
	var names []string
	for _, a := range alerts {
		names = append(names, a.Alert+".yaml")
		t.Run(a.Alert, func(t *testing.T) {
			test := read(t, "alerts", a.Alert+".yaml")
			firesOrNot(t, a.Alert, test)
			require.NoError(t, os.WriteFile(filepath.Join(dir, a.Alert+".yaml"), []byte(test), 0o600))
			require.NoError(t, run(dir, program, "test", "rules", a.Alert+".yaml"))
		})
	}
	var tests []string
	entries, err := os.ReadDir(filepath.Join("testdata", "alerts"))
	require.NoError(t, err)
	for _, e := range entries {
		tests = append(tests, e.Name())
	}
	require.ElementsMatch(t, names, tests)
}

// firesOrNot sees to it that a test has the alert fire at some time, and not fire at
// another.
func firesOrNot(t *testing.T, name, test string) {
	var file struct {
		Tests []struct {
			Checks []struct {
				Alertname string `json:"alertname"`
				Expected  []any  `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		} `json:"tests"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(test), &file))
	fires, doesNot := false, false
	for _, one := range file.Tests {
		for _, check := range one.Checks {
			require.Equal(t, name, check.Alertname)
			fires = fires || len(check.Expected) > 0
			doesNot = doesNot || len(check.Expected) == 0
		}
	}
	require.True(t, fires && doesNot)
}

var annotationLabel = regexp.MustCompile(`\$labels\.(\w+)`)

// The metrics, labels and values of each alert are in docs/metrics.md, and what its
// text says of labels it has; a group or an instance that it is about, it names.
func TestAlertQueries(t *testing.T) {
	page := readMetricsPage(t)
	alerts, _ := installedRules(t)
	for _, a := range alerts {
		result := page.check(t, a.Expr)
		text := a.Annotations["summary"] + a.Annotations["description"]
		named := set{}
		for _, m := range annotationLabel.FindAllStringSubmatch(text, -1) {
			require.Contains(t, result, m[1], a.Alert)
			named[m[1]] = true
		}
		for _, label := range []string{"group", "instance"} {
			require.Equal(t, result[label], named[label], "%s: %s", a.Alert, label)
		}
	}
}
