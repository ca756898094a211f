package kubernetes

import (
	"cmp"
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What the sidecar's container, and the chart's labels and annotations, are called.
const (
	containerName  = "kraftside"
	preflightLabel = "kraftside.io/preflight"
	injectedMark   = "kraftside.io/injected"
	optOut         = "kraftside.io/inject"
)

// pod is a pod as the API server has it. What is sent back is made of raw: the typed form lacks fields
// that are newer than this program.
type pod struct {
	corev1.Pod
	raw *unstructured.Unstructured
}

func newPod(u *unstructured.Unstructured) (*pod, error) {
	typed, err := decoded[corev1.Pod](u.Object)
	if err != nil {
		return nil, err
	}
	return &pod{*typed, u}, nil
}

// brokerPods are the pods of brokers, by name.
func (c *Cluster) brokerPods(ctx context.Context, selector string) ([]*pod, error) {
	all, err := c.in(pods).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	found := make([]*pod, len(all.Items))
	for i := range all.Items {
		if found[i], err = newPod(&all.Items[i]); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(found, func(a, b *pod) int {
		return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), strings.Compare(a.Name, b.Name)) // prod-9 before prod-10
	})
	return found, nil
}

// sidecar is the init container; nil if there is none.
func (p *pod) sidecar() *corev1.Container {
	at := slices.IndexFunc(p.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == containerName })
	if at < 0 {
		return nil
	}
	return &p.Spec.InitContainers[at]
}

// isNative says whether the init container runs beside the others, instead of before them.
func isNative(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// container is one of the pod's containers proper; nil if there is none of that name.
func (p *pod) container(name string) *corev1.Container {
	at := slices.IndexFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == name })
	if at < 0 {
		return nil
	}
	return &p.Spec.Containers[at]
}

// sidecarStatus is what the kubelet says of the sidecar; empty if it has not yet.
func (p *pod) sidecarStatus() corev1.ContainerStatus {
	for _, s := range p.Status.InitContainerStatuses {
		if s.Name == containerName {
			return s
		}
	}
	return corev1.ContainerStatus{}
}

// notReady is why the pod does not count as ready; "" if it does.
func (p *pod) notReady() string {
	if p.DeletionTimestamp != nil {
		return "it is being deleted"
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			if c.Status == corev1.ConditionTrue {
				return ""
			}
			return strings.TrimSuffix("it is not Ready: "+cmp.Or(c.Message, c.Reason), ": ")
		}
	}
	return "it is not Ready"
}

// podNames are the names of pods.
func podNames(all []*pod) []string {
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.Name
	}
	return names
}
