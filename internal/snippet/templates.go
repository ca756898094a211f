package snippet

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"go.yaml.in/yaml/v3"

	"github.com/kraftside/kraftside/charts"
)

// templates are those of the chart that others include, with the functions that Helm
// gives them.
type templates struct{ *template.Template }

// refused is an error of the function fail.
type refused string

func (r refused) Error() string { return string(r) }

func newTemplates() (templates, error) {
	t := templates{template.New("").Funcs(sprig.TxtFuncMap())}
	t.Funcs(template.FuncMap{
		"include":       t.include,
		"fail":          func(why string) (string, error) { return "", refused(why) },
		"toYaml":        toYAML,
		"fromYaml":      fromYAML[map[string]any],
		"fromYamlArray": fromYAML[[]any],
	})
	files, err := fs.Glob(charts.Kraftside, "kraftside/templates/_*.tpl")
	if err != nil {
		return t, err
	}
	for _, path := range files {
		text, err := charts.Kraftside.ReadFile(path)
		if err != nil {
			return t, err
		}
		if _, err := t.New(path).Parse(string(text)); err != nil {
			return t, fmt.Errorf("parse the chart's %s: %w", path, err)
		}
	}
	return t, nil
}

// include executes a template. What it refuses is told without where in it that was.
func (t templates) include(name string, dot any) (string, error) {
	var b strings.Builder
	err := t.ExecuteTemplate(&b, name, dot)
	if why, ok := errors.AsType[refused](err); ok {
		return "", why
	}
	return b.String(), err
}

// toYAML has its keys in order, as that of Helm has.
func toYAML(v any) (string, error) {
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

func fromYAML[T any](text string) (v T, err error) {
	err = yaml.Unmarshal([]byte(text), &v)
	return v, err
}
