//go:build kube

package kube

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A real API server takes what the chart renders, without a field that it does not
// know, and its policy makes of each flavour's pod what the same policy makes of it
// in this process.
func TestServer(t *testing.T) {
	p := server(t)
	for _, flavour := range flavours {
		t.Run(flavour, func(t *testing.T) {
			values := enabled(t, flavour)
			ns := p.namespace(t, nil)
			p.install(t, ns, values)
			pod := brokerPod(t, flavour)
			pod.Namespace = ns
			got := p.admit(t, pod)
			expected, _ := injected(t, newPolicy(t, values).admit(t, brokerPod(t, flavour)))
			container, _ := injected(t, got)
			require.Equal(t, expected.Env, container.Env)
			require.Equal(t, expected.SecurityContext, container.SecurityContext)
			require.Equal(t, expected.RestartPolicy, container.RestartPolicy)
			require.Subset(t, container.VolumeMounts, expected.VolumeMounts)
		})
	}
}
