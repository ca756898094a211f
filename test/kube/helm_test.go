//go:build kube

package kube

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// helm runs Helm 4 (helm) or 3 (helm3) as somebody at a terminal would.
func (p *controlPlane) helm(t *testing.T, program, namespace string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(p.programs, program), append(args, "--namespace", namespace, "--kubeconfig", p.path("kubeconfig"))...)
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+t.TempDir(), "HELM_CONFIG_HOME="+t.TempDir(), "HELM_DATA_HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// brokers is a StatefulSet of brokers of one's own.
func brokers(namespace string, replicas int32) *appsv1.StatefulSet {
	labels := map[string]string{"app": "kafka"}
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "kafka", Namespace: namespace}, Spec: appsv1.StatefulSetSpec{
		Replicas: &replicas, ServiceName: "kafka", Selector: &metav1.LabelSelector{MatchLabels: labels}, PodManagementPolicy: appsv1.ParallelPodManagement,
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "broker", Image: "apache/kafka", VolumeMounts: []corev1.VolumeMount{{Name: "logs", MountPath: "/data"}}}},
			Volumes:    []corev1.Volume{{Name: "logs", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		}},
	}}
}

// sidecars counts the pods of the brokers that have the container, and waits until
// all of them are ready.
func (p *controlPlane) sidecars(t *testing.T, namespace string, pods ...string) (n int) {
	t.Helper()
	for _, name := range pods {
		pod := p.awaitPod(t, namespace, name, func(got *corev1.Pod) bool { ok, _ := ready(got.Status); return ok && got.DeletionTimestamp == nil })
		n += len(pod.Spec.InitContainers)
	}
	return n
}

// roll deletes a pod, which its StatefulSet makes anew.
func (p *controlPlane) roll(t *testing.T, namespace, name string) {
	t.Helper()
	pods := p.client.CoreV1().Pods(namespace)
	old, err := pods.Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, pods.Delete(t.Context(), name, metav1.DeleteOptions{}))
	p.awaitPod(t, namespace, name, func(got *corev1.Pod) bool { return got.UID != old.UID })
}

// With Helm 4 and 3: brokers that run are left alone; once the policy is enabled, one
// that is rolled has the container; a rollback and an uninstallation take it away with
// the next roll, and with nothing else.
func TestHelm(t *testing.T) {
	p := server(t)
	for _, program := range []string{"helm", "helm3"} {
		t.Run(program, func(t *testing.T) {
			ns := p.namespace(t, nil)
			must := func(args ...string) {
				t.Helper()
				out, err := p.helm(t, program, ns, args...)
				require.NoError(t, err, out)
			}
			must("lint", "--strict", chartDir, "--values", filepath.Join("testdata", "values", "custom.yaml"))
			pods := []string{"kafka-0", "kafka-1", "kafka-2"}
			_, err := p.client.AppsV1().StatefulSets(ns).Create(t.Context(), brokers(ns, 3), strict(false))
			require.NoError(t, err)
			values := []string{"--values", filepath.Join("testdata", "values", "custom.yaml")}
			must(append([]string{"install", "ks", chartDir, "--wait", "--timeout", "60s"}, values...)...)
			require.Zero(t, p.sidecars(t, ns, pods...))
			must(append([]string{"upgrade", "ks", chartDir, "--wait", "--timeout", "60s", "--set", "injection.enabled=true"}, values...)...)
			require.Zero(t, p.sidecars(t, ns, pods...), "nothing is rolled by an upgrade")
			another := runnable(t, "custom", ns)
			another.Name = "kafka-99"
			p.admit(t, another)
			p.roll(t, ns, "kafka-1")
			require.Equal(t, 1, p.sidecars(t, ns, pods...), "one broker first")
			must("rollback", "ks", "1", "--wait", "--timeout", "60s")
			require.Equal(t, 1, p.sidecars(t, ns, pods...))
			p.leaves(t, ns)
			p.roll(t, ns, "kafka-1")
			require.Zero(t, p.sidecars(t, ns, pods...))
			must("uninstall", "ks", "--wait", "--timeout", "60s")
			require.Zero(t, p.sidecars(t, ns, pods...))
			left, err := p.client.AdmissionregistrationV1().MutatingAdmissionPolicies().List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			for _, one := range left.Items {
				require.NotContains(t, one.Name, "."+ns+".")
			}
		})
	}
}
