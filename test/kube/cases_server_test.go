//go:build kube

package kube

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A real API server takes every object of every case, but for those of kinds that
// others bring.
func TestServerTakesCases(t *testing.T) {
	p := server(t)
	r := newRenderer(t)
	namespaces := p.client.CoreV1().Namespaces()
	_, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, namespaces.Delete(context.Background(), r.namespace, metav1.DeleteOptions{}))
	})
	for name, values := range cases(t) {
		t.Run(name, func(t *testing.T) {
			files, err := r.files(values)
			require.NoError(t, err)
			for _, o := range objectsOf(t, files) {
				if !slices.Contains(customKinds, o.kind()) {
					require.NoError(t, p.create(t, r.namespace, o, true), "%s %s", o.kind(), o.name())
				}
			}
		})
	}
}
