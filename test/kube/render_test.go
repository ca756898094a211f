package kube

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	chartcommon "helm.sh/helm/v4/pkg/chart/common"
	chartutil "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

const chartDir = "../../charts/kraftside"

// policyAPI is there from Kubernetes 1.36 on.
const policyAPI = "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"

// kyvernoAPI is there where Kyverno is.
const kyvernoAPI = "policies.kyverno.io/v1/MutatingPolicy"

// object is one rendered object.
type object map[string]any

func (o object) kind() string { return o["kind"].(string) }

func (o object) name() string { return o["metadata"].(map[string]any)["name"].(string) }

// render is what an installation as release "ks" in the namespace "kafka" makes of
// values, which are YAML, or why it is refused.
func render(t *testing.T, values string) ([]object, error) {
	t.Helper()
	return renderIn(t, "kafka", values)
}

// renderIn is render for another namespace.
func renderIn(t *testing.T, namespace, values string) ([]object, error) {
	t.Helper()
	files, err := renderFiles(t, namespace, values)
	if err != nil {
		return nil, err
	}
	var objects []object
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if filepath.Ext(name) == ".yaml" {
			objects = append(objects, parse(t, files[name])...)
		}
	}
	return objects, nil
}

// parse are the objects of a YAML file.
func parse(t *testing.T, file string) (objects []object) {
	t.Helper()
	for _, document := range strings.Split(file, "\n---\n") {
		var o object
		require.NoError(t, yaml.UnmarshalStrict([]byte(document), &o), document)
		if o != nil {
			objects = append(objects, o)
		}
	}
	return objects
}

// notes is what Helm prints after it installed.
func notes(t *testing.T, values string) string {
	t.Helper()
	files, err := renderFiles(t, "kafka", values)
	require.NoError(t, err)
	return files["kraftside/templates/NOTES.txt"]
}

func renderFiles(t *testing.T, namespace, values string) (map[string]string, error) {
	t.Helper()
	chart, err := loader.Load(chartDir)
	require.NoError(t, err)
	var given map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(values), &given))
	capabilities := chartcommon.DefaultCapabilities.Copy()
	capabilities.APIVersions = append(slices.Clone(capabilities.APIVersions), policyAPI, kyvernoAPI)
	all, err := chartutil.ToRenderValues(chart, given, chartcommon.ReleaseOptions{Name: "ks", Namespace: namespace, IsInstall: true}, capabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(chart, all)
}

// one is the only object of a kind.
func one(t *testing.T, objects []object, kind string) object {
	t.Helper()
	var found []object
	for _, o := range objects {
		if o.kind() == kind {
			found = append(found, o)
		}
	}
	require.Len(t, found, 1, kind)
	return found[0]
}
