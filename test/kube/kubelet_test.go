//go:build kube

package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/kubelet/status"
)

// nodeName is the one node of the control plane.
const nodeName = "node"

// fates are what becomes of containers, by the tag of their image. An image without
// one of these tags runs, if its name is in images; else it cannot be pulled.
var fates = map[string]corev1.ContainerStatus{
	"crash": {State: waiting("CrashLoopBackOff"), RestartCount: 3, LastTerminationState: terminated("Error", 1)},
	"oom":   {State: waiting("CrashLoopBackOff"), RestartCount: 1, LastTerminationState: terminated("OOMKilled", 137)},
}

// images are those that can be pulled.
var images = []string{"kraftside/kraftside", "apache/kafka", "strimzi/kafka", "confluentinc/server", "confluentinc/init", "adobe/kafka", "bitnami/kafka"}

func waiting(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
}

func terminated(reason string, code int32) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code}}
}

// containerStatus is what a kubelet would report of a container without probes.
func containerStatus(c *corev1.Container, restarts bool) corev1.ContainerStatus {
	name, tag, _ := strings.Cut(c.Image, ":")
	s, special := fates[tag]
	switch {
	case special:
	case !slices.Contains(images, name) || tag == "absent":
		s.State = waiting("ImagePullBackOff")
	case restarts:
		s.State.Running = &corev1.ContainerStateRunning{}
		s.Ready = true
	default: // an init container that has done its work
		s.State = terminated("Completed", 0)
		s.Ready = true
	}
	started := s.State.Running != nil
	s.Name, s.Image, s.Started = c.Name, c.Image, &started
	if s.State.Waiting == nil {
		s.ImageID, s.ContainerID = "id-of-"+c.Image, "kubelet://"+c.Name+"-of-"+c.Image
	}
	return s
}

// podStatus is the status of a pod on a node. Its conditions are computed by the
// kubelet's own code.
func podStatus(p *corev1.Pod) corev1.PodStatus {
	s := corev1.PodStatus{Phase: corev1.PodPending, QOSClass: p.Status.QOSClass}
	held := false // by an init container, behind which nothing starts
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		sidecar := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		one := containerStatus(c, sidecar)
		if held {
			one = unstarted(c)
		}
		held = held || !one.Ready && (!sidecar || one.State.Running == nil && one.RestartCount == 0)
		s.InitContainerStatuses = append(s.InitContainerStatuses, one)
	}
	for i := range p.Spec.Containers {
		one := containerStatus(&p.Spec.Containers[i], true)
		if held {
			one = unstarted(&p.Spec.Containers[i])
		}
		s.ContainerStatuses = append(s.ContainerStatuses, one)
	}
	if !held {
		s.Phase = corev1.PodRunning
	}
	s.Conditions = conditions(p, s)
	return s
}

func unstarted(c *corev1.Container) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: c.Name, Image: c.Image, State: waiting("PodInitializing"), Started: new(bool)}
}

func conditions(p *corev1.Pod, s corev1.PodStatus) []corev1.PodCondition {
	all := slices.Concat(s.InitContainerStatuses, s.ContainerStatuses)
	out := []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
		status.GeneratePodInitializedCondition(p, &s, all, s.Phase),
		status.GenerateContainersReadyCondition(p, &s, all, s.Phase),
	}
	return append(out, status.GeneratePodReadyCondition(p, &s, out, all, s.Phase))
}

// ready says whether a pod is, and if not the kubelet's reason.
func ready(s corev1.PodStatus) (bool, string) {
	for _, c := range s.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue, c.Message
		}
	}
	return false, "no condition"
}

// runKubelet has pods on the node run, as far as the API server can see, until ctx
// ends.
func runKubelet(ctx context.Context, client kubernetes.Interface) error {
	if err := registerNode(ctx, client); err != nil {
		return err
	}
	go func() {
		for ctx.Err() == nil {
			list, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
			for i := range list.Items {
				if err == nil && list.Items[i].Spec.NodeName == nodeName {
					_ = tend(ctx, client, &list.Items[i]) // what changed meanwhile is seen in the next round
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	return nil
}

// unkept is a label of pods whose status the test writes itself.
const unkept = "test.kraftside.io/status"

func tend(ctx context.Context, client kubernetes.Interface, p *corev1.Pod) error {
	pods := client.CoreV1().Pods(p.Namespace)
	if p.DeletionTimestamp != nil {
		return pods.Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	}
	s := podStatus(p)
	s.StartTime = p.Status.StartTime
	s.ObservedGeneration = p.Status.ObservedGeneration
	if _, own := p.Labels[unkept]; own || equality.Semantic.DeepEqual(s, p.Status) {
		return nil
	}
	p.Status = s
	_, err := pods.UpdateStatus(ctx, p, metav1.UpdateOptions{})
	return err
}

func registerNode(ctx context.Context, client kubernetes.Interface) error {
	node, err := client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create the node: %w", err)
	}
	node.Spec.Taints = nil // nothing looks after its readiness
	if node, err = client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("remove the node's taints: %w", err)
	}
	amounts := corev1.ResourceList{
		corev1.ResourceCPU: amount("64"), corev1.ResourceMemory: amount("256Gi"), corev1.ResourceEphemeralStorage: amount("1Ti"), corev1.ResourcePods: amount("500"),
	}
	node.Status.Capacity, node.Status.Allocatable = amounts, amounts
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	_, err = client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
	return err
}
