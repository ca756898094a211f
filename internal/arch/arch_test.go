package arch

import (
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// layer says what a directory is allowed to do.
type layer struct {
	imports []string // packages of ours; "*" is all but those only tests may use
	pure    bool     // no clock, goroutine, log or I/O
	testing bool     // only tests, and other testing layers, may import it
}

// layers is the package table of ARCHITECTURE.md. Every directory with Go
// files has a row; so does internal/kafka, which all may import. What a
// package may import of ours it may also have in its test files, which beyond
// that may import everything but commands.
var layers = map[string]layer{
	"internal/kafka":             {pure: true},
	"internal/wire":              {pure: true},
	"internal/pause":             {},
	"internal/recordbatch":       {imports: []string{"internal/wire"}},
	"internal/logdir":            {imports: []string{"internal/recordbatch"}},
	"internal/logdir/logdirtest": {imports: []string{"internal/recordbatch"}, testing: true},
	"internal/nearest":           {pure: true},
	"internal/reload":            {},
	"internal/cli":               {imports: []string{"internal/wire", "internal/nearest"}},
	"internal/config":            {imports: []string{"internal/cli"}},
	"internal/kafkaclient":       {imports: []string{"internal/config"}},
	"internal/logfile":           {imports: []string{"internal/cli", "internal/logdir", "internal/recordbatch", "metadatalog/record"}},
	"internal/dump": {imports: []string{
		"internal/cli", "internal/logfile", "internal/logdir", "internal/recordbatch", "internal/wire",
		"metadatalog/record", "groups/record", "internal/sharerecord", "internal/transactionrecord",
	}},
	"internal/dump/dumptest": {testing: true},
	"internal/imagediff": {imports: []string{
		"internal/cli", "internal/logfile", "internal/logdir", "internal/recordbatch", "internal/wire",
		"metadatalog/record", "image", "delta", "image/loader",
	}},
	"internal/check": {imports: []string{
		"internal/cli", "internal/logfile", "internal/logdir", "internal/recordbatch", "metadatalog/record",
		"internal/sharerecord", "internal/transactionrecord",
		"image", "delta", "image/loader", "internal/imagediff", "groups", "groups/offsetslog",
	}},
	"internal/rowvalue":          {pure: true},
	"internal/recordgen":         {},
	"internal/sharerecord":       {imports: []string{"internal/wire"}, pure: true},
	"internal/transactionrecord": {imports: []string{"internal/wire"}, pure: true},
	"internal/recordgen/vectors": {testing: true},
	"internal/arch":              {testing: true},

	"metadatalog/record": {imports: []string{"internal/wire"}, pure: true},
	"metadatalog":        {imports: []string{"internal/pause", "metadatalog/record", "internal/recordbatch", "internal/logdir", "internal/wire"}},

	"image":        {imports: []string{"metadatalog/record", "internal/wire"}, pure: true},
	"delta":        {imports: []string{"image", "metadatalog/record"}, pure: true},
	"image/loader": {imports: []string{"metadatalog/record", "internal/recordbatch", "internal/wire", "delta", "image"}},
	"topichash":    {imports: []string{"image", "delta"}, pure: true},

	"groups/record":     {imports: []string{"internal/wire"}, pure: true},
	"groups":            {imports: []string{"groups/record", "topichash", "image", "delta", "internal/wire"}, pure: true},
	"groups/offsetslog": {imports: []string{"internal/pause", "groups", "groups/record", "internal/recordbatch", "internal/logdir", "internal/wire"}},

	"rebalance": {imports: []string{"metadatalog/record", "groups", "groups/record", "topichash", "image", "delta", "internal/rowvalue"}, pure: true},
	"history":   {imports: []string{"image", "delta", "internal/rowvalue"}, pure: true},
	"whatif": {imports: []string{
		"internal/nearest", "groups", "topichash", "image", "delta", "metadatalog/record",
	}, pure: true},
	"store": {imports: []string{
		"image", "delta", "topichash", "groups", "rebalance", "metadatalog/record", "groups/record", "internal/wire",
	}},
	"store/storetest": {testing: true},
	"pipeline": {imports: []string{
		"metadatalog", "metadatalog/record", "internal/recordbatch", "image", "delta", "image/loader",
		"topichash", "groups", "groups/record", "groups/offsetslog", "rebalance", "history", "store",
	}},

	"admin": {imports: []string{"internal/wire", "internal/pause", "internal/reload", "metadatalog/record", "pipeline", "image", "groups", "topichash", "rebalance"}},
	"web/api": {imports: []string{
		"pipeline", "store", "metadatalog", "groups/offsetslog", "image", "delta", "groups", "topichash", "rebalance", "history", "whatif",
	}},
	"web":         {imports: []string{"internal/reload", "web/api", "pipeline", "store", "image", "delta", "groups", "topichash", "rebalance", "history", "whatif"}},
	"web/webtest": {imports: []string{"*"}, testing: true},
	"telemetry": {imports: []string{
		"internal/pause", "internal/cli", "metadatalog", "image/loader", "groups/offsetslog", "groups", "topichash", "rebalance", "store", "pipeline", "admin", "web", "web/api",
	}},
	"sidecar": {imports: []string{
		"internal/pause", "internal/config", "internal/kafkaclient", "metadatalog", "groups", "groups/offsetslog", "image", "image/loader", "pipeline", "rebalance", "store", "admin", "web",
		"web/api", "telemetry",
	}},
	"demo": {imports: []string{
		"internal/pause", "internal/cli", "internal/recordbatch", "metadatalog", "image", "delta", "image/loader",
		"topichash", "groups", "groups/offsetslog", "rebalance", "store", "pipeline",
	}},
	"internal/ask":    {imports: []string{"internal/pause", "internal/cli", "web/api", "whatif"}},
	"internal/answer": {imports: []string{"internal/cli", "topichash", "pipeline", "web/api", "whatif"}},
	"internal/offline": {imports: []string{
		"internal/ask", "internal/cli", "internal/logfile", "internal/logdir", "internal/recordbatch", "metadatalog/record", "metadatalog",
		"image/loader", "groups", "groups/offsetslog", "pipeline", "web", "web/api", "whatif",
	}},
	"charts":              {},
	"internal/snippet":    {imports: []string{"charts", "internal/nearest"}},
	"internal/kubernetes": {imports: []string{"internal/pause", "internal/cli"}},
	"cmd/sidecar":         {imports: []string{"*"}},
	"dist/image":          {},

	"test/realkafka":  {imports: []string{"*"}, testing: true},
	"test/recorddemo": {imports: []string{"*"}, testing: true},
	"test/simquorum":  {imports: []string{"*"}, testing: true},
	"test/e2e":        {imports: []string{"*"}, testing: true},
	"test/jaeger":     {imports: []string{"*"}, testing: true},
	"test/jvm":        {imports: []string{"*"}, testing: true},
	"test/bench":      {imports: []string{"*"}, testing: true},
	"test/bench/*":    {imports: []string{"*"}, testing: true},
	"test/kube":       {imports: []string{"*"}, testing: true},
}

// layerOf is the layer of a directory: that of its own row, or that of all
// directories beside it.
func layerOf(dir string) (l layer, known bool) {
	if l, known = layers[dir]; !known {
		l, known = layers[path.Dir(dir)+"/*"]
	}
	return l, known
}

// libraries lists modules of others that are kept to a few directories.
var libraries = map[string][]string{
	"go.opentelemetry.io/":           {"telemetry", "cmd/sidecar"},
	"github.com/cockroachdb/pebble/": {"store", "store/storetest"},
	"k8s.io/":                        {"internal/kubernetes"},
	"github.com/spf13/cobra":         {"cmd/sidecar"},
	"github.com/spf13/pflag":         {"cmd/sidecar", "internal/config"},
}

// mutators may build an image from another; everybody else only reads images.
var mutators = []string{"delta"}

func TestTree(t *testing.T) {
	sources, err := parseTree(moduleRoot(t))
	require.NoError(t, err)
	require.Greater(t, len(sources), 20, "the sources were not found")
	for _, s := range sources {
		for _, v := range violations(s) {
			t.Error(v)
		}
	}
}

// moduleRoot is the directory of go.mod, from the one the test runs in.
func moduleRoot(t *testing.T) string {
	dir, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		require.NotEqual(t, filepath.Dir(dir), dir, "no go.mod above the test")
		dir = filepath.Dir(dir)
	}
}
