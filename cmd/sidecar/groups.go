package main

import (
	"github.com/spf13/cobra"

	"github.com/kraftside/kraftside/internal/answer"
	"github.com/kraftside/kraftside/internal/ask"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/web/api"
)

func groupsCommand(out *cli.Output) *cobra.Command {
	var s source
	var q ask.Query
	c := &cobra.Command{
		Use:     "groups [GROUP]",
		GroupID: live,
		Short:   "List groups with the verdict on their hashes, or show one",
		Long: `groups lists the groups of the cluster, classic, consumer, share and streams groups, and whether the hash that the
coordinator stored is what the metadata log gives: match, pending, stale, unknown, none or drift. Of one GROUP it shows the
members and what they have, both hashes, and what the verdict means.

` + sourceHelp,
		Example: `  kraftside groups --verdict stale,drift
  kraftside groups payments --server http://broker-1:9464`,
		Args: takes(0, 1, "at most one GROUP"),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && q != (ask.Query{}) {
				return cli.Errorf(cli.BadUsage, "groups: --verdict, --type, --state and --match select groups for the list; leave out GROUP or them")
			}
			if _, err := api.ParseFilter(q.Verdict, q.Type, q.State, q.Match); err != nil {
				return cli.Errorf(cli.BadUsage, "groups: --%w", err)
			}
			a, err := s.openForGroups(out)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return showGroup(c, out, a, args[0])
			}
			list, err := a.Groups(c.Context(), q)
			if err != nil {
				return err
			}
			groups := &answer.Groups{Groups: list.Groups, Scope: answer.NewScope(&list.Completeness, a.files != nil)}
			return a.print(out, groups, groups.Text, groups.Lacking())
		},
	}
	f := c.Flags()
	f.StringVar(&q.Verdict, "verdict", "", "only groups with one of these `VERDICTS`, separated by commas")
	f.StringVar(&q.Type, "type", "", "only groups of one of these `TYPES`: classic, consumer, share, streams")
	f.StringVar(&q.State, "state", "", "only groups in one of these `STATES`, such as Stable or Empty")
	f.StringVar(&q.Match, "match", "", "only groups in whose id this regular `EXPRESSION` (RE2) is found")
	s.addFlags(c)
	return c
}

func showGroup(c *cobra.Command, out *cli.Output, a *asked, id string) error {
	g, err := a.Group(c.Context(), id)
	if err != nil {
		return a.failed(err)
	}
	one := &answer.Groups{Groups: []api.Group{*g}, Scope: answer.NewScope(new(api.Completeness), a.files != nil)}
	return a.print(out, one, one.Details)
}
