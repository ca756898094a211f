package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kraftside/kraftside/internal/pause"
)

// errReplaced: the pod that was changed is no longer there.
var errReplaced = errors.New("the pod went away while its sidecar started")

func (c *Cluster) onePod(ctx context.Context, name string) (*pod, error) {
	u, err := c.in(pods).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return newPod(u)
}

// awaitImage returns once the sidecar of a pod, which was as before, has run an image for a while and
// the pod is Ready. The error is errReplaced, that of ctx, or says what keeps it.
func (c *Cluster) awaitImage(ctx context.Context, before *pod, image string, timeout time.Duration, say func(string)) error {
	w := &wait{old: before.sidecarStatus(), image: image, back: image == imageOf(before)}
	end := time.Now().Add(timeout)
	for {
		p, err := c.onePod(ctx, before.Name)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && p.UID != before.UID, err != nil && isAbsent(err):
			return errReplaced
		case err != nil:
			w.lacks = err.Error() // an API server may be away for a moment
		default:
			if done, err := w.look(p, time.Now(), c.settle); done || err != nil {
				return err
			}
		}
		if time.Now().After(end) {
			return fmt.Errorf("after %v %s", timeout, w.lacks)
		}
		say(w.lacks)
		if err := pause.For(ctx, c.poll); err != nil {
			return err
		}
	}
}

// wait is what is waited for, and how far it is.
type wait struct {
	old   corev1.ContainerStatus
	image string
	back  bool   // it is the image from before
	lacks string // what is missing
	id    string // of the container that runs the image
	since time.Time
}

// hopeless are reasons for which the kubelet does not start a container, and that do not go away by
// waiting. ErrImagePull is not one of them: the next try may succeed. When a pod goes back to its image
// they are of the image that it has left, until the kubelet says more.
var hopeless = []string{
	"ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CrashLoopBackOff", "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
}

// look says whether a pod is as it should be, or that it will not be.
func (w *wait) look(p *pod, now time.Time, settle time.Duration) (done bool, err error) {
	s := p.sidecarStatus()
	if waiting := s.State.Waiting; !w.back && waiting != nil && slices.Contains(hopeless, waiting.Reason) {
		return false, fmt.Errorf("the sidecar does not start: %s", strings.TrimSuffix(waiting.Reason+": "+waiting.Message, ": "))
	}
	if w.lacks = w.missing(p, s); w.lacks != "" {
		w.id = ""
		return false, nil
	}
	if w.id != s.ContainerID {
		w.id, w.since = s.ContainerID, now
	}
	w.lacks = "it has not run for long enough"
	return now.Sub(w.since) >= settle, nil
}

// missing is what a pod still lacks; "" if nothing.
func (w *wait) missing(p *pod, s corev1.ContainerStatus) string {
	switch {
	case s.State.Running == nil && s.State.Terminated != nil:
		return fmt.Sprintf("the sidecar has ended with exit code %d", s.State.Terminated.ExitCode)
	case s.State.Running == nil && s.State.Waiting != nil && s.State.Waiting.Reason != "":
		return "the sidecar waits: " + s.State.Waiting.Reason
	case s.State.Running == nil:
		return "the sidecar does not run"
	case !w.runs(s):
		return "the sidecar still runs the image from before"
	case s.Started == nil || !*s.Started || !s.Ready:
		return "the sidecar is not ready"
	}
	return p.notReady()
}

// runs says whether the kubelet has started the image: in another container than before, unless it goes
// back. A runtime may call an image otherwise than the pod does, so that ids count too.
func (w *wait) runs(s corev1.ContainerStatus) bool {
	_, digest, _ := strings.Cut(w.image, "@")
	named := sameImage(s.Image, w.image) || digest != "" && strings.HasSuffix(s.ImageID, digest)
	if w.back {
		return named || s.ImageID == w.old.ImageID
	}
	anew := s.ContainerID != w.old.ContainerID || s.RestartCount != w.old.RestartCount
	return anew && (named || s.ImageID != w.old.ImageID)
}
