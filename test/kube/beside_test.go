//go:build kube

package kube

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// restricted has pods refused that the strictest Pod Security Standard does not
// allow.
var restricted = map[string]string{"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest"}

// runnable is a flavour's pod as the API server and the node take it: in a namespace,
// with volumes that need no storage, and restricted.
func runnable(t *testing.T, flavour, namespace string) *corev1.Pod {
	t.Helper()
	p := brokerPod(t, flavour)
	p.Namespace = namespace
	p.Spec.NodeName = nodeName
	for i := range p.Spec.Volumes {
		p.Spec.Volumes[i].VolumeSource = corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	}
	if p.Spec.SecurityContext == nil {
		p.Spec.SecurityContext = &corev1.PodSecurityContext{}
	}
	p.Spec.SecurityContext.RunAsNonRoot = new(true)
	p.Spec.SecurityContext.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			if list[i].SecurityContext == nil {
				list[i].SecurityContext = &corev1.SecurityContext{}
			}
			list[i].SecurityContext.AllowPrivilegeEscalation = new(bool)
			list[i].SecurityContext.Capabilities = &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}
		}
	}
	return p
}

// Brokers of every flavour run with the container in a namespace that is restricted,
// without the ConfigMap too, and in no QoS class that is evicted sooner: Guaranteed
// stays that, and BestEffort becomes Burstable, since the container requests memory.
func TestBeside(t *testing.T) {
	p := server(t)
	for _, flavour := range flavours {
		t.Run(flavour, func(t *testing.T) {
			ns := p.namespace(t, restricted)
			pods := p.client.CoreV1().Pods(ns)
			before, err := pods.Create(t.Context(), runnable(t, flavour, ns), strict(true))
			require.NoError(t, err)
			p.install(t, ns, enabled(t, flavour))
			require.NoError(t, p.client.CoreV1().ConfigMaps(ns).Delete(t.Context(), "ks-kraftside", metav1.DeleteOptions{}))
			p.admit(t, runnable(t, flavour, ns))
			made, err := pods.Create(t.Context(), runnable(t, flavour, ns), strict(false))
			require.NoError(t, err)
			want := before.Status.QOSClass
			if want == corev1.PodQOSBestEffort {
				want = corev1.PodQOSBurstable
			}
			require.Equal(t, want, made.Status.QOSClass)
			p.awaitPod(t, ns, made.Name, func(got *corev1.Pod) bool { ok, _ := ready(got.Status); return ok })
		})
	}
}

// A pod that has the container gets no other, and one that was opted out gets none.
func TestOnceOrNever(t *testing.T) {
	p := server(t)
	ns := p.namespace(t, nil)
	p.install(t, ns, enabled(t, "strimzi"))
	got := p.admit(t, runnable(t, "strimzi", ns))
	again := runnable(t, "strimzi", ns)
	again.Spec.InitContainers, again.Spec.Volumes = got.Spec.InitContainers, got.Spec.Volumes
	again, err := p.client.CoreV1().Pods(ns).Create(t.Context(), again, strict(true))
	require.NoError(t, err)
	require.Len(t, again.Spec.InitContainers, 1)
	out := runnable(t, "strimzi", ns)
	out.Annotations = map[string]string{"kraftside.io/inject": "false"}
	out, err = p.client.CoreV1().Pods(ns).Create(t.Context(), out, strict(true))
	require.NoError(t, err)
	require.Empty(t, out.Spec.InitContainers)
}

// An image that does not exist holds up the broker behind it: this is what a pull by
// digest before the first roll, and one broker first, are for. (And it shows that the
// node of these tests does not call everything ready.)
func TestImageThatDoesNotExist(t *testing.T) {
	p := server(t)
	ns := p.namespace(t, nil)
	p.install(t, ns, valuesWith(t, "strimzi", map[string]any{"injection": map[string]any{"enabled": true}, "image": map[string]any{"tag": "absent"}}))
	p.admit(t, runnable(t, "strimzi", ns))
	pod, err := p.client.CoreV1().Pods(ns).Create(t.Context(), runnable(t, "strimzi", ns), strict(false))
	require.NoError(t, err)
	got := p.awaitPod(t, ns, pod.Name, func(got *corev1.Pod) bool { return len(got.Status.ContainerStatuses) > 0 })
	ok, why := ready(got.Status)
	require.False(t, ok)
	require.Equal(t, "containers with unready status: [kraftside kafka]", why)
	require.Equal(t, "PodInitializing", got.Status.ContainerStatuses[0].State.Waiting.Reason)
}
