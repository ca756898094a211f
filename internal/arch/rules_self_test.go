package arch

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRulesBite shows each rule on a file that breaks it, and on one that only
// looks as if it did.
func TestRulesBite(t *testing.T) {
	const ours = `"` + module
	for name, c := range map[string]struct{ path, source, want string }{
		"edge of the table":      {"delta/a.go", `import _ ` + ours + `image"`, ""},
		"edge against the table": {"image/a.go", `import _ ` + ours + `delta"`, "image must not import " + module + "delta: the table in internal/arch has no such edge"},
		"kafka is for all":       {"web/a.go", `import _ ` + ours + `internal/kafka"`, ""},
		"wire is not":            {"web/a.go", `import _ ` + ours + `internal/wire"`, "no such edge"},
		"tests see more":         {"image/a_test.go", `import _ ` + ours + `delta"`, ""},
		"test support":           {"image/a.go", `import _ ` + ours + `test/simquorum"`, "it is for tests"},
		"test support in cmd":    {"cmd/sidecar/a.go", `import _ ` + ours + `test/simquorum"`, "it is for tests"},
		"test support in test":   {"test/e2e/a.go", `import _ ` + ours + `test/realkafka"`, ""},
		"cmd sees all":           {"cmd/sidecar/a.go", `import _ ` + ours + `store"`, ""},
		"unknown directory":      {"misc/a.go", ``, "misc: directory is unknown; add it to the table"},
		"unknown import":         {"cmd/sidecar/a.go", `import _ ` + ours + `misc"`, "it is not in the table"},

		"otel in telemetry": {"telemetry/a.go", `import _ "go.opentelemetry.io/otel/sdk/metric"`, ""},
		"otel elsewhere":    {"web/a.go", `import _ "go.opentelemetry.io/otel/sdk/metric"`, "only telemetry and cmd/sidecar may"},
		"pebble elsewhere":  {"groups/a.go", `import _ "github.com/cockroachdb/pebble/v2"`, "only store and store/storetest may"},
		"k8s elsewhere":     {"sidecar/a.go", `import _ "k8s.io/client-go/rest"`, "only internal/kubernetes may"},

		"log in a pure package":       {"groups/a.go", `import _ "log/slog"`, "the package is pure"},
		"files in a pure package":     {"image/a.go", `import _ "os"`, "the package is pure"},
		"log elsewhere":               {"web/a.go", `import _ "log/slog"`, ""},
		"goroutine in a pure package": {"delta/a.go", `func f() { go f() }`, "must not start a goroutine"},
		"goroutine elsewhere":         {"web/a.go", `func f() { go f() }`, ""},
		"clock in a pure package":     {"delta/a.go", `import "time"; var _ = time.Now()`, "must not call time.Now"},
		"clock under another name":    {"delta/a.go", `import t "time"; var f = t.Since`, "must not call time.Since"},
		"durations are no clock":      {"delta/a.go", `import "time"; var _ time.Duration = time.Second`, ""},
		"clock in a test":             {"delta/a_test.go", `import "time"; var _ = time.Now()`, ""},

		"builder in delta":      {"delta/a.go", `import ` + ours + `image"; var _ = image.NewBuilder`, ""},
		"builder elsewhere":     {"image/loader/a.go", `import ` + ours + `image"; var _ = image.NewBuilder`, "must not use image.NewBuilder: only delta may"},
		"builder of all topics": {"groups/a.go", `import ` + ours + `image"; type b *image.TopicsBuilder`, "must not use image.TopicsBuilder"},
		"builder of others":     {"groups/a.go", `import "strings"; type b strings.Builder`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := parseSource(c.path, c.path, "package a; "+c.source)
			require.NoError(t, err)
			found := violations(s)
			if c.want == "" {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			require.Contains(t, found[0], c.want)
		})
	}
}

// TestTable keeps the table itself in order: it names known packages only, and
// has no cycle.
func TestTable(t *testing.T) {
	var visit func(dir string, above []string)
	visit = func(dir string, above []string) {
		require.NotContains(t, above, dir, "cycle")
		l, known := layers[dir]
		require.True(t, known, "%s is imported but has no row", dir)
		for _, next := range l.imports {
			if next != "*" {
				visit(next, append(above, dir))
			}
		}
	}
	for dir := range layers {
		visit(dir, nil)
	}
	for library, dirs := range libraries {
		for _, dir := range dirs {
			require.Contains(t, layers, dir, library)
		}
	}
}
