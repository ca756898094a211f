package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/kraftside/kraftside/internal/answer"
	"github.com/kraftside/kraftside/internal/ask"
	"github.com/kraftside/kraftside/internal/cli"
)

// explainFlags select the rebalances of a group.
type explainFlags struct {
	last  int
	epoch int32
	since string
}

func explainCommand(out *cli.Output) *cobra.Command {
	var s source
	var flags explainFlags
	c := &cobra.Command{
		Use:     "explain GROUP",
		GroupID: live,
		Short:   "Tell why a group rebalanced, with the records that prove it",
		Long: `explain tells of the last rebalance of a group, or of several, why its epoch was raised: which member, or which topic,
partition and rack, by which record; what made the coordinator look, where that is another event; how long it took, and
which member waited for which. What no record proves is marked as likely, with the reason.

` + sourceHelp,
		Example: `  kraftside explain payments
  kraftside explain payments --since 1h -o json`,
		Args: takes(1, 1, "one GROUP"),
		RunE: func(c *cobra.Command, args []string) error {
			which, err := flags.parse(c, out.Clock.Now)
			if err != nil {
				return err
			}
			a, err := s.openForGroups(out)
			if err != nil {
				return err
			}
			return explain(c, out, a, args[0], which)
		},
	}
	f := c.Flags()
	f.IntVar(&flags.last, "last", 1, "the newest `N` rebalances")
	f.Int32Var(&flags.epoch, "epoch", -1, "only the rebalance that brought the epoch `N`")
	f.StringVar(&flags.since, "since", "", "rebalances since a `TIME`: a duration such as 15m, or 2006-01-02T15:04:05Z")
	c.MarkFlagsMutuallyExclusive("last", "epoch", "since")
	s.addFlags(c)
	return c
}

// parse checks the flags.
func (f *explainFlags) parse(c *cobra.Command, now time.Time) (which ask.Rebalances, err error) {
	which.Epoch = -1
	switch {
	case c.Flags().Changed("epoch"):
		if f.epoch < 0 {
			return which, cli.Errorf(cli.BadUsage, "explain: --epoch %d is negative", f.epoch)
		}
		which.Epoch = f.epoch
	case f.since != "":
		if which.Since, err = parseSince(f.since, now); err != nil {
			return which, cli.Errorf(cli.BadUsage, "explain: --since: %w", err)
		}
	default:
		if f.last < 1 {
			return which, cli.Errorf(cli.BadUsage, "explain: --last %d is not a number from 1 on", f.last)
		}
		which.Last = f.last
	}
	return which, nil
}

var errSince = errors.New("want a duration such as 15m, or a time such as 2006-01-02T15:04:05Z")

// parseSince reads a duration before now, or a time.
func parseSince(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	return time.Time{}, errSince
}

func explain(c *cobra.Command, out *cli.Output, a *asked, group string, which ask.Rebalances) error {
	got, err := a.Rebalances(c.Context(), group, which)
	if err != nil {
		return a.failed(err)
	}
	e := &answer.Explanation{
		Group: group, Rebalances: got.Rebalances, Gaps: got.Gaps, Scope: answer.NewScope(&got.Completeness, a.files != nil),
	}
	if got.Exists {
		if e.Now, err = a.Group(c.Context(), group); err != nil && cli.ExitCode(err) != cli.NotFound {
			return a.failed(err)
		}
	}
	return a.print(out, e, e.Text, e.Lacking())
}
