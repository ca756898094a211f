//go:build kube

package kube

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kubernetes"
)

const (
	oldImage = "kraftside/kraftside:0.1.0"
	newImage = "kraftside/kraftside:0.2.0"
)

// upgrade runs the command, and is what it prints.
func (p *controlPlane) upgrade(t *testing.T, namespace, flavour string, dry bool) (string, error) {
	t.Helper()
	c, err := kubernetes.Connect(kubernetes.Access{Kubeconfig: p.path("kubeconfig"), Namespace: namespace})
	require.NoError(t, err)
	var text bytes.Buffer
	out := &cli.Output{Out: &text, Err: &text, Format: cli.TextFormat}
	u, failure := c.UpgradeInPlace(t.Context(), out, kubernetes.Change{Brokers: brokersOf(t, flavour), Image: newImage, DryRun: dry, Timeout: time.Minute})
	require.NotNil(t, u, "%v", failure)
	require.NoError(t, out.Print(u, u.Text))
	if failure != nil {
		fmt.Fprintf(&text, "error: %v\n", failure)
	}
	return text.String(), failure
}

// sidecarImages are those of the pods' specs, by pod.
func (p *controlPlane) sidecarImages(t *testing.T, namespace string) map[string]string {
	found := make(map[string]string)
	for _, pod := range p.pods(t, namespace) {
		c, _ := injected(t, &pod)
		found[pod.Name] = c.Image
	}
	return found
}

func (p *controlPlane) podUIDs(t *testing.T, namespace string) map[string]types.UID {
	found := make(map[string]types.UID)
	for _, pod := range p.pods(t, namespace) {
		found[pod.Name] = pod.UID
	}
	return found
}

func (p *controlPlane) pods(t *testing.T, namespace string) []corev1.Pod {
	all, err := p.client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	return all.Items
}

func (p *controlPlane) awaitReady(t *testing.T, namespace string, names ...string) {
	t.Helper()
	for _, name := range names {
		p.awaitPod(t, namespace, name, func(got *corev1.Pod) bool { ok, _ := ready(got.Status); return ok })
	}
}

// bare makes three pods as Strimzi does, without a controller of Kubernetes, and with the sidecar.
func (p *controlPlane) bare(t *testing.T, namespace string) (names []string) {
	t.Helper()
	p.install(t, namespace, enabled(t, "strimzi"))
	p.admit(t, runnable(t, "strimzi", namespace))
	for i := range 3 {
		pod := runnable(t, "strimzi", namespace)
		pod.Name = fmt.Sprintf("prod-pool-a-%d", i)
		_, err := p.client.CoreV1().Pods(namespace).Create(t.Context(), pod, strict(false))
		require.NoError(t, err)
		names = append(names, pod.Name)
	}
	p.awaitReady(t, namespace, names...)
	return names
}

// Running pods get the new image, one after the other, without being made anew; a dry run changes
// nothing.
func TestUpgradeInPlace(t *testing.T) {
	p := server(t)
	ns := p.namespace(t, nil)
	p.bare(t, ns)
	uids, images := p.podUIDs(t, ns), p.sidecarImages(t, ns)
	got, err := p.upgrade(t, ns, "strimzi", true)
	require.NoError(t, err)
	golden(t, got, "upgrade", "dry_run.txt")
	require.Equal(t, images, p.sidecarImages(t, ns))

	got, err = p.upgrade(t, ns, "strimzi", false)
	require.NoError(t, err)
	golden(t, got, "upgrade", "bare.txt")
	got, err = p.upgrade(t, ns, "strimzi", false)
	require.NoError(t, err)
	golden(t, got, "upgrade", "again.txt")
	require.Equal(t, uids, p.podUIDs(t, ns))
}

// So do those of a StatefulSet, which leaves them alone.
func TestUpgradeStatefulSet(t *testing.T) {
	p := server(t)
	ns := p.namespace(t, nil)
	p.install(t, ns, enabled(t, "custom"))
	p.admit(t, runnable(t, "custom", ns))
	_, err := p.client.AppsV1().StatefulSets(ns).Create(t.Context(), brokers(ns, 3), strict(false))
	require.NoError(t, err)
	p.awaitReady(t, ns, "kafka-0", "kafka-1", "kafka-2")
	uids := p.podUIDs(t, ns)
	got, err := p.upgrade(t, ns, "custom", false)
	require.NoError(t, err)
	golden(t, got, "upgrade", "stateful_set.txt")
	require.Equal(t, uids, p.podUIDs(t, ns))
}

// cannotPull has a pod wait for newImage until the test ends.
func (p *controlPlane) cannotPull(t *testing.T, namespace, name string) {
	pods := p.client.CoreV1().Pods(namespace)
	_, err := pods.Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"labels":{"`+unkept+`":""}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	ended := make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(func() { stop(); <-ended })
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			if pod, err := pods.Get(ctx, name, metav1.GetOptions{}); err == nil {
				seen := pod.DeepCopy()
				for i := range seen.Spec.InitContainers {
					if c := &seen.Spec.InitContainers[i]; c.Image == newImage {
						c.Image = "kraftside/kraftside:absent"
					}
				}
				pod.Status = podStatus(seen)
				_, _ = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{}) // what changed meanwhile is seen in the next round
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
}

// The first pod that cannot run the image goes back to the former, and those after it are left alone.
func TestUpgradeFails(t *testing.T) {
	p := server(t)
	ns := p.namespace(t, nil)
	names := p.bare(t, ns)
	p.cannotPull(t, ns, names[1])
	got, err := p.upgrade(t, ns, "strimzi", false)
	require.Equal(t, cli.Failed, cli.ExitCode(err))
	golden(t, got, "upgrade", "absent.txt")
	require.Equal(t, map[string]string{names[0]: newImage, names[1]: oldImage, names[2]: oldImage}, p.sidecarImages(t, ns))
	p.awaitReady(t, ns, names...)
}
