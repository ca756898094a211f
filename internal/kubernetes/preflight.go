package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kraftside/kraftside/internal/cli"
)

// The checks, in the order of the report.
const (
	permissionCheck    = "permissions"
	brokerCheck        = "brokers"
	policyCheck        = "policy"
	dryRunCheck        = "dry run"
	sidecarCheck       = "sidecar"
	qosCheck           = "QoS class"
	configurationCheck = "configuration"
	portCheck          = "ports"
	userCheck          = "user"
	nodeIDCheck        = "node ids"
	imageCheck         = "image"
	pullSecretCheck    = "pull secrets"
	quotaCheck         = "quota"
)

// Preflight checks what a sidecar would do to the pods of brokers, with dry runs of copies of them. The
// error is that nobody could be asked. b has to be valid.
func (c *Cluster) Preflight(ctx context.Context, b Brokers) (*Preflight, error) {
	selector, err := b.selector()
	if err != nil {
		return nil, err
	}
	p := &Preflight{Namespace: c.namespace, Cluster: b.Cluster, Flavour: b.Flavour.Name, Brokers: []string{}, title: b.title()}
	lacking, err := c.lacking(ctx)
	if err != nil {
		return nil, failed("ask what is permitted", err)
	}
	p.add(permissionCheck, permissions(lacking, c.namespace))
	all, err := c.brokerPods(ctx, selector)
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, failed("list the brokers' pods", err)
	}
	if err != nil || len(all) == 0 {
		p.add(brokerCheck, noBrokers(err, selector, c.namespace))
		p.skip("there is no pod of a broker to try", policyCheck)
		return p, nil
	}
	e := examination{c: c, b: b, report: p, selector: selector}
	return p, e.run(ctx, all, slices.Contains(lacking, "create"))
}

// skip adds the checks from one on as not made.
func (p *Preflight) skip(why, from string) {
	all := []string{
		policyCheck, dryRunCheck, sidecarCheck, qosCheck, configurationCheck, portCheck, userCheck, nodeIDCheck, imageCheck, pullSecretCheck, quotaCheck,
	}
	for _, check := range all[slices.Index(all, from):] {
		p.add(check, untold("", "not checked: %s", why))
	}
}

// verbs are what the commands do with pods.
var verbs = []string{"get", "list", "create", "patch"}

// lacking are those of the verbs that who asks may not.
func (c *Cluster) lacking(ctx context.Context) (lacking []string, err error) {
	for _, verb := range verbs {
		review := &authorizationv1.SelfSubjectAccessReview{
			TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"},
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: c.namespace, Verb: verb, Version: "v1", Resource: "pods",
			}},
		}
		o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(review)
		if err != nil {
			return nil, err
		}
		got, err := c.objects.Resource(reviews).Create(ctx, &unstructured.Unstructured{Object: o}, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		if allowed, _, _ := unstructured.NestedBool(got.Object, "status", "allowed"); !allowed {
			lacking = append(lacking, verb)
		}
	}
	return lacking, nil
}

func permissions(lacking []string, namespace string) finding {
	if len(lacking) == 0 {
		return passed("may %s pods", strings.Join(verbs, ", "))
	}
	return refused("get, list and create are for preflight, get, list and patch for upgrade-in-place: use an account whose role in the namespace has them",
		"may not %s pods in namespace %s", strings.Join(lacking, ", "), namespace)
}

func noBrokers(err error, selector, namespace string) finding {
	if err != nil {
		return refused("", "%v", err)
	}
	return refused("are --cluster, --flavour and -n right? kubectl get pods --show-labels tells",
		"no pod in namespace %s has the labels %s", namespace, selector)
}

// examination is one run over pods of brokers.
type examination struct {
	c        *Cluster
	b        Brokers
	selector string
	report   *Preflight
	trials   []*trial
}

func (e *examination) run(ctx context.Context, all []*pod, mayNotCreate bool) error {
	r := e.report
	brokers := slices.DeleteFunc(slices.Clone(all), func(p *pod) bool {
		return p.Annotations[optOut] == "false" || p.container(e.b.Flavour.Container) == nil
	})
	r.Brokers = podNames(brokers)
	r.add(brokerCheck, e.found(len(brokers), len(all)-len(brokers)))
	if len(brokers) == 0 {
		r.skip("there is no pod of a broker to try", policyCheck)
		return nil
	}
	policy, err := e.c.policy(ctx, brokers[0])
	if err != nil {
		return failed("read the policy", err)
	}
	if mayNotCreate {
		r.add(policyCheck, policy.finding(brokers, nil))
		r.skip("a dry run needs the permission to create pods", dryRunCheck)
		return nil
	}
	for i, p := range brokers {
		t, err := e.c.try(ctx, p, i == 0 && policy.exists())
		if err != nil {
			return failed("try a copy of pod "+p.Name, err)
		}
		t.expected = policy.exists()
		e.trials = append(e.trials, t)
	}
	r.add(policyCheck, policy.finding(brokers, e.trials))
	e.judge(ctx)
	return nil
}

func (e *examination) found(brokers, others int) finding {
	seen := cli.Count(brokers, "pod") + " with the labels " + e.selector
	if others > 0 {
		seen += fmt.Sprintf("; %d more left alone, by the annotation %s or for want of a container %s", others, optOut, e.b.Flavour.Container)
	}
	if brokers == 0 {
		return refused("is --container the name of the broker's container?", "%s", seen)
	}
	return passed("%s", seen)
}

// judge adds what the results of the trials say.
func (e *examination) judge(ctx context.Context) {
	r := e.report
	r.addEach(dryRunCheck, func(i int) finding { return e.trials[i].acceptance() })
	r.addEach(sidecarCheck, func(i int) finding { return e.trials[i].sidecar() })
	for _, check := range []struct {
		name string
		of   func(*trial) finding
	}{
		{qosCheck, (*trial).qos},
		{configurationCheck, func(t *trial) finding { return e.c.configuration(ctx, t.result) }},
		{portCheck, func(t *trial) finding { return t.result.ports() }},
		{userCheck, func(t *trial) finding { return t.user(e.b.Flavour) }},
		{nodeIDCheck, e.nodeID},
		{imageCheck, func(t *trial) finding { return e.c.image(ctx, t) }},
		{pullSecretCheck, func(t *trial) finding { return e.c.pullSecrets(ctx, t.result) }},
	} {
		r.addEach(check.name, func(i int) finding {
			switch t := e.trials[i]; {
			case t.result == nil:
				return untold("", "not told: the API server refuses the pod")
			case t.result.sidecar() == nil:
				return untold("", "not told: there is no sidecar")
			default:
				return check.of(t)
			}
		})
	}
	r.add(quotaCheck, e.c.quota(ctx, e.trials))
}
