package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kraftside/kraftside/internal/cli"
)

const about = `kraftside tells why the groups of an Apache Kafka cluster rebalance, which of them a change will
rebalance, and whether what the brokers stored agrees with the metadata log.

Exit codes: 0 ok, 1 failed, 2 wrong usage, 3 found something, 4 not found, 5 corrupt input, 6 incomplete.`

// execute runs one command line.
func execute(args []string, out *cli.Output) error {
	root := newRoot(out)
	started := false
	before := root.PersistentPreRunE
	root.PersistentPreRunE = func(c *cobra.Command, args []string) error {
		err := before(c, args)
		started = err == nil
		return err
	}
	root.SetArgs(args)
	err := root.Execute()
	var coded *cli.Error
	if err != nil && !started && !errors.As(err, &coded) {
		return cli.Errorf(cli.BadUsage, "%w", err) // from cobra: nothing was done yet
	}
	return err
}

// newRoot makes the command that all others are under. They must not have a
// PersistentPreRun of their own, which would replace the one here.
func newRoot(out *cli.Output) *cobra.Command {
	var format string
	var utc bool
	root := &cobra.Command{
		Use:           "kraftside",
		Short:         "Why groups of Kafka rebalance",
		Long:          about,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          knownCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		PersistentPreRunE: func(*cobra.Command, []string) (err error) {
			if utc {
				out.Clock.Zone = nil
			}
			if out.Format, err = cli.ParseFormat(format); err != nil {
				return cli.Errorf(cli.BadUsage, "--output: %w", err)
			}
			return nil
		},
	}
	root.SetOut(out.Out)
	root.SetErr(out.Err)
	flags := root.PersistentFlags()
	flags.StringVarP(&format, "output", "o", string(cli.TextFormat), "how to print: text, wide, json or yaml")
	flags.BoolVar(&utc, "utc", false, "show times in UTC instead of the local zone")
	flags.SortFlags = false
	_ = root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(cli.Formats(), cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	root.SetFlagErrorFunc(flagError)
	root.AddGroup(
		&cobra.Group{ID: live, Title: "Commands of the sidecar:"},
		&cobra.Group{ID: offline, Title: "Commands that read Kafka's files:"},
		&cobra.Group{ID: kubernetes, Title: "Commands for Kubernetes:"},
	)
	root.AddCommand(commands(out)...)
	root.SetHelpCommand(helpCommand(root))
	root.InitDefaultCompletionCmd()
	strictCompletion(root)
	return root
}

// strictCompletion makes cobra's command refuse a shell that it does not know,
// for which it would print its help, into a file that a shell reads.
func strictCompletion(root *cobra.Command) {
	c, _, err := root.Find([]string{"completion"})
	if err != nil || c == root {
		return
	}
	var shells []string
	for _, shell := range c.Commands() {
		shells = append(shells, shell.Name())
	}
	c.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return cli.Errorf(cli.BadUsage, "completion: unknown shell %s; there are %s%s",
				cli.Name(args[0]), strings.Join(shells, ", "), cli.DidYouMean(args[0], shells))
		}
		return nil
	}
	c.RunE = func(*cobra.Command, []string) error { return c.Help() }
}

// takes is the rule for a command's arguments: at least min, and at most max
// unless that is negative.
func takes(min, max int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) >= min && (max < 0 || len(args) <= max) {
			return nil
		}
		return cli.Errorf(cli.BadUsage, "%s: takes %s, not %d; see %s --help", c.Name(), what, len(args), c.CommandPath())
	}
}

// knownCommand refuses what is left on the command line when no command was
// recognized.
func knownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return unknownCommand(root, args[0])
}

func unknownCommand(root *cobra.Command, name string) error {
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			names = append(names, c.Name())
		}
	}
	hint := cli.DidYouMean(name, names)
	if hint == "" {
		hint = "; run kraftside help for a list"
	}
	return cli.Errorf(cli.BadUsage, "unknown command %s%s", cli.Name(name), hint)
}

// flagError explains why the flags of a command cannot be read.
func flagError(c *cobra.Command, err error) error {
	if before := c.Flags().Args(); !c.HasParent() && len(before) > 0 {
		return unknownCommand(c, before[0]) // the flag may well be one of the command that was meant
	}
	where := ""
	if c.HasParent() {
		where = c.Name() + ": "
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return cli.Errorf(cli.BadUsage, "%s%w; see %s --help", where, err, c.CommandPath())
	}
	flag := "--" + unknown.GetSpecifiedName()
	if unknown.GetSpecifiedShortnames() != "" {
		flag = "-" + unknown.GetSpecifiedName()
	}
	return cli.Errorf(cli.BadUsage, "%sunknown flag %s%s", where, flag, nearestFlag(c, flag))
}

// nearestFlag is the end of the message about a flag that there is not.
func nearestFlag(c *cobra.Command, flag string) string {
	var flags []string
	c.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, "--"+f.Name) })
	if hint := cli.DidYouMean(flag, flags); hint != "" && strings.HasPrefix(flag, "--") {
		return hint
	}
	return fmt.Sprintf("; see %s --help", c.CommandPath())
}

// helpCommand is cobra's but for what it does with a command that there is
// not.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Explain a command",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, c := range root.Commands() {
				if c.IsAvailableCommand() {
					names = append(names, c.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil || c == root && len(rest) > 0 {
				return unknownCommand(root, args[0])
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
	}
}
