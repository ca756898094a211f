package main

import (
	"encoding/json"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/cli"
)

func TestVersionOf(t *testing.T) {
	v := versionOf(&debug.BuildInfo{
		GoVersion: "go1.26.0",
		Main:      debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"},
		},
	})
	v.Platform = "linux/amd64"
	text := cli.NewText(&cli.Output{})
	v.text(text)
	require.Equal(t, "kraftside v1.2.3, revision abc of 2026-01-02T03:04:05Z, modified\nbuilt with go1.26.0 for linux/amd64\n", string(text.Bytes()))
	require.Equal(t, "(devel)", versionOf(&debug.BuildInfo{}).Version)
}

func TestVersionCommand(t *testing.T) {
	o := runLine("version -o json")
	require.Zero(t, o.code, o.stderr)
	var v version
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &v))
	require.NotEmpty(t, v.Version)
	require.Contains(t, runLine("version").stdout, "kraftside "+v.Version)
}

func TestCompletion(t *testing.T) {
	require.Contains(t, runLine("completion bash").stdout, "kraftside")
	require.Equal(t, "text\nwide\njson\nyaml\n:4\n", runLine("__complete version -o j").stdout)
}
