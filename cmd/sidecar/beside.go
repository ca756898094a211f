//go:build beside

package main

import (
	"github.com/spf13/cobra"

	"github.com/kraftside/kraftside/internal/cli"
)

// kubernetesCommands say where those are that ask an API server. The program that
// runs beside a broker has no client for it: that would take a quarter more memory
// of each broker's host, and nobody calls them there.
func kubernetesCommands(*cli.Output) []*cobra.Command {
	var all []*cobra.Command
	for _, name := range []string{"preflight", "upgrade-in-place"} {
		all = append(all, &cobra.Command{
			Use: name, GroupID: kubernetes, Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error {
				return cli.Errorf(cli.Failed, "%s: this program was built to run beside a broker and knows no Kubernetes: call that of `make build` on the machine with your kubeconfig", name)
			},
		})
	}
	return all
}
