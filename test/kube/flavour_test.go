package kube

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"github.com/kraftside/kraftside/internal/kubernetes"
)

// The commands know the flavours that the chart knows, find the same pods by them, and take the same
// container for the broker and the same UID for its image's.
func TestFlavours(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(chartDir, "values.schema.json"))
	require.NoError(t, err)
	var schema struct {
		Properties struct {
			Flavour struct {
				Enum []string `json:"enum"`
			} `json:"flavour"`
		} `json:"properties"`
	}
	require.NoError(t, json.Unmarshal(raw, &schema))
	require.ElementsMatch(t, schema.Properties.Flavour.Enum, kubernetes.Flavours())
	raw, err = os.ReadFile(filepath.Join(chartDir, "values.yaml"))
	require.NoError(t, err)
	var values struct {
		Flavour string `json:"flavour"`
	}
	require.NoError(t, yaml.Unmarshal(raw, &values))
	require.Equal(t, values.Flavour, kubernetes.Flavours()[0], "the default")

	for _, name := range kubernetes.Flavours() {
		if name == kubernetes.Custom {
			continue // whose labels are given
		}
		f, err := kubernetes.FlavourNamed(name)
		require.NoError(t, err)
		objects, err := render(t, fmt.Sprintf(`{cluster: prod, flavour: %s}`, name))
		require.NoError(t, err)
		var policy admissionv1.MutatingAdmissionPolicy
		typed(t, one(t, objects, "MutatingAdmissionPolicy"), &policy)
		require.Equal(t, policy.Spec.MatchConstraints.ObjectSelector.MatchLabels, f.Labels("prod"), name)
		for _, v := range policy.Spec.Variables {
			switch v.Name {
			case "broker":
				require.Contains(t, v.Expression, fmt.Sprintf("c.name == '%s'", f.Container), name)
			case "user":
				own := "[]"
				if f.User != 0 {
					own = fmt.Sprintf("[%d]", f.User)
				}
				require.Regexp(t, `\? \[\] : `+regexp.QuoteMeta(own)+`\)$`, v.Expression, name)
			}
		}
	}
}
