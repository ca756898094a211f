package main

import (
	"github.com/spf13/cobra"

	"github.com/kraftside/kraftside/internal/answer"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/topichash"
	"github.com/kraftside/kraftside/web/api"
)

func topicsCommand(out *cli.Output) *cobra.Command {
	var s source
	var scheme string
	c := &cobra.Command{
		Use:     "topics [TOPIC]",
		GroupID: live,
		Short:   "List topics with their hashes, or show one",
		Long: `topics lists the topics of the cluster with the hash that coordinators compute of each, and how many groups subscribe to
it. Of one TOPIC it shows these groups, and for each partition its replicas and their racks, which the hash covers.

` + sourceHelp,
		Example: `  kraftside topics orders
  kraftside topics --scheme kip -o wide`,
		Args: takes(0, 1, "at most one TOPIC"),
		RunE: func(c *cobra.Command, args []string) error {
			topics := &answer.Topics{}
			switch scheme {
			case "kafka":
			case "kip":
				topics.Scheme = topichash.KIP
			default:
				return cli.Errorf(cli.BadUsage, "topics: --scheme: %s is no scheme; want kafka or kip", cli.Name(scheme))
			}
			a, err := s.open(out)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return showTopic(c, out, a, topics, args[0])
			}
			list, err := a.Topics(c.Context())
			if err != nil {
				return err
			}
			topics.Topics, topics.Scope = list.Topics, answer.NewScope(&list.Completeness, a.files != nil)
			return a.print(out, topics, topics.Text, topics.Lacking())
		},
	}
	c.Flags().StringVar(&scheme, "scheme", "kafka", "`kafka` shows the hash that Kafka computes, kip also the one of the text of KIP-1101")
	s.addFlags(c)
	_ = c.RegisterFlagCompletionFunc("scheme", cobra.FixedCompletions([]string{"kafka", "kip"}, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	return c
}

func showTopic(c *cobra.Command, out *cli.Output, a *asked, topics *answer.Topics, name string) error {
	t, err := a.Topic(c.Context(), name)
	if err != nil {
		return a.failed(err)
	}
	topics.Topics, topics.Scope = []api.Topic{*t.Topic}, answer.NewScope(&t.Completeness, a.files != nil)
	return a.print(out, topics, topics.Details, topics.Lacking())
}
