// Package snippet renders what has to be given to whoever makes brokers' pods, from
// the templates of the Helm chart and without Helm, so that the chart's notes and
// `kraftside render` say the same.
package snippet

import (
	"go.yaml.in/yaml/v3"

	"github.com/kraftside/kraftside/charts"
)

// Release is an installation of the chart.
type Release struct{ Name, Namespace string }

// Snippet is what to give to whoever makes the pods.
type Snippet struct {
	// Text is YAML: values, an overlay or a patch, as its comment says.
	Text string `json:"snippet"`
	// Check is a command that shows whether what became of it is a sidecar.
	Check string `json:"check"`
}

// Render is the snippet of values, which are laid over those of the chart. The
// injection mode is "snippet". An error says which value cannot be, or why values do
// not go together.
func Render(r Release, values map[string]any) (Snippet, error) {
	all, err := defaults()
	if err != nil {
		return Snippet{}, err
	}
	if err := lay(all, values, ""); err != nil {
		return Snippet{}, err
	}
	all["injection"].(map[string]any)["mode"] = "snippet"
	dot, err := root(r, all)
	if err != nil {
		return Snippet{}, err
	}
	t, err := newTemplates()
	if err != nil {
		return Snippet{}, err
	}
	if _, err := t.include("kraftside.validate", dot); err != nil {
		return Snippet{}, err
	}
	var s Snippet
	if s.Text, err = t.include("kraftside.snippet", dot); err != nil {
		return Snippet{}, err
	}
	s.Check, err = t.include("kraftside.snippetCheck", dot)
	return s, err
}

func defaults() (map[string]any, error) {
	raw, err := charts.Kraftside.ReadFile("kraftside/values.yaml")
	if err != nil {
		return nil, err
	}
	var all map[string]any
	return all, yaml.Unmarshal(raw, &all)
}

// root is what Helm hands to templates, as far as those of a snippet use it.
func root(r Release, values map[string]any) (map[string]any, error) {
	raw, err := charts.Kraftside.ReadFile("kraftside/Chart.yaml")
	if err != nil {
		return nil, err
	}
	var chart struct {
		Name       string
		AppVersion string `yaml:"appVersion"`
	}
	if err := yaml.Unmarshal(raw, &chart); err != nil {
		return nil, err
	}
	return map[string]any{"Values": values, "Chart": chart, "Release": r}, nil
}
