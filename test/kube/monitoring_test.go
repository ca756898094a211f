package kube

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every alert says what is the matter and what to ask, and has a page.
func TestRules(t *testing.T) {
	objects, err := render(t, `{cluster: prod, monitoring: {rules: {enabled: true, exclude: [KraftsideStale], labels: {release: prometheus}}}}`)
	require.NoError(t, err)
	rule := one(t, objects, "PrometheusRule")
	require.Equal(t, "prometheus", rule["metadata"].(map[string]any)["labels"].(map[string]any)["release"])
	var names []string
	for _, r := range rule["spec"].(map[string]any)["groups"].([]any)[0].(map[string]any)["rules"].([]any) {
		r := r.(map[string]any)
		names = append(names, r["alert"].(string))
		annotations := r["annotations"].(map[string]any)
		require.NotEmpty(t, annotations["summary"])
		require.Regexp(t, `Ask( it)?: (kraftside|curl) `, annotations["description"])
		require.Equal(t, fmt.Sprintf("docs/runbooks/%s.md", r["alert"]), annotations["runbook_url"])
		require.FileExists(t, "../../"+annotations["runbook_url"].(string))
		require.Contains(t, []any{"page", "ticket", "info"}, r["labels"].(map[string]any)["severity"])
	}
	require.Equal(t, []string{
		"KraftsideRebalanceStuck", "KraftsideRebalanceStorm", "KraftsideNoSidecar", "KraftsideMetadataTailStopped", "KraftsideDrift", "KraftsideUnknownCause",
	}, names)
}

// The monitor finds the pods that have the container.
func TestPodMonitor(t *testing.T) {
	for values, want := range map[string]map[string]any{
		`{cluster: prod, monitoring: {podMonitor: {enabled: true}}}`: {"strimzi.io/cluster": "prod", "strimzi.io/broker-role": "true"},
		`{injection: {mode: none}, standalone: {enabled: true}, kafka: {bootstrap: ["b:1"], controllers: ["c:1"]}, monitoring: {podMonitor: {enabled: true}}}`: {
			"app.kubernetes.io/name": "kraftside", "app.kubernetes.io/instance": "ks",
		},
	} {
		objects, err := render(t, values)
		require.NoError(t, err)
		spec := one(t, objects, "PodMonitor")["spec"].(map[string]any)
		require.Equal(t, want, spec["selector"].(map[string]any)["matchLabels"])
		require.Equal(t, "ks-http", spec["podMetricsEndpoints"].([]any)[0].(map[string]any)["port"])
	}
}
