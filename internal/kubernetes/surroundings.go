package kubernetes

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kraftside/kraftside/internal/cli"
)

// configuration is whether the file that the sidecar is started with is there, and the Secrets that it
// mounts. The chart mounts both as optional, so that a pod starts without.
func (c *Cluster) configuration(ctx context.Context, p *pod) finding {
	file, name := p.configFile()
	if name == "" {
		return untold("", "the sidecar is started without a file of a ConfigMap")
	}
	m, err := get[corev1.ConfigMap](ctx, c.in(configMaps), name)
	switch {
	case isAbsent(err):
		return refused("the sidecar would start without configuration: install the chart in the brokers' namespace", "there is no ConfigMap %s", name)
	case err != nil:
		return untold("", "%v", err)
	case m.Data[file] == "":
		return refused("the sidecar would start without configuration", "ConfigMap %s has no %s", name, file)
	}
	for _, secret := range p.mountedSecrets() {
		if f := c.secret(ctx, secret); f.result != Pass {
			return f
		}
	}
	return passed("ConfigMap %s has %s", name, file)
}

// mountedSecrets are those of the sidecar.
func (p *pod) mountedSecrets() (names []string) {
	for _, v := range p.Spec.Volumes {
		if v.Secret != nil && slices.ContainsFunc(p.sidecar().VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == v.Name }) {
			names = append(names, v.Secret.SecretName)
		}
	}
	return names
}

// secret is whether a Secret is there. Of it only the name is read.
func (c *Cluster) secret(ctx context.Context, name string) finding {
	_, err := c.metadata.Resource(secrets).Namespace(c.namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return refused("create it, or take it out of what makes the pods", "there is no Secret %s", name)
	case err != nil:
		return untold("", "%v", err)
	}
	return passed("Secret %s", name)
}

// configFile is the key and the name of the ConfigMap in which --config is.
func (p *pod) configFile() (key, name string) {
	sidecar := p.sidecar()
	for _, arg := range slices.Concat(sidecar.Command, sidecar.Args) {
		file, is := strings.CutPrefix(arg, "--config=")
		if !is {
			continue
		}
		for _, m := range sidecar.VolumeMounts {
			if m.MountPath != path.Dir(file) {
				continue
			}
			for _, v := range p.Spec.Volumes {
				if v.Name == m.Name && v.ConfigMap != nil {
					return path.Base(file), v.ConfigMap.Name
				}
			}
		}
	}
	return "", ""
}

// heldUp is what a pull means.
const heldUp = "it is pulled before the broker starts, and a failure holds up the broker"

// image is whether the sidecar's image can be had without holding up the broker.
func (c *Cluster) image(ctx context.Context, t *trial) finding {
	sidecar := t.result.sidecar()
	there, where := c.onNode(ctx, t.pod.Spec.NodeName, sidecar.Image)
	pull := sidecar.ImagePullPolicy
	switch {
	case pull == corev1.PullAlways:
		return refused("set image.pullPolicy of the chart to IfNotPresent", "%s, pulled at every start of a pod: the broker does not start while the registry is away", sidecar.Image)
	case there:
		return passed("%s, %s", sidecar.Image, where)
	case pull == corev1.PullNever:
		return refused("bring it to the node, or set image.pullPolicy to IfNotPresent", "%s, which is never pulled; %s", sidecar.Image, where)
	case strings.Contains(sidecar.Image, "@sha256:"):
		return passed("%s, by digest; %s: %s", sidecar.Image, where, heldUp)
	}
	return untold("set image.digest of the chart, and pull the image on the nodes before", "%s, by tag; %s: %s", sidecar.Image, where, heldUp)
}

// onNode says whether an image is on the node, as far as the kubelet lists its images.
func (c *Cluster) onNode(ctx context.Context, name, image string) (there bool, where string) {
	if name == "" {
		return false, "the pod is on no node yet"
	}
	node, err := get[corev1.Node](ctx, c.objects.Resource(nodes), name)
	if err != nil {
		return false, fmt.Sprintf("whether the node has it could not be seen (%v)", err)
	}
	for _, i := range node.Status.Images {
		if slices.ContainsFunc(i.Names, func(n string) bool { return sameImage(n, image) }) {
			return true, "on the node already"
		}
	}
	return false, "not seen on the node"
}

// sameImage says whether two references are of the same name: runtimes write the default registry.
func sameImage(a, b string) bool {
	full := func(ref string) string {
		if host, _, _ := strings.Cut(ref, "/"); host == ref || !strings.ContainsAny(host, ".:") && host != "localhost" {
			if host == ref {
				ref = "library/" + ref
			}
			ref = "docker.io/" + ref
		}
		if !strings.Contains(ref[strings.LastIndex(ref, "/"):], ":") {
			ref += ":latest"
		}
		return ref
	}
	return full(a) == full(b)
}

// pullSecrets is whether the Secrets for the registry are there.
func (c *Cluster) pullSecrets(ctx context.Context, p *pod) finding {
	if len(p.Spec.ImagePullSecrets) == 0 {
		return passed("the pod has none: the image has to be public, or the nodes have to have credentials")
	}
	var names []string
	for _, s := range p.Spec.ImagePullSecrets {
		names = append(names, s.Name)
		if f := c.secret(ctx, s.Name); f.result != Pass {
			return f
		}
	}
	return passed("Secret %s", some(names))
}

// quota is whether quotas have room for the sidecars that are not there yet, when pods are made anew
// one after the other.
func (c *Cluster) quota(ctx context.Context, trials []*trial) finding {
	all, err := list[corev1.ResourceQuota](ctx, c.in(quotas), "")
	if err != nil {
		return untold("", "%v", err)
	}
	if len(all) == 0 {
		return passed("the namespace has none")
	}
	if slices.ContainsFunc(trials, func(t *trial) bool { return t.result == nil }) {
		return untold("", "not told: the API server refuses the pod")
	}
	needs := needed(trials)
	for _, q := range all {
		if len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil {
			continue // which may not be about these pods; a dry run shows it
		}
		for _, name := range slices.Sorted(maps.Keys(q.Status.Hard)) {
			more, asked := needs[canonical(name)]
			hard, used := q.Status.Hard[name], q.Status.Used[name]
			after := used.DeepCopy()
			after.Add(more)
			if asked && after.Cmp(hard) > 0 {
				return refused(quotaTodo, "%s: %s of %s used of %s, and the sidecars need %s more", q.Name, used.String(), hard.String(), name, more.String())
			}
		}
	}
	return passed("room for the sidecars in %s of the namespace", cli.Count(len(all), "quota"))
}

// needed is what all sidecars ask for that are not there yet.
func needed(trials []*trial) map[corev1.ResourceName]resource.Quantity {
	needs := make(map[corev1.ResourceName]resource.Quantity)
	for _, t := range trials {
		if t.result == nil || t.result.sidecar() == nil || t.pod.sidecar() != nil {
			continue
		}
		r := t.result.sidecar().Resources
		for prefix, list := range map[string]corev1.ResourceList{"requests.": r.Requests, "limits.": r.Limits} {
			for name, quantity := range list {
				sum := needs[corev1.ResourceName(prefix)+name]
				sum.Add(quantity)
				needs[corev1.ResourceName(prefix)+name] = sum
			}
		}
	}
	return needs
}

// canonical is the full name of what a quota limits: cpu is requests.cpu.
func canonical(name corev1.ResourceName) corev1.ResourceName {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return "requests." + name
	}
	return name
}
