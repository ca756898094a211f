package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	tableRow = regexp.MustCompile("(?m)^\\| `([a-z0-9/*]+)` \\| [^|]+ \\| ([^|]+) \\|$")
	quoted   = regexp.MustCompile("`([^`]+)`")
)

// TestDocument holds ARCHITECTURE.md to the table that is enforced.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(moduleRoot(t), "ARCHITECTURE.md"))
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(text), "\n"), 200, "a map is to be read in one go")

	rows := tableRow.FindAllStringSubmatch(string(text), -1)
	require.Len(t, rows, len(layers), "rows of the table in ARCHITECTURE.md and in internal/arch")
	for _, row := range rows {
		l, known := layers[row[1]]
		require.True(t, known, "%s is only in ARCHITECTURE.md", row[1])
		var imports []string
		for _, name := range quoted.FindAllStringSubmatch(row[2], -1) {
			imports = append(imports, name[1])
		}
		require.Equal(t, l.imports, imports, "what %s may import, in internal/arch and in ARCHITECTURE.md", row[1])
	}
}
