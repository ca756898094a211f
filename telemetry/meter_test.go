package telemetry

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog"
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/store"
	"github.com/kraftside/kraftside/web/webtest"
)

// newMeter is the meter of a sidecar in which every metric has a sample.
func newMeter(t *testing.T, change func(*Options)) (*Meter, *webtest.Cluster) {
	c := webtest.New(t, pipeline.Options{Scope: pipeline.Local, NodeID: 1})
	c.Metadata(
		`FeatureLevelRecord {"name":"metadata.version","featureLevel":33}`,
		`RegisterBrokerRecord {"brokerId":1,"brokerEpoch":1,"rack":"rack-1"}`,
		`TopicRecord {"name":"__consumer_offsets","topicId":"$9"}`,
		`PartitionRecord {"topicId":"$9","partitionId":0,"replicas":[1,2],"isr":[1,2],"leader":1,"leaderEpoch":0}`,
		`PartitionRecord {"topicId":"$9","partitionId":1,"replicas":[1,2],"isr":[1,2],"leader":2,"leaderEpoch":0}`,
		`TopicRecord {"name":"orders","topicId":"$1"}`,
		`PartitionRecord {"topicId":"$1","partitionId":0,"replicas":[1],"isr":[1],"leader":1,"leaderEpoch":0}`,
	)
	c.Groups(0,
		`5 {"groupId":"secret-a","memberId":"m"} {"subscribedTopicNames":["orders"]}`,
		`3 {"groupId":"secret-a"} {"epoch":1,"metadataHash":"$hash orders"}`,
		`11 {"groupId":"secret-a"} null`,
	)
	c.Load(1, 0, 5, `3 {"groupId":"secret-b"} {"epoch":1}`)
	for epoch := range 6 {
		c.Groups(0, fmt.Sprintf(`3 {"groupId":"often"} {"epoch":%d}`, epoch+1))
	}
	c.Wait(time.Minute)
	o := Options{
		Version:       "1.2.3",
		ClusterID:     func() string { return "aaaaaaaaaaaaaaaaaaaaaa" },
		View:          c.View,
		Stats:         c.Stats,
		BrokerApplied: func() (kafka.Offset, bool) { return 4, true },
		Ready:         func() bool { return false },
		Store:         func() store.Status { return store.Status{Persisting: true, Bytes: 4096} },
		SlowAfter:     time.Minute,

		AdminConnections: func() int { return 3 },
		Exporter:         func() *Exporter { return new(Exporter) },
		Now:              c.Now,
	}
	if change != nil {
		change(&o)
	}
	m, err := NewMeter(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Shutdown(t.Context())) })
	return m, c
}

// scrape is the metrics as text.
func scrape(t *testing.T, m *Meter, accept string) (body string, header http.Header) {
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", accept)
	m.Handler().ServeHTTP(w, r)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	all, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	return string(all), w.Header()
}

// families is the metrics as a monitoring system reads them.
func families(t *testing.T, m *Meter) map[string]*dto.MetricFamily {
	text, _ := scrape(t, m, "")
	parser := expfmt.NewTextParser(model.LegacyValidation)
	all, err := parser.TextToMetricFamilies(strings.NewReader(text))
	require.NoError(t, err)
	return all
}

// ours leaves out what the libraries add about the process.
func ours(text string) string {
	var kept []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, "kraftside_") && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "kraftside_build_info") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

func TestSamples(t *testing.T) {
	m, _ := newMeter(t, nil)
	count(m)
	text, header := scrape(t, m, "")
	require.Contains(t, header.Get("Content-Type"), "text/plain")
	datadriven.RunTest(t, filepath.Join("testdata", "samples"), func(*testing.T, *datadriven.TestData) string { return ours(text) })
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "kraftside_rebalance_open_seconds{") && !strings.HasPrefix(line, "kraftside_group_bumps{") {
			require.NotContains(t, line, "secret", "a group is in a label")
		}
	}
	require.NotContains(t, text, "orders", "a topic is in a label")
	require.NotContains(t, text, "otel_scope")
}

// A disk that cannot be read is a problem like any other: alerts look at it.
func TestUnreadableDisk(t *testing.T) {
	m, _ := newMeter(t, func(o *Options) {
		view := *o.View()
		view.Metadata.Problem = &metadatalog.Problem{Kind: metadatalog.Unreadable}
		o.View = func() *pipeline.View { return &view }
	})
	text, _ := scrape(t, m, "")
	require.Contains(t, text, `kraftside_metadata_problem{kind="unreadable"} 1`)
	require.Contains(t, text, `kraftside_metadata_problem{kind="unreachable"} 0`)
}

func TestOpenMetrics(t *testing.T) {
	m, _ := newMeter(t, nil)
	text, header := scrape(t, m, "application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
	require.Contains(t, header.Get("Content-Type"), "application/openmetrics-text")
	require.True(t, strings.HasSuffix(text, "# EOF\n"))
	require.Contains(t, text, "# TYPE kraftside_records counter\n", "a counter without its suffix")
}

// The page says of every metric the name, the type, the labels and the
// meaning, and of nothing else.
func TestDocument(t *testing.T) {
	m, _ := newMeter(t, nil)
	count(m)
	var rows []string
	for name, family := range families(t, m) {
		if strings.HasPrefix(name, "kraftside_") {
			rows = append(rows, row(name, family))
		}
	}
	slices.Sort(rows)
	page, err := os.ReadFile(filepath.Join("..", "docs", "metrics.md"))
	require.NoError(t, err)
	var documented []string
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "| `kraftside_") {
			documented = append(documented, strings.TrimSuffix(line, "\n"))
		}
	}
	slices.Sort(documented)
	require.Equal(t, rows, documented)
	require.Len(t, rows, len(observed)+len(counted)+len(timed))
}

func row(name string, family *dto.MetricFamily) string {
	var labels []string
	for _, l := range family.Metric[0].Label {
		labels = append(labels, "`"+l.GetName()+"`")
	}
	return "| `" + name + "` | " + strings.ToLower(family.GetType().String()) + " | " + strings.Join(labels, " ") + " | " + family.GetHelp() + " |"
}

func TestNames(t *testing.T) {
	m, _ := newMeter(t, nil)
	count(m)
	for name, family := range families(t, m) {
		if strings.HasPrefix(name, "kraftside_") {
			require.Equal(t, family.GetType() == dto.MetricType_COUNTER, strings.HasSuffix(name, "_total"), name)
		}
	}
}

// A sidecar that knows nothing yet has metrics all the same, without those
// that it does not know.
func TestNothingKnown(t *testing.T) {
	c := webtest.New(t, pipeline.Options{Scope: pipeline.All, NodeID: kafka.NoNode})
	m, _ := newMeter(t, func(o *Options) {
		o.ClusterID = func() string { return "" }
		o.View, o.Stats, o.BrokerApplied, o.Store, o.Exporter, o.AdminConnections = c.View, c.Stats, nil, nil, nil, nil
	})
	all := families(t, m)
	for _, name := range []string{
		"kraftside_metadata_offset", "kraftside_metadata_high_watermark", "kraftside_metadata_lag_offsets",
		"kraftside_metadata_lag_seconds", "kraftside_metadata_broker_lag_offsets", "kraftside_store_bytes", "kraftside_store_persisting",
		"kraftside_otlp_pending", "kraftside_otlp_oldest_seconds", "kraftside_admin_connections",
	} {
		require.NotContains(t, all, name)
	}
	require.Contains(t, all, "kraftside_ready")
}

func TestClusterName(t *testing.T) {
	m, _ := newMeter(t, func(o *Options) { o.ClusterName = "prod-1" })
	for name, family := range families(t, m) {
		for _, metric := range family.Metric {
			var cluster string
			for _, l := range metric.Label {
				if l.GetName() == "kafka_cluster" {
					cluster = l.GetValue()
				}
			}
			require.Equal(t, "prod-1", cluster, name)
		}
	}
}

// The number of series does not depend on the number of groups, but for 50 that
// rebalance too long or too often.
func TestSeriesAreBounded(t *testing.T) {
	m, c := newMeter(t, nil)
	before := series(t, m)
	for _, id := range []string{"b", "d", "f", "h"} {
		c.Groups(0, `5 {"groupId":"`+id+`","memberId":"m"} {"subscribedTopicNames":["`+id+`"]}`)
	}
	require.Equal(t, before, series(t, m))
	for n := range 2 * maxGroups {
		const even = "bdfhjlnprtvxz" // names of these letters are of partition 0 of 2
		id := string([]byte{even[n/len(even)], even[n%len(even)]})
		c.Groups(0, `5 {"groupId":"`+id+`","memberId":"m"} {"subscribedTopicNames":["orders"]}`)
		for epoch := range 5 + n%2 {
			c.Groups(0, fmt.Sprintf(`3 {"groupId":"%s"} {"epoch":%d}`, id, epoch+1))
		}
	}
	c.Wait(time.Minute)
	all := families(t, m)
	require.Len(t, all["kraftside_rebalance_open_seconds"].Metric, maxGroups)
	require.Len(t, all["kraftside_group_bumps"].Metric, maxGroups)
	require.Equal(t, before-2+2*maxGroups, series(t, m), "both metrics had a sample before")
	for _, metric := range all["kraftside_group_bumps"].Metric {
		require.GreaterOrEqual(t, metric.GetGauge().GetValue(), 6.0, "those with most were left out")
	}
}

func series(t *testing.T, m *Meter) (n int) {
	text, _ := scrape(t, m, "")
	return strings.Count(ours(text), "\n")
}
