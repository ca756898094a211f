package kube

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// leaves are the paths of all values that are no maps, or empty ones.
func leaves(prefix string, v any) (all []string) {
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 {
		return []string{prefix}
	}
	for key, inner := range m {
		all = append(all, leaves(strings.TrimPrefix(prefix+"."+key, "."), inner)...)
	}
	return all
}

// Every value is used by a template, and known to the schema, as is every value that
// the schema knows.
func TestValues(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(chartDir, "values.yaml"))
	require.NoError(t, err)
	var values map[string]any
	require.NoError(t, yaml.Unmarshal(raw, &values))
	templates, err := filepath.Glob(filepath.Join(chartDir, "templates", "*"))
	require.NoError(t, err)
	var text strings.Builder
	for _, path := range templates {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		text.Write(b)
	}
	known := schemaLeaves(t)
	for _, path := range leaves("", values) {
		last := path[strings.LastIndex(path, ".")+1:]
		require.Regexp(t, regexp.MustCompile(`\.`+last+`\b`), text.String(), "%s is not used", path)
		require.Contains(t, known, path, "the schema")
	}
	require.ElementsMatch(t, leaves("", values), known)
}

// schemaLeaves are the paths that the schema has, but for global, which is Helm's.
func schemaLeaves(t *testing.T) (all []string) {
	raw, err := os.ReadFile(filepath.Join(chartDir, "values.schema.json"))
	require.NoError(t, err)
	var root map[string]any
	require.NoError(t, json.Unmarshal(raw, &root))
	var walk func(prefix string, node map[string]any)
	walk = func(prefix string, node map[string]any) {
		properties, ok := node["properties"].(map[string]any)
		if !ok || prefix == "resources" { // which is empty by default
			all = append(all, prefix)
			return
		}
		for key, inner := range properties {
			if key != "global" {
				walk(strings.TrimPrefix(prefix+"."+key, "."), inner.(map[string]any))
			}
		}
	}
	walk("", root)
	return all
}
