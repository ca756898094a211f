//go:build kube

package kube

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var amount = resource.MustParse

// namespace is a new one for a test, with labels.
func (p *controlPlane) namespace(t *testing.T, labels map[string]string) string {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	_, err := p.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, p.client.CoreV1().Namespaces().Delete(context.Background(), name, metav1.DeleteOptions{}))
	})
	return name
}

// strict refuses fields that the API server does not know.
func strict(dry bool) metav1.CreateOptions {
	o := metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}
	if dry {
		o.DryRun = []string{metav1.DryRunAll}
	}
	return o
}

// create makes an object in a namespace, if its kind has those; with dry it is only
// tried.
func (p *controlPlane) create(t *testing.T, namespace string, o object, dry bool) error {
	t.Helper()
	u := &unstructured.Unstructured{Object: o}
	version, err := schema.ParseGroupVersion(u.GetAPIVersion())
	require.NoError(t, err)
	m, err := p.mapper.RESTMapping(schema.GroupKind{Group: version.Group, Kind: u.GetKind()}, version.Version)
	require.NoError(t, err)
	client := p.objects.Resource(m.Resource)
	if m.Scope.Name() == meta.RESTScopeNameNamespace {
		_, err = client.Namespace(namespace).Create(t.Context(), u, strict(dry))
		return err
	}
	if _, err = client.Create(t.Context(), u, strict(dry)); err == nil && !dry {
		t.Cleanup(func() { require.NoError(t, client.Delete(context.Background(), u.GetName(), metav1.DeleteOptions{})) })
	}
	return err
}

// install makes all objects that values render for a namespace, of kinds that the API
// server has itself.
func (p *controlPlane) install(t *testing.T, namespace, values string) {
	t.Helper()
	objects, err := renderIn(t, namespace, values)
	require.NoError(t, err)
	for _, o := range objects {
		require.NoError(t, p.create(t, namespace, o, false), o.kind())
	}
}

// admit has the API server take a pod, or try to, once the policy is in effect.
func (p *controlPlane) admit(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	var got *corev1.Pod
	var err error
	require.Eventually(t, func() bool { // the API server takes a moment to know a policy
		got, err = p.client.CoreV1().Pods(pod.Namespace).Create(t.Context(), pod, strict(true))
		return err != nil || got.Annotations["kraftside.io/injected"] != ""
	}, 30*time.Second, 200*time.Millisecond, "the pod is not changed")
	require.NoError(t, err)
	return got
}

// awaitPod waits until a pod is as it should.
func (p *controlPlane) awaitPod(t *testing.T, namespace, name string, ok func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	var got *corev1.Pod
	require.Eventually(t, func() bool {
		var err error
		got, err = p.client.CoreV1().Pods(namespace).Get(t.Context(), name, metav1.GetOptions{})
		return err == nil && ok(got)
	}, 30*time.Second, 100*time.Millisecond, "pod %s: %v", name, fmt.Sprintf("%+v", got))
	return got
}

// leaves waits until the API server no longer changes pods.
func (p *controlPlane) leaves(t *testing.T, namespace string) {
	t.Helper()
	pod := runnable(t, "custom", namespace)
	pod.Name = "kafka-99"
	require.Eventually(t, func() bool {
		got, err := p.client.CoreV1().Pods(namespace).Create(t.Context(), pod, strict(true))
		return err == nil && len(got.Spec.InitContainers) == 0
	}, 30*time.Second, 200*time.Millisecond, "pods are still changed")
}
