package kube

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// source is where a panel or a variable takes its data.
type source struct{ Type, UID string }

type gridPos struct{ X, Y, W, H int }

// panel is a panel of a dashboard, as far as it is tested.
type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  gridPos
	Datasource               source
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Targets                  []struct{ RefID, Expr, LegendFormat string }
}

type dashboard struct {
	UID, Title string
	Templating struct {
		List []struct {
			Name, Type string
			Query      any
			Datasource source
		}
	}
	Panels []panel
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(chartDir, "files", "dashboards", "kraftside.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &d))
	require.NotEmpty(t, d.Panels)
	return d
}

// Grafana's sidecar finds the dashboard as it is in the file.
func TestDashboardRendered(t *testing.T) {
	objects, err := render(t, `{cluster: prod, monitoring: {dashboard: {enabled: true, annotations: {grafana_folder: Kafka}}}}`)
	require.NoError(t, err)
	for _, o := range objects {
		if o.name() != "ks-kraftside-dashboard" {
			continue
		}
		metadata := o["metadata"].(map[string]any)
		require.Equal(t, "1", metadata["labels"].(map[string]any)["grafana_dashboard"])
		require.Equal(t, map[string]any{"grafana_folder": "Kafka"}, metadata["annotations"])
		raw, err := os.ReadFile(filepath.Join(chartDir, "files", "dashboards", "kraftside.json"))
		require.NoError(t, err)
		require.Equal(t, string(raw), o["data"].(map[string]any)["kraftside.json"])
		return
	}
	t.Fatal("there is no ConfigMap with the dashboard")
}

// Every panel says what it shows and in which unit, has an id and a place of its own,
// and asks the data source that was chosen.
func TestDashboardPanels(t *testing.T) {
	d := readDashboard(t)
	require.NotEmpty(t, d.UID)
	require.NotEmpty(t, d.Title)
	ids, taken := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		require.NotEmpty(t, p.Title)
		require.Positive(t, p.ID, p.Title)
		require.False(t, ids[p.ID], p.Title)
		ids[p.ID] = true
		occupy(t, taken, p)
		if p.Type == "row" {
			continue
		}
		require.NotEmpty(t, p.Description, p.Title)
		require.NotEmpty(t, p.FieldConfig.Defaults.Unit, p.Title)
		require.Equal(t, source{"prometheus", "${datasource}"}, p.Datasource, p.Title)
		require.NotEmpty(t, p.Targets, p.Title)
	}
	require.Equal(t, "datasource", d.Templating.List[0].Type)
	require.Equal(t, "datasource", d.Templating.List[0].Name)
	require.Equal(t, "prometheus", d.Templating.List[0].Query)
}

// occupy notes which cells of the grid a panel covers.
func occupy(t *testing.T, taken map[[2]int]string, p panel) {
	require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
	for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
		for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
			require.Empty(t, taken[[2]int{x, y}], "%s lies over it", p.Title)
			taken[[2]int{x, y}] = p.Title
		}
	}
}

var (
	interval    = strings.NewReplacer("$__rate_interval", "5m", "$__interval", "2m")
	legendLabel = regexp.MustCompile(`{{\s*(\w+)\s*}}`)
	ownMetric   = regexp.MustCompile(`kraftside_\w+(\{[^}]*)?`)
	labelValues = regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`)
)

// Metrics, labels and values of every query are in docs/metrics.md, a legend has
// labels of the result alone, and no query passes over the cluster that was chosen.
func TestDashboardQueries(t *testing.T) {
	d := readDashboard(t)
	page := readMetricsPage(t)
	for _, p := range d.Panels {
		refs := map[string]bool{}
		for _, target := range p.Targets {
			require.False(t, refs[target.RefID], p.Title)
			refs[target.RefID] = true
			result := page.check(t, interval.Replace(target.Expr))
			for _, m := range legendLabel.FindAllStringSubmatch(target.LegendFormat, -1) {
				require.Contains(t, result, m[1], "%s: the legend %s", p.Title, target.LegendFormat)
			}
			own := ownMetric.FindAllStringSubmatch(target.Expr, -1)
			require.NotEmpty(t, own, p.Title)
			for _, m := range own {
				require.Contains(t, m[1], `kafka_cluster=~"$cluster"`, p.Title)
			}
		}
	}
	for _, v := range d.Templating.List[1:] {
		require.Equal(t, source{"prometheus", "${datasource}"}, v.Datasource, v.Name)
		m := labelValues.FindStringSubmatch(v.Query.(map[string]any)["query"].(string))
		require.NotNil(t, m, v.Name)
		require.Contains(t, page.labels[m[1]], m[2], v.Name)
	}
}
