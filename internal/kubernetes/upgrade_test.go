package kubernetes

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/internal/cli"
)

const (
	oldImage = "kraftside/kraftside:0.1.0"
	newImage = "kraftside/kraftside:0.2.0"
)

// runningPod is a pod whose sidecar runs an image, as a kubelet describes it.
func runningPod(name, image string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: kafka, uid: "uid-%s", labels: {strimzi.io/cluster: prod, strimzi.io/broker-role: "true"}}
spec:
  initContainers: [{name: kraftside, image: "%s", restartPolicy: Always}]
  containers: [{name: kafka, image: strimzi/kafka}]
status:
  conditions: [{type: Ready, status: "True"}]
  initContainerStatuses:
    - {name: kraftside, image: "docker.io/%s", imageID: "id-%s", containerID: "c-%s", ready: true, started: true, restartCount: 0, state: {running: {}}}`,
		name, name, image, image, image, name)
}

// kubelet changes the status of a pod as one does that starts an image.
func kubelet(pod object, image string) {
	status := sidecarStatusOf(pod)
	status["image"], status["imageID"] = "docker.io/"+image, "id-"+image
	status["containerID"] = status["containerID"].(string) + "'"
	status["ready"], status["started"], status["state"] = true, true, object{"running": object{}}
	setReady(pod, "True")
}

// failingKubelet is one that cannot start an image.
func failingKubelet(pod object, reason, message string) {
	status := sidecarStatusOf(pod)
	status["ready"], status["started"] = false, false
	status["state"] = object{"waiting": object{"reason": reason, "message": message}}
	setReady(pod, "False")
}

func sidecarStatusOf(pod object) object {
	return pod["status"].(object)["initContainerStatuses"].([]any)[0].(object)
}

func setReady(pod object, to string) {
	pod["status"].(object)["conditions"] = []any{object{"type": "Ready", "status": to, "message": "containers with unready status: [kraftside]"}}
}

// upgraded runs the command on pods, and is what it prints.
func upgraded(t *testing.T, ctx context.Context, s *apiServer, dry bool, documents ...string) (string, error) {
	t.Helper()
	c := s.connect()
	for _, d := range documents {
		s.add(d)
	}
	var text bytes.Buffer
	out := &cli.Output{Out: &text, Err: &text, Format: cli.TextFormat}
	u, err := c.UpgradeInPlace(ctx, out, Change{
		Brokers: Brokers{Cluster: "prod", Flavour: flavours[0]}, Image: newImage, DryRun: dry, Timeout: 300 * time.Millisecond,
	})
	if u != nil {
		require.NoError(t, out.Print(u, u.Text))
	}
	return text.String(), err
}

func newServer(t *testing.T) *apiServer { return &apiServer{t: t, objects: map[string]object{}} }

func TestUpgradeInPlace(t *testing.T) {
	s := newServer(t)
	s.patched = kubelet
	got, err := upgraded(t, context.Background(), s, false, runningPod("prod-0", oldImage), runningPod("prod-1", newImage), runningPod("prod-2", oldImage))
	require.NoError(t, err)
	require.Equal(t, `prod   3 brokers in namespace kafka   2 upgraded, 1 has it already

  upgraded         prod-0   kraftside/kraftside:0.2.0
  has it already   prod-1   kraftside/kraftside:0.2.0
  upgraded         prod-2   kraftside/kraftside:0.2.0

Set the image of the chart to kraftside/kraftside:0.2.0 too: a pod that is made anew has the chart's image, whatever it had before.
`, got)
	require.Equal(t, []string{"prod-0 " + newImage, "prod-2 " + newImage}, s.patches)
}

func TestUpgradeDryRun(t *testing.T) {
	s := newServer(t)
	got, err := upgraded(t, context.Background(), s, true, runningPod("prod-0", oldImage), runningPod("prod-1", oldImage))
	require.NoError(t, err)
	require.Contains(t, got, "would be upgraded   prod-0   kraftside/kraftside:0.1.0\n")
	require.Contains(t, got, "Nothing was changed")
	require.Empty(t, s.patches)
}

// The first that fails goes back, and the rest is left alone.
func TestUpgradeFails(t *testing.T) {
	s := newServer(t)
	s.patched = func(pod object, image string) {
		if pod["metadata"].(object)["name"] == "prod-1" && image == newImage {
			failingKubelet(pod, "ImagePullBackOff", "not there")
			return
		}
		kubelet(pod, image)
	}
	got, err := upgraded(t, context.Background(), s, false, runningPod("prod-0", oldImage), runningPod("prod-1", oldImage), runningPod("prod-2", oldImage))
	require.EqualError(t, err, "pod prod-1: the sidecar does not start: ImagePullBackOff: not there; it has the former image again, and is Ready with it; the pods after it were not touched")
	require.Equal(t, cli.Failed, cli.ExitCode(err))
	require.Contains(t, got, `
  upgraded      prod-0   kraftside/kraftside:0.2.0
  put back      prod-1   kraftside/kraftside:0.1.0   the sidecar does not start: ImagePullBackOff: not there; it has the former image again, and is Ready with it
  not reached   prod-2   kraftside/kraftside:0.1.0
`)
	require.Equal(t, []string{"prod-0 " + newImage, "prod-1 " + newImage, "prod-1 " + oldImage}, s.patches)
}

// What does not get ready in time is a failure too, whatever the reason.
func TestUpgradeTimesOut(t *testing.T) {
	for want, patched := range map[string]func(pod object, image string){
		"after 300ms the sidecar still runs the image from before": func(object, string) {},
		"after 300ms the sidecar waits: ErrImagePull":              func(pod object, _ string) { failingKubelet(pod, "ErrImagePull", "") },
		"after 300ms it is not Ready: containers with unready status": func(pod object, image string) {
			kubelet(pod, image)
			setReady(pod, "False")
		},
		"after 300ms the sidecar is not ready": func(pod object, image string) {
			kubelet(pod, image)
			sidecarStatusOf(pod)["started"] = false
		},
		"after 300ms the sidecar has ended with exit code 3": func(pod object, image string) {
			kubelet(pod, image)
			sidecarStatusOf(pod)["state"] = object{"terminated": object{"exitCode": 3}}
		},
	} {
		s := newServer(t)
		s.patched = func(pod object, image string) {
			if image == newImage {
				patched(pod, image)
			} else {
				kubelet(pod, image)
			}
		}
		_, err := upgraded(t, context.Background(), s, false, runningPod("prod-0", oldImage))
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "it has the former image again, and is Ready with it")
	}
}

// A container that runs and ends again and again never counts as upgraded.
func TestUpgradeCrashes(t *testing.T) {
	s := newServer(t)
	c := s.connect()
	s.add(runningPod("prod-0", oldImage))
	before, err := c.onePod(context.Background(), "prod-0")
	require.NoError(t, err)
	w := &wait{old: before.sidecarStatus(), image: newImage}
	now := time.Now()
	for i := range 5 {
		path := "/api/v1/namespaces/kafka/pods/prod-0"
		kubelet(s.objects[path], newImage)
		p, err := c.onePod(context.Background(), "prod-0")
		require.NoError(t, err)
		done, err := w.look(p, now.Add(time.Duration(i)*4*time.Second), 5*time.Second)
		require.NoError(t, err)
		require.False(t, done, "another container each time")
	}
}

// Pods that are not fit for it are passed over, which is a finding.
func TestUpgradePassesOver(t *testing.T) {
	s := newServer(t)
	s.patched = kubelet
	c := s.connect()
	s.add(runningPod("prod-0", oldImage))
	s.add(runningPod("prod-1", oldImage))
	s.add(runningPod("prod-2", oldImage))
	s.add(runningPod("prod-3", oldImage))
	spec := func(n int) object {
		return s.objects[fmt.Sprintf("/api/v1/namespaces/kafka/pods/prod-%d", n)]["spec"].(object)
	}
	delete(spec(0), "initContainers")
	delete(spec(1)["initContainers"].([]any)[0].(object), "restartPolicy")
	setReady(s.objects["/api/v1/namespaces/kafka/pods/prod-2"], "False")
	s.objects["/api/v1/namespaces/kafka/pods/prod-3"]["metadata"].(object)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	u, err := c.UpgradeInPlace(context.Background(), &cli.Output{}, Change{Brokers: Brokers{Cluster: "prod", Flavour: flavours[0]}, Image: newImage, Timeout: time.Second})
	require.NoError(t, err)
	require.True(t, u.Found())
	require.Equal(t, []UpgradedPod{
		{"prod-0", PassedOver, "", "", "it has no init container kraftside"},
		{"prod-1", PassedOver, oldImage, oldImage, "its init container kraftside has no restartPolicy Always"},
		{"prod-2", PassedOver, oldImage, oldImage, "it is not Ready: containers with unready status: [kraftside]"},
		{"prod-3", PassedOver, oldImage, oldImage, "it is being deleted"},
	}, u.Pods)
	require.Empty(t, s.patches)
}

// Whoever interrupts it is told what state the pod is in.
func TestUpgradeInterrupted(t *testing.T) {
	s := newServer(t)
	ctx, stop := context.WithCancel(context.Background())
	s.patched = func(object, string) { stop() }
	got, err := upgraded(t, ctx, s, false, runningPod("prod-0", oldImage), runningPod("prod-1", oldImage))
	require.ErrorContains(t, err, "interrupted: pod prod-0 ")
	require.Equal(t, cli.Failed, cli.ExitCode(err))
	require.Contains(t, got, "unsettled     prod-0   kraftside/kraftside:0.2.0   interrupted ")
	require.Contains(t, got, "not reached   prod-1   kraftside/kraftside:0.1.0\n")
	require.Equal(t, []string{"prod-0 " + newImage}, s.patches)
}

// A pod that is made anew meanwhile is not the one that was changed.
func TestUpgradeReplaced(t *testing.T) {
	s := newServer(t)
	s.patched = func(pod object, _ string) { pod["metadata"].(object)["uid"] = "another" }
	_, err := upgraded(t, context.Background(), s, false, runningPod("prod-0", oldImage))
	require.EqualError(t, err, "pod prod-0: the pod went away while its sidecar started; the others were not touched")
}

func TestUpgradeRefused(t *testing.T) {
	s := newServer(t)
	s.denied = []string{"patch pods"}
	got, err := upgraded(t, context.Background(), s, false, runningPod("prod-0", oldImage))
	require.EqualError(t, err, `change the image of pod prod-0: cannot patch resource "pods"`)
	require.Contains(t, got, "not reached   prod-0   kraftside/kraftside:0.1.0")
	_, err = upgraded(t, context.Background(), newServer(t), false)
	require.Equal(t, cli.NotFound, cli.ExitCode(err))
	require.Error(t, (&Change{Timeout: 1}).Validate())
	require.Error(t, (&Change{Image: "a b", Timeout: 1}).Validate())
	require.Error(t, (&Change{Image: "a"}).Validate())
}

func TestSameImage(t *testing.T) {
	for _, pair := range [][2]string{
		{"kraftside/kraftside:1", "docker.io/kraftside/kraftside:1"}, {"kraftside", "docker.io/library/kraftside:latest"},
		{"localhost/a:1", "localhost/a:1"}, {"registry:5000/a", "registry:5000/a:latest"}, {"a/b@sha256:1", "docker.io/a/b@sha256:1"},
	} {
		require.True(t, sameImage(pair[0], pair[1]), pair)
	}
	require.False(t, sameImage("a/b:1", "a/b:2"))
	require.False(t, sameImage("ghcr.io/a/b:1", "a/b:1"))
}
