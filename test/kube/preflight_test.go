//go:build kube

package kube

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kubernetes"
)

// brokersOf are the pods of a flavour's fixture.
func brokersOf(t *testing.T, flavour string) kubernetes.Brokers {
	t.Helper()
	f, err := kubernetes.FlavourNamed(flavour)
	require.NoError(t, err)
	b := kubernetes.Brokers{Cluster: "prod", Flavour: f}
	if flavour == kubernetes.Custom {
		b = kubernetes.Brokers{Flavour: f, Selector: "app=kafka"}
		b.Flavour.Container = "broker"
	}
	return b
}

// golden compares a text with a file of testdata.
func golden(t *testing.T, got string, path ...string) {
	t.Helper()
	file := filepath.Join(append([]string{"testdata"}, path...)...)
	if *rewrite {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	require.Equal(t, read(t, path...), got)
}

// byDigest are the values of a flavour, with an image that may be pulled.
func byDigest(t *testing.T, flavour string) string {
	t.Helper()
	return valuesWith(t, flavour, map[string]any{"image": map[string]any{"digest": "sha256:" + strings.Repeat("1", 64)}})
}

// preflight is what the command prints for a flavour, and the worst result, on which its exit code
// rests. Nothing may be left of what it tries.
func (p *controlPlane) preflight(t *testing.T, kubeconfig, namespace, flavour string) string {
	t.Helper()
	before := p.podNames(t, namespace)
	c, err := kubernetes.Connect(kubernetes.Access{Kubeconfig: p.path(kubeconfig), Namespace: namespace})
	require.NoError(t, err)
	r, err := c.Preflight(t.Context(), brokersOf(t, flavour))
	require.NoError(t, err)
	var text strings.Builder
	require.NoError(t, (&cli.Output{Out: &text, Format: cli.TextFormat}).Print(r, r.Text))
	require.Equal(t, before, p.podNames(t, namespace))
	return text.String() + "worst: " + string(r.Worst()) + "\n"
}

func (p *controlPlane) podNames(t *testing.T, namespace string) (names []string) {
	all, err := p.client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, pod := range all.Items {
		names = append(names, pod.Name)
	}
	return names
}

// startBroker makes a pod that runs, and that no policy may change.
func (p *controlPlane) startBroker(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	got, err := p.client.CoreV1().Pods(pod.Namespace).Create(t.Context(), pod, strict(false))
	require.NoError(t, err)
	require.Len(t, got.Spec.InitContainers, len(pod.Spec.InitContainers), "a policy that is not enabled has changed a pod")
	p.awaitPod(t, pod.Namespace, pod.Name, func(got *corev1.Pod) bool { ok, _ := ready(got.Status); return ok })
}

// awaitPolicy waits until the policy acts on pods that have the label of preflight.
func (p *controlPlane) awaitPolicy(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	pod.Name = "copy-of-" + pod.Name
	pod.Labels["kraftside.io/preflight"] = "true"
	p.admit(t, pod)
}

// What preflight says of the pods of each flavour, with the chart installed but not enabled.
func TestPreflight(t *testing.T) {
	p := server(t)
	for _, flavour := range flavours {
		t.Run(flavour, func(t *testing.T) {
			ns := p.namespace(t, restricted)
			p.install(t, ns, byDigest(t, flavour))
			p.startBroker(t, runnable(t, flavour, ns))
			p.awaitPolicy(t, runnable(t, flavour, ns))
			golden(t, p.preflight(t, "kubeconfig", ns, flavour), "preflight", flavour+".txt")
		})
	}
}

// What it says of pods of Strimzi, or of what there is around them, when something would keep a broker
// from starting: what is changed of the pod, and after it was made.
func TestPreflightFinds(t *testing.T) {
	p := server(t)
	for name, c := range map[string]struct {
		pod  func(*corev1.Pod)
		then func(t *testing.T, namespace string)
	}{
		// 8Gi are requested by the pod that runs, and by its copy.
		"quota_for_two":  {then: func(t *testing.T, ns string) { p.quota(t, ns, "16500Mi") }},
		"quota_for_one":  {then: func(t *testing.T, ns string) { p.quota(t, ns, "9Gi") }},
		"quota_for_none": {then: func(t *testing.T, ns string) { p.quota(t, ns, "8300Mi") }},
		"no_configuration": {then: func(t *testing.T, ns string) {
			require.NoError(t, p.client.CoreV1().ConfigMaps(ns).Delete(t.Context(), "ks-kraftside", metav1.DeleteOptions{}))
		}},
		"taken_port": {pod: func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 9464}}
		}},
		"wrong_user": {
			pod:  func(pod *corev1.Pod) { pod.Spec.SecurityContext.RunAsUser = new(int64) },
			then: func(t *testing.T, ns string) { p.restrict(t, ns) },
		},
		"host_path": {
			pod: func(pod *corev1.Pod) {
				pod.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data"}}
			},
			then: func(t *testing.T, ns string) { p.restrict(t, ns) },
		},
		"limit_range": {then: func(t *testing.T, ns string) {
			_, err := p.client.CoreV1().LimitRanges(ns).Create(t.Context(), &corev1.LimitRange{
				ObjectMeta: metav1.ObjectMeta{Name: "least"},
				Spec:       corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Min: corev1.ResourceList{"memory": amount("1Gi")}}}},
			}, strict(false))
			require.NoError(t, err)
		}},
		"no_permission": {then: func(t *testing.T, ns string) {
			require.NoError(t, p.write("someone", strings.Replace(p.kubeconfig(adminToken), "token: ", "as: someone, token: ", 1)))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			ns := p.namespace(t, nil)
			p.install(t, ns, byDigest(t, "strimzi"))
			pod := runnable(t, "strimzi", ns)
			if c.pod != nil {
				c.pod(pod)
			}
			p.startBroker(t, pod)
			p.awaitPolicy(t, runnable(t, "strimzi", ns))
			if c.then != nil {
				c.then(t, ns)
			}
			kubeconfig := "kubeconfig"
			if name == "no_permission" {
				kubeconfig = "someone"
			}
			golden(t, p.preflight(t, kubeconfig, ns, "strimzi"), "preflight", name+".txt")
		})
	}
}

// quota limits the memory that pods may request, and waits until what runs is counted.
func (p *controlPlane) quota(t *testing.T, namespace, limit string) {
	quotas := p.client.CoreV1().ResourceQuotas(namespace)
	_, err := quotas.Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "memory"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"requests.memory": amount(limit)}},
	}, strict(false))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		got, err := quotas.Get(t.Context(), "memory", metav1.GetOptions{})
		used := got.Status.Used["requests.memory"]
		return err == nil && !used.IsZero()
	}, time.Minute, 100*time.Millisecond, "the quota is not counted")
}

// restrict has a namespace refuse pods that are not restricted.
func (p *controlPlane) restrict(t *testing.T, namespace string) {
	ns, err := p.client.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
	require.NoError(t, err)
	for key, value := range restricted {
		ns.Labels[key] = value
	}
	_, err = p.client.CoreV1().Namespaces().Update(t.Context(), ns, metav1.UpdateOptions{})
	require.NoError(t, err)
}

// Where nothing adds the sidecar, since whoever makes the pods has it, preflight looks at those.
func TestPreflightOfSnippet(t *testing.T) {
	p := server(t)
	ns := p.namespace(t, nil)
	values := read(t, "values", "strimzi.yaml")
	objects, err := renderIn(t, ns, values)
	require.NoError(t, err)
	require.NoError(t, p.create(t, ns, one(t, objects, "ConfigMap"), false))
	pod := newPolicy(t, values).admit(t, runnable(t, "strimzi", ns))
	_, err = p.client.CoreV1().Pods(ns).Create(t.Context(), pod, strict(false))
	require.NoError(t, err)
	p.awaitReady(t, ns, pod.Name)
	golden(t, p.preflight(t, "kubeconfig", ns, "strimzi"), "preflight", "snippet.txt")
}
