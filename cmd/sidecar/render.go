package main

import (
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/snippet"
)

func renderCommand(out *cli.Output) *cobra.Command {
	release := snippet.Release{}
	var flavour, cluster, file string
	var set []string
	c := &cobra.Command{
		Use:     "render --flavour FLAVOUR",
		GroupID: kubernetes,
		Short:   "Print what puts the sidecar into brokers' pods, for whoever makes them",
		Long: `render prints what the Helm chart prints with injection.mode=snippet: values, an overlay or a patch with the container, for
brokers of bitnami, cfk, koperator or custom (a StatefulSet of one's own). Strimzi takes no containers: its brokers need the
chart's policy. The ConfigMap that the container mounts is the chart's.`,
		Example: `  kraftside render --flavour cfk --cluster prod -n kafka
  kraftside render --flavour custom --set custom.labels.app=kafka --set custom.dataPrefix=/data --set runAsUser=1000`,
		Args: takes(0, 0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			values, err := valuesOf(file, set)
			if err != nil {
				return err
			}
			for key, value := range map[string]string{"flavour": flavour, "cluster": cluster} {
				if value != "" {
					values[key] = value
				}
			}
			s, err := snippet.Render(release, values)
			if err != nil {
				return cli.Errorf(cli.BadUsage, "render: %w", err)
			}
			return out.Print(&s, func(t *cli.Text) {
				t.Printf("%s\n# Once it is there, this has to print Always for each broker:\n#   %s\n", s.Text, strings.ReplaceAll(s.Check, "\n", "\n#   "))
			})
		},
	}
	flags := c.Flags()
	flags.StringVar(&flavour, "flavour", "", "who makes the brokers' pods: bitnami, cfk, koperator or custom")
	flags.StringVar(&cluster, "cluster", "", "the Kafka cluster, as whoever makes its pods calls it")
	flags.StringVar(&release.Name, "release", "kraftside", "the chart's release, whose ConfigMap the container mounts")
	flags.StringVarP(&release.Namespace, "namespace", "n", "default", "the brokers' namespace")
	flags.StringVarP(&file, "values", "f", "", "YAML file of values of the chart")
	flags.StringArrayVar(&set, "set", nil, "a value of the chart, as PATH=VALUE; may be repeated")
	return c
}

// valuesOf are the values of a file, and those of PATH=VALUE over them.
func valuesOf(file string, set []string) (map[string]any, error) {
	values := map[string]any{}
	if file != "" {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, cli.Errorf(cli.NotFound, "--values: %w", err)
		}
		if err := yaml.Unmarshal(raw, &values); err != nil {
			return nil, cli.Errorf(cli.BadUsage, "--values: %s: %w", cli.Name(file), err)
		}
	}
	for _, one := range set {
		path, text, found := strings.Cut(one, "=")
		if !found || path == "" {
			return nil, cli.Errorf(cli.BadUsage, "--set: %s is not PATH=VALUE", cli.Name(one))
		}
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			return nil, cli.Errorf(cli.BadUsage, "--set: the value of %s: %w", cli.Name(path), err)
		}
		if err := put(values, strings.Split(path, "."), value); err != nil {
			return nil, cli.Errorf(cli.BadUsage, "--set: %s: %w", cli.Name(one), err)
		}
	}
	return values, nil
}

var errNoMap = errors.New("what comes before its last name has no keys")

// put sets the value at a path, and makes the maps on the way there.
func put(values map[string]any, path []string, value any) error {
	for _, key := range path[:len(path)-1] {
		if values[key] == nil {
			values[key] = map[string]any{}
		}
		inner, ok := values[key].(map[string]any)
		if !ok {
			return errNoMap
		}
		values = inner
	}
	values[path[len(path)-1]] = value
	return nil
}
