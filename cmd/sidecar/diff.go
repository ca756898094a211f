package main

import (
	"github.com/spf13/cobra"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/imagediff"
)

func diffCommand(out *cli.Output) *cobra.Command {
	var exitCode bool
	c := &cobra.Command{
		Use:     "diff A B",
		GroupID: offline,
		Short:   "Tell what changed between two states of the metadata",
		Long: `diff compares two states of a cluster's metadata. A and B are each one of

  FILE          a metadata snapshot (*.checkpoint)
  DIR@OFFSET    the state after the record at OFFSET. DIR is a __cluster_metadata-0 folder, or a folder of segments and snapshots
  DIR           the state at the end of the log there, of which some may not be committed

Credentials and sensitive configuration values are not shown, only that they changed.`,
		Example: `  kraftside diff /var/lib/kafka/__cluster_metadata-0@12000 /var/lib/kafka/__cluster_metadata-0
  kraftside diff --exit-code before.checkpoint after.checkpoint`,
		Args: takes(2, 2, "two states, A and B"),
		RunE: func(_ *cobra.Command, args []string) error {
			from, err := imagediff.Load(out, args[0])
			if err != nil {
				return err
			}
			to, err := imagediff.Load(out, args[1])
			if err != nil {
				return err
			}
			report := imagediff.Compare(from, to)
			if err := out.Print(report, report.Text); err != nil {
				return err
			}
			if exitCode && len(report.Changes) > 0 {
				return &cli.Error{Code: cli.Found}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 3 if something changed")
	return c
}
