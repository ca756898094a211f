package kube

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
)

// clusterScoped are the kinds that have no namespace.
var clusterScoped = []string{"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingPolicy"}

// Every object of every case has the chart's labels, the namespace of the release
// unless its kind has none, a name of its own, and only fields that Kubernetes knows.
func TestCases(t *testing.T) {
	r := newRenderer(t)
	for name, values := range cases(t) {
		t.Run(name, func(t *testing.T) {
			files, err := r.files(values)
			require.NoError(t, err)
			seen := set{}
			for _, o := range objectsOf(t, files) {
				id := o.kind() + " " + o.name()
				require.False(t, seen[id], id)
				seen[id] = true
				wellKnown(t, o)
				decoded(t, o)
			}
			require.NotEmpty(t, seen)
		})
	}
}

func wellKnown(t *testing.T, o object) {
	id, metadata := o.kind()+" "+o.name(), o["metadata"].(map[string]any)
	require.NotEmpty(t, o["apiVersion"], id)
	labels, ok := metadata["labels"].(map[string]any)
	require.True(t, ok, "%s has no labels", id)
	require.Equal(t, "kraftside", labels["app.kubernetes.io/name"], id)
	require.Equal(t, "ks", labels["app.kubernetes.io/instance"], id)
	require.Equal(t, "Helm", labels["app.kubernetes.io/managed-by"], id)
	require.NotEmpty(t, labels["app.kubernetes.io/version"], id)
	require.Contains(t, labels["helm.sh/chart"], "kraftside-", id)
	if slices.Contains(clusterScoped, o.kind()) {
		require.NotContains(t, metadata, "namespace", id)
		return
	}
	require.Equal(t, "kafka", metadata["namespace"], id)
}

// customKinds are of others, and not known to Kubernetes.
var customKinds = []string{"KafkaUser", "MutatingPolicy", "PodMonitor", "PrometheusRule", "ServiceMonitor"}

var knownFields = serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()

// decoded sees to it that an object has no field that its kind has not.
func decoded(t *testing.T, o object) {
	raw, err := json.Marshal(o)
	require.NoError(t, err)
	_, _, err = knownFields.Decode(raw, nil, nil)
	if runtime.IsNotRegisteredError(err) {
		require.Contains(t, customKinds, o.kind())
		return
	}
	require.NoError(t, err, "%s %s", o.kind(), o.name())
}

// Every branch of every template is taken in some case, but for those that refuse:
// TestRefused has them.
func TestBranches(t *testing.T) {
	plain, r := newRenderer(t), newRenderer(t)
	var branches []string
	for _, file := range r.chart.Templates {
		if !strings.Contains(file.Name, "validate.") {
			file.Data = []byte(marked(file.Name, string(file.Data), &branches))
		}
	}
	require.NotEmpty(t, branches)
	taken := make([]bool, len(branches))
	r.engine.CustomTemplateFuncs = template.FuncMap{"taken": func(i int) string {
		taken[i] = true
		return ""
	}}
	for name, values := range cases(t) {
		want, err := plain.files(values)
		require.NoError(t, err, name)
		got, err := r.files(values)
		require.NoError(t, err, name)
		require.Equal(t, want, got, "marks change nothing")
	}
	var missed []string
	for i, branch := range branches {
		if !taken[i] {
			missed = append(missed, branch)
		}
	}
	require.Empty(t, missed, "no case of ci/ takes these branches")
}

// marked puts a mark at the begin of each branch of a template, and notes where that
// is.
func marked(name, text string, branches *[]string) string {
	var out strings.Builder
	from := 0
	for from < len(text) {
		start := strings.Index(text[from:], "{{")
		if start < 0 {
			break
		}
		end := from + start + actionLength(text[from+start:])
		action := text[from+start : end]
		out.WriteString(text[from:end])
		if branching(action) {
			trim := ""
			if strings.HasSuffix(action, "-}}") {
				trim = " -"
			}
			fmt.Fprintf(&out, "{{ taken %d%s}}", len(*branches), trim)
			*branches = append(*branches, fmt.Sprintf("%s:%d: %s", name, 1+strings.Count(text[:from+start], "\n"), action))
		}
		from = end
	}
	return out.String() + text[from:]
}

func branching(action string) bool {
	words := strings.Fields(strings.Trim(action, "{}- \n"))
	return len(words) > 0 && slices.Contains([]string{"if", "else", "range", "with", "define"}, words[0])
}

// actionLength is the length of the action that text begins with: strings and
// comments may have braces in them.
func actionLength(text string) int {
	if comment := strings.TrimLeft(text[2:], "- "); strings.HasPrefix(comment, "/*") {
		end := strings.Index(text, "*/")
		return end + strings.Index(text[end:], "}}") + 2
	}
	quote := byte(0)
	for i := 2; i < len(text); i++ {
		switch c := text[i]; {
		case quote == '"' && c == '\\':
			i++
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
		case c == '"' || c == '`':
			quote = c
		case strings.HasPrefix(text[i:], "}}"):
			return i + 2
		}
	}
	return len(text)
}
