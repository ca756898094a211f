package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/dump"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/internal/logfile"
)

const filesHelp = `A FILE is a segment (*.log) or a metadata snapshot (*.checkpoint). A DIR is a partition's folder, such as
__cluster_metadata-0 or __consumer_offsets-7, any folder with segments or snapshots, or a folder of partitions, as in log.dirs.`

func dumpCommand(out *cli.Output) *cobra.Command {
	var log string
	var from, to int64
	var secrets bool
	c := &cobra.Command{
		Use:     "dump FILE|DIR…",
		GroupID: offline,
		Short:   "Decode metadata segments, snapshots and coordinators' logs",
		Long: `dump prints the records of the metadata log, of its snapshots, and of the logs of the group, transaction and share
coordinators. With -o json it prints a line a record, in which the record is what Kafka's own dump tool prints of it.

` + filesHelp + `

Secrets are hidden unless --show-secrets is given. A damaged file is printed up to the damage; the exit code is then 5.`,
		Example: `  kraftside dump /var/lib/kafka/__cluster_metadata-0
  kraftside dump --from 12000 -o json /var/lib/kafka/__consumer_offsets-7 | jq .key`,
		Args: takes(1, -1, "at least one FILE or DIR"),
		RunE: func(_ *cobra.Command, paths []string) error {
			kind, err := logfile.ParseLog(log)
			if err != nil {
				return err
			}
			if to >= 0 && to < from {
				return cli.Errorf(cli.BadUsage, "dump: --to %d is before --from %d", to, from)
			}
			return dump.Run(out, paths, dump.Options{Log: kind, ShowSecrets: secrets, From: kafka.Offset(from), To: kafka.Offset(to)})
		},
	}
	f := c.Flags()
	f.SortFlags = false
	logFlag(c, &log)
	f.Int64Var(&from, "from", 0, "the first `OFFSET` to print; leaves out snapshots")
	f.Int64Var(&to, "to", -1, "the last `OFFSET` to print; leaves out snapshots")
	f.BoolVar(&secrets, "show-secrets", false, "print SCRAM keys and sensitive configuration values as they are")
	return c
}

// logFlag adds --log.
func logFlag(c *cobra.Command, log *string) {
	c.Flags().StringVar(log, "log", "", "the `LOG` that the files are of, if their folder does not tell: "+strings.Join(logfile.Logs(), ", "))
	_ = c.RegisterFlagCompletionFunc("log", cobra.FixedCompletions(logfile.Logs(), cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}
