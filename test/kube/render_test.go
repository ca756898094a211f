package kube

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	chartcommon "helm.sh/helm/v4/pkg/chart/common"
	chartutil "helm.sh/helm/v4/pkg/chart/common/util"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

// chartDir is a link to charts/kraftside, as testdata/docs is to docs: what a test
// reads outside its module the test cache does not see, and the test would pass on a
// chart that it never read.
const chartDir = "testdata/chart"

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
	return objectsOf(t, files), nil
}

// objectsOf are the objects of rendered templates.
func objectsOf(t *testing.T, files map[string]string) (objects []object) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if filepath.Ext(name) == ".yaml" {
			objects = append(objects, parse(t, files[name])...)
		}
	}
	return objects
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
	r := newRenderer(t)
	r.namespace = namespace
	return r.files(parseValues(t, values))
}

// renderer renders the chart as release "ks".
type renderer struct {
	chart     *v2.Chart
	engine    engine.Engine
	namespace string
	anyValues bool // the schema is not asked
}

// newRenderer is one for the namespace "kafka".
func newRenderer(t *testing.T) *renderer {
	t.Helper()
	chart, err := loader.Load(chartDir)
	require.NoError(t, err)
	return &renderer{chart: chart, namespace: "kafka"}
}

// files are the rendered templates, by the path of the template.
func (r *renderer) files(values map[string]any) (map[string]string, error) {
	capabilities := chartcommon.DefaultCapabilities.Copy()
	capabilities.APIVersions = append(slices.Clone(capabilities.APIVersions), policyAPI, kyvernoAPI)
	release := chartcommon.ReleaseOptions{Name: "ks", Namespace: r.namespace, IsInstall: true}
	all, err := chartutil.ToRenderValuesWithSchemaValidation(r.chart, values, release, capabilities, r.anyValues)
	if err != nil {
		return nil, err
	}
	return r.engine.RenderWithContext(context.Background(), r.chart, all)
}

func parseValues(t *testing.T, values string) map[string]any {
	t.Helper()
	var given map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(values), &given))
	return given
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
