package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/kraftside/kraftside/internal/ask"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/config"
	files "github.com/kraftside/kraftside/internal/offline"
	"github.com/kraftside/kraftside/web/api"
	"github.com/kraftside/kraftside/whatif"
)

const sourceHelp = `It asks the sidecars that --server names, each of which asks the others. With --metadata-dir and --offsets-dir it reads
Kafka's files instead, or copies of them, and needs neither a sidecar nor Kafka; the last records there may not be committed.

Exit code 6 means that the answer is incomplete: a sidecar did not answer, or is still loading.`

// answerer is who is asked: sidecars, or files.
type answerer interface {
	Status(ctx context.Context) (*api.Status, error)
	Groups(ctx context.Context, q ask.Query) (*api.Groups[api.Group], error)
	Group(ctx context.Context, id string) (*api.Group, error)
	Rebalances(ctx context.Context, group string, which ask.Rebalances) (*api.Rebalances, error)
	AllRebalances(ctx context.Context, since time.Time) (*api.RebalanceList, error)
	Changes(ctx context.Context, since time.Time, topic string) (*api.ChangeList, error)
	Verify(ctx context.Context) (*api.Groups[api.Group], error)
	Whatif(ctx context.Context, changes []whatif.Change) (*api.Whatif[api.Prediction], error)
	Topics(ctx context.Context) (*api.TopicList[api.Topic], error)
	Topic(ctx context.Context, name string) (*api.OneTopic, error)
}

// source is where a command is told to take its answer from.
type source struct {
	sidecars ask.Config
	dirs     files.Dirs
	command  *cobra.Command
}

// addFlags adds the flags of a command that asks.
func (s *source) addFlags(c *cobra.Command) {
	s.command = c
	f, a := c.Flags(), &s.sidecars
	f.SortFlags = false
	f.StringSliceVar(&a.Servers, "server", []string{ask.DefaultServer}, "`URL` of a sidecar; may be given several times")
	f.StringVar(&a.TokenFile, "token-file", "", "`FILE` with a token in its first line, to send as bearer token")
	f.StringVar(&a.CAFile, "ca-file", "", "PEM `FILE` of the authorities that signed the sidecars' certificates")
	f.StringVar(&a.CertFile, "cert-file", "", "PEM `FILE` of a client certificate, for sidecars with mTLS")
	f.StringVar(&a.KeyFile, "key-file", "", "PEM `FILE` of its private key")
	f.StringVar(&a.ServerName, "server-name", "", "`NAME` that a sidecar's certificate is for, if it is not the URL's host")
	f.DurationVar(&a.Timeout, "timeout", ask.DefaultTimeout, "how long to wait for an answer")
	f.StringVar(&s.dirs.Metadata, "metadata-dir", "", "read the metadata log of this `DIR`: a __cluster_metadata-0 folder, or one of segments and snapshots")
	f.StringSliceVar(&s.dirs.Offsets, "offsets-dir", nil,
		"read groups of this `DIR`: a __consumer_offsets-N folder, or their parent; may be given several times")
	for name, variable := range config.ClientVariables {
		f.Lookup(name).Usage += " (" + variable + ")"
	}
}

// isFiles says whether files are to be read.
func (s *source) isFiles() bool { return s.dirs.Metadata != "" || len(s.dirs.Offsets) > 0 }

// readEnvironment takes from the environment what was not given as a flag.
func (s *source) readEnvironment() error {
	flags := s.command.Flags()
	for name, variable := range config.ClientVariables {
		value := os.Getenv(variable)
		if value == "" || flags.Changed(name) {
			continue
		}
		if err := flags.Set(name, value); err != nil {
			return cli.Errorf(cli.BadUsage, "%s: %w", variable, err)
		}
	}
	return nil
}

// asked is who was found to answer.
type asked struct {
	answerer
	files *files.Files // nil: sidecars
}

// open makes ready to ask.
func (s *source) open(out *cli.Output) (*asked, error) {
	if s.isFiles() {
		if s.command.Flags().Changed("server") {
			return nil, cli.Errorf(cli.BadUsage, "%s: both --server and folders are given; leave out one or the other", s.command.Name())
		}
		f, err := files.Open(s.command.Context(), s.dirs, programVersion(), out)
		if err != nil {
			return nil, err
		}
		return &asked{f, f}, nil
	}
	if err := s.readEnvironment(); err != nil {
		return nil, err
	}
	if s.sidecars.Timeout <= 0 {
		return nil, cli.Errorf(cli.BadUsage, "%s: --timeout %v leaves no time for an answer", s.command.Name(), s.sidecars.Timeout)
	}
	client, err := ask.New(s.sidecars)
	if err != nil {
		return nil, err
	}
	return &asked{client, nil}, nil
}

// openForGroups makes ready to ask for groups, of which the metadata alone say
// nothing.
func (s *source) openForGroups(out *cli.Output) (*asked, error) {
	if s.isFiles() && len(s.dirs.Offsets) == 0 {
		return nil, cli.Errorf(cli.BadUsage, "%s: --metadata-dir is given without --offsets-dir, where the groups are; give both", s.command.Name())
	}
	return s.open(out)
}

// print gives the answer, and what is to be said beside it. The error decides
// the exit code.
func (a *asked) print(out *cli.Output, v any, text func(*cli.Text), beside ...error) error {
	if err := out.Print(v, text); err != nil {
		return err
	}
	if a.files != nil {
		for _, note := range a.files.Notes {
			fmt.Fprintf(out.Err, "kraftside: note: %s\n", cli.Escape(note))
		}
	}
	return a.failed(beside...)
}

// failed adds, to why there is no answer or not all of it, what could not be
// read of the files: that may be why.
func (a *asked) failed(errs ...error) error {
	if a.files != nil {
		errs = append(errs, a.files.Damage)
	}
	return errors.Join(errs...)
}
