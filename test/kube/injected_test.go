package kube

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

var rewrite = flag.Bool("rewrite", false, "write golden files anew")

// flavours have a broker's pod, values, and the pod that becomes of it, each.
var flavours = []string{"bitnami", "cfk", "custom", "koperator", "strimzi"}

func read(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{"testdata"}, path...)...))
	require.NoError(t, err)
	return string(b)
}

func brokerPod(t *testing.T, flavour string) *corev1.Pod {
	t.Helper()
	var p corev1.Pod
	require.NoError(t, yaml.UnmarshalStrict([]byte(read(t, "pods", flavour+".yaml")), &p))
	return &p
}

// valuesWith are the values of a flavour, with others in the place of theirs.
func valuesWith(t *testing.T, flavour string, others map[string]any) string {
	t.Helper()
	var values map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "values", flavour+".yaml")), &values))
	maps.Copy(values, others)
	raw, err := yaml.Marshal(values)
	require.NoError(t, err)
	return string(raw)
}

// enabled are the values of a flavour whose policy is in effect.
func enabled(t *testing.T, flavour string) string {
	t.Helper()
	return valuesWith(t, flavour, map[string]any{"injection": map[string]any{"enabled": true}})
}

// injected is the sidecar in a pod, and the broker.
func injected(t *testing.T, p *corev1.Pod) (sidecar, broker *corev1.Container) {
	t.Helper()
	at := slices.IndexFunc(p.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == "kraftside" })
	require.GreaterOrEqual(t, at, 0, "the container is not there")
	return &p.Spec.InitContainers[at], &p.Spec.Containers[0]
}

// What the policy makes of a pod of each flavour is what the golden files say.
func TestInjected(t *testing.T) {
	for _, flavour := range flavours {
		t.Run(flavour, func(t *testing.T) {
			got, err := yaml.Marshal(newPolicy(t, read(t, "values", flavour+".yaml")).admit(t, brokerPod(t, flavour)))
			require.NoError(t, err)
			path := filepath.Join("testdata", "injected", flavour+".yaml")
			if *rewrite {
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, got, 0o644))
			}
			require.Equal(t, read(t, "injected", flavour+".yaml"), string(got))
		})
	}
}

// The container cannot hold up its broker: it is a native sidecar without probes, has
// no privilege, mounts what is the broker's read-only, and leaves the pod as it was
// otherwise.
func TestHarmless(t *testing.T) {
	for _, flavour := range flavours {
		t.Run(flavour, func(t *testing.T) {
			before := brokerPod(t, flavour)
			after := newPolicy(t, read(t, "values", flavour+".yaml")).admit(t, before.DeepCopy())
			c, _ := injected(t, after)
			require.Equal(t, corev1.ContainerRestartPolicyAlways, *c.RestartPolicy)
			require.Nil(t, c.StartupProbe)
			require.Nil(t, c.ReadinessProbe)
			require.Nil(t, c.LivenessProbe)
			require.Equal(t, []corev1.Capability{"ALL"}, c.SecurityContext.Capabilities.Drop)
			require.False(t, *c.SecurityContext.AllowPrivilegeEscalation)
			require.True(t, *c.SecurityContext.ReadOnlyRootFilesystem)
			for _, m := range c.VolumeMounts {
				require.Equal(t, m.Name != "kraftside-state", m.ReadOnly, m.Name)
			}
			require.Equal(t, before.Spec.Containers, after.Spec.Containers)
			require.ElementsMatch(t, before.Spec.InitContainers, after.Spec.InitContainers[:len(before.Spec.InitContainers)])
			require.ElementsMatch(t, before.Spec.Volumes, after.Spec.Volumes[:len(before.Spec.Volumes)])
			require.Equal(t, before.Spec.SecurityContext, after.Spec.SecurityContext)
		})
	}
}

// Every volume is mounted, every mount has a volume, and every port has a name of
// its own.
func TestComplete(t *testing.T) {
	for _, flavour := range flavours {
		t.Run(flavour, func(t *testing.T) {
			p := newPolicy(t, read(t, "values", flavour+".yaml")).admit(t, brokerPod(t, flavour))
			c, _ := injected(t, p)
			mounted, there := map[string]bool{}, map[string]bool{}
			for _, m := range c.VolumeMounts {
				mounted[m.Name] = true
			}
			for _, v := range p.Spec.Volumes {
				there[v.Name] = true
				require.True(t, mounted[v.Name] || !strings.HasPrefix(v.Name, "kraftside-"), v.Name)
			}
			for name := range mounted {
				require.True(t, there[name], name)
			}
			names := map[string]bool{}
			for _, port := range c.Ports {
				require.False(t, names[port.Name], port.Name)
				names[port.Name] = true
			}
		})
	}
}

// A pod that has the container, that was opted out, or that is another's stays as
// it is.
func TestLeftAlone(t *testing.T) {
	for _, flavour := range flavours {
		t.Run(flavour, func(t *testing.T) {
			policy := newPolicy(t, read(t, "values", flavour+".yaml"))
			once := policy.admit(t, brokerPod(t, flavour))
			require.Equal(t, once, policy.admit(t, once.DeepCopy()), "a pod that has it")
			out := brokerPod(t, flavour)
			out.Annotations = map[string]string{"kraftside.io/inject": "false"}
			require.Equal(t, out, policy.admit(t, out.DeepCopy()), "a pod that was opted out")
			other := brokerPod(t, flavour)
			other.Labels = map[string]string{"app": "another"}
			require.Equal(t, other, policy.admit(t, other.DeepCopy()), "a pod of something else")
			bare := brokerPod(t, flavour)
			bare.Spec.Containers[0].Name = "another"
			require.Equal(t, bare, policy.admit(t, bare.DeepCopy()), "a pod without a broker")
		})
	}
}

// A pod whose containers have requests like limits stays one: else it would be the
// first to be evicted.
func TestGuaranteed(t *testing.T) {
	policy := newPolicy(t, read(t, "values", "strimzi.yaml"))
	c, broker := injected(t, policy.admit(t, brokerPod(t, "strimzi")))
	require.Equal(t, broker.Resources.Limits, broker.Resources.Requests)
	require.Equal(t, c.Resources.Limits.Cpu(), c.Resources.Requests.Cpu())
	require.Equal(t, c.Resources.Limits.Memory(), c.Resources.Requests.Memory())
	burstable := brokerPod(t, "strimzi")
	burstable.Spec.Containers[0].Resources.Limits = nil
	c, _ = injected(t, policy.admit(t, burstable))
	require.Negative(t, c.Resources.Requests.Memory().Cmp(*c.Resources.Limits.Memory()))
}

// The container has the UID of the broker, who alone may read its snapshots: by the
// broker's container, by the pod, or as the flavour's images have it.
func TestUser(t *testing.T) {
	for flavour, want := range map[string]int64{"strimzi": 1001, "cfk": 1001, "koperator": 2000, "bitnami": 1001, "custom": 1000} {
		p := newPolicy(t, read(t, "values", flavour+".yaml")).admit(t, brokerPod(t, flavour))
		c, _ := injected(t, p)
		got := c.SecurityContext.RunAsUser
		if got == nil {
			got = p.Spec.SecurityContext.RunAsUser
		}
		require.NotNil(t, got, flavour)
		require.Equal(t, want, *got, flavour)
	}
	c, _ := injected(t, newPolicy(t, "{cluster: prod, runAsUser: 0}").admit(t, brokerPod(t, "strimzi")))
	require.Nil(t, c.SecurityContext.RunAsUser, "where the namespace's range decides")
	require.True(t, *c.SecurityContext.RunAsNonRoot)
}

// Beside a broker that runs as root, whose snapshots nobody else can read, the
// container does, too, without any privilege: the kubelet would not start it
// otherwise, and the broker would wait for it.
func TestRootUser(t *testing.T) {
	policy := newPolicy(t, read(t, "values", "strimzi.yaml"))
	byPod := brokerPod(t, "strimzi")
	byPod.Spec.SecurityContext.RunAsUser = new(int64)
	c, _ := injected(t, policy.admit(t, byPod))
	require.False(t, *c.SecurityContext.RunAsNonRoot)
	byContainer := brokerPod(t, "strimzi")
	byContainer.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{RunAsUser: new(int64)}
	c, _ = injected(t, policy.admit(t, byContainer))
	require.False(t, *c.SecurityContext.RunAsNonRoot)
	require.Zero(t, *c.SecurityContext.RunAsUser)
}

// From the quorum the node id is what the flavour makes of the pod; on a broker's disk
// stands whose it is.
func TestNodeID(t *testing.T) {
	for flavour, want := range map[string]string{"strimzi": "12", "cfk": "102", "koperator": "0", "bitnami": "101", "custom": "0"} {
		for _, source := range []string{"dir", "quorum"} {
			values := valuesWith(t, flavour, map[string]any{
				"source": source, "kafka": map[string]any{"bootstrap": []string{"b:9092"}, "controllers": []string{"c:9093"}},
			})
			c, _ := injected(t, newPolicy(t, values).admit(t, brokerPod(t, flavour)))
			given := corev1.EnvVar{Name: "KRAFTSIDE_NODE_ID", Value: want}
			require.Equal(t, source == "quorum", slices.Contains(c.Env, given), "%s of %s", source, flavour)
		}
	}
}

// Kyverno gets the same policy, for pods alone.
func TestKyverno(t *testing.T) {
	objects, err := render(t, `{cluster: prod, injection: {mode: kyverno, enabled: true}}`)
	require.NoError(t, err)
	kyverno := one(t, objects, "MutatingPolicy")["spec"].(map[string]any)
	require.Equal(t, map[string]any{"podControllers": map[string]any{"controllers": []any{}}}, kyverno["autogen"])
	delete(kyverno, "autogen")
	delete(kyverno, "evaluation")
	objects, err = render(t, `{cluster: prod}`)
	require.NoError(t, err)
	require.Equal(t, one(t, objects, "MutatingAdmissionPolicy")["spec"], any(kyverno))
}

// Until injection is enabled, a policy is for what has the label of preflight alone, which no broker
// has.
func TestNotEnabled(t *testing.T) {
	label := map[string]any{"kraftside.io/preflight": "true"}
	objects, err := render(t, `{cluster: prod}`)
	require.NoError(t, err)
	binding := one(t, objects, "MutatingAdmissionPolicyBinding")["spec"].(map[string]any)
	require.Equal(t, map[string]any{"objectSelector": map[string]any{"matchLabels": label}}, binding["matchResources"])
	objects, err = render(t, `{cluster: prod, injection: {enabled: true}}`)
	require.NoError(t, err)
	require.NotContains(t, one(t, objects, "MutatingAdmissionPolicyBinding")["spec"], "matchResources")

	selector := func(values string) map[string]any {
		objects, err := render(t, values)
		require.NoError(t, err)
		constraints := one(t, objects, "MutatingPolicy")["spec"].(map[string]any)["matchConstraints"].(map[string]any)
		return constraints["objectSelector"].(map[string]any)["matchLabels"].(map[string]any)
	}
	enabled := selector(`{cluster: prod, injection: {mode: kyverno, enabled: true}}`)
	require.NotContains(t, enabled, "kraftside.io/preflight")
	enabled["kraftside.io/preflight"] = "true"
	require.Equal(t, enabled, selector(`{cluster: prod, injection: {mode: kyverno}}`))
}
