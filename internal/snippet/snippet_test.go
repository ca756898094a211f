package snippet

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What the chart refuses, and what it does not know, is told in a sentence.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		values map[string]any
		want   string
	}{
		{map[string]any{"cluster": "x"}, "injection.mode snippet cannot work with Strimzi, which adds no containers to its pods: use policy (Kubernetes 1.36 or newer), kyverno, or standalone"},
		{map[string]any{"flavour": "cfk"}, "cluster is empty: it is the name of the Kafka cluster whose brokers get the container"},
		{map[string]any{"clustr": "x"}, "the chart has no value clustr; did you mean cluster?"},
		{map[string]any{"custom": map[string]any{"dataprefix": "/x"}}, "the chart has no value custom.dataprefix; did you mean custom.dataPrefix?"},
		{map[string]any{"custom": "x"}, "custom has keys of its own, and cannot be x"},
		{map[string]any{"state": map[string]any{"x": 1}}, "the chart has no value state.x"},
	} {
		_, err := Render(Release{}, c.values)
		require.EqualError(t, err, c.want)
	}
}

// Values are laid over those of the chart, and maps that are empty there take any
// key.
func TestValues(t *testing.T) {
	s, err := Render(Release{Name: "ks", Namespace: "kafka"}, map[string]any{
		"flavour": "custom", "custom": map[string]any{"labels": map[string]any{"app": "k"}, "dataPrefix": "/data"}, "ports": map[string]any{"http": 9999},
	})
	require.NoError(t, err)
	require.Contains(t, s.Text, "mountPath: /data, readOnly: true")
	require.Contains(t, s.Text, "containerPort: 9999")
	require.Contains(t, s.Text, "configMap: {name: ks-kraftside, optional: true}")
	require.Contains(t, s.Check, "-n kafka -l app=k ")
}
