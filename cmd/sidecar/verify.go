package main

import (
	"github.com/spf13/cobra"

	"github.com/kraftside/kraftside/internal/answer"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/topichash"
	"github.com/kraftside/kraftside/web/api"
)

func verifyCommand(out *cli.Output) *cobra.Command {
	var s source
	var failOn string
	c := &cobra.Command{
		Use:     "verify",
		GroupID: live,
		Short:   "Verify what coordinators stored against the metadata log",
		Long: `verify tells whether the hashes that coordinators stored in their groups are those that the metadata log gives, and of each
that is not what that means and what will settle it.

` + sourceHelp,
		Example: `  kraftside verify
  kraftside verify --fail-on drift,stale -o json`,
		Args: takes(0, 0, "no argument"),
		RunE: func(c *cobra.Command, _ []string) error {
			fatal, err := parseFailOn(failOn)
			if err != nil {
				return err
			}
			a, err := s.openForGroups(out)
			if err != nil {
				return err
			}
			list, err := a.Verify(c.Context())
			if err != nil {
				return err
			}
			status, err := a.Status(c.Context())
			if err != nil {
				return err
			}
			v := answer.NewVerify(list.Groups, status.TotalCounts().Verdicts, answer.NewScope(&list.Completeness, a.files != nil))
			var found error
			if v.Has(fatal) {
				found = &cli.Error{Code: cli.Found}
			}
			return a.print(out, v, v.Text, v.Lacking(), found)
		},
	}
	c.Flags().StringVar(&failOn, "fail-on", string(topichash.Drift), "exit with 3 if a group has one of these `VERDICTS`, separated by commas")
	s.addFlags(c)
	return c
}

// parseFailOn reads the value of --fail-on; empty is no verdict.
func parseFailOn(text string) ([]topichash.Verdict, error) {
	f, err := api.ParseFilter(text, "", "", "")
	if err != nil {
		return nil, cli.Errorf(cli.BadUsage, "verify: --fail-on: %w", err)
	}
	for _, v := range f.Verdicts {
		if v == topichash.Match || v == topichash.None {
			return nil, cli.Errorf(cli.BadUsage, "verify: --fail-on: %s is nothing to fail on; want some of drift, stale, pending, unknown", v)
		}
	}
	return f.Verdicts, nil
}
