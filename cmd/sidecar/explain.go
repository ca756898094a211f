package main

import (
	"context"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kraftside/kraftside/internal/answer"
	"github.com/kraftside/kraftside/internal/ask"
	"github.com/kraftside/kraftside/internal/cli"
)

// explainFlags select rebalances, and say what is done with them.
type explainFlags struct {
	last       int
	epoch      int32
	all, watch bool
	period
}

func explainCommand(out *cli.Output) *cobra.Command {
	var s source
	var flags explainFlags
	c := &cobra.Command{
		Use:     "explain {GROUP | --all}",
		GroupID: live,
		Short:   "Tell why a group rebalanced, with the records that prove it",
		Long: `explain tells of the last rebalance of a group, or of several, why its epoch was raised: which member, or which topic,
partition and rack, by which record; what made the coordinator look, where that is another event; how long it took, and
which member waited for which. What no record proves is marked as likely, with the reason.

With --all it tells of the rebalances of all groups, those together that one change of the metadata caused.

` + sourceHelp,
		Example: `  kraftside explain payments
  kraftside explain payments --since 1h -o json
  kraftside explain --all --since 15m -w`,
		Args: func(c *cobra.Command, args []string) error {
			if flags.all {
				return takes(0, 0, "no GROUP with --all")(c, args)
			}
			return takes(1, 1, "one GROUP, or --all")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error { return flags.run(c, out, &s, args) },
	}
	f := c.Flags()
	f.IntVar(&flags.last, "last", 1, "the newest `N` rebalances")
	f.Int32Var(&flags.epoch, "epoch", -1, "only the rebalance that brought the epoch `N`")
	f.StringVar(&flags.since, "since", "", "rebalances since a `TIME`: a duration such as 15m, or 2006-01-02T15:04:05Z (with --all "+lastHour+"; of files, all)")
	f.BoolVar(&flags.all, "all", false, "those of all groups, by the change that caused them")
	f.BoolVarP(&flags.watch, "watch", "w", false, "ask every 2 seconds, and show what changed, until interrupted")
	c.MarkFlagsMutuallyExclusive("last", "epoch", "since")
	s.addFlags(c)
	return c
}

func (f *explainFlags) run(c *cobra.Command, out *cli.Output, s *source, args []string) error {
	if err := f.check(c, s.isFiles()); err != nil {
		return err
	}
	a, err := s.openForGroups(out)
	if err != nil {
		return err
	}
	question := func(ctx context.Context) (answer.Answer, error) {
		if f.all {
			return f.explainAll(ctx, out, a)
		}
		return f.explain(ctx, out, a, args[0])
	}
	if f.watch {
		ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGTERM, syscall.SIGINT)
		defer stop()
		return answer.WatchChanges(ctx, out, watchInterval, question)
	}
	e, err := question(c.Context())
	if err != nil {
		return a.failed(err)
	}
	return a.print(out, e, e.Text, e.Lacking())
}

// check checks what flags say together, and their values.
func (f *explainFlags) check(c *cobra.Command, files bool) error {
	given := c.Flags().Changed
	switch {
	case f.watch && files:
		return cli.Errorf(cli.BadUsage, "explain: -w watches sidecars; files do not change here, leave it out")
	case f.all && (given("epoch") || given("last")):
		return cli.Errorf(cli.BadUsage, "explain: --last and --epoch are for one GROUP; with --all give --since, or leave them out")
	case given("epoch") && f.epoch < 0:
		return cli.Errorf(cli.BadUsage, "explain: --epoch %d is negative", f.epoch)
	case f.last < 1:
		return cli.Errorf(cli.BadUsage, "explain: --last %d is not a number from 1 on", f.last)
	case f.all && !files:
		f.orLastHour()
	}
	return f.period.check("explain")
}

func (f *explainFlags) explain(ctx context.Context, out *cli.Output, a *asked, group string) (answer.Answer, error) {
	which := ask.Rebalances{Epoch: f.epoch, Since: f.from(out)}
	if f.epoch < 0 && f.since == "" {
		which.Last = f.last
	}
	got, err := a.Rebalances(ctx, group, which)
	if err != nil {
		return nil, err
	}
	e := &answer.Explanation{
		Group: group, Rebalances: got.Rebalances, Gaps: got.Gaps, Scope: answer.NewScope(&got.Completeness, a.files != nil),
	}
	if got.Exists {
		if e.Now, err = a.Group(ctx, group); err != nil && cli.ExitCode(err) != cli.NotFound {
			return nil, err
		}
	}
	return e, nil
}

func (f *explainFlags) explainAll(ctx context.Context, out *cli.Output, a *asked) (answer.Answer, error) {
	got, err := a.AllRebalances(ctx, f.from(out))
	if err != nil {
		return nil, err
	}
	return answer.NewByCause(got.Rebalances, f.text(out), answer.NewScope(&got.Completeness, a.files != nil)), nil
}
