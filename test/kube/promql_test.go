package kube

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
)

// set is a set of names.
type set map[string]bool

func setOf(names ...string) set {
	s := set{}
	for _, name := range names {
		s[name] = true
	}
	return s
}

func (s set) with(others ...set) set {
	all := maps.Clone(s)
	for _, o := range others {
		maps.Copy(all, o)
	}
	return all
}

// metricsPage is what docs/metrics.md says.
type metricsPage struct {
	labels     map[string]set // of each metric
	histograms set
	values     map[string]set // of each label of which the page has a list
}

// scraped are the labels that whoever scrapes adds, kafka_cluster aside, which every
// metric has.
var scraped = setOf("job", "instance", "namespace", "pod", "kafka_cluster")

var code = regexp.MustCompile("`([^`]+)`")

func codes(text string) set {
	s := set{}
	for _, m := range code.FindAllStringSubmatch(text, -1) {
		s[m[1]] = true
	}
	return s
}

func readMetricsPage(t *testing.T) *metricsPage {
	t.Helper()
	raw, err := os.ReadFile("testdata/docs/metrics.md")
	require.NoError(t, err)
	p := &metricsPage{labels: map[string]set{}, histograms: set{}, values: map[string]set{}}
	for line := range strings.Lines(string(raw)) {
		cells := strings.Split(line, " | ")
		name := strings.Trim(cells[0], "| `")
		switch {
		case strings.HasPrefix(line, "| `kraftside_"):
			p.labels[name] = codes(cells[2]).with(scraped)
			p.histograms[name] = cells[1] == "histogram"
		case strings.HasPrefix(line, "| `") && len(codes(cells[1])) > 1:
			p.values[name] = codes(cells[1])
		case strings.HasPrefix(line, "Besides"):
			for name := range codes(line) {
				p.labels[name] = scraped
			}
		}
	}
	require.Greater(t, len(p.labels), 40)
	require.Contains(t, p.values, "verdict")
	return p
}

// check parses a query and returns the labels of its result. Metrics, labels and
// values that are not in the page fail the test.
func (p *metricsPage) check(t *testing.T, query string) set {
	t.Helper()
	expr, err := parser.ParseExpr(query)
	require.NoError(t, err, query)
	return p.result(t, query, expr)
}

func (p *metricsPage) result(t *testing.T, query string, node parser.Node) set {
	t.Helper()
	switch n := node.(type) {
	case *parser.VectorSelector:
		return p.selected(t, query, n)
	case *parser.AggregateExpr:
		require.False(t, n.Without, "%s: labels are named", query)
		require.Subset(t, p.result(t, query, n.Expr), setOf(n.Grouping...), query)
		return setOf(n.Grouping...)
	case *parser.BinaryExpr:
		return p.joined(t, query, n)
	}
	all := set{}
	for _, child := range parser.Children(node) {
		all = all.with(p.result(t, query, child))
	}
	if c, ok := node.(*parser.Call); ok && c.Func.Name == "histogram_quantile" {
		require.Contains(t, all, "le", query)
		delete(all, "le")
	}
	return all
}

// joined are the labels of the left side, and those that group_left takes from the
// right one.
func (p *metricsPage) joined(t *testing.T, query string, n *parser.BinaryExpr) set {
	left, right := p.result(t, query, n.LHS), p.result(t, query, n.RHS)
	if n.LHS.Type() == parser.ValueTypeScalar {
		return right
	}
	if m := n.VectorMatching; m != nil {
		require.Subset(t, left, setOf(m.MatchingLabels...), query)
		require.Subset(t, right, setOf(append(m.MatchingLabels, m.Include...)...), query)
		return left.with(setOf(m.Include...))
	}
	return left
}

func (p *metricsPage) selected(t *testing.T, query string, n *parser.VectorSelector) set {
	known, ok := p.labels[n.Name]
	for _, part := range []string{"_bucket", "_sum", "_count"} {
		if base, cut := strings.CutSuffix(n.Name, part); cut && p.histograms[base] {
			known, ok = p.labels[base], true
			if part == "_bucket" {
				known = known.with(setOf("le"))
			}
		}
	}
	require.True(t, ok, "%s: %s is not in docs/metrics.md", query, n.Name)
	for _, m := range n.LabelMatchers {
		if m.Name == labels.MetricName {
			continue
		}
		require.Contains(t, known, m.Name, query)
		if p.values[m.Name] != nil {
			require.Subset(t, slices.Collect(maps.Keys(p.values[m.Name])), strings.Split(m.Value, "|"), query)
		}
	}
	return known
}
