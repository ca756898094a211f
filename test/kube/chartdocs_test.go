package kube

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The chart's README is what `make chart-docs` makes of its template and of the
// values, and says of every value what it is.
func TestReadme(t *testing.T) {
	var said bytes.Buffer
	cmd := exec.Command("make", "-s", "-C", "../..", "chart-docs", "HELM_DOCS_FLAGS=--dry-run")
	cmd.Stderr = &said
	made, err := cmd.Output()
	require.NoError(t, err, "%s", said.String())
	readme, err := os.ReadFile(filepath.Join(chartDir, "README.md"))
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(string(made)), strings.TrimSpace(string(readme)), "run make chart-docs")
	for line := range strings.Lines(string(readme)) {
		require.False(t, strings.HasSuffix(line, "|  |\n"), "what is it? %s", line)
	}
}

var link = regexp.MustCompile(`\]\(([^)#:]+)\)`)

// Links of the chart's pages lead somewhere.
func TestLinks(t *testing.T) {
	for _, page := range []string{"README.md", "README.md.gotmpl", "UPGRADING.md"} {
		text, err := os.ReadFile(filepath.Join(chartDir, page))
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			target := filepath.Join(chartDir, m[1])
			if docs, ok := strings.CutPrefix(m[1], "../../docs"); ok {
				target = filepath.Join("testdata", "docs", docs)
			}
			_, err := os.Stat(target)
			require.NoError(t, err, page)
		}
	}
}
