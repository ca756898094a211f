package kube

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the chart makes of the values of each example is in its folder "rendered".
func TestExamples(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(chartDir, "examples", "*"))
	require.NoError(t, err)
	require.Len(t, folders, 6, "one for each flavour, and standalone")
	r := newRenderer(t)
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			values, err := os.ReadFile(filepath.Join(folder, "values.yaml"))
			require.NoError(t, err)
			files, err := r.files(parseValues(t, string(values)))
			require.NoError(t, err)
			want := manifests(files)
			if *rewrite {
				writeManifests(t, filepath.Join(folder, "rendered"), want)
			}
			require.Equal(t, want, readManifests(t, filepath.Join(folder, "rendered")))
		})
	}
}

// manifests are the rendered templates that have objects in them, by the name of
// the file.
func manifests(files map[string]string) map[string]string {
	all := map[string]string{}
	for path, text := range files {
		if text = strings.Trim(text, "- \n"); text != "" && filepath.Ext(path) == ".yaml" {
			all[filepath.Base(path)] = text + "\n"
		}
	}
	return all
}

func readManifests(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	all := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		all[e.Name()] = string(b)
	}
	return all
}

func writeManifests(t *testing.T, dir string, all map[string]string) {
	t.Helper()
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for name, text := range all {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
}
