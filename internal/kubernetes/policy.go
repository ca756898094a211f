package kubernetes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// policy is what there is that adds the sidecar to pods: the chart's policies that are for them.
type policy struct {
	names []string // with their kind
	err   error    // why they could not be read
	// weakness is what is wrong with one.
	weakness string
	// enabled says that it is for all pods; else it is for preflight's copies alone.
	enabled bool
}

// exists says whether a policy is to be expected to act on the copies.
func (p *policy) exists() bool { return len(p.names) > 0 }

// chartSelector is of all objects of the chart.
const chartSelector = "app.kubernetes.io/name=kraftside"

// policy looks for the policies that would add the sidecar to the copy of a pod. The error is that
// nobody answers.
func (c *Cluster) policy(ctx context.Context, of *pod) (*policy, error) {
	p := &policy{}
	for _, look := range []func(context.Context, *pod, *policy) error{c.admissionPolicies, c.kyvernoPolicies} {
		err := look(ctx, of, p)
		switch {
		case err == nil || isAbsent(err):
		case isAnswer(err):
			p.err = err
		default:
			return nil, err
		}
	}
	return p, nil
}

func (c *Cluster) admissionPolicies(ctx context.Context, of *pod, p *policy) error {
	all, err := list[admissionv1.MutatingAdmissionPolicy](ctx, c.objects.Resource(policies), chartSelector)
	if err != nil {
		return err
	}
	bound, err := list[admissionv1.MutatingAdmissionPolicyBinding](ctx, c.objects.Resource(bindings), chartSelector)
	if err != nil {
		return err
	}
	for _, one := range all {
		if m := one.Spec.MatchConstraints; m == nil || !c.selects(m, of) {
			continue
		}
		p.names = append(p.names, "MutatingAdmissionPolicy "+one.Name)
		at := slices.IndexFunc(bound, func(b *admissionv1.MutatingAdmissionPolicyBinding) bool { return b.Spec.PolicyName == one.Name })
		switch {
		case at < 0:
			p.weakness = "it has no binding"
		case one.Spec.FailurePolicy == nil || *one.Spec.FailurePolicy != admissionv1.Ignore:
			p.weakness = "its failurePolicy is not Ignore: a mistake in it would keep brokers from starting"
		}
		p.enabled = at >= 0 && !isForCopies(bound[at].Spec.MatchResources)
	}
	return nil
}

// kyvernoPolicy has the fields of Kyverno's MutatingPolicy that are looked at.
type kyvernoPolicy struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		FailurePolicy    string                     `json:"failurePolicy"`
		MatchConstraints admissionv1.MatchResources `json:"matchConstraints"`
	} `json:"spec"`
	Status struct {
		ConditionStatus struct {
			Ready   *bool  `json:"ready"`
			Message string `json:"message"`
		} `json:"conditionStatus"`
	} `json:"status"`
}

func (c *Cluster) kyvernoPolicies(ctx context.Context, of *pod, p *policy) error {
	all, err := list[kyvernoPolicy](ctx, c.objects.Resource(kyverno), chartSelector)
	if err != nil {
		return err
	}
	for _, one := range all {
		if !c.selects(&one.Spec.MatchConstraints, of) {
			continue
		}
		p.names = append(p.names, "MutatingPolicy "+one.Name)
		if ready := one.Status.ConditionStatus.Ready; ready != nil && !*ready {
			p.weakness = "Kyverno says that it is not ready: " + one.Status.ConditionStatus.Message
		}
		p.enabled = !isForCopies(&one.Spec.MatchConstraints)
	}
	return nil
}

// selects says whether a policy is for the copy of a pod, in the namespace.
func (c *Cluster) selects(m *admissionv1.MatchResources, p *pod) bool {
	copied := labels.Set{preflightLabel: "true"}
	maps.Copy(copied, p.Labels)
	return matches(m.NamespaceSelector, labels.Set{corev1.LabelMetadataName: c.namespace}) && matches(m.ObjectSelector, copied)
}

func matches(selector *metav1.LabelSelector, of labels.Set) bool {
	if selector == nil {
		return true
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(of)
}

func isForCopies(m *admissionv1.MatchResources) bool {
	if m == nil || m.ObjectSelector == nil {
		return false
	}
	_, is := m.ObjectSelector.MatchLabels[preflightLabel]
	return is
}

// finding is what the policy is, seen together with what it did to copies, if there are any.
func (p *policy) finding(brokers []*pod, trials []*trial) finding {
	added := slices.ContainsFunc(trials, func(t *trial) bool { return t.added })
	names := strings.Join(p.names, ", ")
	switch {
	case len(p.names) > 1:
		return refused("uninstall all but one release: which of them adds the sidecar is not said", "several are for these pods: %s", names)
	case p.weakness != "":
		return refused("upgrade the chart", "%s: %s", names, p.weakness)
	case len(p.names) == 1 && p.enabled:
		return passed("%s, for every pod of a broker that is made from now on", names)
	case len(p.names) == 1:
		return passed("%s, not enabled: for preflight's copies alone", names)
	case added && p.err == nil:
		return passed("none of the chart's; the API server adds the sidecar by something else")
	case added:
		return passed("the API server adds the sidecar; by which policy could not be seen: %v", p.err)
	case p.err != nil:
		return untold("ask with an account that may list policies, which belong to the whole cluster", "%v", p.err)
	}
	return withoutPolicy(brokers)
}

// withoutPolicy is for brokers to which nothing adds a sidecar: pods have it by themselves, or not.
func withoutPolicy(brokers []*pod) finding {
	var lacking []string
	for _, p := range brokers {
		if p.sidecar() == nil {
			lacking = append(lacking, p.Name)
		}
	}
	if len(lacking) == 0 {
		return passed("none, nor is one needed: the pods have the sidecar from whoever makes them")
	}
	return refused("install the chart with injection.mode policy or kyverno, or put the sidecar into what makes the pods",
		"there is none, and %s no sidecar", fmt.Sprintf("%s %s", some(lacking), has(len(lacking))))
}

func has(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}
