package kubernetes

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kraftside/kraftside/internal/pause"
)

// trial is what becomes of the copy of a broker's pod.
type trial struct {
	pod *pod
	// result is the copy as the API server would store it; nil if it refuses it.
	result *pod
	// refusal is why it does, and plain why it refuses the copy without a sidecar too.
	refusal, plain error
	// small says that result, or refusal, is that of a copy that asks for next to no resources.
	small bool
	// added says that the API server has added the sidecar; else it was in the pod. It is expected if
	// there is a policy.
	added, expected bool
}

// try lets the API server say what it makes of a pod if it is made anew. With wait it is asked again for
// some seconds until it adds a sidecar, since it may still be learning of a policy. The error is that
// nobody answers.
func (c *Cluster) try(ctx context.Context, p *pod, wait bool) (*trial, error) {
	for tries := 1; ; tries++ {
		t := &trial{pod: p}
		err := c.dryRun(ctx, t, p.copied(false))
		if err == nil && t.refusal != nil {
			err = c.tryWithout(ctx, t)
		}
		if err != nil {
			return nil, err
		}
		t.added = t.result != nil && t.result.sidecar() != nil
		sidecarRefused := t.refusal != nil && t.plain == nil
		if t.added || sidecarRefused || !wait || tries == 10 {
			return t, c.tryWith(ctx, t)
		}
		if err := pause.For(ctx, c.poll/2); err != nil {
			return nil, err
		}
	}
}

// tryWith tries a copy of a pod that has a sidecar which nothing else adds.
func (c *Cluster) tryWith(ctx context.Context, t *trial) error {
	if t.added || t.refusal != nil || t.pod.sidecar() == nil {
		return nil
	}
	return c.dryRun(ctx, t, t.pod.copied(true))
}

// tryWithout finds out whether it is the sidecar why a copy was refused. Beside the pod that runs, a copy
// may exceed a quota that it would not in the place of it: then one that asks for next to nothing but
// for the sidecar tells.
func (c *Cluster) tryWithout(ctx context.Context, t *trial) error {
	plain := &trial{}
	if err := c.dryRun(ctx, plain, leftAlone(t.pod.copied(false))); err != nil {
		return err
	}
	t.plain = plain.refusal
	if !isQuota(t.refusal) {
		return nil
	}
	small := t.pod.copied(false)
	shrink(small)
	if err := c.dryRun(ctx, plain, small); err != nil {
		return err
	}
	t.small, t.result = true, plain.result
	if t.result == nil {
		t.refusal = plain.refusal
	}
	return nil
}

// leftAlone makes a copy one that no policy adds the sidecar to.
func leftAlone(u *unstructured.Unstructured) *unstructured.Unstructured {
	_ = unstructured.SetNestedField(u.Object, "false", "metadata", "annotations", optOut) // annotations are a map
	unstructured.RemoveNestedField(u.Object, "metadata", "labels", preflightLabel)
	return u
}

// dryRun notes in t what the API server makes of a new pod.
func (c *Cluster) dryRun(ctx context.Context, t *trial, u *unstructured.Unstructured) error {
	got, err := c.in(pods).Create(ctx, u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	t.result, t.refusal = nil, nil
	if err != nil {
		if isAnswer(err) {
			t.refusal, err = err, nil
		}
		return err
	}
	t.result, err = newPod(got)
	return err
}

func isQuota(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
}

// A copy's name is that of its pod behind copyPrefix, and at most maxName bytes.
const (
	copyPrefix = "kraftside-preflight-"
	maxName    = 253
)

// copied is the pod as whoever made it would make it again, under another name that ends the same way,
// since node ids are told by that. What the API server and the kubelet have set is left out. Without
// the sidecar, so are it and the volumes that nobody else mounts.
func (p *pod) copied(withSidecar bool) *unstructured.Unstructured {
	spec, _, _ := unstructured.NestedMap(p.raw.Object, "spec") // a deep copy
	for _, field := range []string{"nodeName", "priority", "preemptionPolicy", "overhead", "ephemeralContainers"} {
		delete(spec, field)
	}
	annotations := p.raw.GetAnnotations()
	if !withSidecar && p.sidecar() != nil {
		without(spec, "initContainers", func(name string) bool { return name == containerName })
		without(spec, "volumes", p.isSidecars)
		delete(annotations, injectedMark)
	}
	labels := p.raw.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[preflightLabel] = "true"
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": spec}}
	u.SetName(copyPrefix + p.Name[max(0, len(p.Name)-maxName+len(copyPrefix)):])
	u.SetNamespace(p.Namespace)
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
	return u
}

// isSidecars says whether the sidecar is the only one that mounts a volume.
func (p *pod) isSidecars(volume string) bool {
	own := false
	for _, m := range p.sidecar().VolumeMounts {
		own = own || m.Name == volume
	}
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		for _, m := range c.VolumeMounts {
			if m.Name == volume && c.Name != containerName {
				return false
			}
		}
	}
	return own
}

// without takes what has such a name out of a list of the spec.
func without(spec map[string]any, field string, leave func(name string) bool) {
	all, _ := spec[field].([]any)
	spec[field] = slices.DeleteFunc(all, func(one any) bool {
		m, _ := one.(map[string]any)
		name, _ := m["name"].(string)
		return leave(name)
	})
}

// shrink makes all that a pod asks for as small as can be. Requests that are limits stay that, so
// that the pod's QoS class stays too.
func shrink(u *unstructured.Unstructured) {
	for _, field := range []string{"containers", "initContainers"} {
		all, _, _ := unstructured.NestedSlice(u.Object, "spec", field) // a pod's are lists
		for _, one := range all {
			m, _ := one.(map[string]any)
			resources, _ := m["resources"].(map[string]any)
			for _, kind := range []string{"requests", "limits"} {
				quantities, _ := resources[kind].(map[string]any)
				for name, least := range map[string]string{"cpu": "1m", "memory": "1Mi", "ephemeral-storage": "1Mi"} {
					if _, there := quantities[name]; there {
						quantities[name] = least
					}
				}
			}
		}
		if len(all) > 0 {
			_ = unstructured.SetNestedSlice(u.Object, all, "spec", field) // the spec is a map
		}
	}
}
