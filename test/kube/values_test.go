package kube

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

func defaultValues(t *testing.T) map[string]any {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(chartDir, "values.yaml"))
	require.NoError(t, err)
	return parseValues(t, string(raw))
}

// leaves are the paths of all values that are no maps, or maps whose keys the schema
// leaves open.
func leaves(prefix string, v any, open []string) (all []string) {
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 || slices.Contains(open, prefix) {
		return []string{prefix}
	}
	for key, inner := range m {
		all = append(all, leaves(strings.TrimPrefix(prefix+"."+key, "."), inner, open)...)
	}
	return all
}

// The schema knows every value, and no other.
func TestSchema(t *testing.T) {
	known := schemaLeaves(t)
	require.ElementsMatch(t, leaves("", defaultValues(t), known), known)
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

// Every value is used: there is a case in which another value makes another
// installation, or is refused by a template.
func TestValuesUsed(t *testing.T) {
	r := newRenderer(t)
	r.anyValues = true
	all := cases(t)
	plain := map[string]map[string]string{}
	for name, values := range all {
		files, err := r.files(values)
		require.NoError(t, err, name)
		plain[name] = files
	}
	matters := func(path string) bool {
		for name, values := range all {
			for _, other := range others(at(merged(defaultValues(t), values), path)) {
				files, err := r.files(merged(values, nested(path, other)))
				if err != nil || !equal(plain[name], files) {
					return true
				}
			}
		}
		return false
	}
	unused := slices.DeleteFunc(leaves("", defaultValues(t), schemaLeaves(t)), matters)
	require.Empty(t, unused, "they change nothing in any case of ci/: no template uses them, or a case is missing")
}

func equal(a, b map[string]string) bool {
	for name, text := range a {
		if b[name] != text {
			return false
		}
	}
	return len(a) == len(b)
}

// others are values like v that are not v.
func others(v any) []any {
	switch v := v.(type) {
	case bool:
		return []any{!v}
	case string:
		return []any{v + "x"}
	case float64:
		return []any{v + 1}
	case []any:
		return []any{[]any{}, append(slices.Clone(v), "x"), append(slices.Clone(v), map[string]any{"x": "y"}), append(slices.Clone(v), 1.0)}
	case map[string]any:
		return []any{merged(v, map[string]any{"x": "y"})}
	}
	return []any{true, 1.0}
}

func at(values map[string]any, path string) any {
	first, rest, deeper := strings.Cut(path, ".")
	inner, ok := values[first].(map[string]any)
	if deeper && ok {
		return at(inner, rest)
	}
	return values[first]
}

func nested(path string, v any) map[string]any {
	first, rest, deeper := strings.Cut(path, ".")
	if deeper {
		return map[string]any{first: nested(rest, v)}
	}
	return map[string]any{first: v}
}

// merged is a copy of a in which b wins.
func merged(a, b map[string]any) map[string]any {
	out := map[string]any{}
	for key, v := range a {
		out[key] = v
	}
	for key, v := range b {
		left, isMap := out[key].(map[string]any)
		right, alsoMap := v.(map[string]any)
		if isMap && alsoMap {
			v = merged(left, right)
		}
		out[key] = v
	}
	return out
}

// cases are the values of the files in ci/, by their names.
func cases(t *testing.T) map[string]map[string]any {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(chartDir, "ci", "*-values.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	all := map[string]map[string]any{}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		var values map[string]any
		require.NoError(t, yaml.UnmarshalStrict(raw, &values), path)
		all[strings.TrimSuffix(filepath.Base(path), "-values.yaml")] = values
	}
	return all
}
