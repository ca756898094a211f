package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/kraftside/kraftside/internal/cli"
)

// outcome is what a command line led to.
type outcome struct {
	stdout, stderr string
	code           cli.Code
}

// runLine runs a command line, split at spaces, as a process in a pipe would
// that was started on 15 November 2023 in a zone called CET.
func runLine(line string) outcome {
	var stdout, stderr bytes.Buffer
	now := time.Date(2023, 11, 15, 12, 0, 0, 0, time.UTC)
	code := run(strings.Fields(line), &cli.Output{
		Out: &stdout, Err: &stderr, Format: cli.TextFormat,
		Clock: cli.Clock{Now: now, Zone: time.FixedZone("CET", 3600)},
		Now:   func() time.Time { return now },
	})
	return outcome{stdout.String(), stderr.String(), code}
}

// The files under testdata/transcripts are sessions: each line after `run` is
// a command line without its first word. Lines of standard error begin with
// "! ", and an exit code that is not 0 comes last.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "run" {
				return "unknown command " + d.Cmd
			}
			var b strings.Builder
			for _, line := range strings.Split(d.Input, "\n") {
				o := runLine(line)
				b.WriteString(o.stdout)
				for l := range strings.Lines(o.stderr) {
					b.WriteString("! " + l)
				}
				if o.code != cli.OK {
					fmt.Fprintf(&b, "exit %d\n", o.code)
				}
			}
			return b.String()
		})
	})
}
