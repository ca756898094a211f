package kube

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		page := fmt.Sprintf("docs/runbooks/%s.md", r["alert"])
		require.Equal(t, "https://github.com/kraftside/kraftside/blob/main/"+page, annotations["runbook_url"])
		require.FileExists(t, "testdata/"+page)
		require.Contains(t, []any{"page", "ticket", "info"}, r["labels"].(map[string]any)["severity"])
	}
	require.Equal(t, []string{
		"KraftsideRebalanceStuck", "KraftsideRebalanceStorm", "KraftsideNoSidecar", "KraftsideMetadataTailStopped", "KraftsideDrift", "KraftsideUnknownCause",
	}, names)
}

const (
	alone  = `injection: {mode: none}`
	beside = `standalone: {enabled: true}, kafka: {bootstrap: ["b:1"], controllers: ["c:1"]}`
)

// The monitors find the pods that have the container, beside a broker or alone.
func TestPodMonitor(t *testing.T) {
	ofBrokers := map[string]any{"strimzi.io/cluster": "prod", "strimzi.io/broker-role": "true"}
	ofStandalone := map[string]any{"app.kubernetes.io/name": "kraftside", "app.kubernetes.io/instance": "ks"}
	for values, want := range map[string][]any{
		`{cluster: prod, monitoring: {podMonitor: {enabled: true}}}`:                 {ofBrokers},
		`{` + alone + `, ` + beside + `, monitoring: {podMonitor: {enabled: true}}}`: {ofStandalone},
		`{cluster: prod, ` + beside + `, monitoring: {podMonitor: {enabled: true}}}`: {ofBrokers, ofStandalone},
	} {
		objects, err := render(t, values)
		require.NoError(t, err)
		var got []any
		for _, o := range objects {
			if o.kind() == "PodMonitor" {
				spec := o["spec"].(map[string]any)
				got = append(got, spec["selector"].(map[string]any)["matchLabels"])
				require.Equal(t, "ks-http", spec["podMetricsEndpoints"].([]any)[0].(map[string]any)["port"])
			}
		}
		require.Equal(t, want, got, values)
	}
}

// A ServiceMonitor finds every Service of the release and its port. That of the
// brokers' pods is headless, has those that are not ready too, and the port of the
// container, by the name that it has there.
func TestServiceMonitor(t *testing.T) {
	for values, want := range map[string][]string{
		`{cluster: prod, monitoring: {serviceMonitor: {enabled: true}}}`:                 {"ks-kraftside-brokers"},
		`{` + alone + `, ` + beside + `, monitoring: {serviceMonitor: {enabled: true}}}`: {"ks-kraftside"},
		`{cluster: prod, ` + beside + `, monitoring: {serviceMonitor: {enabled: true}}}`: {"ks-kraftside-brokers", "ks-kraftside"},
	} {
		objects, err := render(t, values)
		require.NoError(t, err)
		var monitor monitoringSpec
		raw, err := json.Marshal(one(t, objects, "ServiceMonitor")["spec"])
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(raw, &monitor))
		var found []string
		for _, o := range objects {
			if o.kind() != "Service" {
				continue
			}
			var service corev1.Service
			typed(t, o, &service)
			require.True(t, selects(&monitor.Selector, service.Labels), service.Name)
			require.Equal(t, monitor.Endpoints[0].Port, service.Spec.Ports[0].Name)
			require.Equal(t, "ks-http", service.Spec.Ports[0].TargetPort.StrVal)
			found = append(found, service.Name)
			if service.Name == "ks-kraftside-brokers" {
				require.Equal(t, corev1.ClusterIPNone, service.Spec.ClusterIP)
				require.True(t, service.Spec.PublishNotReadyAddresses)
				require.True(t, selects(&metav1.LabelSelector{MatchLabels: service.Spec.Selector}, brokerPod(t, "strimzi").Labels))
			}
		}
		require.ElementsMatch(t, want, found, values)
	}
}

// monitoringSpec is what is tested of a ServiceMonitor.
type monitoringSpec struct {
	Selector  metav1.LabelSelector
	Endpoints []struct{ Port string }
}

// The budget of the only pod lets it be evicted: no drain waits for it.
func TestDisruptionBudget(t *testing.T) {
	objects, err := render(t, `{`+alone+`, `+beside+`, podDisruptionBudget: {enabled: true}}`)
	require.NoError(t, err)
	var budget policyv1.PodDisruptionBudget
	typed(t, one(t, objects, "PodDisruptionBudget"), &budget)
	var set appsv1.StatefulSet
	typed(t, one(t, objects, "StatefulSet"), &set)
	require.EqualValues(t, 1, *set.Spec.Replicas)
	require.Equal(t, 1, budget.Spec.MaxUnavailable.IntValue())
	require.Nil(t, budget.Spec.MinAvailable)
	require.True(t, selects(budget.Spec.Selector, set.Spec.Template.Labels))
	objects, err = render(t, `{cluster: prod, podDisruptionBudget: {enabled: true}}`)
	require.NoError(t, err)
	for _, o := range objects {
		require.NotEqual(t, "PodDisruptionBudget", o.kind(), "of brokers it is their operator's matter")
	}
}
