package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kraftside/kraftside/internal/cli"
)

// Change is what UpgradeInPlace is to do.
type Change struct {
	Brokers Brokers
	// Image is a reference, as in a pod.
	Image string
	// DryRun lets the API server check it all and change nothing.
	DryRun bool
	// Timeout is how long one pod may take.
	Timeout time.Duration
}

// Validate checks what can be checked without a cluster, but for Brokers.
func (c *Change) Validate() error {
	switch {
	case c.Image == "":
		return errors.New("--image is missing: the reference of the new image")
	case strings.ContainsAny(c.Image, " \t\r\n"):
		return fmt.Errorf("--image %q is no reference of an image", c.Image)
	case c.Timeout <= 0:
		return fmt.Errorf("--timeout %v leaves no time for a pod", c.Timeout)
	}
	return nil
}

// Outcome is what became of a pod.
type Outcome string

// The outcomes. Of a dry run, Upgraded is what would be.
const (
	Upgraded   Outcome = "upgraded"
	HasIt      Outcome = "hasIt"      // before, already
	PassedOver Outcome = "passedOver" // it was not fit to be changed
	PutBack    Outcome = "putBack"    // it failed, and has the former image
	Unsettled  Outcome = "unsettled"  // it has the new image; whether that works is not known
	NotReached Outcome = "notReached"
)

// UpgradedPod is one pod of the report.
type UpgradedPod struct {
	Pod     string  `json:"pod"`
	Outcome Outcome `json:"outcome"`
	// Before is the image that it had, and Image the one that its spec has now.
	Before string `json:"before"`
	Image  string `json:"image"`
	// Why, if it was not simply upgraded.
	Why string `json:"why,omitempty"`
}

// Upgrade is what `upgrade-in-place` prints.
type Upgrade struct {
	Namespace string        `json:"namespace"`
	Image     string        `json:"image"`
	DryRun    bool          `json:"dryRun"`
	Pods      []UpgradedPod `json:"pods"`

	title string
}

// UpgradeInPlace gives the sidecars of running pods another image, one pod after the other, and waits
// for each until it runs and its pod is Ready. After the first that fails it puts that one back and
// stops; after ctx has ended it stops. The report is there with an error too, unless no pod was
// changed before it. change has to be valid.
func (c *Cluster) UpgradeInPlace(ctx context.Context, out *cli.Output, change Change) (*Upgrade, error) {
	selector, err := change.Brokers.selector()
	if err != nil {
		return nil, err
	}
	all, err := c.brokerPods(ctx, selector)
	if err != nil {
		return nil, failed("list the brokers' pods", err)
	}
	if len(all) == 0 {
		return nil, cli.Errorf(cli.NotFound, "no pod in namespace %s has the labels %s; are --cluster, --flavour and -n right?", c.namespace, selector)
	}
	u := &Upgrade{Namespace: c.namespace, Image: change.Image, DryRun: change.DryRun, title: change.Brokers.title()}
	for _, p := range all {
		u.Pods = append(u.Pods, UpgradedPod{Pod: p.Name, Outcome: NotReached, Before: imageOf(p), Image: imageOf(p)})
	}
	progress := out.NewProgress(int64(len(all)))
	defer progress.Clear()
	for i := range all {
		step := &upgradeStep{c: c, change: change, pod: &u.Pods[i], say: func(what string) { progress.Add(0, all[i].Name+": "+what) }}
		if err := step.run(ctx); err != nil {
			return u, err
		}
		progress.Add(1, all[i].Name)
	}
	return u, nil
}

// imageOf is the sidecar's image; "" if there is no sidecar.
func imageOf(p *pod) string {
	if s := p.sidecar(); s != nil {
		return s.Image
	}
	return ""
}

// Found says whether a pod was passed over.
func (u *Upgrade) Found() bool { return u.count(PassedOver) > 0 }

func (u *Upgrade) count(o Outcome) (n int) {
	for _, p := range u.Pods {
		if p.Outcome == o {
			n++
		}
	}
	return n
}

// upgradeStep is the upgrade of one pod.
type upgradeStep struct {
	c      *Cluster
	change Change
	pod    *UpgradedPod
	say    func(what string)
}

// run does it. The error ends the command; what became of the pod is in s.pod in any case.
func (s *upgradeStep) run(ctx context.Context) error {
	p, err := s.c.onePod(ctx, s.pod.Pod)
	if err != nil {
		if ctx.Err() != nil {
			return interrupted(s.pod.Pod, "was not touched")
		}
		if isAbsent(err) {
			s.passOver("it is gone")
			return nil
		}
		return failed("read pod "+s.pod.Pod, err)
	}
	s.pod.Before, s.pod.Image = imageOf(p), imageOf(p)
	switch why := unfit(p); {
	case why == "" && imageOf(p) == s.change.Image:
		s.pod.Outcome = HasIt
		return nil
	case why != "":
		s.passOver(why)
		return nil
	}
	return s.upgrade(ctx, p)
}

func (s *upgradeStep) passOver(why string) { s.pod.Outcome, s.pod.Why = PassedOver, why }

// unfit is why a pod's sidecar is not given another image; "" if it may be.
func unfit(p *pod) string {
	switch c := p.sidecar(); {
	case c == nil:
		return "it has no init container " + containerName
	case !isNative(c):
		return "its init container " + containerName + " has no restartPolicy Always"
	}
	return p.notReady()
}

func (s *upgradeStep) upgrade(ctx context.Context, p *pod) error {
	s.say("changing the image")
	if err := s.patch(ctx, p, s.change.Image); err != nil {
		if ctx.Err() != nil { // the request may have arrived all the same
			s.leaveUnsettled("interrupted while its image was changed")
			return interrupted(p.Name, "may have the new image")
		}
		s.pod.Why = err.Error()
		return failed("change the image of pod "+p.Name, err)
	}
	s.pod.Image = s.change.Image
	if s.change.DryRun {
		s.pod.Outcome, s.pod.Image = Upgraded, s.pod.Before
		return nil
	}
	err := s.c.awaitImage(ctx, p, s.change.Image, s.change.Timeout, s.say)
	switch {
	case err == nil:
		s.pod.Outcome = Upgraded
		return nil
	case ctx.Err() != nil:
		s.leaveUnsettled("interrupted before it was Ready")
		return interrupted(p.Name, "has the new image, and whether that works is not known")
	case errors.Is(err, errReplaced):
		s.passOver(err.Error())
		s.pod.Image = ""
		return cli.Errorf(cli.Failed, "pod %s: %w; the others were not touched", p.Name, err)
	}
	return s.putBack(ctx, p, err)
}

func (s *upgradeStep) leaveUnsettled(why string) {
	s.pod.Outcome, s.pod.Why, s.pod.Image = Unsettled, why, s.change.Image
}

func interrupted(pod, state string) error {
	return cli.Errorf(cli.Failed, "interrupted: pod %s %s; run the command again to go on, or with the former --image to go back", pod, state)
}

// patch changes the image of the sidecar in the spec of the pod that p was read from: not in another
// that has got its name since.
func (s *upgradeStep) patch(ctx context.Context, p *pod, image string) error {
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": p.UID},
		"spec":     map[string]any{"initContainers": []any{map[string]any{"name": containerName, "image": image}}},
	})
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{}
	if s.change.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	got, err := s.c.in(pods).Patch(ctx, p.Name, types.StrategicMergePatchType, body, options)
	if err != nil {
		return err
	}
	changed, err := newPod(got)
	if err == nil && imageOf(changed) != image {
		err = fmt.Errorf("the API server gave it the image %s instead: a webhook or policy changes what is patched", cli.Name(imageOf(changed)))
	}
	return err
}

// putBack gives a pod its former image after a failure, which is the error that it ends with.
func (s *upgradeStep) putBack(ctx context.Context, p *pod, why error) error {
	s.say("putting the former image back")
	former := s.pod.Before
	if err := s.patch(ctx, p, former); err != nil {
		s.leaveUnsettled(fmt.Sprintf("%v; and the former image could not be put back: %v", why, err))
		return cli.Errorf(cli.Failed, "pod %s: %w; putting %s back failed: %w; the others were not touched", p.Name, why, former, err)
	}
	s.pod.Outcome, s.pod.Image, s.pod.Why = PutBack, former, why.Error()
	state := "and is Ready with it"
	if err := s.c.awaitImage(ctx, p, former, s.change.Timeout, s.say); err != nil {
		state = fmt.Sprintf("and is not Ready with it: %v", err)
	}
	s.pod.Why += "; it has the former image again, " + state
	return cli.Errorf(cli.Failed, "pod %s: %w; it has the former image again, %s; the pods after it were not touched", p.Name, why, state)
}
