// Command sidecar is kraftside: it runs beside a broker of Apache Kafka and
// tells why groups rebalance, or reads Kafka's files without any server. This
// package reads command lines and wires the others; what the commands are, and
// what they print, docs/commands.md says.
package main

import (
	"os"

	"github.com/kraftside/kraftside/internal/cli"
)

func main() { os.Exit(int(run(os.Args[1:], cli.Standard()))) }

// run runs one command line and returns the exit code of the process.
func run(args []string, out *cli.Output) cli.Code {
	err := execute(args, out)
	cli.Report(out.Err, err)
	return cli.ExitCode(err)
}
