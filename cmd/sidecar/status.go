package main

import (
	"context"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/kraftside/kraftside/internal/answer"
	"github.com/kraftside/kraftside/internal/cli"
)

// watchInterval is how often -w asks.
const watchInterval = 2 * time.Second

func statusCommand(out *cli.Output) *cobra.Command {
	var s source
	var watch bool
	c := &cobra.Command{
		Use:     "status",
		GroupID: live,
		Short:   "Tell how the cluster's groups and sidecars stand",
		Long: `status is one screen: the cluster, its groups by state and by verdict, which sidecars answer, how far each of them has read
both logs, and what keeps those that are not ready.

` + sourceHelp,
		Example: `  kraftside status -w`,
		Args:    takes(0, 0, "no argument"),
		RunE: func(c *cobra.Command, _ []string) error {
			if watch && s.isFiles() {
				return cli.Errorf(cli.BadUsage, "status: -w watches sidecars; files do not change here, leave it out")
			}
			a, err := s.open(out)
			if err != nil {
				return err
			}
			ask := func(ctx context.Context) (answer.Answer, error) {
				status, err := a.Status(ctx)
				if err != nil {
					return nil, err
				}
				return answer.NewStatus(status, a.files != nil), nil
			}
			if watch {
				ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGTERM, syscall.SIGINT)
				defer stop()
				return answer.Watch(ctx, out, watchInterval, ask)
			}
			status, err := ask(c.Context())
			if err != nil {
				return err
			}
			return a.print(out, status, status.Text, status.Lacking())
		},
	}
	c.Flags().BoolVarP(&watch, "watch", "w", false, "show it anew every 2 seconds, until interrupted")
	s.addFlags(c)
	return c
}
