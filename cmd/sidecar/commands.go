package main

import (
	"github.com/spf13/cobra"

	"github.com/kraftside/kraftside/internal/cli"
)

// The groups in which help lists the commands.
const (
	live       = "live"
	offline    = "offline"
	kubernetes = "kubernetes"
)

// commands are all commands but those that cobra adds, in the order of help.
func commands(out *cli.Output) []*cobra.Command {
	all := []*cobra.Command{
		runCommand(out),
		demoCommand(out),
		statusCommand(out),
		groupsCommand(out),
		topicsCommand(out),
		explainCommand(out),
		historyCommand(out),
		whatifCommand(out),
		verifyCommand(out),
		dumpCommand(out),
		diffCommand(out),
		checkCommand(out),
		renderCommand(out),
	}
	return append(append(all, kubernetesCommands(out)...), versionCommand(out))
}
