package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/web/api"
)

func TestDemoOnce(t *testing.T) {
	o := runLine("demo --once --utc")
	require.Zero(t, o.code, o.stderr)
	require.Empty(t, o.stderr)
	require.Regexp(t, `\n\d+ metadata changes, \d+ rebalances explained, [1-9]\d+ hashes compared, 0 mismatches\n$`, o.stdout)
	require.NotContains(t, o.stdout, "\x1b")
	require.Contains(t, o.stdout, "times in UTC\n")
	require.Contains(t, runLine("demo --once").stdout, "times in CET\n")

	var counts map[string]int
	o = runLine("demo --once -o json")
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &counts))
	require.Zero(t, counts["mismatches"])
	require.NotZero(t, counts["hashesCompared"])
}

func TestDemoUsage(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for line, want := range map[string]outcome{
		"demo --speed -1": {code: cli.BadUsage, stderr: "kraftside: demo: --speed -1 is negative; 1 is as fast as it happened\n"},
		"demo orders":     {code: cli.BadUsage, stderr: "kraftside: demo: takes no argument, not 1; see kraftside demo --help\n"},
		"demo --http.listen " + taken.Addr().String(): {code: cli.Failed, stderr: "kraftside: demo: listen tcp " + taken.Addr().String() +
			": bind: address already in use; --http.listen takes another address, and --once needs none\n"},
		"demo --http.listen 127.0.0.1:0 --admin.listen " + taken.Addr().String(): {code: cli.Failed, stderr: "kraftside: demo: listen tcp " +
			taken.Addr().String() + ": bind: address already in use; --admin.listen takes another address, or none\n"},
	} {
		require.Equal(t, want, runLine(line))
	}
}

// The recording that is left standing answers like a sidecar.
func TestDemoStands(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	read, write := io.Pipe()
	var story bytes.Buffer
	ended := make(chan error)
	go func() {
		ended <- runDemo(ctx, &cli.Output{Out: &story, Err: write, Format: cli.TextFormat}, demoFlags{listen: "127.0.0.1:0", admin: "127.0.0.1:0"})
	}()
	said := make([]byte, 1000)
	n, err := read.Read(said)
	require.NoError(t, err)
	address := regexp.MustCompile(`http://[0-9.]+:[0-9]+`).FindString(string(said[:n]))
	require.Contains(t, string(said[:n]), "kraftside verify --server "+address+"\n")

	var groups struct{ Groups []api.Group }
	getJSON(t, address+"/v1/groups", &groups)
	require.NotEmpty(t, groups.Groups)
	for _, g := range groups.Groups {
		require.Contains(t, story.String(), g.Group)
	}
	var ready struct{ Ready bool }
	getJSON(t, address+"/readyz", &ready)
	require.True(t, ready.Ready)

	bootstrap := regexp.MustCompile(`bootstrap server ([0-9.:]+[0-9])`).FindStringSubmatch(string(said[:n]))
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap[1]))
	require.NoError(t, err)
	defer client.Close()
	listed, err := kadm.NewClient(client).ListGroups(t.Context())
	require.NoError(t, err)
	require.Len(t, listed, len(groups.Groups))

	interrupt()
	require.NoError(t, <-ended)
	require.True(t, strings.HasSuffix(story.String(), " mismatches\n"))
}

func getJSON(t *testing.T, url string, v any) {
	resp, err := http.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.NoError(t, json.NewDecoder(resp.Body).Decode(v))
}
