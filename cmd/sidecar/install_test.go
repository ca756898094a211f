package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/config"
)

// TestInstallation holds the unit of systemd and docs/install.md to what `run` takes.
func TestInstallation(t *testing.T) {
	unit := unitOf(t, "../../dist/systemd/kraftside.service")
	words := strings.Fields(unit["ExecStart"][0])
	require.Equal(t, []string{"/usr/local/bin/kraftside", "run"}, words[:2])
	require.NoError(t, runCommand(&cli.Output{}).ParseFlags(words[2:]))

	doc, err := os.ReadFile("../../docs/install.md")
	require.NoError(t, err)
	_, block, found := strings.Cut(string(doc), "```yaml\n")
	require.True(t, found, "docs/install.md has a configuration")
	block, _, _ = strings.Cut(block, "```")
	file := filepath.Join(t.TempDir(), "kraftside.yaml")
	require.NoError(t, os.WriteFile(file, []byte(block), 0o644))
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	loader := config.NewLoader(flags)
	require.NoError(t, flags.Parse([]string{"--config", file}))
	c, err := loader.Load(unit["Environment"])
	require.NoError(t, err)
	state := "/var/lib/" + unit["StateDirectory"][0]
	require.Equal(t, state, filepath.Dir(c.Store.Dir), "the only directory that the unit may write")

	memory := strings.TrimSuffix(unit["MemoryMax"][0], "M")
	require.Contains(t, unit["Environment"], "GOMEMLIMIT=320MiB")
	require.Equal(t, "384", memory, "five sixths of which are GOMEMLIMIT")
	require.Contains(t, string(doc), "`MemoryMax="+memory+"M`")
	require.Equal(t, []string{"on-failure"}, unit["Restart"])
	for _, name := range []string{"Requires", "BindsTo", "PartOf", "Before", "RequiredBy"} {
		require.NotContains(t, unit, name, "nothing may tie the broker to it")
	}
}

// unitOf are the settings of a unit, each with its values.
func unitOf(t *testing.T, file string) map[string][]string {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	settings := map[string][]string{}
	for line := range strings.Lines(string(content)) {
		key, value, found := strings.Cut(strings.TrimSpace(line), "=")
		if found && !strings.HasPrefix(key, "#") {
			settings[key] = append(settings[key], value)
		}
	}
	return settings
}
