package kube

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	program "github.com/kraftside/kraftside/internal/snippet"
)

// snippet is what the notes say to give to whoever makes the brokers' pods.
func snippet(t *testing.T, values string) string {
	t.Helper()
	_, text, found := strings.Cut(notes(t, values), "brokers' pods:\n\n")
	require.True(t, found)
	text, _, found = strings.Cut(text, "\nTry it")
	require.True(t, found)
	return strings.ReplaceAll("\n"+text, "\n  ", "\n")
}

// snippetPod is the container and the volumes of a snippet.
func snippetPod(t *testing.T, flavour, values string) corev1.PodSpec {
	t.Helper()
	all := parse(t, snippet(t, values))
	require.Len(t, all, 1)
	path := map[string][]string{
		"bitnami": {"broker"}, "cfk": {"spec", "template", "spec"}, "koperator": {"spec", "brokerConfigGroups", "default"},
		"custom": {"spec", "template", "spec"},
	}[flavour]
	o := map[string]any(all[0])
	if flavour == "cfk" { // an overlay in a ConfigMap
		overlay := o["data"].(map[string]any)["pod-template.yaml"].(string)
		o = map[string]any(parse(t, overlay)[0])
	}
	for _, key := range path {
		o = o[key].(map[string]any)
	}
	if flavour == "bitnami" {
		o["volumes"] = o["extraVolumes"]
		delete(o, "extraVolumes")
	}
	var spec corev1.PodSpec
	raw, err := yaml.Marshal(o)
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(raw, &spec))
	return spec
}

// What has no policy gets a snippet, which the notes print.
func TestSnippet(t *testing.T) {
	for _, flavour := range []string{"bitnami", "cfk", "custom", "koperator"} {
		t.Run(flavour, func(t *testing.T) {
			got := notes(t, in(t, "snippet", flavour))
			path := filepath.Join("testdata", "snippets", flavour+".txt")
			if *rewrite {
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
			}
			require.Equal(t, read(t, "snippets", flavour+".txt"), got)
		})
	}
}

// in are the values of a flavour for a mode of injection.
func in(t *testing.T, mode, flavour string) string {
	t.Helper()
	others := map[string]any{"injection": map[string]any{"mode": mode}}
	switch flavour {
	case "bitnami": // a quorum is TestSnippetOfTheQuorum's
		others["source"] = "dir"
	case "koperator": // the UID of whose brokers a snippet cannot know
		others["runAsUser"] = 2000
	}
	return valuesWith(t, flavour, others)
}

// The command prints what the chart prints.
func TestRenderedWithoutHelm(t *testing.T) {
	for _, flavour := range []string{"bitnami", "cfk", "custom", "koperator"} {
		t.Run(flavour, func(t *testing.T) {
			values := in(t, "snippet", flavour)
			var given map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(values), &given))
			got, err := program.Render(program.Release{Name: "ks", Namespace: "kafka"}, given)
			require.NoError(t, err)
			require.Equal(t, strings.TrimSpace(snippet(t, values)), got.Text)
			require.Contains(t, notes(t, values), strings.ReplaceAll(got.Check, "\n", "\n  "))
		})
	}
}

// A snippet is the container that the policy makes.
func TestSnippetIsThePolicys(t *testing.T) {
	for _, flavour := range []string{"bitnami", "cfk", "custom", "koperator"} {
		t.Run(flavour, func(t *testing.T) {
			pod := newPolicy(t, in(t, "policy", flavour)).admit(t, brokerPod(t, flavour))
			want, _ := injected(t, pod)
			spec := snippetPod(t, flavour, in(t, "snippet", flavour))
			got := spec.InitContainers[0]
			if want.SecurityContext.RunAsUser == nil {
				want.SecurityContext.RunAsUser = pod.Spec.SecurityContext.RunAsUser
			}
			require.Equal(t, *want, got)
			require.Subset(t, pod.Spec.Volumes, spec.Volumes)
		})
	}
}

// Without the log directory the node id is what the pod says of itself.
func TestSnippetOfTheQuorum(t *testing.T) {
	for flavour, field := range map[string]string{"cfk": "metadata.labels['apps.kubernetes.io/pod-index']", "koperator": "metadata.labels['brokerId']"} {
		spec := snippetPod(t, flavour, "{cluster: prod, flavour: "+flavour+", injection: {mode: snippet}, source: quorum, kafka: {bootstrap: [\"b:9092\"], controllers: [\"c:9093\"]}}")
		require.Contains(t, spec.InitContainers[0].Env, corev1.EnvVar{Name: "KRAFTSIDE_NODE_ID", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: field}}})
	}
}
