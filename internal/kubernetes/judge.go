package kubernetes

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// acceptance is whether the API server takes the pod with the sidecar.
func (t *trial) acceptance() finding {
	switch {
	case t.small && t.result == nil:
		return refused(quotaTodo, "a copy is refused, even with next to no requests of its other containers: %v", t.refusal)
	case t.small:
		return passed("beside the pod that runs, a copy exceeds a quota (%v); in its place it does not: one with next to no requests of the other containers is taken", t.refusal)
	case t.refusal == nil && t.added:
		return passed("the API server takes a copy of the pod, with the sidecar added")
	case t.refusal == nil:
		return passed("the API server takes a copy of the pod as it is")
	case t.plain != nil:
		return refused("without the sidecar it is refused as well; "+remedy(t.plain), "%v", t.refusal)
	}
	return refused("without the sidecar it is taken; "+remedy(t.refusal), "%v", t.refusal)
}

const quotaTodo = "raise the quota by the sidecars' resources, or lower those: size or resources of the chart"

// remedy is what to do about what the API server does not take.
func remedy(err error) string {
	text := err.Error()
	for _, r := range []struct{ sign, todo string }{
		{"exceeded quota", quotaTodo},
		{"violates PodSecurity", "the message names the fields: those of container kraftside are the chart's, the others are the broker's"},
		{"security context constraint", "the pod's service account needs a constraint that allows it; on OpenShift set runAsUser of the chart to 0"},
		{"admission webhook", "whoever runs that webhook has to allow it"},
		{"usage per", "a LimitRange of the namespace sets it: fit resources of the chart to it"},
		{"limit to request ratio", "a LimitRange of the namespace sets it: fit resources of the chart to it"},
	} {
		if strings.Contains(text, r.sign) {
			return r.todo
		}
	}
	return "what refuses it stands in the message"
}

// unadded is why a policy may not act.
const unadded = "the policy was installed just now, or has failed on the pod: does the broker mount its data where the chart's flavour has it?"

// sidecar is whether the pod gets it, as a container that runs beside the others.
func (t *trial) sidecar() finding {
	c := t.pod.sidecar()
	if t.result != nil && t.result.sidecar() != nil {
		c = t.result.sidecar()
	}
	live := t.pod.sidecar() != nil
	switch {
	case t.result == nil:
		return untold("", "not told: the API server refuses the pod")
	case c == nil && t.expected:
		return refused(unadded, "nothing adds the init container %s", containerName)
	case c == nil:
		return refused("see policy", "nothing adds the init container %s", containerName)
	case !t.added && t.expected:
		return refused(unadded, "the pod that runs has init container %s, but nothing would add it to one that is made anew", containerName)
	case !isNative(c) || live && !isNative(t.pod.sidecar()):
		return refused("whoever made the pod knows an older API and drops the field: the sidecar would be an init container that never ends, and the broker would not start. Do not roll it",
			"init container %s has no restartPolicy Always", containerName)
	case t.added && live:
		return passed("init container %s with restartPolicy Always; the pod that runs has one too", containerName)
	case t.added:
		return passed("init container %s with restartPolicy Always; the pod that runs has none yet", containerName)
	}
	return passed("init container %s with restartPolicy Always, in the pod that runs", containerName)
}

// qosClasses are in the order in which a node evicts pods that ask for more than they get.
var qosClasses = []corev1.PodQOSClass{corev1.PodQOSBestEffort, corev1.PodQOSBurstable, corev1.PodQOSGuaranteed}

// qos is whether the pod keeps its class, or gets one that is evicted later.
func (t *trial) qos() finding {
	before, after := t.pod.Status.QOSClass, t.result.Status.QOSClass
	switch was, is := slices.Index(qosClasses, before), slices.Index(qosClasses, after); {
	case was < 0 || is < 0:
		return untold("", "the API server does not say the class")
	case is < was:
		return refused("under resources of the chart, give limits of the size of the requests", "%s becomes %s, which is evicted sooner", before, after)
	case is > was:
		return passed("%s becomes %s, which is evicted later", before, after)
	}
	return passed("%s, as before", before)
}

// kafkasPorts are those that Kafka listens on by default, for brokers and controllers.
var kafkasPorts = []int32{9092, 9093}

// ports is whether what the sidecar listens on is free: all containers of a pod share its address.
func (p *pod) ports() finding {
	own := p.sidecar().Ports
	if len(own) == 0 {
		return untold("", "the sidecar names no port")
	}
	var numbers []string
	for _, port := range own {
		if by := p.holder(port.ContainerPort); by != "" {
			return refused("set another under ports of the chart", "%d is taken by %s", port.ContainerPort, by)
		}
		numbers = append(numbers, strconv.Itoa(int(port.ContainerPort)))
	}
	if p.Spec.HostNetwork {
		return untold("look whether a process of the nodes has them", "%s: the pod is on its node's network", strings.Join(numbers, ", "))
	}
	return passed("%s: no other container names them", strings.Join(numbers, ", "))
}

// holder is who else has a port; "" if nobody.
func (p *pod) holder(port int32) string {
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		if c.Name != containerName && slices.ContainsFunc(c.Ports, func(taken corev1.ContainerPort) bool { return taken.ContainerPort == port }) {
			return "container " + c.Name
		}
	}
	if slices.Contains(kafkasPorts, port) {
		return "Kafka, by default"
	}
	return ""
}

// userTodo is why users matter.
const userTodo = "Kafka's snapshots can be read by their owner alone: set runAsUser of the chart to the broker's UID"

// user is whether the sidecar may read the files of the broker.
func (t *trial) user(f Flavour) finding {
	broker := t.result.container(f.Container)
	if broker == nil || !sharesVolume(t.result.sidecar(), broker) {
		return passed("it reads no files of the broker")
	}
	reads, given := effectiveUser(&t.result.Pod, t.result.sidecar())
	if uid := runningUser(t.pod.Status.InitContainerStatuses, containerName); !given && uid != nil {
		reads, given = *uid, true
	}
	writes, source := t.brokersUser(f)
	switch {
	case source == "" && !given:
		return untold(userTodo, "neither container has a UID in the pod: their images decide")
	case source == "":
		return untold(userTodo+"; kubectl exec with id -u tells it", "the sidecar has UID %d, and the pod does not say the broker's: its image decides", reads)
	case !given:
		return untold(userTodo, "the broker has UID %d, and the pod does not say the sidecar's", writes)
	case reads != writes:
		return refused(userTodo, "the sidecar has UID %d, the broker %d (%s)", reads, writes, source)
	}
	return passed("UID %d, as the broker (%s)", reads, source)
}

// brokersUser is the UID of the broker, and by what it is known; "" if it is not.
func (t *trial) brokersUser(f Flavour) (uid int64, source string) {
	if uid := runningUser(t.pod.Status.ContainerStatuses, f.Container); uid != nil {
		return *uid, "as it runs"
	}
	if uid, given := effectiveUser(&t.result.Pod, t.result.container(f.Container)); given {
		return uid, "by its pod"
	}
	if f.User != 0 {
		return f.User, "by images of " + f.Name
	}
	return 0, ""
}

// runningUser is the UID that a container runs with, where the kubelet says so.
func runningUser(statuses []corev1.ContainerStatus, name string) *int64 {
	for _, s := range statuses {
		if s.Name == name && s.User != nil && s.User.Linux != nil {
			return &s.User.Linux.UID
		}
	}
	return nil
}

// effectiveUser is the UID that a pod gives to a container, if it does.
func effectiveUser(p *corev1.Pod, c *corev1.Container) (uid int64, given bool) {
	if s := c.SecurityContext; s != nil && s.RunAsUser != nil {
		return *s.RunAsUser, true
	}
	if s := p.Spec.SecurityContext; s != nil && s.RunAsUser != nil {
		return *s.RunAsUser, true
	}
	return 0, false
}

func sharesVolume(a, b *corev1.Container) bool {
	return slices.ContainsFunc(a.VolumeMounts, func(m corev1.VolumeMount) bool {
		return slices.ContainsFunc(b.VolumeMounts, func(n corev1.VolumeMount) bool { return m.Name == n.Name && !isToken(m) })
	})
}

// isToken says whether a mount is that of the service account, which the API server adds to all.
func isToken(m corev1.VolumeMount) bool {
	return strings.HasPrefix(m.MountPath, "/var/run/secrets/kubernetes.io/serviceaccount")
}

// nodeID is whether the sidecar is told a node id that no other is.
func (e *examination) nodeID(t *trial) finding {
	id := t.nodeID()
	broker := t.result.container(e.b.Flavour.Container)
	switch n, err := strconv.ParseInt(id, 10, 32); {
	case id == "" && broker != nil && sharesVolume(t.result.sidecar(), broker):
		return passed("each reads that of its broker's disk")
	case id == "":
		return untold("the sidecar has to be given node-id", "the sidecar's environment does not tell one")
	case err != nil || n < 0:
		return refused("the flavour of the chart, or custom.nodeIdOffset, does not fit these pods", "%q is no node id", id)
	}
	for _, other := range e.trials {
		if other != t && other.nodeID() == id {
			return refused("the flavour of the chart, or custom.nodeIdOffset, does not fit these pods", "%s is also that of %s", id, other.pod.Name)
		}
	}
	all := make([]string, 0, len(e.trials))
	for _, one := range e.trials {
		all = append(all, cmp.Or(one.nodeID(), "?"))
	}
	return passed("distinct: %s", some(all))
}

// nodeID is what the sidecar is told, in its environment or by a label of the pod; "" if nothing.
func (t *trial) nodeID() string {
	if t.result == nil || t.result.sidecar() == nil {
		return ""
	}
	for _, v := range t.result.sidecar().Env {
		if v.Name != "KRAFTSIDE_NODE_ID" {
			continue
		}
		if v.ValueFrom == nil || v.ValueFrom.FieldRef == nil {
			return v.Value
		}
		label, _ := strings.CutPrefix(v.ValueFrom.FieldRef.FieldPath, "metadata.labels['")
		return t.pod.Labels[strings.TrimSuffix(label, "']")]
	}
	return ""
}
