//go:build kube

package kube

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// What the kubelet says of a pod whose sidecar is in a state is what the table of
// docs/broker-risk.md says.
func TestReadiness(t *testing.T) {
	var rows strings.Builder
	for _, c := range []struct{ sidecar, tag string }{
		{"runs", "1"},
		{"image cannot be pulled", "absent"},
		{"ends again and again, after it had started", "crash"},
		{"was killed for its memory, and waits to be started again", "oom"},
	} {
		always := corev1.ContainerRestartPolicyAlways
		pod := &corev1.Pod{Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "kraftside", Image: "kraftside/kraftside:" + c.tag, RestartPolicy: &always}},
			Containers:     []corev1.Container{{Name: "kafka", Image: "apache/kafka"}},
		}}
		pod.Status = podStatus(pod)
		broker := "runs"
		if w := pod.Status.ContainerStatuses[0].State.Waiting; w != nil {
			broker = "is not started"
		}
		ok, why := ready(pod.Status)
		state := "Ready"
		if !ok {
			state = "NotReady (" + why + ")"
		}
		fmt.Fprintf(&rows, "| %s | %s | %s |\n", c.sidecar, broker, state)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "broker-risk.md"))
	require.NoError(t, err)
	require.Contains(t, string(page), "| the sidecar | the broker | the pod |\n|---|---|---|\n"+rows.String())
}
