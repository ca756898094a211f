package kubernetes

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/cli"
)

// The files under testdata/preflight are stories of one namespace. In them:
//
//	objects      adds objects, as YAML documents
//	remove       takes away the objects with these paths
//	sidecar      sets what is added to pods, as YAML of a container; nothing: no policy acts
//	deny         sets what is not permitted, one "verb resource" a line
//	refuse       sets why new pods with a sidecar are refused; with "all", why all are
//	preflight    checks; with "json", the answer is JSON; other arguments are a selector and a container
func TestPreflight(t *testing.T) {
	datadriven.Walk(t, filepath.Join("testdata", "preflight"), func(t *testing.T, path string) {
		s := &apiServer{t: t, objects: map[string]object{}}
		c := s.connect()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "objects":
				s.add(d.Input)
			case "remove":
				for _, name := range strings.Split(d.Input, "\n") {
					delete(s.objects, name)
				}
			case "sidecar":
				s.sidecar = nil
				if d.Input != "" {
					s.sidecar = parse(t, d.Input)
				}
			case "deny":
				s.denied = strings.Split(d.Input, "\n")
			case "refuse":
				s.refusal, s.refusalOfAll, s.smallTaken = d.Input, "", d.HasArg("small-taken")
				if d.HasArg("all") {
					s.refusal, s.refusalOfAll = "", d.Input
				}
			case "preflight":
				return preflightText(t, c, d)
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			return ""
		})
	})
}

func preflightText(t *testing.T, c *Cluster, d *datadriven.TestData) string {
	b := Brokers{Cluster: "prod", Flavour: flavours[0]}
	if d.HasArg("selector") {
		b = Brokers{Flavour: flavours[len(flavours)-1]}
		d.ScanArgs(t, "selector", &b.Selector)
	}
	p, err := c.Preflight(context.Background(), b)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var text strings.Builder
	out := &cli.Output{Out: &text, Format: cli.TextFormat}
	if d.HasArg("json") {
		out.Format = cli.JSONFormat
	}
	require.NoError(t, out.Print(p, p.Text))
	return text.String() + "worst: " + string(p.Worst()) + "\n"
}
