package main

import (
	"github.com/spf13/cobra"

	"github.com/kraftside/kraftside/internal/check"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/logfile"
)

func checkCommand(out *cli.Output) *cobra.Command {
	var log string
	c := &cobra.Command{
		Use:     "check FILE|DIR…",
		GroupID: offline,
		Short:   "Verify log files by the rules of replay",
		Long: `check verifies that log files are what Kafka wrote and that they can be replayed: checksums, offsets, epochs, and every
record. A metadata log is replayed into an image, which has to equal each of its snapshots where that stands. Groups are
replayed as the coordinator does when it loads; records that it would refuse are listed as anomalies.

` + filesHelp + `

The exit code is 5 if something is damaged. Anomalies of groups alone do not change it.`,
		Example: `  kraftside check /var/lib/kafka`,
		Args:    takes(1, -1, "at least one FILE or DIR"),
		RunE: func(_ *cobra.Command, paths []string) error {
			kind, err := logfile.ParseLog(log)
			if err != nil {
				return err
			}
			report, err := check.Run(out, paths, kind)
			if err != nil {
				return err
			}
			if err := out.Print(report, report.Text); err != nil {
				return err
			}
			return report.Err()
		},
	}
	logFlag(c, &log)
	return c
}
