//go:build !beside

package main

import (
	"fmt"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/kraftside/kraftside/internal/cli"
	kube "github.com/kraftside/kraftside/internal/kubernetes"
)

// kubernetesCommands are those that ask an API server.
func kubernetesCommands(out *cli.Output) []*cobra.Command {
	return []*cobra.Command{preflightCommand(out), upgradeInPlaceCommand(out)}
}

// brokerFlags say which pods are meant, and which API server is asked.
type brokerFlags struct {
	command   *cobra.Command
	access    kube.Access
	brokers   kube.Brokers
	flavour   string
	container string
}

func (b *brokerFlags) addFlags(c *cobra.Command) {
	b.command = c
	f := c.Flags()
	f.SortFlags = false
	names := kube.Flavours()
	f.StringVarP(&b.access.Namespace, "namespace", "n", "", "`NAMESPACE` of the brokers; by default that of the kubeconfig's context")
	f.StringVar(&b.brokers.Cluster, "cluster", "", "`NAME` of the Kafka cluster, as the chart's value cluster")
	f.StringVar(&b.flavour, "flavour", names[0], "who made the brokers' pods: `FLAVOUR` is one of "+strings.Join(names, ", "))
	f.StringVar(&b.brokers.Selector, "selector", "", "`LABELS` of the brokers' pods, instead of the flavour's; needed for "+kube.Custom)
	f.StringVar(&b.container, "container", "", "`NAME` of the broker's container, instead of the flavour's")
	f.StringVar(&b.access.Kubeconfig, "kubeconfig", "", "`FILE` instead of those of $KUBECONFIG or ~/.kube/config")
	f.StringVar(&b.access.Context, "context", "", "`NAME` of a context of it, instead of the current one")
	_ = c.RegisterFlagCompletionFunc("flavour", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}

// connect makes ready to ask the API server about the pods.
func (b *brokerFlags) connect() (*kube.Cluster, error) {
	f, err := kube.FlavourNamed(b.flavour)
	if err != nil {
		return nil, cli.Errorf(cli.BadUsage, "%s: --flavour: %w", b.command.Name(), err)
	}
	if b.container != "" {
		f.Container = b.container
	}
	b.brokers.Flavour = f
	if err := b.brokers.Validate(); err != nil {
		return nil, cli.Errorf(cli.BadUsage, "%s: %w", b.command.Name(), err)
	}
	cluster, err := kube.Connect(b.access)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.command.Name(), err)
	}
	return cluster, nil
}

func preflightCommand(out *cli.Output) *cobra.Command {
	var b brokerFlags
	c := &cobra.Command{
		Use:     "preflight",
		GroupID: kubernetes,
		Short:   "Check what a sidecar would do to the brokers' pods, before there is one",
		Long: `preflight asks the API server what it would make of each broker's pod with a sidecar in it, by dry runs of copies of the pods
that run, and checks what could keep a broker from starting. It changes nothing. The chart has to be installed: until
injection.enabled is true, its policy acts on these copies alone.

Exit code 3 means that a check fails, 6 that none does but something could not be told.`,
		Example: `  kraftside preflight -n kafka --cluster prod
  kraftside preflight -n kafka --flavour custom --selector app=kafka --container broker -o json`,
		Args: takes(0, 0, "no argument"),
		RunE: func(c *cobra.Command, _ []string) error {
			cluster, err := b.connect()
			if err != nil {
				return err
			}
			p, err := cluster.Preflight(c.Context(), b.brokers)
			if err != nil {
				return fmt.Errorf("preflight: %w", err)
			}
			if err := out.Print(p, p.Text); err != nil {
				return err
			}
			switch p.Worst() {
			case kube.Fail:
				return &cli.Error{Code: cli.Found}
			case kube.Unknown:
				return &cli.Error{Code: cli.Incomplete}
			}
			return nil
		},
	}
	b.addFlags(c)
	return c
}

func upgradeInPlaceCommand(out *cli.Output) *cobra.Command {
	var b brokerFlags
	var change kube.Change
	c := &cobra.Command{
		Use:     "upgrade-in-place",
		GroupID: kubernetes,
		Short:   "Give running sidecars another image, without restarting a broker",
		Long: `upgrade-in-place changes the image of the init container kraftside of running brokers' pods, one after the other, and nothing
else of them. It waits until the sidecar runs the new image and the pod is Ready. If one fails, that one gets its former
image back and the rest is left alone. A pod that is not Ready before is passed over.

The chart's image has to be set too: a pod that is made anew has that.

Exit code 1 means that a pod failed, 3 that pods were passed over.`,
		Example: `  kraftside upgrade-in-place -n kafka --cluster prod --image kraftside/kraftside:0.2.0 --dry-run
  kraftside upgrade-in-place -n kafka --cluster prod --image kraftside/kraftside:0.2.0`,
		Args: takes(0, 0, "no argument"),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := change.Validate(); err != nil {
				return cli.Errorf(cli.BadUsage, "upgrade-in-place: %w", err)
			}
			cluster, err := b.connect()
			if err != nil {
				return err
			}
			change.Brokers = b.brokers
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			u, err := cluster.UpgradeInPlace(ctx, out, change)
			if u == nil {
				return fmt.Errorf("upgrade-in-place: %w", err)
			}
			if failure := out.Print(u, u.Text); failure != nil {
				return failure
			}
			if err != nil {
				return fmt.Errorf("upgrade-in-place: %w", err)
			}
			if u.Found() {
				return &cli.Error{Code: cli.Found}
			}
			return nil
		},
	}
	b.addFlags(c)
	f := c.Flags()
	f.StringVar(&change.Image, "image", "", "`REFERENCE` of the new image, by tag or digest")
	f.BoolVar(&change.DryRun, "dry-run", false, "let the API server check it, and change nothing")
	f.DurationVar(&change.Timeout, "timeout", 2*time.Minute, "how long one pod may take")
	return c
}
