package kube

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"
)

// policy is a rendered MutatingAdmissionPolicy, evaluated by the code of the API
// server.
type policy struct {
	spec      admissionv1.MutatingAdmissionPolicySpec
	mutations []plugincel.MutatingEvaluator
	context   func() context.Context
	matcher   matchconditions.Matcher
}

func newPolicy(t *testing.T, values string) *policy {
	t.Helper()
	objects, err := render(t, values)
	require.NoError(t, err)
	raw, err := json.Marshal(one(t, objects, "MutatingAdmissionPolicy"))
	require.NoError(t, err)
	var p admissionv1.MutatingAdmissionPolicy
	require.NoError(t, yaml.UnmarshalStrict(raw, &p))
	compiler, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	require.NoError(t, err)
	options := plugincel.OptionalVariableDeclarations{HasAuthorizer: true}
	var variables []plugincel.NamedExpressionAccessor
	for _, v := range p.Spec.Variables {
		variables = append(variables, &mutating.Variable{Name: v.Name, Expression: v.Expression})
	}
	compiler.CompileAndStoreVariables(variables, options, environment.StoredExpressions)
	out := &policy{spec: p.Spec, context: func() context.Context { return compiler.CreateContext(context.Background()) }}
	var conditions []plugincel.ExpressionAccessor
	for _, c := range p.Spec.MatchConditions {
		conditions = append(conditions, &matchconditions.MatchCondition{Name: c.Name, Expression: c.Expression})
	}
	fail := admissionv1.Fail
	out.matcher = matchconditions.NewMatcher(compiler.CompileCondition(conditions, options, environment.StoredExpressions), &fail, "policy", "validate", p.Name)
	options.HasPatchTypes = true
	for _, m := range p.Spec.Mutations {
		e := compiler.CompileMutatingEvaluator(&patch.JSONPatchCondition{Expression: m.JSONPatch.Expression}, options, environment.StoredExpressions)
		require.Empty(t, e.CompilationErrors())
		out.mutations = append(out.mutations, e)
	}
	return out
}

// selects says whether the policy is for a pod with these labels.
func (p *policy) selects(t *testing.T, pod *corev1.Pod) bool {
	s, err := metav1.LabelSelectorAsSelector(p.spec.MatchConstraints.ObjectSelector)
	require.NoError(t, err)
	return s.Matches(labels.Set(pod.Labels))
}

// admit is the pod as the API server would store it.
func (p *policy) admit(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	kind, resource := corev1.SchemeGroupVersion.WithKind("Pod"), schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	scheme := runtime.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	versioned := func(o runtime.Object) *admission.VersionedAttributes {
		a := admission.NewAttributesRecord(o, nil, kind, pod.Namespace, pod.Name, resource, "", admission.Create, &metav1.CreateOptions{}, false, nil)
		return &admission.VersionedAttributes{Attributes: a, VersionedKind: kind, VersionedObject: admission.NewLazyObject(o), VersionedOldObject: admission.NewLazyObject(nil)}
	}
	var object runtime.Object = pod
	matched := p.matcher.Match(p.context(), versioned(object), nil, nil)
	require.NoError(t, matched.Error)
	if !matched.Matches || !p.selects(t, pod) {
		return pod
	}
	for _, m := range p.mutations {
		ctx := p.context()
		changed, err := patch.NewJSONPatcher(m).Patch(ctx, patch.Request{
			MatchedResource: resource, VersionedAttributes: versioned(object), ObjectInterfaces: admission.NewObjectInterfacesFromScheme(scheme),
		}, celconfig.RuntimeCELCostBudget)
		require.NoError(t, err)
		object = changed
	}
	return object.(*corev1.Pod)
}
